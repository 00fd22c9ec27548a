// Gemma 4 with experts, 26B-A4B (transformers: models/gemma4): layers with a window and
// layers without differ in head size, KV heads and rotary positions; a dense network runs
// beside the routed experts, each with norms of its own. The towers for images and sound
// are left out; the variants without experts, which embed tokens per layer and share keys
// and values between layers, are refused.

#include <array>
#include <cmath>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

// The differences between layers, for one of them: the keys of heads, and its rotary
// positions.
json layer_config(const ConfigFields& config, std::size_t layer, bool windowed) {
    json own = {{"head_dim", 256u}};
    const auto take = [&own](const JsonFields& from) {
        for (const char* key : {"num_attention_heads", "num_key_value_heads", "head_dim"}) {
            if (from.has_value(key)) own[key] = *from.find(key);
        }
    };
    take(config);
    if (config.has_value("per_layer_config")) {
        const std::string number = std::to_string(layer);
        const JsonFields layers = config.object("per_layer_config");
        if (layers.has_value(number.c_str())) take(layers.object(number));
    } else if (!windowed) {
        own["head_dim"] = config.has_value("global_head_dim") ? *config.find("global_head_dim") : json(512u);
        const bool own_heads = config.flag("attention_k_eq_v", false) && config.has_value("num_global_key_value_heads");
        if (own_heads) own["num_key_value_heads"] = *config.find("num_global_key_value_heads");
    }
    if (!take_rope_of_kind(config, windowed, own) && !windowed) {
        own["rope_parameters"] = {{"rope_type", "proportional"}, {"partial_rotary_factor", 0.25}};
    }
    return own;
}

GroupedQuerySpec read_attention(const ConfigFields& config, const ModelSpec& spec, std::size_t layer, bool windowed) {
    const json own = layer_config(config, layer, windowed);
    const ConfigFields fields(own, config.source(), config.names());
    GroupedQuerySpec attention = fields.grouped_query(spec, 4, windowed ? 1e4 : 1e6);
    attention.scale = 1;
    attention.qk_norm = QkNorm::kPerHead;
    attention.value_norm = true;
    attention.qk_norm_eps = spec.norm.eps;
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    attention.values_from_keys = !windowed && config.flag("attention_k_eq_v", false);
    if (windowed) attention.window = config.count("sliding_window", 1, kLongestContext, 512);
    return attention;
}

void refuse_variants(const ConfigFields& config) {
    config.expect("hidden_activation", "gelu_pytorch_tanh");
    const char* const per_layer = "hidden_size_per_layer_input";
    if (!config.is_null(per_layer) && config.optional_dim(per_layer, 256) > 0) {
        config.unsupported(per_layer, messages::an_embedding_for_each_layer, "0");
    }
    if (config.optional_dim("num_kv_shared_layers", 0) > 0) {
        config.unsupported("num_kv_shared_layers", messages::shared_keys_and_values, "0");
    }
    if (config.has_value("rope_scaling")) {  // positions are scaled by layer, in rope_parameters
        config.unsupported("rope_scaling", describe(*config.find("rope_scaling")), "null");
    }
    const char* const both_ways = "use_bidirectional_attention";
    if (config.has_value(both_ways) && *config.find(both_ways) != "vision") {
        config.unsupported(both_ways, describe(*config.find(both_ways)), messages::null_or_vision);
    }
}

void read_gemma4_text(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 2, 1);
    refuse_variants(config);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    spec.tied_embeddings = config.flag("tie_word_embeddings", true);
    spec.embedding_scale = std::sqrt(static_cast<float>(spec.hidden_dim));
    spec.logits_cap = static_cast<float>(config.positive("final_logit_softcapping", 0));
    const std::int64_t network_dim = config.dim("intermediate_size", 9216);
    MoeSpec moe;
    const bool has_experts = config.flag("enable_moe_block", false);
    if (has_experts) {
        moe = config.experts(spec, config.dim("moe_intermediate_size"), {"num_experts"}, 128, 8, "top_k_experts");
        moe.router.renormalise = true;
        moe.router_norm = moe.expert_scale = moe.own_norms = true;
        moe.shared_dim = network_dim;
        spec.experts.expert.activation = kernels::Activation::kGeluTanh;
    }
    const auto windowed = config.windowed_layers(spec.layers.size());
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        LayerSpec& layer = spec.layers[l];
        const bool is_last = l + 1 == spec.layers.size();  // never windowed
        layer.attention = read_attention(config, spec, l, !is_last && (windowed ? (*windowed)[l] : (l + 1) % 6 != 0));
        layer.ffn = has_experts ? FfnSpec(moe) : FfnSpec(DenseFfnSpec{network_dim});
        layer.output_norms = true;
        layer.scaled = config.flag("layer_scalars", true);  // GGUF files may have none
    }
}

void read_gemma4(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, read_gemma4_text);
}

// Vectors of a layer besides those of every family.
constexpr std::array<std::pair<TensorRole, const char*>, 9> kVectors = {{
    {TensorRole::kAttentionOutputNorm, "post_attention_layernorm.weight"},
    {TensorRole::kFfnNorm, "pre_feedforward_layernorm.weight"},
    {TensorRole::kFfnOutputNorm, "post_feedforward_layernorm.weight"},
    {TensorRole::kNetworkOutputNorm, "post_feedforward_layernorm_1.weight"},
    {TensorRole::kExpertNorm, "pre_feedforward_layernorm_2.weight"},
    {TensorRole::kExpertOutputNorm, "post_feedforward_layernorm_2.weight"},
    {TensorRole::kRouterNorm, "router.scale"},
    {TensorRole::kExpertScale, "router.per_expert_scale"},
    {TensorRole::kLayerScale, "layer_scalar"},
}};

std::vector<TensorPart> gemma4_plain_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    for (const auto& [role, name] : kVectors) {
        if (role != tensor.role) continue;
        TensorPart part{layer_prefix(tensor.layer) + name, {tensor.n_cols}};
        if (role == TensorRole::kRouterNorm) part.factor = 1 / std::sqrt(static_cast<float>(spec.hidden_dim));
        return {part};
    }
    return standard_parts(spec, tensor, "router.proj", "mlp.");
}

std::vector<TensorPart> gemma4_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return in_language_model(spec, gemma4_plain_parts(spec, tensor));
}

ExpertParts gemma4_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    return in_language_model(spec, fused_expert(spec, layer_prefix(layer) + "experts.", expert));
}

}  // namespace

const Family kGemma4 = {"Gemma4ForConditionalGeneration", "gemma4", read_gemma4, gemma4_parts, gemma4_expert,
                        look_for_language_model};
const Family kGemma4Text = {"Gemma4ForCausalLM", "gemma4_text", read_gemma4,
                            gemma4_parts,        gemma4_expert, look_for_language_model};

}  // namespace offstage::engine
