#pragma once
// The dense weights of a model (all except the routed experts') as a list that follows
// from its spec. Loading, drawing, uploading, quantizing and counting all use this list.

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/model/model_spec.h"
#include "kernels/types.h"

namespace offstage::engine {

enum class TensorRole : std::uint8_t {
    kEmbedding,  // (vocab_size, hidden_dim)
    kHead,       // (vocab_size, hidden_dim); absent where embeddings are tied
    kHeadBias,   // (vocab_size)
    kFinalNorm,  // (hidden_dim)
    kFinalNormBias,

    // hyper-connections with gates (StreamsSpec::gate_rank): of attention, of the
    // feed-forward part and of the head
    kAttentionStreamsNorm,  // (n, hidden_dim)
    kFfnStreamsNorm,
    kHeadStreamsNorm,
    kAttentionStreamsDown,  // (gate_rank, n * hidden_dim)
    kFfnStreamsDown,
    kHeadStreamsDown,
    kAttentionStreamsUp,  // (n * hidden_dim, gate_rank)
    kFfnStreamsUp,
    kHeadStreamsUp,
    kAttentionStreamsInject,  // (n, n * hidden_dim)
    kFfnStreamsInject,
    // and balanced ones (kernels::ops::SinkhornCoefficients)
    kAttentionMix,  // (coefficients, n * hidden_dim)
    kFfnMix,
    kHeadMix,
    kAttentionMixBase,  // (coefficients)
    kFfnMixBase,
    kHeadMixBase,
    kAttentionMixScale,  // (3), of the head (1)
    kFfnMixScale,
    kHeadMixScale,

    // ModelSpec::predicts: of the token and of the state that it comes with
    kPredictionTokenNorm,  // (hidden_dim)
    kPredictionStateNorm,
    kPredictionToken,  // (hidden_dim, hidden_dim): the layer's input is the sum of both products
    kPredictionState,

    kAttentionNorm,  // (hidden_dim): before attention
    kAttentionNormBias,
    kQkv,    // (q rows, k rows, v rows; hidden_dim)
    kQuery,  // these three instead if ModelSpec::split_qkv is set
    kKey,
    kValue,
    kQkvBias,  // (q, k, v)
    kQueryNorm,
    kKeyNorm,          // (head_dim), or the full width
    kAttentionOutput,  // (hidden_dim, n_heads * value_dim)
    kAttentionOutputBias,
    kAttentionOutputNorm,  // (hidden_dim): LayerSpec::output_norms
    kSinks,                // (n_heads): see AttentionShape
    kOutputGate,  // (n_heads or values, hidden_dim); also for recurrent layers, whose kQkv and kAttentionOutput are as
                  // their shapes have rows and outputs

    // latent attention
    kQueryDown,      // (query_rank, hidden_dim); absent where query_rank is 0
    kQueryDownBias,  // (query_rank); these and kAttentionOutputBias by LatentSpec::bias
    kQueryDownNorm,  // (query_rank)
    kQueryUp,     // (n_heads * query_dim, query_rank or hidden_dim): of each head nope_dim rows, then the rotary ones
    kLatentDown,  // (latent_dim + rotary dim, hidden_dim)
    kLatentDownBias,
    kLatentNorm,  // (latent_dim)
    kKeyUp,       // (n_heads * latent_dim, nope_dim): a head's query without positions becomes one of the latent
    kValueUp,     // (n_heads * value_dim, latent_dim)

    // an indexer (IndexerSpec)
    kIndexerQuery,      // (n_heads * head_dim, query_rank or hidden_dim): of each head the rotary rows, then the others
    kIndexerQueryNorm,  // (head_dim); by_head alone
    kIndexerKey,        // (head_dim, hidden_dim)
    kIndexerKeyNorm,    // (head_dim)
    kIndexerKeyNormBias,  // these two not by_head
    kIndexerWeights,      // (n_heads, hidden_dim)

    // pooled keys (PooledSpec), whose queries and keys have the roles of latent attention:
    // values and scores of a token, (keys that it is a part of * key_dim, hidden_dim),
    // what is added to scores, (key_tokens, the same), and the keys' norm
    kPoolValues,
    kPoolScores,
    kPoolPositions,
    kPoolNorm,
    kIndexerPoolValues,
    kIndexerPoolScores,
    kIndexerPoolPositions,
    kIndexerPoolNorm,
    kOutputDown,  // (n_output_groups * output_rank, n_heads / n_output_groups * head_dim)

