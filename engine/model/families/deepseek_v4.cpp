// DeepSeek-V4 and V4-Flash, as published (transformers: models/deepseek_v4; llama.cpp:
// deepseek4): four residual streams; attention to a window and to pooled keys, of 4
// tokens with an indexer or of 128; experts of the first layers by the token's number;
// clamped activations. The prediction layer is left out, and queries and keys are not
// rounded to FP8, as in transformers and llama.cpp.

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/files/files_messages.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kIndexedTokens = 4;  // of a pooled key that an indexer may choose

// Of layers with pooled keys: YaRN's factor of cos and sin is left out.
RopeSpec read_pooled_rope(const ConfigFields& config, std::int64_t dim) {
    nlohmann::json own = {{"rope_theta", config.positive("compress_rope_theta", 160000)},
                          {"max_position_embeddings", config.count("max_position_embeddings", 1, kLongestContext)}};
    if (config.has_value("rope_scaling")) own["rope_scaling"] = *config.find("rope_scaling");
    RopeSpec rope = ConfigFields(own, config.source(), config.names()).rope(dim, 160000);
    rope.amplitude = 1;
    return rope;
}

PooledSpec read_pooled_attention(const ConfigFields& config, const ModelSpec& spec) {
    PooledSpec a;
    a.n_heads = config.count("num_attention_heads", 1, std::int64_t{1} << 16);
    a.head_dim = config.count("head_dim", 2, kMostHeadDim, 512);
    a.query_rank = config.dim("q_lora_rank", 1024);
    a.window = config.count("sliding_window", 1, kLongestContext, 128);
    a.n_output_groups = config.count("o_groups", 1, a.n_heads, 8);
    if (a.n_heads % a.n_output_groups != 0)
        config.reject("num_attention_heads", messages::a_multiple_of(a.n_output_groups));
    a.output_rank = config.dim("o_lora_rank", 1024);
    a.norm_eps = spec.norm.eps;
    a.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(a.head_dim)));
    a.rope.dim = config.count("qk_rope_head_dim", 2, a.head_dim, 64);
    if (a.rope.dim % 2 != 0) config.reject("qk_rope_head_dim", messages::an_even_number_for_rope);
    a.rope.theta = config.positive("rope_theta", 10000);
    return a;
}

// Of a layer whose pooled keys stand for so many tokens; 0: it has none.
PooledSpec with_pooled_keys(const ConfigFields& config, PooledSpec a, std::int64_t key_tokens) {
    if (key_tokens == 0) return a;
    a.key_tokens = key_tokens;
    a.rope = a.pooled_rope = read_pooled_rope(config, a.rope.dim);
    a.pooled_rope.unit = key_tokens;
    if (key_tokens != kIndexedTokens) return a;
    a.overlaps = true;
    a.indexer.n_heads = config.count("index_n_heads", 1, std::int64_t{1} << 16, 64);
    a.indexer.head_dim = config.count("index_head_dim", 2, kMostHeadDim, 128);
    a.indexer.top_k = config.count("index_topk", 1, std::int64_t{1} << 20, 512);
    if (a.indexer.head_dim < a.rope.dim)
        config.reject("index_head_dim", messages::no_less_than_the_rotary_part(a.rope.dim));
    return a;
}

void read_v4(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 0, 1);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    config.expect("scoring_func", "sqrtsoftplus");
    spec.experts.expert.activation = kernels::Activation::kSiluClamped;
    spec.experts.expert.limit = static_cast<float>(config.positive("swiglu_limit", 10));
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 2048),
                                 {"num_local_experts", "n_routed_experts"}, 256, 6);
    moe.router.scoring = kernels::RouterScoring::kSqrtSoftplus;
    moe.router.renormalise = config.flag("norm_topk_prob", true);
    moe.router.denominator_floor = 1e-20f;
    moe.router.scale = static_cast<float>(config.positive("routed_scaling_factor", 1.5));
    moe.shared_dim = config.count("n_shared_experts", 0, 1024, 1) * spec.experts.ffn_dim;
    spec.streams.n = config.count("hc_mult", 2, 8, 4);
    spec.streams.n_sinkhorn = config.count("hc_sinkhorn_iters", 1, 1000, 20);
    spec.streams.eps = config.eps("hc_eps", 1e-6);
    const std::int64_t n_by_token = config.count("num_hash_layers", 0, kMostLayers, 3);
    const PooledSpec attention = read_pooled_attention(config, spec);
    const char* const ratios = "compress_ratios";
    const auto n_layers = static_cast<std::size_t>(spec.n_layers());
    if (!config.has_value(ratios) || !config.find(ratios)->is_array() || config.find(ratios)->size() < n_layers)
        config.reject(ratios, messages::a_number_for_each_layer(n_layers));
    for (std::size_t l = 0; l < n_layers; ++l) {
        const nlohmann::json& ratio = (*config.find(ratios))[l];
        if (ratio != 0 && ratio != kIndexedTokens && ratio != 128)
            config.unsupported(ratios, describe(ratio), "0, 4, 128");
        spec.layers[l].attention = with_pooled_keys(config, attention, ratio.get<std::int64_t>());
        moe.by_token = static_cast<std::int64_t>(l) < n_by_token;
        moe.selection_bias = !moe.by_token;
        spec.layers[l].ffn = moe;
    }
}

