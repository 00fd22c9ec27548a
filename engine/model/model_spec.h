#pragma once
// A model as data: the computation and the sizes of every layer. Families
// (engine/model/families/) fill it from a configuration; byte counts, workspace, grids
// and modules follow from it.
//
// The vocabulary of shapes used everywhere:
//   n_layers, n_experts, n_active, hidden_dim, ffn_dim, head_dim, n_heads, n_kv_heads,
//   n_tokens, vocab_size

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/indices.h"
#include "kernels/expert_layout.h"
#include "kernels/kv_cache.h"
#include "kernels/router.h"
#include "kernels/types.h"

namespace offstage::engine {

struct Family;

// Families that store 1 + w get the 1 added when the weights are loaded.
struct NormSpec {
    kernels::NormKind kind = kernels::NormKind::kRms;
    float eps = 1e-5f;
    bool bias = false;  // kLayer only
};

// Rotary positions. Pairs are (i, i + dim / 2): families that pair neighbours (2 i, 2 i +
// 1) have the rows of their projections reordered when the weights are loaded, which
// gives the same scores.
struct RopeSpec {
    std::int64_t dim = 0;  // rotated values of a head, from its first on; even; 0: no positions
    double theta = 10000.0;
    // For each pair, as a multiple of the plain frequency theta^(-2 i / dim); empty: all
    // 1.
    std::vector<double> frequency_scale;
    double amplitude = 1.0;  // factor of cos and sin (YaRN's attention factor)
    // Dynamic NTK scaling: a step that ends at token n, beyond these, turns with theta
    // times (factor n / context - (factor - 1))^(dim / (dim - 2)). 0: none does.
    std::int64_t dynamic_context = 0;
    double dynamic_factor = 1.0;
    // LongRoPE: sequences that may hold more than original_context tokens have these
    // instead. 0: all have the same.
    std::int64_t original_context = 0;
    std::vector<double> long_frequency_scale;
    double long_amplitude = 1.0;
    std::int64_t unit = 1;  // positions are rounded down to multiples of it

    bool is_long(std::int64_t context) const { return original_context > 0 && context > original_context; }
    bool operator==(const RopeSpec&) const = default;
};

// YaRN (Peng and others, 2023, section 3.4): frequencies between the two wavelengths are
// interpolated.
struct Yarn {
    double factor = 1;
    double beta_fast = 32, beta_slow = 1;
    std::int64_t original_context = 0;
    bool truncated = true;  // the borders of the ramp are whole pairs
};
std::vector<double> yarn_frequency_scale(const Yarn& yarn, std::int64_t dim, double theta);

enum class QkNorm : std::uint8_t {
    kNone,
    kPerHead,     // RMS over each head's head_dim, one weight for all heads
    kFullWidth,   // RMS over all heads together
    kTurnedHead,  // kPerHead, but behind the rotation
};

// Queries of token p are multiplied by 1 + beta log(1 + floor((p + ahead) / context)):
// attention to many tokens stays as sharp as to a few.
struct QueryGrowth {
    double beta = 0;  // 0: they are not
    std::int64_t context = 1;
    std::int64_t ahead = 0;
};

// A learned indexer that chooses the keys which a token attends to (DeepSeek-V3.2-Exp,
// section 2.1; MiniMax-M3); ops::ChooseKeys defines the choice. It has one key of a
// token, normed and rotated as the attention's are, which the layer keeps beside its own.
struct IndexerSpec {
    std::int64_t n_heads = 0;  // 0: there is none
    std::int64_t head_dim = 0;
    std::int64_t top_k = 0;  // a token that sees no more keys attends to all
    // Keys are chosen in blocks of so many, the last n_local ones always.
    std::int64_t block = 1;
    std::int64_t n_local = 0;
    // Each head chooses for one cached head, without weights; queries and key pass an RMS
    // norm of a head. Otherwise the key alone passes a norm, with its mean and a bias.
    bool by_head = false;
    bool interleaved = false;  // in the checkpoint: pairs of neighbours; they are a head's first values
    bool shared = false;       // this layer has none of its own and attends to what the one before it chose
    float norm_eps = 1e-6f;

