#pragma once
// Number formats of weights and their conversions to float, views of weights, and the
// shapes that kernels work on. Plain integers inside: no SIMD types. C++17, because the
// device code includes this and nvcc 11 supports no newer standard.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/formats.h"

namespace offstage::kernels {

// bfloat16: the upper 16 bits of an IEEE float32.
struct Bf16 {
    std::uint16_t bits = 0;
};

// IEEE 754 binary16.
struct F16 {
    std::uint16_t bits = 0;
};

inline float float_of_bits(std::uint32_t bits) {
    float value = 0.0f;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline std::uint32_t bits_of(float value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float to_float(Bf16 value) {
    return float_of_bits(std::uint32_t{value.bits} << 16);
}

// Round to nearest even; NaN stays NaN.
inline Bf16 to_bf16(float value) {
    const std::uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
    return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
}

inline float to_float(F16 value) {
    const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16;
    const std::uint32_t exponent = (value.bits >> 10) & 0x1fu;
    const std::uint32_t mantissa = value.bits & 0x3ffu;
    if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return float_of_bits(bits_of(magnitude) | sign);
    }
    if (exponent == 31) return float_of_bits(sign | 0x7f800000u | (mantissa << 13));
    return float_of_bits(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

inline float to_float(float value) {
    return value;
}

// An immutable two-dimensional weight in memory, row-major, rows possibly apart. Does not
// own the memory.
struct WeightView {
    const void* data = nullptr;
    WeightType type = WeightType::kF32;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    std::size_t stride = 0;  // bytes from one row to the next; 0: one follows the other
    // Rows are in strips (kernels/interleaved.h). row() of a strip's first row is the
    // strip; stride is a row's bytes.
    bool interleaved = false;

    const std::byte* row(std::int64_t index) const {
        return static_cast<const std::byte*>(data) + static_cast<std::size_t>(index) * stride_bytes();
    }
    std::size_t stride_bytes() const { return stride > 0 ? stride : row_bytes(type, n_cols); }
};

enum class NormKind : std::uint8_t {
    kRms,    // x / sqrt(mean(x^2) + eps) * weight
    kLayer,  // (x - mean) / sqrt(variance + eps) * weight + bias
};

// The attention of one layer, as its kernels see it: n_heads queries of key_dim against
// n_kv_heads cached heads. Each head of the cache serves n_heads / n_kv_heads consecutive
// queries.
struct AttentionShape {
    std::int64_t n_heads = 0;
    std::int64_t n_kv_heads = 0;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    bool values_in_keys = false;    // a cached value is the first value_dim floats of its key (latent attention)
    std::int64_t rotary_dim = 0;    // rotated values of a head; even
    std::int64_t rotary_first = 0;  // the first of them: 0, or behind the latent part
    std::int64_t window = 0;        // tokens that a token sees, itself among them; 0: all
    float scale = 0;                // of q . k
    // (n_heads), in the device's memory: a score in each head's softmax that belongs to
    // no key and adds no value (gpt-oss); nullptr: none.
    const float* sinks = nullptr;
    // Keys that a token which sees more attends to, chosen by an indexer
    // (ops::ChooseKeys), or that this indexer chooses; 0: all. They are chosen in blocks
    // of choice_block places of the sequence, which divides top_k; the last
    // n_local_blocks that the token sees are always among them, one at least where a
    // block has several places.
    std::int64_t top_k = 0;
    std::int64_t choice_block = 1;
    std::int64_t n_local_blocks = 0;
    std::int64_t n_choices = 1;  // one for all heads, or one for each cached head: each of the indexer's

    constexpr std::int64_t query_width() const { return n_heads * key_dim; }
    constexpr std::int64_t output_width() const { return n_heads * value_dim; }
    constexpr std::int64_t choice_width() const { return n_choices * top_k; }  // what is chosen for a token
    // Of a choice, where the token sees n_keys > top_k: the last block may be a part.
    constexpr std::int64_t n_chosen(std::int64_t n_keys) const {
        return top_k - choice_block + (n_keys - 1) % choice_block + 1;
    }
    // The width of the row that holds a token's queries, keys and values.
    constexpr std::int64_t qkv_width() const { return query_width() + n_kv_heads * (key_dim + value_dim); }
};

// A causal convolution of rows: each channel with weights of its own, over a token and the
// kernel_size - 1 before it. Pointers are into the device's memory, float32.
struct ConvolutionShape {
    std::int64_t n_channels = 0;
    std::int64_t kernel_size = 0;
    const float* weights = nullptr;  // (n_channels, kernel_size), the token itself last
    const float* bias = nullptr;     // (n_channels); nullptr: none
    bool silu = true;                // of the sum

    // Floats that a sequence keeps: the inputs of the last tokens (kernel_size - 1,
    // n_channels).
    constexpr std::int64_t kept_size() const { return (kernel_size - 1) * n_channels; }
};

// The states of a layer of linear attention: (n_value_heads, key_dim, value_dim).
struct StateShape {
    std::int64_t n_key_heads = 0;
    std::int64_t n_value_heads = 0;  // a multiple of n_key_heads
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    bool tiled = false;  // value head h belongs to key head h % n_key_heads, else to h / (values per key)

    constexpr std::int64_t size() const { return n_value_heads * key_dim * value_dim; }
    constexpr std::int64_t key_head(std::int64_t value_head) const {
        return tiled ? value_head % n_key_heads : value_head / (n_value_heads / n_key_heads);
    }
};

// One layer of gated DeltaNet (Yang and others, 2024, arXiv:2412.06464, section 3.1). A
// token's row is its queries (n_key_heads, key_dim), keys (the same) and values
// (n_value_heads, value_dim), each value passed through a causal convolution of its own
// over kernel_size tokens and silu; queries and keys are divided by their lengths,
// queries by sqrt(key_dim) as well. Of each value head a state S (key_dim, value_dim) is
// kept:
//   S' = decay S + k (beta (v - decay k^T S))^T, out = q^T S'
//   decay = exp(decay_rate softplus(a + time_bias)), beta = sigmoid(b)
// and out is normed (RMS, with `norm`) and multiplied by silu(z).
// Pointers are into the device's memory, float32.
struct DeltaNetShape {
    std::int64_t n_key_heads = 0;
    std::int64_t n_value_heads = 0;  // a multiple of n_key_heads
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;
    std::int64_t kernel_size = 0;
    bool tiled = false;  // value head h belongs to key head h % n_key_heads, else to h / (values per key)
    const float* convolution = nullptr;  // (qkv_width, kernel_size), the token itself last
    const float* decay_rate = nullptr;   // (n_value_heads), negative
    const float* time_bias = nullptr;    // (n_value_heads)
    const float* norm = nullptr;         // (value_dim)
    float norm_eps = 0;

    constexpr std::int64_t output_width() const { return n_value_heads * value_dim; }
    constexpr std::int64_t qkv_width() const { return 2 * n_key_heads * key_dim + output_width(); }
    constexpr StateShape states() const { return {n_key_heads, n_value_heads, key_dim, value_dim, tiled}; }
    constexpr ConvolutionShape inputs() const { return {qkv_width(), kernel_size, convolution, nullptr, true}; }
    // Floats that a sequence keeps: the states, then what the convolution keeps.
    constexpr std::int64_t kept_size() const { return states().size() + inputs().kept_size(); }
};

// One layer of Mamba-2 (Dao and Gu, 2024, arXiv:2405.21060, section 7). A token's row is x
// (n_heads, head_dim), B (n_groups, state_dim) and C (the same), each value passed through
// a causal convolution and silu. Of each head, which reads the B and C of its group, a
// state S (state_dim, head_dim) is kept:
//   S' = decay S + B (time x)^T, out = C^T S' + skip x
//   time = softplus(dt + time_bias), decay = exp(decay_rate time)
// and out, multiplied by silu(z), is normed (RMS of each group's values, with `norm`).
// Pointers are into the device's memory, float32.
struct Mamba2Shape {
    std::int64_t n_groups = 0;
    std::int64_t n_heads = 0;  // a multiple of n_groups: a group's follow each other
    std::int64_t state_dim = 0;
    std::int64_t head_dim = 0;
    std::int64_t kernel_size = 0;
    const float* convolution = nullptr;       // (row_width, kernel_size), the token itself last
    const float* convolution_bias = nullptr;  // (row_width)
    const float* decay_rate = nullptr;        // (n_heads), negative
    const float* time_bias = nullptr;         // (n_heads)
    const float* skip = nullptr;              // (n_heads)
    const float* norm = nullptr;              // (output_width)
    float norm_eps = 0;

    constexpr std::int64_t output_width() const { return n_heads * head_dim; }
    constexpr std::int64_t row_width() const { return output_width() + 2 * n_groups * state_dim; }
    constexpr StateShape states() const { return {n_groups, n_heads, state_dim, head_dim, false}; }
    constexpr ConvolutionShape inputs() const {
        return {row_width(), kernel_size, convolution, convolution_bias, true};
    }
    // Floats that a sequence keeps: the states, then what the convolution keeps.
    constexpr std::int64_t kept_size() const { return states().size() + inputs().kept_size(); }
};

}  // namespace offstage::kernels