struct V4Names {
    TensorRole first;         // of roles that follow each other
    std::string_view prefix;  // behind "layers.N.", where they belong to a layer
    std::array<std::string_view, 4> ends;
};
constexpr std::array<std::string_view, 4> kPooling = {"wkv.weight", "wgate.weight", "ape", "norm.weight"};
constexpr V4Names kV4Names[] = {{TensorRole::kEmbedding, "", {"embed.weight", "head.weight"}},
                                {TensorRole::kFinalNorm, "", {"norm.weight"}},
                                {TensorRole::kAttentionNorm, "", {"attn_norm.weight"}},
                                {TensorRole::kQueryDown, "attn.", {"wq_a.weight"}},
                                {TensorRole::kQueryDownNorm, "attn.", {"q_norm.weight", "wq_b.weight", "wkv.weight"}},
                                {TensorRole::kLatentNorm, "attn.", {"kv_norm.weight"}},
                                {TensorRole::kSinks, "attn.", {"attn_sink"}},
                                {TensorRole::kOutputDown, "attn.", {"wo_a.weight"}},
                                {TensorRole::kAttentionOutput, "attn.", {"wo_b.weight"}},
                                {TensorRole::kPoolValues, "attn.compressor.", kPooling},
                                {TensorRole::kIndexerQuery, "attn.indexer.", {"wq_b.weight"}},
                                {TensorRole::kIndexerWeights, "attn.indexer.", {"weights_proj.weight"}},
                                {TensorRole::kIndexerPoolValues, "attn.indexer.compressor.", kPooling},
                                {TensorRole::kFfnNorm, "", {"ffn_norm.weight"}},
                                {TensorRole::kRouter, "ffn.gate.", {"weight", "bias", "tid2eid"}},
                                {TensorRole::kAttentionMix, "hc_", {"attn_fn", "ffn_fn", "head_fn"}},
                                {TensorRole::kAttentionMixBase, "hc_", {"attn_base", "ffn_base", "head_base"}},
                                {TensorRole::kAttentionMixScale, "hc_", {"attn_scale", "ffn_scale", "head_scale"}}};

std::vector<TensorPart> v4_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = tensor.layer < 0 ? "" : "layers." + std::to_string(tensor.layer) + ".";
    if (tensor.role == TensorRole::kNetwork) {
        const std::int64_t ffn = tensor.ffn_dim(), hidden = tensor.n_cols;
        const std::string e = p + "ffn.shared_experts.w";
        return {{e + "1.weight", {ffn, hidden}}, {e + "3.weight", {ffn, hidden}}, {e + "2.weight", {hidden, ffn}}};
    }
    for (const V4Names& names : kV4Names) {
        const std::size_t i = static_cast<std::size_t>(tensor.role) - static_cast<std::size_t>(names.first);
        if (i >= names.ends.size() || names.ends[i].empty()) continue;
        TensorPart part{p + std::string(names.prefix) + std::string(names.ends[i]), {tensor.n_cols}};
        if (tensor.kind == DenseTensor::Kind::kMatrix || tensor.n_rows > 1) part.shape = {tensor.n_rows, tensor.n_cols};
        if (tensor.role == TensorRole::kExpertsByToken) part.integers_below = spec.experts.n_experts;
        return {part};
    }
    return {};
}

ExpertParts v4_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const std::string e = "layers." + std::to_string(layer) + ".ffn.experts." + std::to_string(expert) + ".w";
    return separate_expert(spec, {e + "1.weight", e + "3.weight", e + "2.weight"});
}

}  // namespace

const Family kDeepseekV4 = {"DeepseekV4ForCausalLM", "deepseek_v4", read_v4, v4_parts, v4_expert};

}  // namespace offstage::engine