    bool is_own() const { return n_heads > 0 && !shared; }
};

// Grouped-query attention.
struct GroupedQuerySpec {
    std::int64_t n_heads = 0;
    std::int64_t n_kv_heads = 0;  // divides n_heads
    std::int64_t head_dim = 0;    // even; of queries and keys
    std::int64_t value_dim = 0;   // 0: as head_dim
    std::int64_t window = 0;      // a token sees itself and the window - 1 tokens before it; 0: all
    // The text is cut into chunks of `window` tokens, a multiple of
    // kernels::kKvBlockTokens: a token sees itself and those before it in its chunk.
    bool chunked = false;
    bool qkv_bias = false;
    bool output_bias = false;
    bool sinks = false;        // a learned score of each head that belongs to no key
    bool output_gate = false;  // each value of a head's output is multiplied by sigmoid(gate . x), with a separate gate
    bool head_gates = false;   // with output_gate: a head's values have one together
    QkNorm qk_norm = QkNorm::kNone;
    bool qk_norm_weights = true;  // otherwise all are 1, and the file has none
    bool value_norm = false;      // RMS over each head's values, without weights
    float qk_norm_eps = 1e-6f;    // of both
    // Values are projected by the keys' matrix: the file has it once, kQkv twice.
    bool values_from_keys = false;
    float clip = 0;  // queries, keys and values, normed, lie within -clip .. clip; 0: anywhere
    RopeSpec rope;
    float scale = 0;  // of q . k
    float value_scale = 1;
    QueryGrowth growth;
    IndexerSpec indexer;  // by_head, with n_kv_heads heads
    std::int64_t of_value() const { return value_dim > 0 ? value_dim : head_dim; }
};

// Multi-head latent attention (DeepSeek-V2, section 2.1). The cache keeps the latent and
// the rotated key of each token. Keys and values of the heads are never formed: their
// projections are applied to the queries and to the outputs (the absorbed form).
struct LatentSpec {
    std::int64_t n_heads = 0;
    std::int64_t query_rank = 0;  // 0: queries come straight from the hidden state
    std::int64_t latent_dim = 0;  // kv_lora_rank
    std::int64_t nope_dim = 0;    // a query head's part without positions
    std::int64_t value_dim = 0;   // a head's output
    bool bias = false;            // of the projections from the hidden state and back to it
    float norm_eps = 1e-6f;       // of the norms of query and latent
    RopeSpec rope;                // dim: the rotated part of a query head, and of the one key
    bool interleaved = true;      // in the checkpoint: pairs of neighbours
    float scale = 0;
    QueryGrowth growth;
    IndexerSpec indexer;  // of queries of query_rank
    std::int64_t query_dim() const { return nope_dim + rope.dim; }
    std::int64_t key_dim() const { return latent_dim + rope.dim; }  // of a cached token
};

// Attention to a window and, beside it, to pooled keys (DeepSeek-V4, section 2.3):
// ops::AttendPooled and ops::PoolKeys define the computation. One cached head serves all
// queries, and its values are its keys: these turn, so the outputs are turned back. A
// projection of each group of heads makes the outputs smaller before the last one. Each
// query head passes an RMS norm without weights.
struct PooledSpec {
    std::int64_t n_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t query_rank = 0;
    std::int64_t window = 0;
    std::int64_t key_tokens = 0;       // that a pooled key stands for (KvShape::key_tokens); 0: there are none
    bool overlaps = false;             // a pooled key is made of as many tokens before its own as well
    std::int64_t n_output_groups = 1;  // divides n_heads
    std::int64_t output_rank = 0;      // of a group
    float norm_eps = 1e-6f;
    RopeSpec rope;         // of a head's last values, pairs of neighbours
    RopeSpec pooled_rope;  // the same in units of key_tokens
    float scale = 0;
    IndexerSpec indexer;  // of pooled keys, whose own keys are pooled likewise; of queries of query_rank

