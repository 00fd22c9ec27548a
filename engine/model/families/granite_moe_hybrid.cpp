// Granite 4 (transformers: models/granitemoehybrid): Granite-MoE with Mamba-2 in most
// layers, and attention without positions in the others.

#include <algorithm>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMostMambaSize = 4096;  // heads, and values of one

Mamba2Spec read_mamba2(const ConfigFields& config, const ModelSpec& spec, const RopeSpec& rope) {
    if (config.flag("mamba_proj_bias", false)) config.unsupported("mamba_proj_bias", "true", "false");
    const nlohmann::json* const limit = config.find("time_step_limit");
    if (limit != nullptr && limit->is_array() && limit->size() == 2) {
        // transformers 5 writes infinity as an object.
        const nlohmann::json& least = (*limit)[0];
        const nlohmann::json& most = (*limit)[1];
        if (least != 0.0 || most.is_number()) config.unsupported("time_step_limit", describe(*limit), "[0, Infinity]");
    }
    Mamba2Spec mamba;
    mamba.n_groups = config.count("mamba_n_groups", 1, kMostMambaSize, 1);
    mamba.n_heads = config.count("mamba_n_heads", 1, kMostMambaSize, 128);
    if (mamba.n_heads % mamba.n_groups != 0) {
        config.reject("mamba_n_heads", messages::a_multiple_of_key(in_quotes("mamba_n_groups"), mamba.n_groups));
    }
    const nlohmann::json* const head_dim = config.find("mamba_d_head");
    if (head_dim == nullptr || head_dim->is_null() || *head_dim == "auto") {
        const std::int64_t width = config.count("mamba_expand", 1, 64, 2) * spec.hidden_dim;
        mamba.head_dim = width / mamba.n_heads;
        if (width % mamba.n_heads != 0 || mamba.head_dim > kMostMambaSize) {
            config.reject("mamba_d_head", messages::an_integer_in_range(1, kMostMambaSize));
        }
    } else {
        mamba.head_dim = config.count("mamba_d_head", 1, kMostMambaSize);
    }
    mamba.state_dim = config.count("mamba_d_state", 1, kMostMambaSize, 256);
    mamba.kernel_size = config.count("mamba_d_conv", 1, 64, 4);
    mamba.norm_eps = spec.norm.eps;
    mamba.rope = rope;
    return mamba;
}

// transformers 5 has other words for the kinds of layers.
std::optional<std::vector<bool>> mamba_layers(const ConfigFields& config, std::size_t n_layers) {
    const nlohmann::json* const types = config.find("layer_types");
    const bool is_old = types != nullptr && types->is_array() && std::ranges::any_of(*types, [](const auto& type) {
                            return type == "mamba" || type == "attention";
                        });
    if (is_old) return config.layers_of_type("layer_types", "mamba", "attention", n_layers);
    return config.layers_of_type("linear_attention", n_layers);
}

void read_granite_hybrid(const ConfigFields& config, ModelSpec& spec) {
    read_granite(config, spec);
    auto attention = std::get<GroupedQuerySpec>(spec.layers.front().attention);
    const bool has_positions =
        config.has_value("position_embedding_type") && config.text("position_embedding_type") == "rope";
    if (!has_positions) attention.rope = {};
    const Mamba2Spec mamba = read_mamba2(config, spec, attention.rope);
    const auto is_mamba = mamba_layers(config, spec.layers.size());
    bool any_attention = false;
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const bool recurrent = !is_mamba || (*is_mamba)[l];
        spec.layers[l].attention = recurrent ? AttentionSpec(mamba) : AttentionSpec(attention);
        any_attention |= !recurrent;
    }
    if (!any_attention) config.reject("layer_types", messages::a_model_with_full_attention);
}

std::vector<TensorPart> granite_hybrid_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    const auto* const mamba = layer == nullptr ? nullptr : std::get_if<Mamba2Spec>(&layer->attention);
    if (mamba == nullptr) return granite_parts(spec, tensor);
    const std::string p = layer_prefix(tensor.layer) + "mamba.";
    if (auto rows = mamba2_projections(*mamba, tensor, p + "in_proj.weight"); !rows.empty()) return rows;
    TensorPart vector{{}, {tensor.n_cols}};
    switch (tensor.role) {
        case TensorRole::kConvolution:
            return {{p + "conv1d.weight", {tensor.n_rows, 1, tensor.n_cols}}};
        case TensorRole::kConvolutionBias:
            vector.name = p + "conv1d.bias";
            vector.is_optional = true;
            return {vector};
        case TensorRole::kDecayRate:
            vector.name = p + "A_log";
            vector.change = TensorPart::Change::kMinusExp;
            return {vector};
        case TensorRole::kTimeBias:
            return {{p + "dt_bias", {tensor.n_cols}}};
        case TensorRole::kSkip:
            return {{p + "D", {tensor.n_cols}}};
        case TensorRole::kStateNorm:
            return {{p + "norm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{p + "out_proj.weight", {tensor.n_rows, tensor.n_cols}}};
        default:
            return granite_parts(spec, tensor);
    }
}

}  // namespace

const Family kGraniteMoeHybrid = {"GraniteMoeHybridForCausalLM", "granitemoehybrid", read_granite_hybrid,
                                  granite_hybrid_parts,          granite_expert,     look_for_fused_experts};

}  // namespace offstage::engine
