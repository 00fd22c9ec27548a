// Names of tensors in GGUF files: the same for all families, with a few exceptions.
// Source: llama.cpp's gguf-py/gguf/constants.py, and its converters for the changes that
// they make.

#include "engine/model/gguf_tensor_names.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace offstage::engine {
namespace {

const GgufNamedFamily& family_of(const ModelSpec& spec) {
    return static_cast<const GgufNamedFamily&>(*spec.family);
}

std::string block(std::int64_t layer) {
    return "blk." + std::to_string(layer) + ".";
}

TensorPart q_or_k(const GgufNamedFamily& family, std::string name, std::vector<std::int64_t> shape,
                  std::int64_t head_dim) {
    TensorPart part{std::move(name), std::move(shape)};
    if (family.interleaved) {
        part.block = head_dim;
        part.interleaved = head_dim;
    }
    return part;
}

std::vector<TensorPart> qkv_parts(const ModelSpec& spec, const DenseTensor& tensor, const char* end) {
    const auto& a = std::get<GroupedQuerySpec>(spec.layers[static_cast<std::size_t>(tensor.layer)].attention);
    const std::string p = block(tensor.layer);
    const auto shape = [&](std::int64_t rows) {
        return tensor.kind == DenseTensor::Kind::kMatrix ? std::vector<std::int64_t>{rows, tensor.n_cols}
                                                         : std::vector<std::int64_t>{rows};
    };
    const std::int64_t q = a.n_heads * a.head_dim;
    const std::int64_t kv = a.n_kv_heads * a.head_dim;
    const std::int64_t values = a.n_kv_heads * a.of_value();
    if (a.output_gate && !family_of(spec).gate_apart) {
        return {query_or_gate(p + "attn_q." + end, a, tensor.n_cols, false),
                {p + "attn_k." + end, shape(kv)},
                {p + "attn_v." + end, shape(values)}};
    }
    const GgufNamedFamily& family = family_of(spec);
    if (tensor.kind == DenseTensor::Kind::kMatrix ? spec.gguf.fused_qkv : spec.gguf.fused_qkv_bias) {
        const TensorPart fused{p + "attn_qkv." + end, shape(q + kv + values)};
        if (!family.interleaved) return {fused};
        std::vector<TensorPart> parts;
        for (std::int64_t row = 0; row < q + kv; row += a.head_dim) {
            parts.push_back(fused);
            parts.back().first = row;
            parts.back().count = parts.back().interleaved = a.head_dim;
        }
        parts.push_back(fused);
        parts.back().first = q + kv;
        parts.back().count = values;
        return parts;
    }
    std::vector<TensorPart> parts = {q_or_k(family, p + "attn_q." + end, shape(q), a.head_dim),
                                     q_or_k(family, p + "attn_k." + end, shape(kv), a.head_dim),
                                     {p + (a.values_from_keys ? "attn_k." : "attn_v.") + end, shape(values)}};
    // llama.cpp adds each of the three biases that it finds.
    for (TensorPart& part : parts) part.is_optional = tensor.kind == DenseTensor::Kind::kVector;
    return parts;
}

std::vector<TensorPart> latent_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const auto& a = std::get<LatentSpec>(spec.layers[static_cast<std::size_t>(tensor.layer)].attention);
    const std::string p = block(tensor.layer);
    const std::vector<std::int64_t> shape = {tensor.n_rows, tensor.n_cols};
    const std::int64_t kv_block = a.nope_dim + a.value_dim;
    const std::vector<std::int64_t> kv_shape = {a.n_heads * kv_block, a.latent_dim};
    switch (tensor.role) {
        case TensorRole::kQueryDown:
            return {{p + "attn_q_a.weight", shape}};
        case TensorRole::kQueryDownBias:
            return {{p + "attn_q_a.bias", {tensor.n_cols}}};
        case TensorRole::kQueryDownNorm:
            return {{p + "attn_q_a_norm.weight", {tensor.n_cols}}};
        case TensorRole::kQueryUp:
            return {
                {p + (a.query_rank > 0 ? "attn_q_b.weight" : "attn_q.weight"), shape, a.query_dim(), 0, 0, a.rope.dim}};
        case TensorRole::kLatentDown:
            return {{p + "attn_kv_a_mqa.weight", shape, 0, 0, 0, a.rope.dim}};
        case TensorRole::kLatentDownBias:
            return {{p + "attn_kv_a_mqa.bias", {tensor.n_cols}, 0, 0, 0, a.rope.dim}};
        case TensorRole::kLatentNorm:
            return {{p + "attn_kv_a_norm.weight", {tensor.n_cols}}};
        case TensorRole::kKeyUp:
            if (!spec.gguf.joined_kv_b) return {{p + "attn_k_b.weight", {a.n_heads, a.latent_dim, a.nope_dim}}};
            return {{p + "attn_kv_b.weight", kv_shape, kv_block, 0, a.nope_dim, 0, true}};
        case TensorRole::kValueUp:
            if (!spec.gguf.joined_kv_b) return {{p + "attn_v_b.weight", {a.n_heads, a.value_dim, a.latent_dim}}};
            return {{p + "attn_kv_b.weight", kv_shape, kv_block, a.nope_dim, a.value_dim}};
        default:
            return {};
    }
}

