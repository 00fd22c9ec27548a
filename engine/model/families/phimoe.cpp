// Phi-3.5-MoE (transformers: models/phimoe; the published checkpoint spells its class
// PhiMoEForCausalLM): LayerNorm with bias, biases in attention and head, experts chosen
// by SparseMixer, LongRoPE. Names of tensors as Mixtral's.

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

void read_phimoe(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2);
    spec.norm = {kernels::NormKind::kLayer, config.eps("rms_norm_eps", 1e-5), true};
    spec.head_bias = config.flag("lm_head_bias", false);
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 1e6);
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    if (config.has_value("sliding_window")) {  // one as long as the context hides nothing
        const std::int64_t window = config.count("sliding_window", 1, kLongestContext);
        if (window < spec.max_context) attention.window = window;
    }
    MoeSpec moe = config.experts(spec, config.dim("intermediate_size", 6400), {"num_local_experts"}, 16, 2);
    if (spec.experts.n_active != 2) {
        config.unsupported("num_experts_per_tok", std::to_string(spec.experts.n_active), messages::two_for_sparsemixer);
    }
    moe.router.scoring = kernels::RouterScoring::kSparseMixer;
    moe.router.jitter = 2 * static_cast<float>(config.positive("router_jitter_noise", 0.01));
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

std::vector<TensorPart> phimoe_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    switch (tensor.role) {
        case TensorRole::kHeadBias:
            return {{"lm_head.bias", {tensor.n_cols}}};
        case TensorRole::kFinalNormBias:
            return {{"model.norm.bias", {tensor.n_cols}}};
        case TensorRole::kAttentionNormBias:
            return {{p + "input_layernorm.bias", {tensor.n_cols}}};
        case TensorRole::kFfnNormBias:
            return {{p + "post_attention_layernorm.bias", {tensor.n_cols}}};
        default:
            return standard_parts(spec, tensor, spec.safetensors.fused_experts ? "mlp.router" : "block_sparse_moe.gate",
                                  "");
    }
}

}  // namespace

const Family kPhiMoe = {"PhiMoEForCausalLM", "phimoe",       read_phimoe,
                        phimoe_parts,        mixtral_expert, look_for_fused_experts};
const Family kPhimoe = {"PhimoeForCausalLM", "phimoe",       read_phimoe,
                        phimoe_parts,        mixtral_expert, look_for_fused_experts};

}  // namespace offstage::engine
