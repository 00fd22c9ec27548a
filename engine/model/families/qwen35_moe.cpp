// Qwen3.5-MoE and Qwen3.6-MoE (transformers: models/qwen3_5_moe): three of four layers
// are gated DeltaNet, the others attention with a gate of its output; a shared expert
// with a gate beside the routed ones; norms that are stored as their distance from 1. The
// vision tower is left out.

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMostDeltaSize = 4096;  // heads, and values of one

DeltaNetSpec read_delta_net(const ConfigFields& config, const ModelSpec& spec, const RopeSpec& rope) {
    DeltaNetSpec delta_net;
    delta_net.n_key_heads = config.count("linear_num_key_heads", 1, kMostDeltaSize, 16);
    delta_net.n_value_heads = config.count("linear_num_value_heads", 1, kMostDeltaSize, 32);
    if (delta_net.n_value_heads % delta_net.n_key_heads != 0) {
        config.reject("linear_num_value_heads",
                      messages::a_multiple_of_key(in_quotes("linear_num_key_heads"), delta_net.n_key_heads));
    }
    delta_net.key_dim = config.count("linear_key_head_dim", 1, kMostDeltaSize, 128);
    delta_net.value_dim = config.count("linear_value_head_dim", 1, kMostDeltaSize, 128);
    delta_net.kernel_size = config.count("linear_conv_kernel_dim", 1, 64, 4);
    delta_net.tiled = config.flag("linear_value_heads_tiled", false);  // GGUF's order
    delta_net.norm_eps = spec.norm.eps;
    delta_net.rope = rope;
    return delta_net;
}

std::vector<TensorPart> delta_net_parts(const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer) + "linear_attn.";
    const std::vector<std::int64_t> matrix = {tensor.n_rows, tensor.n_cols};
    switch (tensor.role) {
        case TensorRole::kQkv:
            return {{p + "in_proj_qkv.weight", matrix}};
        case TensorRole::kOutputGate:
            return {{p + "in_proj_z.weight", matrix}};
        case TensorRole::kDecayAndBeta:
            return {{p + "in_proj_a.weight", {tensor.n_rows / 2, tensor.n_cols}},
                    {p + "in_proj_b.weight", {tensor.n_rows / 2, tensor.n_cols}}};
        case TensorRole::kConvolution:
            return {{p + "conv1d.weight", {tensor.n_rows, 1, tensor.n_cols}}};
        case TensorRole::kDecayRate: {
            TensorPart part{p + "A_log", {tensor.n_cols}};
            part.change = TensorPart::Change::kMinusExp;
            return {part};
        }
        case TensorRole::kTimeBias:
            return {{p + "dt_bias", {tensor.n_cols}}};
        case TensorRole::kStateNorm:
            return {{p + "norm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{p + "out_proj.weight", matrix}};
        default:
            return {};
    }
}

}  // namespace

void read_qwen35_text(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    if (config.flag("attention_bias", false)) config.unsupported("attention_bias", "true", "false");
    GroupedQuerySpec attention = config.grouped_query(spec, 2, 1e4, 0.25);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    attention.output_gate = true;
    const DeltaNetSpec delta_net = read_delta_net(config, spec, attention.rope);
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 512), {"num_experts"}, 256, 8);
    moe.router.renormalise = true;
    moe.shared_dim = config.dim("shared_expert_intermediate_size", 512);
    moe.shared_gate = true;
    const auto n_layers = spec.layers.size();
    const auto is_linear = config.layers_of_type("linear_attention", n_layers);
    const std::int64_t interval = config.count("full_attention_interval", 1, kMostLayers, 4);
    bool any_attention = false;
    for (std::size_t l = 0; l < n_layers; ++l) {
        const bool linear = is_linear ? (*is_linear)[l] : (static_cast<std::int64_t>(l) + 1) % interval != 0;
        spec.layers[l].ffn = moe;
        spec.layers[l].attention = linear ? AttentionSpec(delta_net) : AttentionSpec(attention);
        any_attention = any_attention || !linear;
    }
    if (!any_attention) config.reject("num_hidden_layers", messages::a_model_with_full_attention);
}

std::vector<TensorPart> qwen35_text_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    if (layer != nullptr && layer->delta_net() != nullptr) {
        if (auto parts = delta_net_parts(tensor); !parts.empty()) return parts;
    }
    const std::string p = layer_prefix(tensor.layer);
    if (tensor.role == TensorRole::kSharedGate) return {{p + "mlp.shared_expert_gate.weight", {1, tensor.n_cols}}};
    if (tensor.role == TensorRole::kNetwork) return network_parts(tensor, p + "mlp.shared_expert.");
    const auto queries = [&](bool gate) {
        return query_or_gate(p + "self_attn.q_proj.weight", std::get<GroupedQuerySpec>(layer->attention), tensor.n_cols,
                             gate);
    };
    if (tensor.role == TensorRole::kOutputGate) return {queries(true)};
    std::vector<TensorPart> parts = standard_parts(spec, tensor, "mlp.gate", "");
    switch (tensor.role) {
        case TensorRole::kQkv:
            parts.front() = queries(false);
            break;
        case TensorRole::kFinalNorm:
        case TensorRole::kAttentionNorm:
        case TensorRole::kFfnNorm:
        case TensorRole::kQueryNorm:
        case TensorRole::kKeyNorm:
            parts.front().change = TensorPart::Change::kPlusOne;
            break;
        default:
            break;
    }
    return parts;
}

namespace {

void read_qwen35(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, read_qwen35_text);
}

std::vector<TensorPart> qwen35_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return in_language_model(spec, qwen35_text_parts(spec, tensor));
}

}  // namespace

const Family kQwen35Moe = {
    "Qwen3_5MoeForConditionalGeneration", "qwen3_5_moe", read_qwen35, qwen35_parts, language_model_expert,
    look_for_fused_language_model};
const Family kQwen35MoeText = {"Qwen3_5MoeForCausalLM", "qwen3_5_moe_text",           read_qwen35, qwen35_parts,
                               language_model_expert,   look_for_fused_language_model};

}  // namespace offstage::engine