// The tensors of which one is one of the file, of all families: within "blk.N.", where
// they belong to a layer.
struct PlainName {
    TensorRole role;
    const char* name;
    bool is_matrix = false;  // otherwise a vector
};
constexpr PlainName kPlainNames[] = {{TensorRole::kEmbedding, "token_embd.weight", true},
                                     {TensorRole::kHead, "output.weight", true},
                                     {TensorRole::kHeadBias, "output.bias"},
                                     {TensorRole::kFinalNorm, "output_norm.weight"},
                                     {TensorRole::kFinalNormBias, "output_norm.bias"},
                                     {TensorRole::kHeadMix, "output_hc_fn.weight", true},
                                     {TensorRole::kHeadMixBase, "output_hc_base.weight"},
                                     {TensorRole::kHeadMixScale, "output_hc_scale.weight"},
                                     {TensorRole::kAttentionNorm, "attn_norm.weight"},
                                     {TensorRole::kAttentionNormBias, "attn_norm.bias"},
                                     {TensorRole::kQueryNorm, "attn_q_norm.weight"},
                                     {TensorRole::kKeyNorm, "attn_k_norm.weight"},
                                     {TensorRole::kAttentionOutput, "attn_output.weight", true},
                                     {TensorRole::kAttentionOutputBias, "attn_output.bias"},
                                     {TensorRole::kSinks, "attn_sinks.weight"},
                                     {TensorRole::kRouter, "ffn_gate_inp.weight", true},
                                     {TensorRole::kSharedGate, "ffn_gate_inp_shexp.weight"},
                                     {TensorRole::kAttentionOutputNorm, "post_attention_norm.weight"},
                                     {TensorRole::kFfnOutputNorm, "post_ffw_norm.weight"},
                                     {TensorRole::kNetworkOutputNorm, "post_ffw_norm_1.weight"},
                                     {TensorRole::kExpertNorm, "pre_ffw_norm_2.weight"},
                                     {TensorRole::kExpertOutputNorm, "post_ffw_norm_2.weight"},
                                     {TensorRole::kExpertScale, "ffn_down_exps.scale"},
                                     {TensorRole::kExpertLatentDown, "ffn_latent_down.weight", true},
                                     {TensorRole::kExpertLatentUp, "ffn_latent_up.weight", true},
                                     {TensorRole::kLayerScale, "layer_output_scale.weight"}};
// Of recurrent layers, in the place of those.
constexpr PlainName kDeltaNetNames[] = {{TensorRole::kQkv, "attn_qkv.weight", true},
                                        {TensorRole::kOutputGate, "attn_gate.weight", true},
                                        {TensorRole::kConvolution, "ssm_conv1d.weight", true},
                                        {TensorRole::kDecayRate, "ssm_a"},
                                        {TensorRole::kTimeBias, "ssm_dt.bias"},
                                        {TensorRole::kStateNorm, "ssm_norm.weight"},
                                        {TensorRole::kAttentionOutput, "ssm_out.weight", true}};

