// MiniMax-M3 (transformers: models/minimax_m3_vl; llama.cpp: minimax-m3), the language
// model of a larger one: q and k normed per head, a part of each head turns, clamped
// experts and networks, a shared expert, sigmoid scores with a bias for the choice. In
// most layers each cached head attends to blocks of keys that a head of an indexer
// chooses, the last one always among them. Norms are stored as their distance from one.

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMostBlockKeys = std::int64_t{1} << 12, kMostBlocks = std::int64_t{1} << 12;

// A key of transformers' configuration, or as the published one has it within
// sparse_attention_config.
std::int64_t sparse_count(const ConfigFields& config, const char* key, const char* published, std::int64_t high,
                          std::int64_t fallback) {
    if (config.has_value("sparse_attention_config")) {
        const JsonFields sparse = config.object("sparse_attention_config");
        if (sparse.has_value(published)) return sparse.integer(published, 1, high);
    }
    return config.count(key, 1, high, fallback);
}

IndexerSpec read_indexer(const ConfigFields& config, const GroupedQuerySpec& attention) {
    IndexerSpec indexer;
    indexer.by_head = true;
    indexer.norm_eps = attention.qk_norm_eps;
    indexer.n_heads = sparse_count(config, "index_n_heads", "sparse_num_index_heads", std::int64_t{1} << 16, 4);
    indexer.head_dim = sparse_count(config, "index_head_dim", "sparse_index_dim", kMostHeadDim, 128);
    indexer.block = sparse_count(config, "index_block_size", "sparse_block_size", kMostBlockKeys, 128);
    const std::int64_t n_blocks = sparse_count(config, "index_topk_blocks", "sparse_topk_blocks", kMostBlocks, 16);
    indexer.n_local = sparse_count(config, "index_local_blocks", "sparse_local_block", n_blocks, 1);
    indexer.top_k = n_blocks * indexer.block;
    if (indexer.n_heads != attention.n_kv_heads) config.reject("index_n_heads", messages::as_many_as_kv_heads);
    if (indexer.head_dim < attention.rope.dim) {
        config.reject("index_head_dim", messages::no_less_than_the_rotary_part(attention.rope.dim));
    }
    return indexer;
}

// By a list of words, or by the published list of zeros and ones; neither: none.
std::vector<bool> sparse_layers(const ConfigFields& config, const char* key, const char* type, const char* other,
                                const JsonFields& published, const char* published_key, std::size_t n_layers) {
    if (const auto listed = config.layers_of_type(key, type, other, n_layers)) return *listed;
    std::vector<bool> found(n_layers);
    if (!published.has_value(published_key)) return found;
    const nlohmann::json& flags = *published.find(published_key);
    if (!flags.is_array() || flags.size() != n_layers) {
        published.reject(published_key, messages::a_list_of_booleans(n_layers));
    }
    for (std::size_t l = 0; l < n_layers; ++l) found[l] = flags[l] != 0;
    return found;
}

void read_minimax_m3_text(const ConfigFields& config, ModelSpec& spec) {
    // The published name of the activation, which swiglu_alpha and swiglu_limit define.
    const bool named = config.has_value("hidden_act") && config.text("hidden_act") == "swigluoai";
    config.read_common(spec, 200034, 200020, {.activation = named ? "swigluoai" : "silu"});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    GroupedQuerySpec full = config.grouped_query(spec, 4, 5e6, 0.5);
    full.qk_norm = QkNorm::kPerHead;
    full.qk_norm_eps = spec.norm.eps;
    MoeSpec moe =
        config.experts(spec, config.dim("intermediate_size", 3072), {"num_experts", "num_local_experts"}, 128, 4);
    kernels::ExpertSpec& expert = spec.experts.expert;
    expert.activation = kernels::Activation::kClamped;
    expert.alpha = static_cast<float>(config.positive("swiglu_alpha", 1.702));
    expert.limit = static_cast<float>(config.positive("swiglu_limit", 7.0));
    moe.selection_bias = true;
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    moe.router.scale = static_cast<float>(config.positive("routed_scaling_factor", 2.0));
    moe.shared_dim = config.dim("shared_intermediate_size", 3072);
    const DenseFfnSpec dense{config.dim("dense_intermediate_size", 12288)};
    GroupedQuerySpec sparse = full;
    sparse.indexer = read_indexer(config, full);
    const char* const own = "sparse_attention_config";
    const JsonFields lists = config.has_value(own) ? config.object(own) : JsonFields(config);
    const std::size_t n_layers = spec.layers.size();
    const std::vector<bool> is_sparse = sparse_layers(config, "layer_types", "minimax_m3_sparse", "full_attention",
                                                      lists, "sparse_attention_freq", n_layers);
    std::vector<bool> has_experts =
        sparse_layers(config, "mlp_layer_types", "sparse", "dense", config, "moe_layer_freq", n_layers);
    if (!config.has_value("mlp_layer_types") && !config.has_value("moe_layer_freq")) has_experts.flip();
    for (std::size_t l = 0; l < n_layers; ++l) {
        spec.layers[l].attention = is_sparse[l] ? sparse : full;
        spec.layers[l].ffn = has_experts[l] ? FfnSpec(moe) : FfnSpec(dense);
    }
}

void read_minimax_m3(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, read_minimax_m3_text);
}

bool is_distance_from_one(TensorRole role) {
    using enum TensorRole;
    return role == kFinalNorm || role == kAttentionNorm || role == kFfnNorm || role == kQueryNorm || role == kKeyNorm ||
           role == kIndexerQueryNorm || role == kIndexerKeyNorm;
}

std::vector<TensorPart> minimax_m3_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    const std::string moe = "block_sparse_moe.";
    std::vector<TensorPart> parts;
    if (layer != nullptr && layer->indexer() != nullptr) {
        parts = indexer_parts(*layer->indexer(), spec.rope(tensor.layer).dim, tensor, p + "self_attn.index_",
                              {.query = "q_proj", .query_norm = "q_norm", .key = "k_proj", .key_norm = "k_norm"});
    }
    if (tensor.role == TensorRole::kSelectionBias) {
        parts = {{p + moe + "e_score_correction_bias", {tensor.n_cols}}};
    } else if (parts.empty()) {
        const bool has_experts = layer != nullptr && layer->moe() != nullptr;
        parts = standard_parts(spec, tensor, moe + "gate", has_experts ? moe + "shared_experts." : "mlp.");
    }
    for (TensorPart& part : parts) {
        if (is_distance_from_one(tensor.role)) part.change = TensorPart::Change::kPlusOne;
    }
    return in_language_model(spec, std::move(parts));
}

ExpertParts minimax_m3_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    return in_language_model(spec, mixtral_expert(spec, layer, expert));
}

}  // namespace

const Family kMinimaxM3 = {"MiniMaxM3SparseForConditionalGeneration",
                           "minimax_m3_vl",
                           read_minimax_m3,
                           minimax_m3_parts,
                           minimax_m3_expert,
                           look_for_language_model};
const Family kMinimaxM3Text = {"MiniMaxM3VLForCausalLM", "minimax_m3_vl_text", read_minimax_m3_text,
                               minimax_m3_parts,         minimax_m3_expert,    look_for_language_model};

}  // namespace offstage::engine
