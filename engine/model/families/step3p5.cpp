// Step 3.5 and the text of 3.7 (transformers: models/step3p7): three of four layers have
// a window, more heads and rotary positions of their own; a gate for each head; norms
// that store what is added to 1; sigmoid scores with a bias, a shared expert, and
// networks whose activations are capped in some layers. The tower for images and the
// prediction layers, which the lists of layers count, are left out.

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr float kNoCap = std::numeric_limits<float>::max();

// Of a list with a value for each layer that of those with, or without, a window, which
// have the same; or the one value of all. nullptr: there is none.
const json* value_of_kind(const ConfigFields& config, const char* key, const std::vector<bool>& windows,
                          bool windowed) {
    if (!config.has_value(key)) return nullptr;
    const json& values = *config.find(key);
    if (!values.is_array()) return &values;
    if (values.size() < windows.size()) config.reject(key, messages::a_number_for_each_layer(windows.size()));
    const json* found = nullptr;
    for (std::size_t l = 0; l < windows.size(); ++l) {
        if (windows[l] != windowed) continue;
        if (found == nullptr) found = &values[l];
        if (values[l] != *found) config.unsupported(key, describe(values), messages::a_value_for_each_kind_of_layer);
    }
    return found;
}

// The keys of heads and positions of layers with a window, or of the others.
json keys_of_step(const ConfigFields& config, const std::vector<bool>& windows, bool windowed) {
    json own = {{"head_dim", 128u}};
    const auto take = [&own](const JsonFields& from, const std::string& prefix) {
        for (const char* const key : {"num_attention_heads", "num_key_value_heads", "head_dim"}) {
            if (from.has_value((prefix + key).c_str())) own[key] = *from.find((prefix + key).c_str());
        }
        if (from.has_value("num_attention_groups")) own["num_key_value_heads"] = *from.find("num_attention_groups");
    };
    take(config, "");
    if (windowed && config.has_value("attention_other_setting")) take(config.object("attention_other_setting"), "");
    if (windowed) take(config, "swa_");  // GGUF's
    const char* const in_window = "num_sliding_attention_heads";
    if (windowed && config.has_value(in_window)) own["num_attention_heads"] = *config.find(in_window);
    own["max_position_embeddings"] = config.count("max_position_embeddings", 1, kLongestContext);
    if (take_rope_of_kind(config, windowed, own)) return own;
    if (const json* theta = value_of_kind(config, "rope_theta", windows, windowed)) own["rope_theta"] = *theta;
    if (const json* share = value_of_kind(config, "partial_rotary_factors", windows, windowed)) {
        own["partial_rotary_factor"] = *share;
    }
    if (windowed || !config.has_value("rope_scaling")) return own;
    own["rope_scaling"] = *config.find("rope_scaling");
    for (const char* const key : {"short_factor", "long_factor"}) {  // GGUF's, of as many pairs as the others turn
        const auto factors = own["rope_scaling"].find(key);
        if (factors == own["rope_scaling"].end() || !factors->is_array()) continue;
        factors->get_ref<json::array_t&>().resize(factors->size() / 2);
    }
    return own;
}

GroupedQuerySpec read_step_attention(const ConfigFields& config, const ModelSpec& spec,
                                     const std::vector<bool>& windows, bool windowed) {
    const json own = keys_of_step(config, windows, windowed);
    const ConfigFields fields(own, config.source(), config.names());
    GroupedQuerySpec attention = fields.grouped_query(spec, 8, 1e4, 1.0);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    attention.output_gate = attention.head_gates = config.flag("use_head_wise_attn_gate", true);
    if (windowed) attention.window = config.count("sliding_window", 1, kLongestContext, 512);
    return attention;
}

// moe_layers_enum has numbers of layers in one text, with those that predict further
// tokens.
std::vector<bool> layers_with_experts(const ConfigFields& config, std::size_t n_layers) {
    const auto listed = config.layers_of_type("mlp_layer_types", "sparse", "dense", n_layers);
    if (listed) return *listed;
    std::vector<bool> sparse(n_layers, false);
    if (!config.has_value("moe_layers_enum")) {
        for (std::size_t l = 3; l < n_layers; ++l) sparse[l] = true;
        return sparse;
    }
    const json numbers = json::parse("[" + config.text("moe_layers_enum") + "]", nullptr, false);
    for (const json& number : numbers) {
        if (!number.is_number_unsigned()) {
            config.reject("moe_layers_enum", messages::a_list_of_layers(static_cast<std::int64_t>(n_layers) - 1));
        }
        if (number.get<std::uint64_t>() < n_layers) sparse[number.get<std::size_t>()] = true;
    }
    return sparse;
}