constexpr PlainName kMamba2Names[] = {{TensorRole::kConvolution, "ssm_conv1d.weight", true},
                                      {TensorRole::kTimeBias, "ssm_dt.bias"},
                                      {TensorRole::kAttentionOutput, "ssm_out.weight", true}};

constexpr PlainName kShortConvolutionNames[] = {{TensorRole::kQkv, "shortconv.in_proj.weight", true},
                                                {TensorRole::kConvolution, "shortconv.conv.weight", true},
                                                {TensorRole::kAttentionOutput, "shortconv.out_proj.weight", true}};

constexpr PlainName kPooledNames[] = {{TensorRole::kQueryDown, "attn_q_a.weight", true},
                                      {TensorRole::kQueryDownNorm, "attn_q_a_norm.weight"},
                                      {TensorRole::kQueryUp, "attn_q_b.weight", true},
                                      {TensorRole::kLatentDown, "attn_kv.weight", true},
                                      {TensorRole::kLatentNorm, "attn_kv_a_norm.weight"},
                                      {TensorRole::kOutputDown, "attn_output_a.weight", true},
                                      {TensorRole::kAttentionOutput, "attn_output_b.weight", true},
                                      {TensorRole::kPoolValues, "attn_compressor_kv.weight", true},
                                      {TensorRole::kPoolScores, "attn_compressor_gate.weight", true},
                                      {TensorRole::kPoolPositions, "attn_compressor_ape.weight", true},
                                      {TensorRole::kPoolNorm, "attn_compressor_norm.weight"},
                                      {TensorRole::kIndexerQuery, "indexer.attn_q_b.weight", true},
                                      {TensorRole::kIndexerWeights, "indexer.proj.weight", true},
                                      {TensorRole::kIndexerPoolValues, "indexer_compressor_kv.weight", true},
                                      {TensorRole::kIndexerPoolScores, "indexer_compressor_gate.weight", true},
                                      {TensorRole::kIndexerPoolPositions, "indexer_compressor_ape.weight", true},
                                      {TensorRole::kIndexerPoolNorm, "indexer_compressor_norm.weight"},
                                      {TensorRole::kAttentionMix, "hc_attn_fn.weight", true},
                                      {TensorRole::kAttentionMixBase, "hc_attn_base.weight"},
                                      {TensorRole::kAttentionMixScale, "hc_attn_scale.weight"},
                                      {TensorRole::kFfnMix, "hc_ffn_fn.weight", true},
                                      {TensorRole::kFfnMixBase, "hc_ffn_base.weight"},
                                      {TensorRole::kFfnMixScale, "hc_ffn_scale.weight"}};

std::span<const PlainName> names_of(const LayerSpec& layer) {
    if (layer.pooled() != nullptr) return kPooledNames;
    if (layer.delta_net() != nullptr) return kDeltaNetNames;
    if (std::holds_alternative<Mamba2Spec>(layer.attention)) return kMamba2Names;
    if (std::holds_alternative<ShortConvolutionSpec>(layer.attention)) return kShortConvolutionNames;
    return {};
}

// The matrices whose products llama.cpp multiplies by a tensor NAME.scale: by its one
// number, those of experts by one for each. Files in NVFP4 have them, and what is
// quantized from those. Downs of experts: TensorRole::kExpertScale.
constexpr std::string_view kScaled[] = {
    "attn_q",       "attn_k",         "attn_v",        "attn_qkv",    "attn_gate",    "attn_output", "ffn_gate",
    "ffn_up",       "ffn_down",       "ssm_in",        "ssm_out",     "ssm_alpha",    "ssm_beta",    "ffn_gate_shexp",
    "ffn_up_shexp", "ffn_down_shexp", "ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"};

