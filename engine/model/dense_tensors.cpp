#include "engine/model/dense_tensors.h"

#include <algorithm>

namespace offstage::engine {
namespace {

class TensorList {
  public:
    explicit TensorList(const ModelSpec& spec) : spec_(spec) {}

    void matrix(TensorRole role, std::int64_t n_rows, std::int64_t n_cols, bool may_be_quantized = true) {
        add(role, DenseTensor::Kind::kMatrix, n_rows, n_cols).may_be_quantized = may_be_quantized;
    }
    void vector(TensorRole role, std::int64_t n) { add(role, DenseTensor::Kind::kVector, 1, n); }
    void norm(TensorRole weight, TensorRole bias) {
        if (!spec_.has_norms()) return;
        vector(weight, spec_.hidden_dim);
        if (spec_.norm.bias) vector(bias, spec_.hidden_dim);
    }

    void streams(StreamPart part) {
        if (!spec_.streams.many()) return;
        const std::int64_t rank = spec_.streams.gate_rank;
        const std::int64_t n = spec_.streams.n, width = n * spec_.hidden_dim;
        if (rank == 0) {
            const bool of_head = part == StreamPart::kHead;
            const std::int64_t n_coefficients = of_head ? n : spec_.streams.n_coefficients();
            matrix(role_of_part(TensorRole::kAttentionMix, part), n_coefficients, width, false);
            vector(role_of_part(TensorRole::kAttentionMixBase, part), n_coefficients);
            vector(role_of_part(TensorRole::kAttentionMixScale, part), of_head ? 1 : 3);
            return;
        }
        add(role_of_part(TensorRole::kAttentionStreamsNorm, part), DenseTensor::Kind::kVector, n, spec_.hidden_dim);
        matrix(role_of_part(TensorRole::kAttentionStreamsDown, part), rank, width);
        matrix(role_of_part(TensorRole::kAttentionStreamsUp, part), width, rank);
        if (part == StreamPart::kHead) return;
        matrix(role_of_part(TensorRole::kAttentionStreamsInject, part), n, width, false);
    }

