// Granite-MoE, with and without a shared expert (transformers: models/granitemoe,
// models/granitemoeshared): multipliers on embedding, residual stream, attention and
// logits; the experts' gate and up fused in one tensor.

#include "engine/model/families/family.h"

namespace offstage::engine {

void read_granite(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    spec.embedding_scale = static_cast<float>(config.positive("embedding_multiplier", 1));
    spec.residual_scale = static_cast<float>(config.positive("residual_multiplier", 1));
    spec.logits_scale = 1 / static_cast<float>(config.positive("logits_scaling", 1));
    GroupedQuerySpec attention = config.grouped_query(spec, ConfigFields::kAsManyAsHeads, 1e4);
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    attention.scale = static_cast<float>(config.positive("attention_multiplier", 1));
    MoeSpec moe = config.experts(spec, config.dim("intermediate_size", 11008), {"num_local_experts"}, 8, 2);
    moe.router.scoring = kernels::RouterScoring::kSoftmaxOfChosen;
    moe.router.scale = spec.residual_scale;
    moe.shared_dim = config.optional_dim("shared_intermediate_size", 0);
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

std::vector<TensorPart> granite_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    if (tensor.role != TensorRole::kNetwork) {
        const char* const router = spec.safetensors.fused_experts ? "" : ".layer";  // as transformers 5 names it
        return standard_parts(spec, tensor, std::string("block_sparse_moe.router") + router, "");
    }
    const std::string p = layer_prefix(tensor.layer) + "shared_mlp.";
    const std::int64_t ffn = tensor.ffn_dim();
    const std::vector<std::int64_t> both = {2 * ffn, tensor.n_cols};
    return {{p + "input_linear.weight", both, 0, 0, ffn},
            {p + "input_linear.weight", both, 0, ffn, ffn},
            {p + "output_linear.weight", {tensor.n_cols, ffn}}};
}

ExpertParts granite_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = layer_prefix(layer) + "block_sparse_moe.";
    if (spec.safetensors.fused_experts) return fused_expert(spec, p + "experts.", expert);
    ExpertParts parts;
    for (const std::int64_t i : {0, 1}) {
        parts.matrices[static_cast<std::size_t>(i)] = {p + "input_linear.weight",
                                                       {g.n_experts, 2 * g.ffn_dim, g.hidden_dim},
                                                       (expert * 2 + i) * g.ffn_dim * g.hidden_dim,
                                                       g.hidden_dim,
                                                       1};
    }
    parts.matrices[2] = {p + "output_linear.weight",
                         {g.n_experts, g.hidden_dim, g.ffn_dim},
                         expert * g.ffn_dim * g.hidden_dim,
                         1,
                         g.ffn_dim};
    return parts;
}

const Family kGraniteMoe = {"GraniteMoeForCausalLM", "granitemoe",   read_granite,
                            granite_parts,           granite_expert, look_for_fused_experts};
const Family kGraniteMoeShared = {
    "GraniteMoeSharedForCausalLM", "granitemoeshared", read_granite, granite_parts, granite_expert,
    look_for_fused_experts};

}  // namespace offstage::engine