    std::int64_t n_pooled_parts() const { return overlaps ? 2 : 1; }
};

// Gated DeltaNet (Yang and others, 2024, arXiv:2412.06464): keeps no keys, but one state
// of fixed size for each sequence. The shape, here without weights, defines the
// computation.
struct DeltaNetSpec : kernels::DeltaNetShape {
    RopeSpec rope;  // the other layers'; there are no positions here

    const kernels::DeltaNetShape& shape() const { return *this; }
};

// Mamba-2 (Dao and Gu, 2024, arXiv:2405.21060): recurrent as well.
struct Mamba2Spec : kernels::Mamba2Shape {
    RopeSpec rope;  // the other layers'

    const kernels::Mamba2Shape& shape() const { return *this; }
};

// Gated short convolution (LFM2): keeps the inputs of the last tokens alone.
// kernels::ops::GatedConvolution defines the computation.
struct ShortConvolutionSpec {
    std::int64_t n_channels = 0;   // hidden_dim
    std::int64_t kernel_size = 0;  // a token and so many less one before it
    RopeSpec rope;                 // the other layers'

    kernels::ConvolutionShape shape() const { return {n_channels, kernel_size, nullptr, nullptr, false}; }
};

// Of a layer that is its feed-forward part alone.
struct NoAttentionSpec {
    RopeSpec rope;  // the other layers'
};

using AttentionSpec = std::variant<GroupedQuerySpec, LatentSpec, PooledSpec, DeltaNetSpec, Mamba2Spec,
                                   ShortConvolutionSpec, NoAttentionSpec>;

// A feed-forward network with the activation of the experts (ExpertGrid::expert).
struct DenseFfnSpec {
    std::int64_t ffn_dim = 0;  // 0: the layer is its attention alone
};

// Hyper-connections (Zhu and others, 2024, arXiv:2409.19606): n residual streams, which
// each part reads as one, and adds its output to. The parts:
enum class StreamPart : std::uint8_t { kAttention, kNetwork, kHead };
struct StreamsSpec {
    std::int64_t n = 1;  // up to kernels::ops::kMostStreams; 1: the plain residual stream
    // Qwen4: gates of each value of each normed stream, sigmoid(up silu(down x / n)); the
    // parts have no other norm, and neither has the head.
    std::int64_t gate_rank = 0;
    // Otherwise (DeepSeek-V4): kernels::ops::SinkhornCoefficients.
    std::int64_t n_sinkhorn = 0;
    float eps = 0;

    bool many() const { return n > 1; }
    // Floats of one token that a part keeps from reading to writing.
    std::int64_t n_coefficients() const { return many() ? n * (n + 2) : 0; }
};

// Sizes that are the same in all layers with experts. ExpertIds run over these layers
// only.
struct ExpertGrid {
    std::int64_t n_layers = 0;  // layers with experts
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;    // experts per token
    std::int64_t hidden_dim = 0;  // of their inputs and outputs: the model's, or with MoeSpec::latent a smaller one
    std::int64_t ffn_dim = 0;     // one expert's
    kernels::ExpertSpec expert = {};
    std::vector<float> limits;  // ExpertSpec::limit of each layer (n_layers); empty: the same in all
    // If the model's file has experts in blocks: the layouts that WeightType::kFile1 and
    // those after it stand for, and each layer's type (n_layers). Otherwise empty.
    std::vector<kernels::ExpertLayout> file_layouts;
    std::vector<kernels::WeightType> file_formats;

