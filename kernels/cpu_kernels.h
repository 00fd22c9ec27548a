#pragma once
// The list of the kernels that operations (kernels/ops) have for each instruction set.
// One table per set; the best one that this machine can run is chosen once.
//
// Weights may be of any type. Packed ones (kernels/packed.h) are decoded to float32 as
// they are read: rows of a multiple of kPackedBlock weights, each beginning at a multiple
// of 8 bytes.
//
// Every function works on one thread, on the range it is given; the caller splits the
// work (ThreadPool). Inputs and outputs never overlap unless a comment says so. No
// alignment is required beyond an element's own. Each kernel's scalar version
// (kernels/ops/*.cpp, kernels/cpu/*_scalar.cpp) defines the result; the others may differ
// only by rounding.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/expert_layout.h"
#include "kernels/kv_cache.h"
#include "kernels/router.h"
#include "kernels/types.h"

namespace offstage::kernels {

enum class InstructionSet : std::uint8_t { kScalar, kAvx2, kAvx512, kAvx512Bf16 };

// The keys and values of one head in one layer of a sequence, in blocks. The row of key k
// begins at blocks[k / kKvBlockTokens] + keys + k % kKvBlockTokens * key_stride, in
// bytes; that of its value at ... + values + ... * value_stride. Where values are the
// keys' first value_dim values (latent attention), both are the same.
struct KvHead {
    const std::byte* const* blocks = nullptr;
    KvType type = KvType::kF32;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    std::int64_t keys = 0;
    std::int64_t values = 0;
    std::int64_t key_stride = 0;
    std::int64_t value_stride = 0;

    bool values_in_keys() const { return values == keys; }
};

KvHead kv_head_of(const KvShape& shape, const std::byte* const* blocks, std::int64_t layer, std::int64_t kv_head);

// Converts a row of n values to and from the cache's format (kernels/kv_cache.h).
void store_kv_row(const float* from, std::int64_t n, KvType type, std::byte* to);
void load_kv_row(const std::byte* from, std::int64_t n, KvType type, float* to);

// The order in which attention sums a score: always the order for many queries, or
// whichever is faster for their number.
enum class QueryOrder : std::uint8_t { kByNumber, kMany };

// How the queries of one call are related.
enum class QueryRows : std::uint8_t {
    kTokens,  // one head's, of consecutive tokens: each sees one key more than the one before
    kHeads,   // several heads', of one token: all see all keys. Each result is that of its own call, bit by bit
};

// Rows of an indexer's queries and of their heads' weights, and where the scores go.
struct IndexerRows {
    const float* queries = nullptr;  // (n_rows, n_heads, key_dim)
    const float* weights = nullptr;  // (n_rows, n_heads); nullptr: n_heads is 1, its product alone counts
    std::int64_t n_rows = 0;
    std::int64_t n_heads = 0;
    float* scores = nullptr;  // row r's of key k: scores[r * stride + k]
    std::int64_t stride = 0;
};

// Tokens of one value head of a layer of linear attention: t's values are at q + t *
// stride and so on.
struct DeltaRule {
    std::int64_t n_tokens = 0;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    const float* q = nullptr;  // (key_dim)
    const float* k = nullptr;  // (key_dim)
    const float* v = nullptr;  // (value_dim)
    std::int64_t stride = 0;
    const float* decay = nullptr;
    const float* beta = nullptr;
    std::int64_t gate_stride = 0;
    float* out = nullptr;  // (value_dim)
    std::int64_t out_stride = 0;
    bool corrects = true;  // false: nothing is subtracted from v (Mamba-2)
};

// Bytes of one token's n rounded inputs for CpuKernels::matvec_bytes(): codes, for each
// 32 of them a scale, and sums, all padded to a multiple of 256 inputs.
inline constexpr std::int64_t rounded_input_bytes(std::int64_t n) {
    return (n + 255) / 256 * (256 + 2 * 16 * 4);
}

// Bytes of scratch memory for CpuKernels::matvec_bytes(), for weights of n columns:
// panels of 16 rows unpacked, 16 codes and at most 4 * 16 numbers for 32 of the columns,
// as many as fit in a core's second-level cache.
inline constexpr std::int64_t byte_panel_bytes(std::int64_t n) {
    return (n + 255) / 256 * (256 * 16 + 8 * 4 * 16 * 4);
}
inline constexpr std::int64_t byte_panels(std::int64_t n) {
    const std::int64_t fitting = (std::int64_t{1} << 18) / byte_panel_bytes(n);
    return fitting < 2 ? 2 : fitting > 4 ? 4 : fitting;
}
inline constexpr std::int64_t byte_product_scratch(std::int64_t n) {
    return byte_panels(n) * byte_panel_bytes(n) + 64;
}

struct CpuKernels {
    InstructionSet instruction_set;

