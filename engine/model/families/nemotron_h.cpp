// Nemotron 3 (transformers: models/nemotron_h): a layer is Mamba-2, attention without
// positions, experts or a dense network, alone. Networks have two matrices and a squared
// relu; experts are chosen by sigmoid scores with a bias, beside a shared one, in Nemotron
// 3 Super between projections to a smaller latent and back.

#include <algorithm>
#include <array>
#include <utility>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kLayerKinds = "M*E-";

// A letter of kLayerKinds for each layer.
std::string layer_kinds(const ConfigFields& config) {
    const char* const key = config.has_value("layers_block_type") ? "layers_block_type" : "hybrid_override_pattern";
    std::string kinds;
    if (const nlohmann::json* const words = config.find("layers_block_type"); words != nullptr && words->is_array()) {
        // Before transformers 5 the first two had other words.
        constexpr std::array<std::pair<const char*, char>, 6> kLayerWords = {{{"linear_attention", 'M'},
                                                                              {"mamba", 'M'},
                                                                              {"full_attention", '*'},
                                                                              {"attention", '*'},
                                                                              {"moe", 'E'},
                                                                              {"mlp", '-'}}};
        for (const nlohmann::json& word : *words) {
            const auto* const found =
                std::ranges::find_if(kLayerWords, [&](const auto& known) { return word == known.first; });
            kinds += found == kLayerWords.end() ? '?' : found->second;
        }
    } else {
        kinds = config.text(key);
    }
    if (kinds.empty() || kinds.size() > kMostLayers || kinds.find_first_not_of(kLayerKinds) != std::string::npos) {
        config.reject(key, messages::a_pattern_of_layers(kMostLayers));
    }
    if (kinds.find('*') == std::string::npos) config.reject(key, messages::a_model_with_full_attention);
    return kinds;
}

MoeSpec read_relu_moe(const ConfigFields& config, ModelSpec& spec) {
    spec.experts.expert.activation = kernels::Activation::kReluSquared;
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 7688), {"n_routed_experts"}, 8, 2);
    read_biased_router(config, moe);
    moe.shared_dim = config.dim("moe_shared_expert_intermediate_size", 7688);
    moe.latent = config.has_value("moe_latent_size");
    if (moe.latent) spec.experts.hidden_dim = config.integer("moe_latent_size", 1, spec.hidden_dim);
    return moe;
}

void read_nemotron_h(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2, {.layers = nullptr});
    spec.norm.eps = config.eps("layer_norm_epsilon", 1e-5);
    config.expect("mlp_hidden_act", "relu2");
    config.expect("mamba_hidden_act", "silu");
    for (const char* const key : {"use_bias", "mlp_bias", "attention_bias"}) {
        if (config.flag(key, false)) config.unsupported(key, "true", "false");
    }
    if (config.has_value("sliding_window")) {
        config.unsupported("sliding_window", describe(*config.find("sliding_window")), "null");
    }
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 1e4);
    attention.rope = {};
    const Mamba2Spec mamba = read_mamba2(
        config, spec, {}, {"n_groups", 8, "mamba_num_heads", "mamba_head_dim", "ssm_state_size", 128, "conv_kernel"});
    const MoeSpec moe = read_relu_moe(config, spec);
    for (const char kind : layer_kinds(config)) {
        LayerSpec& layer = spec.layers.emplace_back();
        layer.attention = NoAttentionSpec();
        if (kind == 'M') layer.attention = mamba;
        if (kind == '*') layer.attention = attention;
        if (kind == 'E') layer.ffn = moe;
        if (kind == '-') layer.ffn = DenseFfnSpec{config.dim("intermediate_size", 21504)};
    }
}

std::vector<TensorPart> nemotron_h_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = "backbone.layers." + std::to_string(tensor.layer) + ".", mixer = p + "mixer.";
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    const auto* const mamba = layer == nullptr ? nullptr : std::get_if<Mamba2Spec>(&layer->attention);
    if (mamba != nullptr) {
        if (auto parts = mamba2_parts(*mamba, tensor, mixer); !parts.empty()) return parts;
    }
    const std::vector<std::int64_t> matrix = {tensor.n_rows, tensor.n_cols};
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return {{"backbone.embeddings.weight", matrix}};
        case TensorRole::kHead:
            return {{"lm_head.weight", matrix}};
        case TensorRole::kFinalNorm:
            return {{"backbone.norm_f.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionNorm:
        case TensorRole::kFfnNorm:
            return {{p + "norm.weight", {tensor.n_cols}}};
        case TensorRole::kQkv: {
            const auto& gqa = std::get<GroupedQuerySpec>(layer->attention);
            const std::int64_t kv = gqa.n_kv_heads * gqa.head_dim;
            return {{mixer + "q_proj.weight", {gqa.n_heads * gqa.head_dim, tensor.n_cols}},
                    {mixer + "k_proj.weight", {kv, tensor.n_cols}},
                    {mixer + "v_proj.weight", {kv, tensor.n_cols}}};
        }
        case TensorRole::kAttentionOutput:
            return {{mixer + "o_proj.weight", matrix}};
        case TensorRole::kRouter:
            return {{mixer + "gate.weight", matrix}};
        case TensorRole::kSelectionBias:
            return {{mixer + "gate.e_score_correction_bias", {tensor.n_cols}}};
        case TensorRole::kExpertLatentDown:
            return {{mixer + "fc1_latent_proj.weight", matrix}};
        case TensorRole::kExpertLatentUp:
            return {{mixer + "fc2_latent_proj.weight", matrix}};
        case TensorRole::kNetwork:
            return network_parts(tensor, layer->moe() != nullptr ? mixer + "shared_experts." : mixer);
        default:
            return {};
    }
}

ExpertParts nemotron_h_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const std::string p = "backbone.layers." + std::to_string(layer) + ".mixer.experts." + std::to_string(expert) + ".";
    return separate_expert(spec, {"", p + "up_proj.weight", p + "down_proj.weight"});
}

}  // namespace

const Family kNemotronH = {"NemotronHForCausalLM", "nemotron_h", read_nemotron_h, nemotron_h_parts, nemotron_h_expert};

}  // namespace offstage::engine
