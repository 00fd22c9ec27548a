// AFMoE (transformers: models/afmoe): GLM-4.5's experts; an output gate, norms before and
// behind attention and network; layers with a window turn queries and keys, those that see
// all tokens have no positions.

#include <array>
#include <cmath>

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

void read_afmoe(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    config.expect("score_func", "sigmoid");
    if (config.flag("mup_enabled", false)) spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden_dim));
    if (config.flag("attention_bias", false)) config.unsupported("attention_bias", "true", "false");
    GroupedQuerySpec attention = config.grouped_query(spec, ConfigFields::kAsManyAsHeads, 1e4);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    attention.output_gate = true;
    read_glm4_layers(config, spec, attention,
                     {.n_active = 6,
                      .n_shared = 2,
                      .shared_key = "num_shared_experts",
                      .scale_key = "route_scale",
                      .dense_key = "num_dense_layers",
                      .renormalise_key = "route_norm"});
    const auto windowed = config.windowed_layers(spec.layers.size());
    const auto every = static_cast<std::size_t>(config.count("global_attn_every_n_layers", 1, kMostLayers, 4));
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        spec.layers[l].output_norms = true;
        auto& layer = std::get<GroupedQuerySpec>(spec.layers[l].attention);
        if (windowed ? (*windowed)[l] : (l + 1) % every != 0) {
            layer.window = config.count("sliding_window", 1, kLongestContext, 1024);
        } else {
            layer.rope = {};
        }
    }
}

constexpr std::array<std::pair<TensorRole, const char*>, 4> kVectorNames = {{
    {TensorRole::kAttentionOutputNorm, "post_attention_layernorm.weight"},
    {TensorRole::kFfnNorm, "pre_mlp_layernorm.weight"},
    {TensorRole::kFfnOutputNorm, "post_mlp_layernorm.weight"},
    {TensorRole::kSelectionBias, "mlp.expert_bias"},
}};

std::vector<TensorPart> afmoe_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    for (const auto& [role, name] : kVectorNames) {
        if (role == tensor.role) return {{p + name, {tensor.n_cols}}};
    }
    const std::vector<std::int64_t> matrix = {tensor.n_rows, tensor.n_cols};
    if (tensor.role == TensorRole::kOutputGate) return {{p + "self_attn.gate_proj.weight", matrix}};
    if (tensor.role == TensorRole::kRouter) return {{p + "mlp.router.gate.weight", matrix}};
    return glm4_parts(spec, tensor);
}

}  // namespace

const Family kAfmoe = {"AfmoeForCausalLM", "afmoe", read_afmoe, afmoe_parts, standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