    std::int64_t size() const { return n_layers * n_experts; }
    std::int64_t expert_weights() const { return expert.n_matrices() * hidden_dim * ffn_dim; }
    float limit(std::int64_t layer) const {
        return limits.empty() ? expert.limit : limits[static_cast<std::size_t>(layer)];
    }
    // A layer's differs from the grid's in ExpertSpec::limit.
    kernels::ExpertLayout layout(kernels::WeightType format, std::int64_t layer) const {
        kernels::ExpertLayout own = layout(format);
        own.spec.limit = limit(layer);
        return own;
    }
    kernels::ExpertLayout layout(kernels::WeightType format) const {
        if (!kernels::traits_of(format).is_of_file()) {
            return kernels::expert_layout(format, hidden_dim, ffn_dim, expert);
        }
        return file_layouts[static_cast<std::size_t>(format) - static_cast<std::size_t>(kernels::WeightType::kFile1)];
    }
    // A layer's, where `master` is the first layer's: WeightSource::expert_type().
    kernels::WeightType stored(kernels::WeightType master, std::int64_t layer) const {
        return file_formats.empty() ? master : file_formats[static_cast<std::size_t>(layer)];
    }
    std::uint64_t expert_bytes(kernels::WeightType format) const { return layout(format).bytes(); }
    bool operator==(const ExpertGrid&) const = default;
};

// The file's format of a dense tensor, if it is in blocks.
struct StoredTensor {
    kernels::WeightType type = kernels::WeightType::kBf16;
    kernels::ExpertLayout network = {};  // a network's; hidden_dim 0: its matrices are all of that type
};

struct MoeSpec {
    kernels::RouterSpec router;
    bool selection_bias = false;  // see kernels::adds_bias_to_logits()
    bool by_token = false;        // a table names the experts of each token; the router weighs them
    bool expert_scale = false;    // each expert's weight is multiplied by a separate number
    bool router_norm = false;     // the router's input is the residual stream after a separate RMS norm
    std::int64_t shared_dim = 0;  // ffn_dim of the experts that every token uses, as one network; 0: none
    bool shared_gate = false;     // their output is multiplied by sigmoid(gate . x)
    // The routed experts work in a latent of ExpertGrid::hidden_dim: one matrix makes their
    // input of the router's, another the layer's output of their sum.
    bool latent = false;
    bool weighs_inputs = false;  // the weights multiply the routed experts' inputs; of one expert a token
    // The routed experts' input is the residual stream after a separate RMS norm, and
    // their sum passes another before the shared experts' output is added, which has one
    // as well. LayerSpec::output_norms is then set.
    bool own_norms = false;
};

using FfnSpec = std::variant<DenseFfnSpec, MoeSpec>;

struct LayerSpec {
    AttentionSpec attention;
    FfnSpec ffn;
    // The outputs of attention and of the feed-forward part pass a norm before they are
    // added to the residual stream.
    bool output_norms = false;
    bool scaled = false;      // the stream is multiplied by a number of the layer's own at its end
    float network_limit = 0;  // ExpertSpec::limit of the network that every token passes; 0: the experts'

