// DeepSeekMoE-16B (the model's own modeling_deepseek.py), DeepSeek-V2 and V3
// (transformers: models/deepseek_v2, models/deepseek_v3; and the models' own): shared
// experts, leading dense layers; since V2 latent attention and experts in groups.
// GLM-4.7-Flash (transformers: models/glm4_moe_lite) is V3 with defaults of its own and a
// list of its dense layers. Mistral Small 4 (models/mistral4) is V3 with softmax scores
// and queries that grow beyond the first context; Mistral Large 3 comes as V3 in GGUF.

#include <cmath>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

// How Mistral has queries grow; it is among the keys of the positions. In GGUF the
// context may be another one than YaRN's.
QueryGrowth read_growth(const ConfigFields& config) {
    for (const char* const key : {"rope_scaling", "rope_parameters"}) {
        if (!config.has_value(key)) continue;
        const JsonFields rope = config.object(key);
        if (!rope.has_value("llama_4_scaling_beta")) continue;
        const char* const own = "llama_4_scaling_context";
        return {rope.number("llama_4_scaling_beta", 0, 1e3),
                rope.integer(rope.has_value(own) ? own : "original_max_position_embeddings", 1, kLongestContext)};
    }
    return {};
}

LatentSpec read_attention(const ConfigFields& config, const DeepseekDefaults& defaults) {
    LatentSpec a;
    a.n_heads = config.count("num_attention_heads", 1, std::int64_t{1} << 16);
    a.query_rank = config.has("q_lora_rank") ? config.optional_dim("q_lora_rank", 0) : defaults.query_rank;
    a.latent_dim = config.dim("kv_lora_rank", defaults.latent_dim);
    a.nope_dim = config.dim("qk_nope_head_dim", defaults.nope_dim);
    a.value_dim = config.dim("v_head_dim", defaults.value_dim);
    const std::int64_t rotary = config.count("qk_rope_head_dim", 1, kMostHeadDim, 64);
    if (rotary % 2 != 0) config.reject("qk_rope_head_dim", messages::an_even_number_for_rope);
    a.bias = config.flag("attention_bias", false);
    a.interleaved = !defaults.may_be_halves || config.flag("rope_interleave", true);
    double softmax_factor = 1;
    a.rope = config.rope(rotary, 1e4, &softmax_factor);
    a.scale = static_cast<float>(softmax_factor / std::sqrt(static_cast<double>(a.query_dim())));
    a.growth = read_growth(config);
    return a;
}

MoeSpec read_moe(const ConfigFields& config, ModelSpec& spec, const DeepseekDefaults& defaults) {
    const bool v3 = defaults.is_v3;
    const char* const other_name = v3 ? "num_local_experts" : "num_experts";  // as transformers 5 may write it
    if (!v3) config.count("num_experts_per_tok", 1, kMostExperts);            // must be there
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", defaults.ffn_dim),
                                 {other_name, "n_routed_experts"}, defaults.n_experts, defaults.n_active);
    kernels::RouterSpec& router = moe.router;
    router.renormalise = config.flag("norm_topk_prob", v3);
    router.scale = static_cast<float>(config.positive("routed_scaling_factor", defaults.scale));
    if (!v3 && router.renormalise) router.scale = 1;  // V2 does one or the other
    const auto text_or = [&](const char* name, const char* otherwise) {
        return config.has_value(name) ? config.text(name) : std::string(otherwise);
    };
    const std::string method = text_or("topk_method", defaults.choice);
    const std::string scoring = text_or("scoring_func", defaults.scoring);
    if (method != "greedy" && method != "group_limited_greedy" && method != "noaux_tc") {
        config.unsupported("topk_method", in_quotes(method), messages::topk_methods);
    }
    if (scoring != "softmax" && scoring != "sigmoid") {
        config.unsupported("scoring_func", in_quotes(scoring), messages::softmax_or_sigmoid);
    }
    router.scoring = scoring == "sigmoid" ? kernels::RouterScoring::kSigmoid : kernels::RouterScoring::kSoftmax;
    router.denominator_floor = 1e-20f;
    moe.selection_bias = method == "noaux_tc";
    if (method != "greedy") {
        config.expert_groups(router, defaults.n_groups, defaults.n_groups_used);
        router.group_score = method == "noaux_tc" || defaults.group_score == kernels::GroupScore::kSumOfTwoBest
                                 ? kernels::GroupScore::kSumOfTwoBest
                                 : kernels::GroupScore::kLargest;
    }
    const std::int64_t n_shared =
        config.is_null("n_shared_experts") ? 0 : config.count("n_shared_experts", 0, 1024, defaults.n_shared);
    moe.shared_dim = n_shared * spec.experts.ffn_dim;
    return moe;
}

constexpr DeepseekDefaults kOldDefaults = {.is_v3 = false,
                                           .may_be_halves = false,
                                           .choice = "greedy",
                                           .scoring = "softmax",
                                           .n_experts = 64,
                                           .n_shared = 2,
                                           .ffn_dim = 1407,
                                           .dense_dim = 11008};
constexpr DeepseekDefaults kGlmLiteDefaults = {.lists_networks = true,
                                               .eps = 1e-5,
                                               .query_rank = 768,
                                               .nope_dim = 192,
                                               .value_dim = 256,
                                               .n_experts = 64,
                                               .n_active = 4,
                                               .ffn_dim = 1536,
                                               .dense_dim = 10240,
                                               .n_dense = 1,
                                               .scale = 1.8};
constexpr DeepseekDefaults kMistralDefaults = {.choice = "group_limited_greedy",
                                               .scoring = "softmax",
                                               .group_score = kernels::GroupScore::kSumOfTwoBest,
                                               .query_rank = 1024,
                                               .latent_dim = 256,
                                               .nope_dim = 64,
                                               .n_experts = 128,
                                               .n_active = 4};