    // y[r] = sum_k weight[r][k] * x[k] for r in [row_begin, row_end); y is indexed by r,
    // not by r - row_begin. Products and sums in float32 (bf16 and f16 weights are
    // widened exactly).
    void (*matvec)(const WeightView& weight, const float* x, std::int64_t row_begin, std::int64_t row_end, float* y);

    // The same for n_tokens (1..8) inputs at once, reading each weight once: x (n_tokens,
    // n_cols) with x_stride, y (n_tokens, n_rows) with y_stride.
    void (*matvec_multi)(const WeightView& weight, const float* x, std::int64_t x_stride, int n_tokens,
                         std::int64_t row_begin, std::int64_t row_end, float* y, std::int64_t y_stride);

    // Inputs rounded to 8 bits for matvec_bytes() with weights of `type`, n columns (a
    // multiple of 32): each 32 of a token have a scale, their largest magnitude divided
    // by 127. x (n_tokens, n) with x_stride; to: rounded_input_bytes(n) for each token.
    void (*round_inputs)(WeightType type, const float* x, std::int64_t x_stride, int n_tokens, std::int64_t n,
                         std::byte* to) = nullptr;
    // As matvec_multi for a weight in a file's blocks or our own formats and any number
    // of tokens, whose inputs lie at inputs[token], from round_inputs() of this set.
    // Codes and rounded inputs are multiplied as whole numbers, exactly. A token's result
    // does not depend on the other tokens, their number or the interleaving of rows, bit
    // by bit. For interleaved rows row_begin and row_end are multiples of 16. scratch:
    // byte_product_scratch(n_cols).
    void (*matvec_bytes)(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                         std::int64_t row_end, float* y, std::int64_t y_stride, std::byte* scratch) = nullptr;

    // Expert for n_tokens (1..8) tokens over neurons [neuron_begin, neuron_end), one
    // sequential pass over the block: out[t] += scale[t] * sum_j activation(w1_j . x[t],
    // w3_j . x[t]) * w2_j, with silu: silu(w1_j . x) * (w3_j . x). The range that begins
    // with neuron 0 adds w2's bias. x, out: (n_tokens, hidden_dim), contiguous. w2 is
    // neuron-major. ExpertSpec::theta must be 0; kernels/sparse_experts.h has the version
    // for others.
    void (*expert_ffn)(const ExpertView& expert, const float* x, const float* scale, int n_tokens,
                       std::int64_t neuron_begin, std::int64_t neuron_end, float* out);

    // out = x / sqrt(mean(x^2) + eps) * weight. All n long. out may be x. weight nullptr:
    // all 1.
    void (*rms_norm)(const float* x, const float* weight, std::int64_t n, float eps, float* out);
    // out = (x - mean(x)) / sqrt(variance(x) + eps) * weight + bias; bias nullptr: no
    // bias. out may be x.
    void (*layer_norm)(const float* x, const float* weight, const float* bias, std::int64_t n, float eps, float* out);

    // Rotary embedding in place, Hugging Face's half-split pairing: pairs (i, i + dim/2)
    // of dim values. cos, sin: dim/2 values for the position.
    void (*rope)(float* head, const float* cos, const float* sin, std::int64_t dim);

    // Attention of n_queries queries over the cache of their sequence. kTokens: query q
    // (0-based) sees keys [first_key, n_keys - n_queries + q]; first_key <= n_keys -
    // n_queries. kHeads: each sees [first_key, n_keys). q: rows of kv.key_dim, out: rows
    // of kv.value_dim, with the given strides. Softmax in float32 with the maximum
    // subtracted; scale applied to q . k. sinks: of the head (kTokens), or of each
    // query's (kHeads), see AttentionShape; nullptr: none. The result does not depend on
    // where the blocks lie, bit by bit; with kMany a query's does not depend on the other
    // queries either. scratch: at least attention_scratch_floats() floats, owned by the
    // caller.
    void (*attention)(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key,
                      std::int64_t n_queries, std::int64_t n_keys, float scale, const float* sinks, float* out,
                      std::int64_t out_stride, QueryRows rows, QueryOrder order, float* scratch);

