// GLM-4.5 to 4.7 (transformers: models/glm4_moe): leading dense layers, a shared expert,
// sigmoid scores with a bias for the choice, rotary positions on a part of each head;
// layers behind the last one predict (prediction_layer.h). Solar Open (models/solar_open)
// is the same without dense layers and norms of queries and keys. GLM-4.5V
// (models/glm4v_moe) sees with a tower beside GLM-4.5; of text all three of its positions
// are one.

#include "engine/model/families/family.h"

namespace offstage::engine {
namespace {

void read_glm4(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 1e4, 0.5);
    attention.qkv_bias = config.flag("attention_bias", false);
    if (config.flag("use_qk_norm", false)) attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    read_glm4_layers(config, spec, attention, {});
}

void read_glm4v_text(const ConfigFields& config, ModelSpec& spec) {
    read_glm4(config, spec);
    for (LayerSpec& layer : spec.layers) {
        auto& attention = std::get<GroupedQuerySpec>(layer.attention);
        attention.qkv_bias = config.flag("attention_bias", true);
        attention.qk_norm = QkNorm::kNone;
    }
}

void read_glm4v(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, read_glm4v_text);
}

std::vector<TensorPart> glm4v_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return in_language_model(spec, glm4_parts(spec, tensor));
}

void read_solar(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    if (config.flag("use_qk_norm", false)) config.unsupported("use_qk_norm", "true", "false");
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 1e6);
    attention.qkv_bias = config.flag("attention_bias", false);
    read_glm4_layers(config, spec, attention, {.n_dense = 0});
}

}  // namespace

void read_glm4_layers(const ConfigFields& config, ModelSpec& spec, const GroupedQuerySpec& attention,
                      const Glm4Defaults& defaults) {
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 1408),
                                 {"num_local_experts", "num_experts", "n_routed_experts"}, 128, defaults.n_active);
    moe.selection_bias = true;
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    moe.router.renormalise = config.flag(defaults.renormalise_key, defaults.renormalise);
    moe.router.denominator_floor = 1e-20f;
    moe.router.scale = static_cast<float>(config.positive(defaults.scale_key, defaults.scale));
    moe.router.group_score = kernels::GroupScore::kSumOfTwoBest;
    config.expert_groups(moe.router, 1, 1);
    moe.shared_dim = config.count(defaults.shared_key, 0, 1024, defaults.n_shared) * spec.experts.ffn_dim;
    const std::int64_t n_dense = config.count(defaults.dense_key, 0, spec.n_layers(), defaults.n_dense);
    const auto listed = config.layers_of_type("mlp_layer_types", "dense", "sparse", spec.layers.size());
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        layer.attention = attention;
        if (listed ? (*listed)[static_cast<std::size_t>(l)] : l < n_dense) {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", 10944)};
        } else {
            layer.ffn = moe;
        }
    }
}

std::vector<TensorPart> glm4_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string mlp = layer_prefix(tensor.layer) + "mlp.";
    const bool is_moe = tensor.layer >= 0 && spec.layers[static_cast<std::size_t>(tensor.layer)].moe() != nullptr;
    if (tensor.role == TensorRole::kNetwork && is_moe) return network_parts(tensor, mlp + "shared_experts.");
    if (tensor.role == TensorRole::kSelectionBias) return {{mlp + "gate.e_score_correction_bias", {tensor.n_cols}}};
    return standard_parts(spec, tensor, "mlp.gate", "mlp.");
}

const Family kGlm4Moe = {"Glm4MoeForCausalLM", "glm4_moe",      read_glm4,
                         glm4_parts,           standard_expert, look_for_fused_experts};
const Family kGlm4vMoe = {
    "Glm4vMoeForConditionalGeneration", "glm4v_moe", read_glm4v, glm4v_parts, language_model_expert,
    look_for_fused_language_model};
const Family kSolarOpen = {"SolarOpenForCausalLM", "solar_open",          read_solar, glm4_parts,
                           standard_expert,        look_for_fused_experts};

}  // namespace offstage::engine