// The scale's name for a matrix of a block, "blk.N.NAME.weight"; empty: there is none.
std::string scale_of(std::string_view matrix) {
    const std::size_t begin = matrix.find('.', matrix.find('.') + 1) + 1;
    const std::size_t end = matrix.rfind('.');
    if (begin == 0 || begin > end || std::ranges::find(kScaled, matrix.substr(begin, end - begin)) == std::end(kScaled))
        return {};
    return std::string(matrix.substr(0, end)) + ".scale";
}

std::vector<TensorPart> one_part(const std::string& name, const DenseTensor& tensor, bool is_matrix) {
    if (is_matrix) return {{name, {tensor.n_rows, tensor.n_cols}}};
    return {{name, {tensor.n_cols}}};
}

std::vector<TensorPart> delta_net_parts_of(const ModelSpec& spec, const DeltaNetSpec& delta_net,
                                           const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    if (tensor.role == TensorRole::kDecayAndBeta ? spec.gguf.joined_rates : spec.gguf.joined_delta_net) {
        auto parts = parts_by_key_head(delta_net, tensor, p + "ssm_in.weight", p + "ssm_ba.weight");
        if (!parts.empty()) return parts;
    }
    if (tensor.role != TensorRole::kDecayAndBeta) return {};
    return {{p + "ssm_alpha.weight", {tensor.n_rows / 2, tensor.n_cols}},
            {p + "ssm_beta.weight", {tensor.n_rows / 2, tensor.n_cols}}};
}

std::vector<TensorPart> mamba2_parts_of(const Mamba2Spec& mamba, const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    if (auto rows = mamba2_projections(mamba, tensor, p + "ssm_in.weight"); !rows.empty()) return rows;
    switch (tensor.role) {
        case TensorRole::kConvolutionBias: {
            TensorPart part{p + "ssm_conv1d.bias", {tensor.n_cols}};
            part.is_optional = true;
            return {part};
        }
        case TensorRole::kDecayRate:
            return {{p + "ssm_a", {tensor.n_cols, 1}}};
        case TensorRole::kSkip:
            return {{p + "ssm_d", {tensor.n_cols, 1}}};
        case TensorRole::kStateNorm:
            return {{p + "ssm_norm.weight", {mamba.n_groups, tensor.n_cols / mamba.n_groups}}};
        default:
            return {};
    }
}

}  // namespace

std::string gguf_tensor_name(const GgufNamedFamily* family, std::string_view in_file) {
    constexpr std::string_view kBlocks = "blk.";
    if (family == nullptr) return std::string(in_file);
    const std::size_t begin = in_file.starts_with(kBlocks) ? in_file.find('.', kBlocks.size()) + 1 : 0;
    for (const GgufOtherName& name : family->other_names) {
        if (in_file.substr(begin) == name.theirs) {
            return std::string(in_file.substr(0, begin)) + std::string(name.ours);
        }
    }
    return std::string(in_file);
}

