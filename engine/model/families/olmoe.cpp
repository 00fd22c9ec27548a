// OLMoE (transformers: models/olmoe): q and k normed over their full width.

#include "engine/model/families/family.h"

namespace offstage::engine {
namespace {

void read_olmoe(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, 50279);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    GroupedQuerySpec attention = config.grouped_query(spec, ConfigFields::kAsManyAsHeads, 1e4);
    attention.qk_norm = QkNorm::kFullWidth;
    attention.qk_norm_eps = spec.norm.eps;
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    attention.clip = static_cast<float>(config.positive("clip_qkv", 0));
    MoeSpec moe =
        config.experts(spec, config.dim("intermediate_size", 2048), {"num_experts", "num_local_experts"}, 64, 8);
    moe.router.renormalise = config.flag("norm_topk_prob", false);
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

std::vector<TensorPart> olmoe_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return standard_parts(spec, tensor, "mlp.gate", "");
}

}  // namespace

const Family kOlmoe = {"OlmoeForCausalLM", "olmoe", read_olmoe, olmoe_parts, standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