MoeSpec read_step_moe(const ConfigFields& config, ModelSpec& spec) {
    spec.experts.expert.activation = kernels::Activation::kSiluCapped;
    spec.experts.expert.limit = kNoCap;
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 1280),
                                 {"num_local_experts", "moe_num_experts", "n_routed_experts"}, 288, 8,
                                 config.has("moe_top_k") ? "moe_top_k" : "num_experts_per_tok");
    config.expect("moe_router_activation", "sigmoid");
    moe.selection_bias = config.flag("use_moe_router_bias", true);
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    moe.router.renormalise = config.flag("norm_expert_weight", true);
    moe.router.scale = static_cast<float>(config.positive("moe_router_scaling_factor", 1));
    moe.shared_dim = config.dim(config.has("share_expert_dims") ? "share_expert_dims" : "share_expert_dim", 1280);
    return moe;
}

// Of each layer; 0 and null: none.
std::vector<float> read_caps(const ConfigFields& config, const char* key, std::size_t n_layers) {
    std::vector<float> values(n_layers, kNoCap);
    if (!config.has_value(key)) return values;
    const json& list = *config.find(key);
    if (!list.is_array() || list.size() < n_layers) config.reject(key, messages::a_number_for_each_layer(n_layers));
    for (std::size_t l = 0; l < n_layers; ++l) {
        if (!list[l].is_null() && !list[l].is_number()) config.reject(key, messages::a_number_for_each_layer(n_layers));
        if (list[l].is_number() && list[l].get<float>() > 0) values[l] = list[l].get<float>();
    }
    return values;
}

void read_step_text(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    if (config.flag("attention_bias", false)) config.unsupported("attention_bias", "true", "false");
    const std::size_t n_layers = spec.layers.size();
    json own = {{"layer_types", config.has_value("layer_types") ? *config.find("layer_types") : json()}};
    if (own["layer_types"].is_array() && own["layer_types"].size() > n_layers) {
        own["layer_types"].get_ref<json::array_t&>().resize(n_layers);
    }
    const std::vector<bool> windows = ConfigFields(own, config.source(), config.names())
                                          .windowed_layers(n_layers)
                                          .value_or(std::vector<bool>(n_layers));
    const MoeSpec moe = read_step_moe(config, spec);
    const std::vector<bool> with_experts = layers_with_experts(config, n_layers);
    const std::vector<float> routed = read_caps(config, "swiglu_limits", n_layers);
    const std::vector<float> shared = read_caps(config, "swiglu_limits_shared", n_layers);
    for (std::size_t l = 0; l < n_layers; ++l) {
        LayerSpec& layer = spec.layers[l];
        layer.attention = read_step_attention(config, spec, windows, windows[l]);
        layer.network_limit = shared[l];
        if (with_experts[l]) {
            layer.ffn = moe;
            spec.experts.limits.push_back(routed[l]);
        } else {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", 11264)};
        }
    }
}

void read_step(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, read_step_text);
}

std::vector<TensorPart> step_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    const bool is_moe = tensor.layer >= 0 && spec.layers[static_cast<std::size_t>(tensor.layer)].moe() != nullptr;
    if (tensor.role == TensorRole::kOutputGate) {
        return {{p + "self_attn.g_proj.weight", {tensor.n_rows, tensor.n_cols}}};
    }
    if (tensor.role == TensorRole::kSelectionBias) return {{p + "moe.router_bias", {tensor.n_cols}}};
    std::vector<TensorPart> parts = standard_parts(spec, tensor, "moe.gate", is_moe ? "share_expert." : "mlp.");
    for (TensorPart& part : parts) {
        if (tensor.kind == DenseTensor::Kind::kVector && tensor.role != TensorRole::kRouter) {  // norms
            part.change = TensorPart::Change::kPlusOne;
        }
    }
    return parts;
}

// All experts of a layer lie together, in a tensor for each matrix.
ExpertParts step_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = layer_prefix(layer) + "moe.";
    const std::int64_t n = g.ffn_dim * g.hidden_dim;
    ExpertParts parts;
    const std::vector<std::int64_t> shape = {g.n_experts, g.ffn_dim, g.hidden_dim};
    parts.matrices[0] = {p + "gate_proj.weight", shape, expert * n, g.hidden_dim, 1};
    parts.matrices[1] = {p + "up_proj.weight", shape, expert * n, g.hidden_dim, 1};
    parts.matrices[2] = {p + "down_proj.weight", {g.n_experts, g.hidden_dim, g.ffn_dim}, expert * n, 1, g.ffn_dim};
    return parts;
}

}  // namespace

const Family kStep35 = {"Step3p5ForCausalLM", "step3p5", read_step, step_parts, step_expert};
const Family kStep37 = {"Step3p7ForConditionalGeneration", "step3p7", read_step, step_parts, step_expert};

}  // namespace offstage::engine
