// Names of tensors in GGUF files: the same for all families, with a few exceptions.
// Source: llama.cpp's gguf-py/gguf/constants.py, and its converters for the changes that
// they make.

#include "engine/model/gguf_tensor_names.h"

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
    if (a.output_gate) {
        return {query_or_gate(p + "attn_q." + end, a, tensor.n_cols, false),
                {p + "attn_k." + end, shape(kv)},
                {p + "attn_v." + end, shape(kv)}};
    }
    const GgufNamedFamily& family = family_of(spec);
    if (tensor.kind == DenseTensor::Kind::kMatrix ? spec.gguf.fused_qkv : spec.gguf.fused_qkv_bias) {
        const TensorPart fused{p + "attn_qkv." + end, shape(q + 2 * kv)};
        if (!family.interleaved) return {fused};
        std::vector<TensorPart> parts;
        for (std::int64_t row = 0; row < q + kv; row += a.head_dim) {
            parts.push_back(fused);
            parts.back().first = row;
            parts.back().count = parts.back().interleaved = a.head_dim;
        }
        parts.push_back(fused);
        parts.back().first = q + kv;
        parts.back().count = kv;
        return parts;
    }
    return {q_or_k(family, p + "attn_q." + end, shape(q), a.head_dim),
            q_or_k(family, p + "attn_k." + end, shape(kv), a.head_dim),
            {p + (a.values_from_keys ? "attn_k." : "attn_v.") + end, shape(kv)}};
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

std::vector<TensorPart> delta_net_parts_of(const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    const std::vector<std::int64_t> matrix = {tensor.n_rows, tensor.n_cols};
    switch (tensor.role) {
        case TensorRole::kQkv:
            return {{p + "attn_qkv.weight", matrix}};
        case TensorRole::kOutputGate:
            return {{p + "attn_gate.weight", matrix}};
        case TensorRole::kDecayAndBeta:
            return {{p + "ssm_alpha.weight", {tensor.n_rows / 2, tensor.n_cols}},
                    {p + "ssm_beta.weight", {tensor.n_rows / 2, tensor.n_cols}}};
        case TensorRole::kConvolution:
            return {{p + "ssm_conv1d.weight", matrix}};
        case TensorRole::kDecayRate:
            return {{p + "ssm_a", {tensor.n_cols}}};
        case TensorRole::kTimeBias:
            return {{p + "ssm_dt.bias", {tensor.n_cols}}};
        case TensorRole::kStateNorm:
            return {{p + "ssm_norm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{p + "ssm_out.weight", matrix}};
        default:
            return {};
    }
}

}  // namespace

std::string gguf_tensor_name(const GgufNamedFamily* family, std::string_view in_file) {
    constexpr std::string_view kBlocks = "blk.";
    const std::size_t dot = in_file.starts_with(kBlocks) ? in_file.find('.', kBlocks.size()) : in_file.npos;
    if (family == nullptr || dot == in_file.npos) return std::string(in_file);
    for (const GgufOtherName& name : family->other_names) {
        if (in_file.substr(dot + 1) == name.theirs) {
            return std::string(in_file.substr(0, dot + 1)) + std::string(name.ours);
        }
    }
    return std::string(in_file);
}

std::vector<TensorPart> gguf_dense_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    if (layer != nullptr && layer->delta_net() != nullptr) {
        if (auto parts = delta_net_parts_of(tensor); !parts.empty()) return parts;
    }
    const std::string ffn_norm = p + family_of(spec).ffn_norm;
    const auto matrix = [&](const std::string& name) -> std::vector<TensorPart> {
        return {{name, {tensor.n_rows, tensor.n_cols}}};
    };
    const auto vector = [&](const std::string& name) -> std::vector<TensorPart> { return {{name, {tensor.n_cols}}}; };
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return matrix("token_embd.weight");
        case TensorRole::kHead:
            return matrix("output.weight");
        case TensorRole::kHeadBias:
            return vector("output.bias");
        case TensorRole::kFinalNorm:
            return vector("output_norm.weight");
        case TensorRole::kFinalNormBias:
            return vector("output_norm.bias");
        case TensorRole::kAttentionNorm:
            return vector(p + "attn_norm.weight");
        case TensorRole::kAttentionNormBias:
            return vector(p + "attn_norm.bias");
        case TensorRole::kQkv:
            return qkv_parts(spec, tensor, "weight");
        case TensorRole::kQkvBias:
            return qkv_parts(spec, tensor, "bias");
        case TensorRole::kQueryNorm:
            return vector(p + "attn_q_norm.weight");
        case TensorRole::kKeyNorm:
            return vector(p + "attn_k_norm.weight");
        case TensorRole::kAttentionOutput:
            return matrix(p + "attn_output.weight");
        case TensorRole::kAttentionOutputBias:
            return vector(p + "attn_output.bias");
        case TensorRole::kOutputGate:
            return {
                query_or_gate(p + "attn_q.weight", std::get<GroupedQuerySpec>(layer->attention), tensor.n_cols, true)};
        case TensorRole::kSinks:
            return vector(p + "attn_sinks.weight");
        case TensorRole::kFfnNorm:
            return vector(ffn_norm + ".weight");
        case TensorRole::kFfnNormBias:
            return vector(ffn_norm + ".bias");
        case TensorRole::kRouter:
            return matrix(p + "ffn_gate_inp.weight");
        case TensorRole::kSelectionBias:
            return vector(p + family_of(spec).selection_bias);
        case TensorRole::kSharedGate:
            return vector(p + "ffn_gate_inp_shexp.weight");
        case TensorRole::kAttentionOutputNorm:
            return vector(p + "post_attention_norm.weight");
        case TensorRole::kFfnOutputNorm:
            return vector(p + "post_ffw_norm.weight");
        case TensorRole::kNetworkOutputNorm:
            return vector(p + "post_ffw_norm_1.weight");
        case TensorRole::kExpertNorm:
            return vector(p + "pre_ffw_norm_2.weight");
        case TensorRole::kExpertOutputNorm:
            return vector(p + "post_ffw_norm_2.weight");
        case TensorRole::kRouterNorm: {
            TensorPart part{p + "ffn_gate_inp.scale", {tensor.n_cols}};
            part.factor = 1 / std::sqrt(static_cast<float>(spec.hidden_dim));
            return {part};
        }
        case TensorRole::kExpertScale:
            return vector(p + "ffn_down_exps.scale");
        case TensorRole::kLayerScale:
            return vector(p + "layer_output_scale.weight");
        case TensorRole::kNetwork: {
            const std::string end =
                (layer->moe() != nullptr ? family_of(spec).shared_network : "") + std::string(".weight");
            const std::int64_t ffn = tensor.n_rows / 3;
            return {{p + "ffn_gate" + end, {ffn, tensor.n_cols}},
                    {p + "ffn_up" + end, {ffn, tensor.n_cols}},
                    {p + "ffn_down" + end, {tensor.n_cols, ffn}}};
        }
        default:
            return latent_parts(spec, tensor);
    }
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
        parts.biases[i] = {
            p + names[i] + "_exps.bias", {g.n_experts, rows}, expert * rows, i < 2 ? 1 : 0, i < 2 ? 0 : 1};
    }
    return parts;
}

}  // namespace offstage::engine
