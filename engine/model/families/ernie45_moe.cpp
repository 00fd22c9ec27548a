// ERNIE 4.5 (transformers: models/ernie4_5_moe): neighbouring values turn together, the
// first layer is dense, a bias is added to the softmax for the choice, and there are shared
// experts. Its prediction layers are left out.

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

void read_ernie45(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2);
    if (!config.has_value("tie_word_embeddings")) spec.tied_embeddings = true;
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    if (config.flag("use_bias", false)) config.unsupported("use_bias", "true", "false");
    const GroupedQuerySpec attention = config.grouped_query(spec, 4, 5e5);
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 1536), {"num_experts", "moe_num_experts"},
                                 64, 6, config.has("num_experts_per_tok") ? "num_experts_per_tok" : "moe_k");
    moe.selection_bias = true;
    moe.shared_dim = config.count("moe_num_shared_experts", 0, 1024, 2) * spec.experts.ffn_dim;
    const std::int64_t interval = config.count("moe_layer_interval", 1, kMostLayers, 1);
    const std::int64_t first = config.count("moe_layer_start_index", 0, kMostLayers, 1);
    std::int64_t last = config.count("moe_layer_end_index", -1, kMostLayers, -1);
    if (last < 0) last = spec.n_layers() - 1;
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        layer.attention = attention;
        if ((l + 1) % interval == 0 && l >= first && l <= last) {
            layer.ffn = moe;
        } else {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", 12288)};
        }
    }
}

std::vector<TensorPart> ernie45_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string mlp = layer_prefix(tensor.layer) + "mlp.";
    if (tensor.role == TensorRole::kSelectionBias) {
        return {{mlp + "moe_statics.e_score_correction_bias", {1, tensor.n_cols}}};
    }
    std::vector<TensorPart> parts = glm4_parts(spec, tensor);
    if (tensor.role == TensorRole::kQkv) {
        const auto& layer = spec.layers[static_cast<std::size_t>(tensor.layer)];
        for (TensorPart& part : std::span(parts).first(2)) {
            part.block = part.interleaved = std::get<GroupedQuerySpec>(layer.attention).head_dim;
        }
    }
    return parts;
}

}  // namespace

const Family kErnie45Moe = {"Ernie4_5_MoeForCausalLM", "ernie4_5_moe",        read_ernie45, ernie45_parts,
                            standard_expert,           look_for_fused_experts};

}  // namespace offstage::engine
