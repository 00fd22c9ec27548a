// Qwen3-Next (transformers: models/qwen3_next): Qwen3.5's layers, with the rows of
// DeltaNet's projections together for each key head, and 10 of 512 experts.

#include "engine/model/families/family.h"

namespace offstage::engine {
namespace {

void read_qwen3_next(const ConfigFields& config, ModelSpec& spec) {
    read_qwen35_text(config, spec);
    // Published models have experts in all layers.
    if (config.count("decoder_sparse_step", 1, 1 << 16, 1) != 1)
        config.unsupported("decoder_sparse_step", describe(*config.find("decoder_sparse_step")), "1");
    const nlohmann::json* const dense = config.find("mlp_only_layers");
    if (dense != nullptr && !dense->is_null() && !dense->empty())
        config.unsupported("mlp_only_layers", describe(*dense), "[]");
    const MoeSpec given = config.experts(spec, config.dim("moe_intermediate_size", 512), {"num_experts"}, 512, 10);
    for (LayerSpec& layer : spec.layers) {
        auto& moe = std::get<MoeSpec>(layer.ffn);
        moe.router.n_experts = given.router.n_experts;
        moe.router.n_active = given.router.n_active;
        moe.router.renormalise = config.flag("norm_topk_prob", true);
    }
}

std::vector<TensorPart> qwen3_next_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    if (tensor.layer >= 0) {
        const DeltaNetSpec* const delta_net = spec.layers[static_cast<std::size_t>(tensor.layer)].delta_net();
        const std::string p = layer_prefix(tensor.layer) + "linear_attn.";
        if (delta_net != nullptr) {
            auto parts = parts_by_key_head(*delta_net, tensor, p + "in_proj_qkvz.weight", p + "in_proj_ba.weight");
            if (!parts.empty()) return parts;
        }
    }
    return qwen35_text_parts(spec, tensor);
}

}  // namespace

const Family kQwen3Next = {"Qwen3NextForCausalLM", "qwen3_next",    read_qwen3_next,
                           qwen3_next_parts,       standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
