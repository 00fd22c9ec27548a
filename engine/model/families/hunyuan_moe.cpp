// Hunyuan-A13B (transformers: models/hunyuan_v1_moe; and the model's own): queries and
// keys are normed behind the rotation, a shared expert. Hy3 (models/hy_v3): GLM-4.5's
// layers under other names.

#include <algorithm>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

// A number for all layers, or a list with the same one for each; null counts as absent.
std::int64_t number_of_layers(const ConfigFields& config, const char* key, std::int64_t most, std::int64_t otherwise) {
    if (!config.has_value(key)) return otherwise;
    const nlohmann::json* const found = config.find(key);
    if (!found->is_array()) return config.count(key, 1, most);
    const bool is_one = !found->empty() && std::ranges::all_of(*found, [&](const nlohmann::json& of_layer) {
        return of_layer.is_number_unsigned() && of_layer == found->front();
    });
    if (!is_one || found->front().get<std::uint64_t>() - 1 >= static_cast<std::uint64_t>(most)) {
        config.reject(key, messages::one_integer_for_all_layers(1, most));
    }
    return found->front().get<std::int64_t>();
}

void read_hunyuan(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    for (const char* const key : {"use_cla", "group_limited_greedy", "mlp_bias"}) {
        if (config.flag(key, false)) config.unsupported(key, "true", "false");
    }
    if (config.has_value("moe_layer_num_skipped")) config.count("moe_layer_num_skipped", 0, 0);
    GroupedQuerySpec attention = config.grouped_query(spec, ConfigFields::kAsManyAsHeads, 1e4);
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    if (config.flag("use_qk_norm", true)) attention.qk_norm = QkNorm::kTurnedHead;
    attention.qk_norm_eps = spec.norm.eps;
    const std::int64_t ffn_dim = config.dim("intermediate_size", 11008);
    ExpertGrid& experts = spec.experts;
    experts.ffn_dim = number_of_layers(config, "moe_intermediate_size", std::int64_t{1} << 24, ffn_dim);
    experts.n_experts = number_of_layers(config, "num_experts", kMostExperts, 1);
    const std::int64_t most = std::min<std::int64_t>(experts.n_experts, kernels::kMostActiveExperts);
    experts.n_active = number_of_layers(config, "moe_topk", most, 1);
    MoeSpec moe;
    moe.router.n_experts = static_cast<std::int32_t>(experts.n_experts);
    moe.router.n_active = static_cast<std::int32_t>(experts.n_active);
    moe.router.renormalise = true;
    moe.shared_dim = ffn_dim * number_of_layers(config, "num_shared_expert", 1024, 1);
    for (LayerSpec& layer : spec.layers) {
        layer.attention = attention;
        layer.ffn = moe;
    }
}

std::vector<TensorPart> hunyuan_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    switch (tensor.role) {
        case TensorRole::kQueryNorm:
            return {{p + "self_attn.query_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kKeyNorm:
            return {{p + "self_attn.key_layernorm.weight", {tensor.n_cols}}};
        default:
            return standard_parts(spec, tensor, "mlp.gate.wg", "mlp.shared_mlp.");
    }
}

void read_hy3(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    if (config.flag("mlp_bias", false)) config.unsupported("mlp_bias", "true", "false");
    if (!config.flag("route_norm", true)) config.unsupported("route_norm", "false", "true");
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 11158840.0);
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    read_glm4_layers(config, spec, attention,
                     {.shared_key = "num_shared_experts", .scale_key = "router_scaling_factor", .scale = 2.826});
}

std::vector<TensorPart> hy3_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string mlp = layer_prefix(tensor.layer) + "mlp.";
    const bool is_moe = tensor.layer >= 0 && spec.layers[static_cast<std::size_t>(tensor.layer)].moe() != nullptr;
    if (tensor.role == TensorRole::kSelectionBias) return {{mlp + "expert_bias", {tensor.n_cols}}};
    return standard_parts(spec, tensor, "mlp.router.gate", is_moe ? "mlp.shared_mlp." : "mlp.");
}

}  // namespace

const Family kHunyuanMoe = {"HunYuanMoEV1ForCausalLM", "hunyuan_v1_moe",      read_hunyuan, hunyuan_parts,
                            standard_expert,           look_for_fused_experts};
const Family kHy3 = {"HYV3ForCausalLM", "hy_v3", read_hy3, hy3_parts, standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
