// Granite 4 (transformers: models/granitemoehybrid): Granite-MoE with Mamba-2 in most
// layers, and attention without positions in the others.

#include <algorithm>

#include "engine/base_messages.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kMostMambaSize = 4096;  // heads, and values of one

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
    const Mamba2Spec mamba = read_mamba2(config, spec, attention.rope, {});
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
    if (mamba != nullptr) {
        if (auto parts = mamba2_parts(*mamba, tensor, layer_prefix(tensor.layer) + "mamba."); !parts.empty())
            return parts;
    }
    return granite_parts(spec, tensor);
}

}  // namespace

Mamba2Spec read_mamba2(const ConfigFields& config, const ModelSpec& spec, const RopeSpec& rope,
                       const Mamba2Keys& keys) {
    if (config.flag("mamba_proj_bias", false)) config.unsupported("mamba_proj_bias", "true", "false");
    const nlohmann::json* const limit = config.find("time_step_limit");
    if (limit != nullptr && limit->is_array() && limit->size() == 2) {
        // transformers 5 writes infinity as an object.
        const nlohmann::json& least = (*limit)[0];
        const nlohmann::json& most = (*limit)[1];
        if (least != 0.0 || most.is_number()) config.unsupported("time_step_limit", describe(*limit), "[0, Infinity]");
    }
    Mamba2Spec mamba;
    mamba.n_groups = config.count(keys.groups, 1, kMostMambaSize, keys.n_groups);
    mamba.n_heads = config.count(keys.heads, 1, kMostMambaSize, 128);
    if (mamba.n_heads % mamba.n_groups != 0) {
        config.reject(keys.heads, messages::a_multiple_of_key(in_quotes(keys.groups), mamba.n_groups));
    }
    const nlohmann::json* const head_dim = config.find(keys.head_dim);
    if (head_dim == nullptr || head_dim->is_null() || *head_dim == "auto") {
        const std::int64_t width = config.count("mamba_expand", 1, 64, 2) * spec.hidden_dim;
        mamba.head_dim = width / mamba.n_heads;
        if (width % mamba.n_heads != 0 || mamba.head_dim > kMostMambaSize) {
            config.reject(keys.head_dim, messages::an_integer_in_range(1, kMostMambaSize));
        }
    } else {
        mamba.head_dim = config.count(keys.head_dim, 1, kMostMambaSize);
    }
    mamba.state_dim = config.count(keys.state, 1, kMostMambaSize, keys.state_dim);
    mamba.kernel_size = config.count(keys.kernel, 1, 64, 4);
    mamba.norm_eps = spec.norm.eps;
    mamba.rope = rope;
    return mamba;
}

std::vector<TensorPart> mamba2_parts(const Mamba2Spec& mamba, const DenseTensor& tensor, const std::string& prefix) {
    if (auto rows = mamba2_projections(mamba, tensor, prefix + "in_proj.weight"); !rows.empty()) return rows;
    TensorPart vector{{}, {tensor.n_cols}};
    switch (tensor.role) {
        case TensorRole::kConvolution:
            return {{prefix + "conv1d.weight", {tensor.n_rows, 1, tensor.n_cols}}};
        case TensorRole::kConvolutionBias:
            vector.name = prefix + "conv1d.bias";
            vector.is_optional = true;
            return {vector};
        case TensorRole::kDecayRate:
            vector.name = prefix + "A_log";
            vector.change = TensorPart::Change::kMinusExp;
            return {vector};
        case TensorRole::kTimeBias:
            return {{prefix + "dt_bias", {tensor.n_cols}}};
        case TensorRole::kSkip:
            return {{prefix + "D", {tensor.n_cols}}};
        case TensorRole::kStateNorm:
            return {{prefix + "norm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{prefix + "out_proj.weight", {tensor.n_rows, tensor.n_cols}}};
        default:
            return {};
    }
}

const Family kGraniteMoeHybrid = {"GraniteMoeHybridForCausalLM", "granitemoehybrid", read_granite_hybrid,
                                  granite_hybrid_parts,          granite_expert,     look_for_fused_experts};

}  // namespace offstage::engine