    // recurrent layers: see kernels::DeltaNetShape, Mamba2Shape and ConvolutionShape
    kDecayAndBeta,  // (2 * n_value_heads, hidden_dim): a of each head, then b
    kTimeStep,      // (n_heads, hidden_dim): dt
    kConvolution,   // (channels, kernel_size), float32
    kConvolutionBias,
    kDecayRate,  // (n_value_heads)
    kTimeBias,   // (n_value_heads)
    kSkip,       // (n_heads)
    kStateNorm,  // (value_dim), or the full width

    // (hidden_dim): the norm before the feed-forward network, and before the routed
    // experts unless they have kExpertNorm.
    kFfnNorm,
    kFfnNormBias,
    kFfnOutputNorm,      // (hidden_dim): LayerSpec::output_norms
    kNetworkOutputNorm,  // (hidden_dim): of the shared experts; these three by MoeSpec::own_norms
    kExpertNorm,         // (hidden_dim): before the routed experts
    kExpertOutputNorm,   // (hidden_dim)
    kRouterNorm,         // (hidden_dim)
    kExpertScale,        // (n_experts)
    kLayerScale,         // (1)
    kRouter,             // (n_experts, hidden_dim), float32
    kSelectionBias,      // (n_experts)
    kExpertsByToken,     // (vocab_size, n_active): RouterArrays::by_token
    kSharedGate,         // (hidden_dim)
    kExpertLatentDown,   // (ExpertGrid::hidden_dim, hidden_dim); these two by MoeSpec::latent
    kExpertLatentUp,     // (hidden_dim, ExpertGrid::hidden_dim)
    kNetwork,            // a dense network or the shared experts: two or three rows a neuron (kernels::ExpertLayout)
};
inline constexpr int kTensorRoles = static_cast<int>(TensorRole::kNetwork) + 1;

struct DenseTensor {
    enum class Kind : std::uint8_t {
        kVector,   // float32: norms, biases, routers
        kMatrix,   // in the checkpoint's type
        kNetwork,  // the same, a network's matrices in one neuron-major block
    };
    TensorRole role = TensorRole::kEmbedding;
    std::int64_t layer = -1;  // -1: none
    Kind kind = Kind::kMatrix;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    bool may_be_quantized = false;  // `dense=8|4`: attention's matrices and networks (Mixtral-Offloading, section 4.2)
    bool unused_in_decode = false;  // read by row: the embedding
    std::optional<StoredTensor> stored = {};  // ModelSpec::stored
    kernels::ExpertSpec network = {};         // of a network, without biases

    std::int64_t n_weights() const { return n_rows * n_cols; }
    // The file's block type, or `plain` for a tensor without one.
    kernels::WeightType stored_type(kernels::WeightType plain) const { return stored ? stored->type : plain; }
    std::int64_t ffn_dim() const { return n_rows / network.n_matrices(); }  // a network's
    // For a network whose matrices are all of one type.
    kernels::ExpertLayout network_layout(kernels::WeightType type) const {
        return kernels::expert_layout(type, n_cols, ffn_dim(), network);
    }
    // A network as the file has it.
    kernels::ExpertLayout stored_network(kernels::WeightType plain) const {
        return stored && stored->network.hidden_dim > 0 ? stored->network : network_layout(stored_type(plain));
    }
    // In memory when matrices are kept as `type`.
    std::uint64_t bytes(kernels::WeightType type) const {
        return static_cast<std::uint64_t>(n_rows) *
               kernels::row_bytes(kind == Kind::kVector ? kernels::WeightType::kF32 : type, n_cols);
    }
    // In memory when it is kept as the file has it.
    std::uint64_t stored_bytes(kernels::WeightType plain) const {
        return kind == Kind::kNetwork ? stored_network(plain).bytes() : bytes(stored_type(plain));
    }
};

// A part's role in the groups above: the role of attention, the part.
constexpr TensorRole role_of_part(TensorRole attention, StreamPart part) {
    return static_cast<TensorRole>(static_cast<int>(attention) + static_cast<int>(part));
}

// Embedding and head first, then layer by layer.
std::vector<DenseTensor> dense_tensors(const ModelSpec& spec);

// Whether quantize_dense() changes a tensor kept as `stored` to `format`: towards fewer
// bits, and to 16 bits from 32; packed formats need rows of a multiple of
// kernels::kPackedBlock. Blocks of a file stay as they are.
bool is_quantized_to(const DenseTensor& tensor, kernels::WeightType stored, kernels::WeightType format);

}  // namespace offstage::engine