template <const DeepseekDefaults& kDefaults>
void read_deepseek_with(const ConfigFields& config, ModelSpec& spec) {
    read_deepseek(config, spec, kDefaults);
}

void read_deepseek_moe(const ConfigFields& config, ModelSpec& spec) {
    DeepseekDefaults defaults = kOldDefaults;
    defaults.latent = false;
    read_deepseek(config, spec, defaults);
}

}  // namespace

void read_deepseek(const ConfigFields& config, ModelSpec& spec, const DeepseekDefaults& defaults) {
    config.read_common(spec, defaults.is_v3 ? 0 : 1, defaults.is_v3 ? 1 : 2);
    spec.norm.eps = config.eps("rms_norm_eps", defaults.eps);
    AttentionSpec attention;
    if (defaults.latent) {
        attention = read_attention(config, defaults);
    } else {
        GroupedQuerySpec heads = config.grouped_query(spec, ConfigFields::kAsManyAsHeads, 1e4);
        heads.qkv_bias = heads.output_bias = config.flag("attention_bias", false);
        attention = heads;
    }
    const MoeSpec moe = read_moe(config, spec, defaults);
    const auto count_or = [&](const char* name, std::int64_t least, std::int64_t most, std::int64_t otherwise) {
        return config.has_value(name) ? config.count(name, least, most) : otherwise;
    };
    const std::int64_t n_dense = count_or("first_k_dense_replace", 0, spec.n_layers(), defaults.n_dense);
    const std::int64_t step = count_or("moe_layer_freq", 1, kMostLayers, 1);
    const auto listed = defaults.lists_networks
                            ? config.layers_of_type("mlp_layer_types", "dense", "sparse", spec.layers.size())
                            : std::optional<std::vector<bool>>();
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        layer.attention = attention;
        const bool is_dense = listed ? (*listed)[static_cast<std::size_t>(l)] : l < n_dense || l % step != 0;
        if (is_dense) {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", defaults.dense_dim)};
        } else {
            layer.ffn = moe;
        }
    }
}

std::vector<TensorPart> deepseek_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    const std::string a = p + "self_attn.";
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    const bool is_moe = layer != nullptr && layer->moe() != nullptr;
    if (tensor.role == TensorRole::kNetwork && is_moe) return network_parts(tensor, p + "mlp.shared_experts.");
    if (tensor.role == TensorRole::kSelectionBias) return {{p + "mlp.gate.e_score_correction_bias", {tensor.n_cols}}};
    const auto* const latent = layer == nullptr ? nullptr : std::get_if<LatentSpec>(&layer->attention);
    if (latent == nullptr) return standard_parts(spec, tensor, "mlp.gate", "mlp.");
    const std::int64_t interleaved = latent->interleaved ? latent->rope.dim : 0;
    const char* const query_up = latent->query_rank > 0 ? "q_b_proj.weight" : "q_proj.weight";
    // In each head first the rows that make keys from the latent, then those for values.
    const std::int64_t kv_block = latent->nope_dim + latent->value_dim;
    const std::vector<std::int64_t> kv_shape = {latent->n_heads * kv_block, latent->latent_dim};
    switch (tensor.role) {
        case TensorRole::kQueryDown:
            return {{a + "q_a_proj.weight", {tensor.n_rows, tensor.n_cols}}};
        case TensorRole::kQueryDownBias:
            return {{a + "q_a_proj.bias", {tensor.n_cols}}};
        case TensorRole::kQueryDownNorm:
            return {{a + "q_a_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kQueryUp:
            return {{a + query_up, {tensor.n_rows, tensor.n_cols}, latent->query_dim(), 0, 0, interleaved}};
        case TensorRole::kLatentDown:
            return {{a + "kv_a_proj_with_mqa.weight", {tensor.n_rows, tensor.n_cols}, 0, 0, 0, interleaved}};
        case TensorRole::kLatentDownBias:
            return {{a + "kv_a_proj_with_mqa.bias", {tensor.n_cols}, 0, 0, 0, interleaved}};
        case TensorRole::kLatentNorm:
            return {{a + "kv_a_layernorm.weight", {tensor.n_cols}}};
        case TensorRole::kKeyUp:
            return {{a + "kv_b_proj.weight", kv_shape, kv_block, 0, latent->nope_dim, 0, true}};
        case TensorRole::kValueUp:
            return {{a + "kv_b_proj.weight", kv_shape, kv_block, latent->nope_dim, latent->value_dim}};
        default:
            return standard_parts(spec, tensor, "mlp.gate", "mlp.");
    }
}

const Family kDeepseekMoe = {"DeepseekForCausalLM", "deepseek", read_deepseek_moe, deepseek_parts, standard_expert};
const Family kDeepseekV2 = {"DeepseekV2ForCausalLM", "deepseek_v2",   read_deepseek_with<kOldDefaults>,
                            deepseek_parts,          standard_expert, look_for_fused_experts};
const Family kDeepseekV3 = {"DeepseekV3ForCausalLM", "deepseek_v3",   read_deepseek_with<kDeepseekV3Defaults>,
                            deepseek_parts,          standard_expert, look_for_fused_experts};
const Family kGlm4MoeLite = {"Glm4MoeLiteForCausalLM", "glm4_moe_lite", read_deepseek_with<kGlmLiteDefaults>,
                             deepseek_parts,           standard_expert, look_for_fused_experts};
const Family kMistral4 = {"Mistral4ForCausalLM", "mistral4",      read_deepseek_with<kMistralDefaults>,
                          deepseek_parts,        standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
