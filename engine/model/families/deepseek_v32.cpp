// DeepSeek-V3.2 (transformers: models/deepseek_v32; llama.cpp: deepseek32) and GLM-5
// (models/glm_moe_dsa; glm-dsa): DeepSeek-V3 whose layers attend to the keys that an
// indexer chooses. DeepSeek's indexer turns halves and GLM's turns neighbours, unlike the
// attention beside it. From GLM-5.2 on an indexer's choice serves the layers behind it,
// too. The published code of DeepSeek also passes queries and keys through a Hadamard
// matrix, which changes no product, and rounds them to FP8, which is not done here.

#include <algorithm>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMostChosenKeys = std::int64_t{1} << 20;

constexpr DeepseekDefaults kV32Defaults = [] {
    DeepseekDefaults defaults = kDeepseekV3Defaults;
    defaults.lists_networks = true;
    return defaults;
}();
constexpr DeepseekDefaults kGlmDsaDefaults = {.lists_networks = true,
                                              .eps = 1e-5,
                                              .query_rank = 2048,
                                              .nope_dim = 192,
                                              .value_dim = 256,
                                              .n_dense = 3,
                                              .scale = 2.5};

void set_indexer(const ConfigFields& config, ModelSpec& spec, const IndexerSpec& defaults) {
    IndexerSpec indexer = defaults;
    indexer.n_heads = config.count("index_n_heads", 1, std::int64_t{1} << 16, defaults.n_heads);
    indexer.head_dim = config.count("index_head_dim", 1, kMostHeadDim, defaults.head_dim);
    indexer.top_k = config.count("index_topk", 1, kMostChosenKeys, defaults.top_k);
    indexer.interleaved = config.flag("indexer_rope_interleave", defaults.interleaved);
    for (LayerSpec& layer : spec.layers) {
        auto& latent = std::get<LatentSpec>(layer.attention);
        if (latent.query_rank == 0) config.reject("q_lora_rank", messages::a_rank_of_queries);
        if (indexer.head_dim < latent.rope.dim)
            config.reject("index_head_dim", messages::no_less_than_the_rotary_part(latent.rope.dim));
        latent.indexer = indexer;
    }
}

// Whether a layer attends to what the one before it chose: by a list of words, by a
// pattern of letters, or by how many layers share a choice.
std::vector<bool> shared_layers(const ConfigFields& config, std::int64_t n_layers) {
    const auto size = static_cast<std::size_t>(n_layers);
    if (const auto listed = config.layers_of_type("indexer_types", "shared", "full", size)) return *listed;
    std::vector<bool> shared(size);
    if (config.has_value("index_topk_pattern")) {
        const std::string pattern = config.text("index_topk_pattern");
        if (pattern.size() != size || pattern.find_first_not_of("FS") != std::string::npos) {
            config.reject("index_topk_pattern", messages::a_letter_for_each_layer(size));
        }
        for (std::size_t l = 0; l < size; ++l) shared[l] = pattern[l] == 'S';
        return shared;
    }
    const std::int64_t every = config.count("index_topk_freq", 1, kMostLayers, 1);
    const std::int64_t offset = config.count("index_skip_topk_offset", 0, kMostLayers, 2);
    for (std::int64_t l = 0; l < n_layers; ++l) {
        shared[static_cast<std::size_t>(l)] = std::max<std::int64_t>(l - offset + 1, 0) % every != 0;
    }
    return shared;
}

void read_v32(const ConfigFields& config, ModelSpec& spec) {
    read_deepseek(config, spec, kV32Defaults);
    set_indexer(config, spec, {.n_heads = 64, .head_dim = 128, .top_k = 2048});
}

void read_glm_dsa(const ConfigFields& config, ModelSpec& spec) {
    read_deepseek(config, spec, kGlmDsaDefaults);
    set_indexer(config, spec, {.n_heads = 32, .head_dim = 128, .top_k = 2048, .interleaved = true});
    const std::vector<bool> shared = shared_layers(config, spec.n_layers());
    if (shared.front()) config.reject("indexer_types", messages::an_indexer_in_the_first_layer);
    for (std::size_t l = 0; l < shared.size(); ++l)
        std::get<LatentSpec>(spec.layers[l].attention).indexer.shared = shared[l];
}

std::vector<TensorPart> v32_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    if (tensor.layer >= 0) {
        const auto& latent = std::get<LatentSpec>(spec.layers[static_cast<std::size_t>(tensor.layer)].attention);
        auto parts =
            indexer_parts(latent.indexer, latent.rope.dim, tensor, layer_prefix(tensor.layer) + "self_attn.indexer.",
                          {.query = "wq_b", .key = "wk", .key_norm = "k_norm", .weights = "weights_proj"});
        if (!parts.empty()) return parts;
    }
    return deepseek_parts(spec, tensor);
}

}  // namespace

std::vector<TensorPart> indexer_parts(const IndexerSpec& indexer, std::int64_t rotary_dim, const DenseTensor& tensor,
                                      const std::string& prefix, const IndexerNames& names) {
    TensorPart part;
    if (tensor.kind == DenseTensor::Kind::kMatrix) part.shape.push_back(tensor.n_rows);
    part.shape.push_back(tensor.n_cols);
    const auto named = [&](const std::string& name, bool is_rotated = true) {
        part.name = prefix + name;
        if (is_rotated && indexer.interleaved) {
            part.block = indexer.head_dim;
            part.interleaved = rotary_dim;
            part.interleaved_first = true;
        }
        return std::vector{part};
    };
    switch (tensor.role) {
        case TensorRole::kIndexerQuery:
            return named(names.query + std::string(".weight"));
        case TensorRole::kIndexerQueryNorm:
            return named(names.query_norm + std::string(".weight"));
        case TensorRole::kIndexerKey:
            return named(names.key + std::string(".weight"));
        case TensorRole::kIndexerKeyNorm:
            return named(names.key_norm + std::string(".weight"));
        case TensorRole::kIndexerKeyNormBias:
            return named(names.key_norm + std::string(".bias"));
        case TensorRole::kIndexerWeights:
            return named(names.weights + std::string(".weight"), false);
        default:
            return {};
    }
}

const Family kDeepseekV32 = {"DeepseekV32ForCausalLM", "deepseek_v32",        read_v32, v32_parts,
                             standard_expert,          look_for_fused_experts};
const Family kGlmMoeDsa = {"GlmMoeDsaForCausalLM", "glm_moe_dsa",         read_glm_dsa, v32_parts,
                           standard_expert,        look_for_fused_experts};

}  // namespace offstage::engine
