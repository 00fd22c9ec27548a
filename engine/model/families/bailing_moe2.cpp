// Ling 2 and Ring 2 (the models' own modeling_bailing_moe_v2.py): GLM-4.5's layers under
// other names, with one matrix for queries, keys and values. The prediction layers after
// the last layer are left out. Sarvam-MoE (transformers: models/sarvam_moe) has the same
// with other defaults.

#include "engine/model/families/family.h"

namespace offstage::engine {
namespace {

void read_layers(const ConfigFields& config, ModelSpec& spec, double theta, double rotary_share,
                 const Glm4Defaults& defaults) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    config.expect("score_function", "sigmoid");
    if (config.flag("use_bias", false)) config.unsupported("use_bias", "true", "false");
    GroupedQuerySpec attention = config.grouped_query(spec, ConfigFields::kAsManyAsHeads, theta, rotary_share);
    attention.qkv_bias = config.flag("use_qkv_bias", false);
    if (config.flag("use_qk_norm", true)) attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    read_glm4_layers(config, spec, attention, defaults);
    const bool is_biased = config.flag("moe_router_enable_expert_bias", true);
    for (LayerSpec& layer : spec.layers) {
        auto* const moe = std::get_if<MoeSpec>(&layer.ffn);
        if (moe == nullptr) continue;
        moe->selection_bias = is_biased;
        if (moe->shared_dim > 0)
            moe->shared_dim = config.optional_dim("moe_shared_expert_intermediate_size", moe->shared_dim);
    }
}

constexpr const char* kShared = "num_shared_experts";

void read_bailing2(const ConfigFields& config, ModelSpec& spec) {
    read_layers(config, spec, 6e5, 0.5, {.n_shared = 0, .n_dense = 0, .shared_key = kShared});
}

void read_sarvam(const ConfigFields& config, ModelSpec& spec) {
    read_layers(config, spec, 8e6, 1, {.n_active = 6, .shared_key = kShared, .scale = 2.5});
}

std::vector<TensorPart> bailing2_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return {{"model.word_embeddings.weight", {tensor.n_rows, tensor.n_cols}}};
        case TensorRole::kQkv:
            return {{p + "attention.query_key_value.weight", {tensor.n_rows, tensor.n_cols}}};
        case TensorRole::kQkvBias:
            return {{p + "attention.query_key_value.bias", {tensor.n_cols}}};
        case TensorRole::kQueryNorm:
            return {{p + "attention.query_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kKeyNorm:
            return {{p + "attention.key_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{p + "attention.dense.weight", {tensor.n_rows, tensor.n_cols}}};
        case TensorRole::kSelectionBias:
            return {{p + "mlp.gate.expert_bias", {tensor.n_cols}}};
        default:
            return glm4_parts(spec, tensor);
    }
}

}  // namespace

const Family kBailingMoe2 = {"BailingMoeV2ForCausalLM", "bailing_moe", read_bailing2, bailing2_parts, standard_expert};
const Family kSarvamMoe = {"SarvamMoEForCausalLM", "sarvam_moe", read_sarvam, bailing2_parts, standard_expert};

}  // namespace offstage::engine