    void attention(const GroupedQuerySpec& a) {
        const std::int64_t q_rows = a.n_heads * a.head_dim;
        const std::int64_t kv_rows = a.n_kv_heads * a.head_dim;
        const std::int64_t value_rows = a.n_kv_heads * a.of_value();
        const std::int64_t n_outputs = a.n_heads * a.of_value();
        if (layer_ < static_cast<std::int64_t>(spec_.split_qkv.size()) &&
            spec_.split_qkv[static_cast<std::size_t>(layer_)] != 0) {
            matrix(TensorRole::kQuery, q_rows, spec_.hidden_dim);
            matrix(TensorRole::kKey, kv_rows, spec_.hidden_dim);
            matrix(TensorRole::kValue, value_rows, spec_.hidden_dim);
        } else {
            matrix(TensorRole::kQkv, q_rows + kv_rows + value_rows, spec_.hidden_dim);
        }
        if (a.qkv_bias) vector(TensorRole::kQkvBias, q_rows + kv_rows + value_rows);
        if (a.qk_norm != QkNorm::kNone && a.qk_norm_weights) {
            const bool per_head = a.qk_norm != QkNorm::kFullWidth;
            vector(TensorRole::kQueryNorm, per_head ? a.head_dim : q_rows);
            vector(TensorRole::kKeyNorm, per_head ? a.head_dim : kv_rows);
        }
        if (a.sinks) vector(TensorRole::kSinks, a.n_heads);
        if (a.output_gate) matrix(TensorRole::kOutputGate, a.head_gates ? a.n_heads : n_outputs, spec_.hidden_dim);
        matrix(TensorRole::kAttentionOutput, spec_.hidden_dim, n_outputs);
        if (a.output_bias) vector(TensorRole::kAttentionOutputBias, spec_.hidden_dim);
        indexer(a.indexer, spec_.hidden_dim);
    }
    void attention(const LatentSpec& a) {
        if (a.query_rank > 0) {
            matrix(TensorRole::kQueryDown, a.query_rank, spec_.hidden_dim);
            if (a.bias) vector(TensorRole::kQueryDownBias, a.query_rank);
            vector(TensorRole::kQueryDownNorm, a.query_rank);
        }
        matrix(TensorRole::kQueryUp, a.n_heads * a.query_dim(), a.query_rank > 0 ? a.query_rank : spec_.hidden_dim);
        matrix(TensorRole::kLatentDown, a.key_dim(), spec_.hidden_dim);
        if (a.bias) vector(TensorRole::kLatentDownBias, a.key_dim());
        vector(TensorRole::kLatentNorm, a.latent_dim);
        matrix(TensorRole::kKeyUp, a.n_heads * a.latent_dim, a.nope_dim);
        matrix(TensorRole::kValueUp, a.n_heads * a.value_dim, a.latent_dim);
        matrix(TensorRole::kAttentionOutput, spec_.hidden_dim, a.n_heads * a.value_dim);
        if (a.bias) vector(TensorRole::kAttentionOutputBias, spec_.hidden_dim);
        indexer(a.indexer, a.query_rank);
    }
    void attention(const PooledSpec& a) {
        const std::int64_t n_outputs = a.n_output_groups * a.output_rank;
        matrix(TensorRole::kQueryDown, a.query_rank, spec_.hidden_dim);
        vector(TensorRole::kQueryDownNorm, a.query_rank);
        matrix(TensorRole::kQueryUp, a.n_heads * a.head_dim, a.query_rank);
        matrix(TensorRole::kLatentDown, a.head_dim, spec_.hidden_dim);
        vector(TensorRole::kLatentNorm, a.head_dim);
        vector(TensorRole::kSinks, a.n_heads);
        matrix(TensorRole::kOutputDown, n_outputs, a.n_heads / a.n_output_groups * a.head_dim);
        matrix(TensorRole::kAttentionOutput, spec_.hidden_dim, n_outputs);
        if (a.key_tokens == 0) return;
        const auto pooling = [&](TensorRole values, TensorRole scores, TensorRole positions, TensorRole norm,
                                 std::int64_t key_dim) {
            const std::int64_t width = a.n_pooled_parts() * key_dim;
            matrix(values, width, spec_.hidden_dim, false);
            matrix(scores, width, spec_.hidden_dim, false);
            add(positions, DenseTensor::Kind::kVector, a.key_tokens, width);
            vector(norm, key_dim);
        };
        pooling(TensorRole::kPoolValues, TensorRole::kPoolScores, TensorRole::kPoolPositions, TensorRole::kPoolNorm,
                a.head_dim);
        if (a.indexer.n_heads == 0) return;
        matrix(TensorRole::kIndexerQuery, a.indexer.n_heads * a.indexer.head_dim, a.query_rank);
        matrix(TensorRole::kIndexerWeights, a.indexer.n_heads, spec_.hidden_dim, false);
        pooling(TensorRole::kIndexerPoolValues, TensorRole::kIndexerPoolScores, TensorRole::kIndexerPoolPositions,
                TensorRole::kIndexerPoolNorm, a.indexer.head_dim);
    }
    void attention(const DeltaNetSpec& a) {
        const kernels::DeltaNetShape shape = a.shape();
        matrix(TensorRole::kQkv, shape.qkv_width(), spec_.hidden_dim);
        matrix(TensorRole::kOutputGate, shape.output_width(), spec_.hidden_dim);
        matrix(TensorRole::kDecayAndBeta, 2 * a.n_value_heads, spec_.hidden_dim, false);
        add(TensorRole::kConvolution, DenseTensor::Kind::kVector, shape.qkv_width(), a.kernel_size);
        vector(TensorRole::kDecayRate, a.n_value_heads);
        vector(TensorRole::kTimeBias, a.n_value_heads);
        vector(TensorRole::kStateNorm, a.value_dim);
        matrix(TensorRole::kAttentionOutput, spec_.hidden_dim, shape.output_width());
    }
    void attention(const Mamba2Spec& a) {
        const kernels::Mamba2Shape shape = a.shape();
        matrix(TensorRole::kQkv, shape.row_width(), spec_.hidden_dim);
        matrix(TensorRole::kOutputGate, shape.output_width(), spec_.hidden_dim);
        matrix(TensorRole::kTimeStep, a.n_heads, spec_.hidden_dim, false);
        add(TensorRole::kConvolution, DenseTensor::Kind::kVector, shape.row_width(), a.kernel_size);
        vector(TensorRole::kConvolutionBias, shape.row_width());
        vector(TensorRole::kDecayRate, a.n_heads);
        vector(TensorRole::kTimeBias, a.n_heads);
        vector(TensorRole::kSkip, a.n_heads);
        vector(TensorRole::kStateNorm, shape.output_width());
        matrix(TensorRole::kAttentionOutput, spec_.hidden_dim, shape.output_width());
    }
    void attention(const ShortConvolutionSpec& a) {
        matrix(TensorRole::kQkv, 3 * a.n_channels, spec_.hidden_dim);
        add(TensorRole::kConvolution, DenseTensor::Kind::kVector, a.n_channels, a.kernel_size);
        matrix(TensorRole::kAttentionOutput, spec_.hidden_dim, a.n_channels);
    }
    void attention(const NoAttentionSpec&) {}
    void indexer(const IndexerSpec& i, std::int64_t query_cols) {
        if (!i.is_own()) return;
        matrix(TensorRole::kIndexerQuery, i.n_heads * i.head_dim, query_cols);
        if (i.by_head) vector(TensorRole::kIndexerQueryNorm, i.head_dim);
        matrix(TensorRole::kIndexerKey, i.head_dim, spec_.hidden_dim, false);
        vector(TensorRole::kIndexerKeyNorm, i.head_dim);
        if (i.by_head) return;
        vector(TensorRole::kIndexerKeyNormBias, i.head_dim);
        matrix(TensorRole::kIndexerWeights, i.n_heads, spec_.hidden_dim, false);
    }
    void ffn(const DenseFfnSpec& f) { network(f.ffn_dim); }
    void ffn(const MoeSpec& moe) {
        add(TensorRole::kRouter, DenseTensor::Kind::kVector, moe.router.n_experts, spec_.hidden_dim);
        if (moe.by_token) {
            add(TensorRole::kExpertsByToken, DenseTensor::Kind::kVector, spec_.vocab_size, moe.router.n_active)
                .unused_in_decode = true;
        }
        if (moe.selection_bias) vector(TensorRole::kSelectionBias, moe.router.n_experts);
        if (moe.router_norm) vector(TensorRole::kRouterNorm, spec_.hidden_dim);
        if (moe.expert_scale) vector(TensorRole::kExpertScale, moe.router.n_experts);
        if (moe.own_norms) {
            for (const TensorRole role :
                 {TensorRole::kNetworkOutputNorm, TensorRole::kExpertNorm, TensorRole::kExpertOutputNorm}) {
                vector(role, spec_.hidden_dim);
            }
        }
        if (moe.latent) {
            matrix(TensorRole::kExpertLatentDown, spec_.experts.hidden_dim, spec_.hidden_dim);
            matrix(TensorRole::kExpertLatentUp, spec_.hidden_dim, spec_.experts.hidden_dim);
        }
        if (moe.shared_dim > 0) network(moe.shared_dim);
        if (moe.shared_gate) vector(TensorRole::kSharedGate, spec_.hidden_dim);
    }
    void network(std::int64_t ffn_dim) {
        kernels::ExpertSpec expert = spec_.experts.expert;
        expert.biases = false;  // no family has any here
        const float limit = spec_.layers[static_cast<std::size_t>(layer_)].network_limit;
        if (limit > 0) expert.limit = limit;
        DenseTensor& tensor =
            add(TensorRole::kNetwork, DenseTensor::Kind::kNetwork, expert.n_matrices() * ffn_dim, spec_.hidden_dim);
        tensor.may_be_quantized = true;
        tensor.network = expert;
    }

