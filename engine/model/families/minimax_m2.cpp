// MiniMax-M2 (transformers: models/minimax_m2): q and k normed over their full width,
// rotary positions on a part of each head, sigmoid scores with a bias for the choice.
// Names of tensors as Mixtral's.

#include "engine/model/families/family.h"

namespace offstage::engine {
namespace {

void read_minimax(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 200034, 200020);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 5e6, 1.0);
    attention.qk_norm = QkNorm::kFullWidth;
    attention.qk_norm_eps = spec.norm.eps;
    MoeSpec moe =
        config.experts(spec, config.dim("intermediate_size", 1536), {"num_experts", "num_local_experts"}, 256, 8);
    moe.selection_bias = true;
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

std::vector<TensorPart> minimax_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string moe = spec.safetensors.fused_experts ? "mlp." : "block_sparse_moe.";
    if (tensor.role == TensorRole::kSelectionBias) {
        return {{layer_prefix(tensor.layer) + moe + "e_score_correction_bias", {tensor.n_cols}}};
    }
    return standard_parts(spec, tensor, moe + "gate", "");
}

}  // namespace

const Family kMinimaxM2 = {"MiniMaxM2ForCausalLM", "minimax_m2",   read_minimax,
                           minimax_parts,          mixtral_expert, look_for_fused_experts};

}  // namespace offstage::engine