namespace {

std::vector<TensorPart> unscaled_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    if (layer != nullptr) {
        std::vector<TensorPart> parts;
        if (layer->delta_net() != nullptr) parts = delta_net_parts_of(spec, *layer->delta_net(), tensor);
        if (const auto* const mamba = std::get_if<Mamba2Spec>(&layer->attention)) {
            parts = mamba2_parts_of(*mamba, tensor);
        }
        if (!parts.empty()) return parts;
        for (const PlainName& plain : names_of(*layer)) {
            if (plain.role == tensor.role) return one_part(p + plain.name, tensor, plain.is_matrix);
        }
    }
    for (const PlainName& plain : kPlainNames) {
        if (plain.role == tensor.role)
            return one_part((layer == nullptr ? "" : p) + plain.name, tensor, plain.is_matrix);
    }
    const std::string ffn_norm = p + family_of(spec).ffn_norm;
    switch (tensor.role) {
        case TensorRole::kQkv:
            return qkv_parts(spec, tensor, "weight");
        case TensorRole::kQkvBias:
            return qkv_parts(spec, tensor, "bias");
        case TensorRole::kOutputGate:
            if (family_of(spec).gate_apart) return one_part(p + "attn_gate.weight", tensor, true);
            return {
                query_or_gate(p + "attn_q.weight", std::get<GroupedQuerySpec>(layer->attention), tensor.n_cols, true)};
        case TensorRole::kFfnNorm:
            return one_part(ffn_norm + ".weight", tensor, false);
        case TensorRole::kFfnNormBias:
            return one_part(ffn_norm + ".bias", tensor, false);
        case TensorRole::kExpertsByToken: {
            TensorPart part{p + "ffn_gate_tid2eid.weight", {tensor.n_rows, tensor.n_cols}};
            part.integers_below = spec.experts.n_experts;
            return {part};
        }
        case TensorRole::kSelectionBias:
            return one_part(p + family_of(spec).selection_bias, tensor, false);
        case TensorRole::kRouterNorm: {
            TensorPart part{p + "ffn_gate_inp.scale", {tensor.n_cols}};
            part.factor = 1 / std::sqrt(static_cast<float>(spec.hidden_dim));
            return {part};
        }
        case TensorRole::kNetwork: {
            const std::string end =
                (layer->moe() != nullptr ? family_of(spec).shared_network : "") + std::string(".weight");
            const std::int64_t ffn = tensor.ffn_dim();
            std::vector<TensorPart> parts;
            if (tensor.network.has_gate()) parts.push_back({p + "ffn_gate" + end, {ffn, tensor.n_cols}});
            parts.push_back({p + "ffn_up" + end, {ffn, tensor.n_cols}});
            parts.push_back({p + "ffn_down" + end, {tensor.n_cols, ffn}});
            return parts;
        }
        default:
            break;
    }
    if (layer != nullptr && layer->indexer() != nullptr) {
        const bool by_head = layer->indexer()->by_head;
        auto parts = indexer_parts(*layer->indexer(), spec.rope(tensor.layer).dim, tensor, p + "indexer.",
                                   {.query = by_head ? "q_proj" : "attn_q_b",
                                    .query_norm = "q_norm",
                                    .key = by_head ? "k_proj" : "attn_k",
                                    .key_norm = "k_norm",
                                    .weights = "proj"});
        if (!parts.empty()) return parts;
    }
    return latent_parts(spec, tensor);
}

}  // namespace

std::vector<TensorPart> gguf_dense_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    std::vector<TensorPart> parts = unscaled_parts(spec, tensor);
    if (tensor.kind == DenseTensor::Kind::kVector) return parts;
    for (TensorPart& part : parts) part.scale = scale_of(part.name);
    return parts;
}

ExpertParts gguf_expert_parts(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = block(layer);
    const std::string own = "." + std::to_string(expert) + ".weight";
    const std::array<const char*, 3> names = {"ffn_gate", "ffn_up", "ffn_down"};
    ExpertParts parts;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::int64_t rows = i < 2 ? g.ffn_dim : g.hidden_dim;
        const std::int64_t columns = i < 2 ? g.hidden_dim : g.ffn_dim;
        ExpertPart& part = parts.matrices[i];
        part = {p + names[i] + "_exps.weight", {g.n_experts, rows, columns}, expert * rows * columns, columns, 1};
        if (i == 2) std::swap(part.neuron_stride, part.hidden_stride);
        if (spec.gguf.separate_experts) {
            part.name = p + names[i] + own;
            part.shape = {rows, columns};
            part.first = 0;
        } else if (spec.gguf.fused_gate_up && i < 2) {
            part.name = p + "ffn_gate_up_exps.weight";
            part.shape[1] = 2 * rows;
            part.first = (2 * expert + static_cast<std::int64_t>(i)) * rows * columns;
        }
        // A factor of the output would also apply to its bias.
        if (i < 2 || g.expert.biases) part.scale = scale_of(part.name);
        parts.biases[i] = {
            p + names[i] + "_exps.bias", {g.n_experts, rows}, expert * rows, i < 2 ? 1 : 0, i < 2 ? 0 : 1};
    }
    return parts;
}

}  // namespace offstage::engine