    // The scores of ops::ChooseKeys for keys [begin, end), the same bits in every
    // instruction set. scratch: indexer_scratch_floats() floats, owned by the caller.
    void (*indexer_scores)(const IndexerRows& rows, const KvHead& kv, std::int64_t begin, std::int64_t end,
                           float* scratch);

    // Columns [column_begin, column_end) of a state S (key_dim, value_dim) go through all
    // tokens, one after the other: S = decay S + k (beta (v - decay k^T S))^T, out = q^T
    // S (DeltaNetShape), or without `decay k^T S` (Mamba2Shape). A column's result does
    // not depend on the others, bit by bit.
    void (*delta_rule)(const DeltaRule& rule, std::int64_t column_begin, std::int64_t column_end, float* state);

    // out[i] = the activation of gate[i] and up[i], without biases. It is 0 for neurons
    // that ExpertSpec::theta leaves out. out may be gate.
    void (*activate)(const ExpertSpec& spec, const float* gate, const float* up, std::int64_t n, float* out);

    // y[i] += a * x[i].
    void (*axpy)(float a, const float* x, std::int64_t n, float* y);

    // x[i] = limit tanh(x[i] / limit).
    void (*soft_cap)(float limit, std::int64_t n, float* x);

    // Widening and narrowing copies; to_bf16 rounds to nearest even. kF32 is a plain
    // copy. Packed types: source is a row of n weights.
    void (*widen)(const void* source, WeightType type, std::int64_t n, float* out);
    void (*narrow_bf16)(const float* source, std::int64_t n, Bf16* out);

    // Index of the largest value, the first one on a tie. n >= 1. NaN is never the
    // largest; 0 if all are NaN or -infinity.
    std::int64_t (*argmax)(const float* x, std::int64_t n);
};

// Its kernels by name, those of integer products (kernels/cpu/operations.h) apart.
#define OFFSTAGE_CPU_KERNELS(EACH) \
    EACH(matvec)                   \
    EACH(matvec_multi)             \
    EACH(expert_ffn)               \
    EACH(rms_norm)                 \
    EACH(layer_norm)               \
    EACH(rope)                     \
    EACH(attention)                \
    EACH(indexer_scores)           \
    EACH(delta_rule)               \
    EACH(activate)                 \
    EACH(axpy)                     \
    EACH(soft_cap)                 \
    EACH(widen)                    \
    EACH(narrow_bf16)              \
    EACH(argmax)

// A block of keys, widened and transposed.
inline constexpr std::int64_t indexer_scratch_floats(std::int64_t key_dim) {
    return 2 * kKvBlockTokens * key_dim;
}
// n: the larger number of keys and queries. dim: the larger of key_dim and value_dim.
std::int64_t attention_scratch_floats(std::int64_t n, std::int64_t dim);

// The sets that this machine can run and this program has kernels for, worst first; never
// empty.
std::vector<InstructionSet> available_instruction_sets();
// The best that this processor can run, whether this program has its kernels or not.
InstructionSet best_of_processor();
std::string_view name_of(InstructionSet set);

const CpuKernels& cpu_kernels(InstructionSet set);  // precondition: available
// The best available set, or the one that the environment variable OFFSTAGE_ISA names
// (scalar, avx2, avx512, avx512_bf16).
const CpuKernels& cpu_kernels();

// The router's choice for one token: the n_active experts with the largest score, best
// first, and their weights. The selection adds selection_bias (n_experts) if it is given;
// on ties the lower index comes first, and NaN counts as smallest; only the groups in use
// count. The weights come from the scores without the bias, as RouterSpec says, times the
// expert's expert_scale (n_experts) if it is given. The experts that by_token names come
// before all others, the lower index first. experts, weights: n_active long. scratch: 2 *
// n_experts floats of the caller.
void route(const RouterSpec& spec, std::span<const float> logits, const float* selection_bias,
           std::span<std::int32_t> experts, std::span<float> weights, std::span<float> scratch,
           const float* expert_scale = nullptr, std::span<const float> by_token = {});

}  // namespace offstage::kernels
