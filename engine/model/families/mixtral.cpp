// Mixtral (transformers: models/mixtral). Missing keys have the defaults of its
// MixtralConfig (4.36 to 5.23).

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

void read_mixtral(const ConfigFields& config, ModelSpec& spec) {
    for (const char* key : {"attention_bias", "mlp_bias"}) {
        if (config.flag(key, false)) config.unsupported(key, "true", "false");
    }
    config.read_common(spec, 1, 2);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 1e6);
    if (config.has_value("sliding_window")) attention.window = config.count("sliding_window", 1, kLongestContext);
    const std::int64_t n_experts = config.count("num_local_experts", 1, kMostExperts);
    config.count("num_experts_per_tok", 1, n_experts);  // both must be there
    const MoeSpec moe = config.experts(spec, config.dim("intermediate_size"), {"num_local_experts"}, 8, 2);
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

std::vector<TensorPart> mixtral_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return standard_parts(spec, tensor, spec.safetensors.fused_experts ? "mlp.gate" : "block_sparse_moe.gate", "");
}

}  // namespace

ExpertParts mixtral_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    if (spec.safetensors.fused_experts) return standard_expert(spec, layer, expert);
    const std::string p = layer_prefix(layer) + "block_sparse_moe.experts." + std::to_string(expert) + ".";
    return separate_expert(spec, {p + "w1.weight", p + "w3.weight", p + "w2.weight"});
}

const Family kMixtral = {"MixtralForCausalLM", "mixtral",      read_mixtral,
                         mixtral_parts,        mixtral_expert, look_for_fused_experts};

}  // namespace offstage::engine
