// DBRX (transformers: models/dbrx): LayerNorm without bias, one matrix for q, k and v,
// which are clipped, and the experts' matrices below each other in three tensors.

#include "engine/base_messages.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

constexpr ConfigFields::SizeKeys kDbrxKeys = {"d_model", "max_seq_len", "n_layers"};

void read_dbrx(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {}, kDbrxKeys);
    spec.norm = {kernels::NormKind::kLayer, 1e-5f, false};
    const auto below = [&](const char* key) {
        if (!config.has_value(key)) config.reject(key, messages::an_object);
        return config.object(key);
    };
    const JsonFields attn = below("attn_config");
    GroupedQuerySpec attention =
        config.heads(spec, "n_heads", "attn_config.kv_n_heads", attn.integer("kv_n_heads", 1, 65536, 1));
    attention.rope =
        config.rope(attention.head_dim, attn.has_value("rope_theta") ? attn.number("rope_theta", 1, 1e12) : 1e4);
    if (attn.has_value("clip_qkv")) attention.clip = static_cast<float>(attn.number("clip_qkv", 1e-6, 1e12));

    const JsonFields ffn = below("ffn_config");
    if (ffn.has_value("ffn_act_fn")) {
        const JsonFields act = ffn.object("ffn_act_fn");
        if (const std::string name = act.text("name", "silu"); name != "silu") {
            config.unsupported("ffn_config.ffn_act_fn.name", in_quotes(name), "\"silu\"");
        }
    }
    MoeSpec moe;
    spec.experts.ffn_dim = ffn.integer("ffn_hidden_size", 1, std::int64_t{1} << 24, 3584);
    spec.experts.n_experts = ffn.integer("moe_num_experts", 1, kMostExperts, 4);
    spec.experts.n_active =
        ffn.integer("moe_top_k", 1, std::min<std::int64_t>(spec.experts.n_experts, kernels::kMostActiveExperts), 1);
    moe.router.n_experts = static_cast<std::int32_t>(spec.experts.n_experts);
    moe.router.n_active = static_cast<std::int32_t>(spec.experts.n_active);
    const char* const normalise = "moe_normalize_expert_weights";
    moe.router.renormalise = !ffn.is_null(normalise);
    if (ffn.has_value(normalise) && ffn.number(normalise, 0, 1e3) != 1) {
        config.unsupported("ffn_config.moe_normalize_expert_weights", describe(*ffn.find(normalise)),
                           messages::one_or_null);
    }
    for (LayerSpec& layer : spec.layers) layer = {attention, moe};
}

std::string block_prefix(std::int64_t layer) {
    return "transformer.blocks." + std::to_string(layer) + ".";
}

std::vector<TensorPart> dbrx_parts(const ModelSpec&, const DenseTensor& tensor) {
    const std::string p = block_prefix(tensor.layer);
    const auto matrix = [&](const std::string& name) -> std::vector<TensorPart> {
        return {{name, {tensor.n_rows, tensor.n_cols}}};
    };
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return matrix("transformer.wte.weight");
        case TensorRole::kHead:
            return matrix("lm_head.weight");
        case TensorRole::kFinalNorm:
            return {{"transformer.norm_f.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionNorm:
            return {{p + "norm_attn_norm.norm_1.weight", {tensor.n_cols}}};
        case TensorRole::kFfnNorm:
            return {{p + "norm_attn_norm.norm_2.weight", {tensor.n_cols}}};
        case TensorRole::kQkv:
            return matrix(p + "norm_attn_norm.attn.Wqkv.weight");
        case TensorRole::kAttentionOutput:
            return matrix(p + "norm_attn_norm.attn.out_proj.weight");
        case TensorRole::kRouter:
            return matrix(p + "ffn.router.layer.weight");
        default:
            return {};
    }
}

ExpertParts dbrx_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    ExpertParts parts;
    const std::array<const char*, 3> names = {"w1", "v1", "w2"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        parts.matrices[i] = {block_prefix(layer) + "ffn.experts.mlp." + names[i],
                             {g.n_experts * g.ffn_dim, g.hidden_dim},
                             expert * g.ffn_dim * g.hidden_dim,
                             g.hidden_dim,
                             1};
    }
    return parts;
}

}  // namespace

const Family kDbrx = {"DbrxForCausalLM", "dbrx", read_dbrx, dbrx_parts, dbrx_expert};

}  // namespace offstage::engine
