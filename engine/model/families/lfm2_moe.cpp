// LFM2-MoE (transformers: models/lfm2_moe): gated short convolutions in most layers,
// attention with normed queries and keys in the others; leading dense layers, then sigmoid
// scores with a bias for the choice.

#include <algorithm>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

MoeSpec read_moe(const ConfigFields& config, ModelSpec& spec) {
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 1792), {"num_experts"}, 32, 4);
    moe.selection_bias = config.flag("use_expert_bias", true);
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    moe.router.renormalise = config.flag("norm_topk_prob", true);
    moe.router.denominator_floor = 1e-6f;
    moe.router.scale = static_cast<float>(config.positive("routed_scaling_factor", 1.0));
    return moe;
}

void read_lfm2(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2);
    spec.tied_embeddings = config.flag("tie_embedding", config.flag("tie_word_embeddings", true));
    spec.norm.eps = config.eps("norm_eps", 1e-5);
    if (config.flag("conv_bias", false)) config.unsupported("conv_bias", "true", "false");
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 1e6);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    ShortConvolutionSpec convolution;
    convolution.n_channels = spec.hidden_dim;
    convolution.kernel_size = config.count("conv_L_cache", 2, 64, 3);
    convolution.rope = attention.rope;
    const MoeSpec moe = read_moe(config, spec);
    const std::int64_t n_dense = config.count("num_dense_layers", 0, spec.n_layers(), 2);
    const auto is_convolution = config.layers_of_type("conv", spec.layers.size());
    if (!is_convolution || std::ranges::all_of(*is_convolution, [](bool is) { return is; })) {
        config.reject("layer_types", messages::a_model_with_full_attention);
    }
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        LayerSpec& layer = spec.layers[l];
        layer.attention = (*is_convolution)[l] ? AttentionSpec(convolution) : AttentionSpec(attention);
        if (static_cast<std::int64_t>(l) < n_dense) {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", 7168)};
        } else {
            layer.ffn = moe;
        }
    }
}

std::vector<TensorPart> lfm2_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    const std::string ffn = p + "feed_forward.";
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    const bool is_convolution = layer != nullptr && std::holds_alternative<ShortConvolutionSpec>(layer->attention);
    const std::vector<std::int64_t> matrix = {tensor.n_rows, tensor.n_cols};
    switch (tensor.role) {
        case TensorRole::kFinalNorm:
            return {{"model.embedding_norm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionNorm:
            return {{p + "operator_norm.weight", {tensor.n_cols}}};
        case TensorRole::kFfnNorm:
            return {{p + "ffn_norm.weight", {tensor.n_cols}}};
        case TensorRole::kQueryNorm:
            return {{p + "self_attn.q_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kKeyNorm:
            return {{p + "self_attn.k_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kConvolution:
            return {{p + "conv.conv.weight", {tensor.n_rows, 1, tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{p + (is_convolution ? "conv." : "self_attn.") + "out_proj.weight", matrix}};
        case TensorRole::kSelectionBias:
            return {{ffn + "expert_bias", {tensor.n_cols}}};
        case TensorRole::kNetwork: {
            const std::int64_t n = tensor.ffn_dim();
            return {{ffn + "w1.weight", {n, tensor.n_cols}},
                    {ffn + "w3.weight", {n, tensor.n_cols}},
                    {ffn + "w2.weight", {tensor.n_cols, n}}};
        }
        default:
            if (is_convolution && tensor.role == TensorRole::kQkv) return {{p + "conv.in_proj.weight", matrix}};
            return standard_parts(spec, tensor, "feed_forward.gate", "");
    }
}

ExpertParts lfm2_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const std::string p = layer_prefix(layer) + "feed_forward.experts.";
    if (spec.safetensors.fused_experts) return fused_expert(spec, p, expert);
    const std::string own = p + std::to_string(expert) + ".";
    return separate_expert(spec, {own + "w1.weight", own + "w3.weight", own + "w2.weight"});
}

}  // namespace

const Family kLfm2Moe = {"Lfm2MoeForCausalLM", "lfm2_moe", read_lfm2, lfm2_parts, lfm2_expert, look_for_fused_experts};

}  // namespace offstage::engine