    const MoeSpec* moe() const { return std::get_if<MoeSpec>(&ffn); }
    bool has_attention() const { return !std::holds_alternative<NoAttentionSpec>(attention); }
    // Of the network that every token passes: a dense layer's, or the shared experts; 0:
    // none.
    std::int64_t network_dim() const {
        return moe() != nullptr ? moe()->shared_dim : std::get<DenseFfnSpec>(ffn).ffn_dim;
    }
    const IndexerSpec* indexer() const;  // nullptr: the layer attends to all keys
    bool has_ffn() const { return moe() != nullptr || network_dim() > 0; }
    const PooledSpec* pooled() const { return std::get_if<PooledSpec>(&attention); }
    const DeltaNetSpec* delta_net() const { return std::get_if<DeltaNetSpec>(&attention); }
    // Floats that a recurrent layer keeps of a sequence; 0: the layer keeps keys.
    std::int64_t kept_size() const;
};

// Differences between GGUF files of one family.
struct GgufVariant {
    bool fused_qkv = false;         // attn_qkv.weight
    bool fused_qkv_bias = false;    // attn_qkv.bias; either may be without the other
    bool joined_kv_b = false;       // attn_kv_b, not attn_k_b and attn_v_b
    bool joined_delta_net = false;  // ssm_in, not attn_qkv and attn_gate
    bool joined_rates = false;      // ssm_ba, not ssm_alpha and ssm_beta
    bool fused_gate_up = false;     // ffn_gate_up_exps
    bool separate_experts = false;  // ffn_gate.0 and so on, as the first files had them
};

// Differences between safetensors checkpoints of one family.
struct SafetensorsVariant {
    // Beside a tower "model.X" may be named "model.language_model.X", or all tensors lie
    // below "language_model.".
    enum class Below : std::uint8_t { kNothing, kModel, kLanguageModel };
    Below below = Below::kNothing;
    // All experts' gate and up are one tensor, and all down, as transformers 5 holds
    // them. Some families have other names then.
    bool fused_experts = false;
    bool head_alone = false;  // embedding and head are tied, and the file has only the head
};

struct ModelSpec {
    const Family* family = nullptr;  // nullptr: no checkpoint (a synthetic model)
    std::string architecture;        // "MixtralForCausalLM"
    std::int64_t vocab_size = 0;
    std::int64_t hidden_dim = 0;
    std::int64_t max_context = 0;  // tokens
    NormSpec norm;                 // for attention's and the feed-forward network's input, and before the head
    StreamsSpec streams;
    std::vector<LayerSpec> layers;
    ExpertGrid experts;
    bool tied_embeddings = false;
    bool head_bias = false;
    // Not a whole model, but the layer of one that predicts further tokens
    // (engine/model/prediction_layer.h): its tokens come with the model's states before
    // them. Embedding and head are the model's.
    bool predicts = false;
    float embedding_scale = 1;  // for the embedded tokens
    float residual_scale = 1;   // for the outputs of attention and network; the experts' is in RouterSpec::scale
    float logits_scale = 1;
    float logits_cap = 0;  // logits become cap tanh(logit / cap); 0: they stay
    GgufVariant gguf;      // for a model in a GGUF file
    SafetensorsVariant safetensors;
    // Files may have a layer's queries, keys and values in different formats: three
    // tensors then (n_layers). Empty: one in all layers.
    std::vector<std::uint8_t> split_qkv;
    // In the order of dense_tensors(); empty: as the experts, in a plain type.
    std::vector<StoredTensor> stored;
    TokenId bos_token = -1;           // -1: none
    std::vector<TokenId> eos_tokens;  // config.json and generation_config.json together

    std::int64_t n_layers() const { return static_cast<std::int64_t>(layers.size()); }
    // The layer number of layer `moe_layer` of the grid.
    std::int64_t layer_of(std::int64_t moe_layer) const { return moe_layers_[static_cast<std::size_t>(moe_layer)]; }
    // Whether attention, networks and head have the norm: gated streams have another.
    bool has_norms() const { return streams.gate_rank == 0; }
    const RopeSpec& rope(std::int64_t layer = 0) const;
    // A layer's shape for its attention kernels and its KV cache
    // (engine/model/kv_layout.h). All 0 for a recurrent layer.
    kernels::AttentionShape attention_shape(std::int64_t layer) const;
    // The same for a layer's own indexer; without one all 0.
    kernels::AttentionShape indexer_shape(std::int64_t layer) const;
    // The largest of all layers with attention, field by field.
    kernels::AttentionShape largest_attention() const;
    // For the largest network that every token passes: a dense layer's, or the shared
    // experts; 0: none.
    std::int64_t dense_ffn_dim() const;

    // After the layers are filled: sets experts.n_layers and layer_of(). Throws Error
    // (kUnsupported) for a model without experts.
    void number_moe_layers();

    std::int64_t total_weights() const;  // below 2^60 after reading, so that no byte count overflows
    // Read per token: one embedding row, n_active experts per layer, the rest whole. Tied
    // embeddings are read whole once.
    std::int64_t active_weights() const;

  private:
    std::vector<std::int64_t> moe_layers_;
};

}  // namespace offstage::engine