    std::vector<DenseTensor> take() && { return std::move(tensors_); }
    void set_layer(std::int64_t layer) { layer_ = layer; }

    DenseTensor& add(TensorRole role, DenseTensor::Kind kind, std::int64_t n_rows, std::int64_t n_cols) {
        tensors_.push_back({role, layer_, kind, n_rows, n_cols});
        return tensors_.back();
    }

  private:
    const ModelSpec& spec_;
    std::int64_t layer_ = -1;
    std::vector<DenseTensor> tensors_;
};

}  // namespace

std::vector<DenseTensor> dense_tensors(const ModelSpec& spec) {
    TensorList list(spec);
    if (spec.predicts) {
        for (const TensorRole norm : {TensorRole::kPredictionTokenNorm, TensorRole::kPredictionStateNorm}) {
            list.vector(norm, spec.hidden_dim);
        }
        for (const TensorRole part : {TensorRole::kPredictionToken, TensorRole::kPredictionState}) {
            list.matrix(part, spec.hidden_dim, spec.hidden_dim);
        }
    } else {
        list.matrix(TensorRole::kEmbedding, spec.vocab_size, spec.hidden_dim, false);
        if (!spec.tied_embeddings) list.matrix(TensorRole::kHead, spec.vocab_size, spec.hidden_dim, false);
    }
    if (spec.head_bias) list.vector(TensorRole::kHeadBias, spec.vocab_size);
    list.norm(TensorRole::kFinalNorm, TensorRole::kFinalNormBias);
    list.streams(StreamPart::kHead);
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        list.set_layer(l);
        if (layer.has_attention()) {
            list.norm(TensorRole::kAttentionNorm, TensorRole::kAttentionNormBias);
            list.streams(StreamPart::kAttention);
            std::visit([&](const auto& attention) { list.attention(attention); }, layer.attention);
            if (layer.output_norms) list.vector(TensorRole::kAttentionOutputNorm, spec.hidden_dim);
        }
        if (layer.has_ffn()) {
            list.norm(TensorRole::kFfnNorm, TensorRole::kFfnNormBias);
            list.streams(StreamPart::kNetwork);
            std::visit([&](const auto& ffn) { list.ffn(ffn); }, layer.ffn);
            if (layer.output_norms) list.vector(TensorRole::kFfnOutputNorm, spec.hidden_dim);
        }
        if (layer.scaled) list.vector(TensorRole::kLayerScale, 1);
    }
    std::vector<DenseTensor> tensors = std::move(list).take();
    tensors.front().unused_in_decode = !spec.tied_embeddings && !spec.predicts;
    for (std::size_t i = 0; i < std::min(tensors.size(), spec.stored.size()); ++i) tensors[i].stored = spec.stored[i];
    return tensors;
}

bool is_quantized_to(const DenseTensor& tensor, kernels::WeightType stored, kernels::WeightType format) {
    if (!tensor.may_be_quantized || stored == format || !kernels::is_plain(stored)) return false;
    if (kernels::is_packed(format)) return tensor.n_cols % kernels::kPackedBlock == 0;
    return format == kernels::WeightType::kBf16 && stored == kernels::WeightType::kF32;
}

}  // namespace offstage::engine
