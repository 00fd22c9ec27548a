// Qwen3-MoE (transformers: models/qwen3_moe): q and k normed per head, many small
// experts, layers without experts by `mlp_only_layers` and `decoder_sparse_step`.

#include <algorithm>

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

// The layers that a list names as dense.
std::vector<std::int64_t> dense_layers(const ConfigFields& config, std::int64_t n_layers) {
    std::vector<std::int64_t> layers;
    if (!config.has_value("mlp_only_layers")) return layers;
    const nlohmann::json& list = *config.find("mlp_only_layers");
    const std::string expected = "a list of layers from 0 to " + std::to_string(n_layers - 1);
    if (!list.is_array()) config.reject("mlp_only_layers", expected);
    for (const nlohmann::json& layer : list) {
        if (!layer.is_number_unsigned() || layer.get<std::uint64_t>() >= static_cast<std::uint64_t>(n_layers)) {
            config.reject("mlp_only_layers", expected + ", but the list holds " + describe(layer));
        }
        layers.push_back(layer.get<std::int64_t>());
    }
    return layers;
}

void read_qwen3(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    GroupedQuerySpec attention = config.grouped_query(spec, 4, 1e4);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    if (config.flag("use_sliding_window", false) && !config.is_null("sliding_window")) {
        attention.window = config.count("sliding_window", 1, kLongestContext, 4096);
    }
    spec.experts.ffn_dim = config.dim("moe_intermediate_size", 768);
    spec.experts.n_experts =
        config.count(config.has("num_experts") ? "num_experts" : "num_local_experts", 1, kMostExperts, 128);
    spec.experts.n_active = config.count(
        "num_experts_per_tok", 1, std::min<std::int64_t>(spec.experts.n_experts, kernels::kMostActiveExperts), 8);
    MoeSpec moe;
    moe.router.n_experts = static_cast<std::int32_t>(spec.experts.n_experts);
    moe.router.n_active = static_cast<std::int32_t>(spec.experts.n_active);
    moe.router.renormalise = config.flag("norm_topk_prob", false);

    const std::int64_t step = config.count("decoder_sparse_step", 1, kMostLayers, 1);
    const std::vector<std::int64_t> dense = dense_layers(config, spec.n_layers());
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        layer.attention = attention;
        if ((l + 1) % step != 0 || std::find(dense.begin(), dense.end(), l) != dense.end()) {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", 6144)};
        } else {
            layer.ffn = moe;
        }
    }
}

std::vector<TensorPart> qwen3_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return standard_parts(spec, tensor, "mlp.gate", "mlp.");
}

std::array<std::string, 3> qwen3_expert(std::int64_t layer, std::int64_t expert) {
    const std::string p = layer_prefix(layer) + "mlp.experts." + std::to_string(expert) + ".";
    return {p + "gate_proj.weight", p + "up_proj.weight", p + "down_proj.weight"};
}

}  // namespace

const Family kQwen3Moe = {"Qwen3MoeForCausalLM", "qwen3_moe", read_qwen3, qwen3_parts, qwen3_expert};

}  // namespace offstage::engine
