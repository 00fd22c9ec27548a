#pragma once
// Number formats that weights are stored in, and their conversions to float. Plain integers inside: no SIMD types.
// C++17, because the device code includes this and nvcc 11 knows no newer standard.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace offstage::kernels {

// bfloat16: the upper 16 bits of an IEEE float32.
struct Bf16 {
    std::uint16_t bits = 0;
};

// IEEE 754 binary16.
struct F16 {
    std::uint16_t bits = 0;
};

// How weights are stored. The first three are plain: one number after the other. The others are packed: rows of
// blocks with scales (kernels/packed.h), HQQ (half-quadratic quantization) in 4, 3 and 2 bits.
enum class WeightType : std::uint8_t { kF32, kF16, kBf16, kInt8, kHqq4, kHqq3, kHqq2 };
inline constexpr int kWeightTypes = 7;

constexpr bool is_packed(WeightType type) {
    return type >= WeightType::kInt8;
}

// Of a plain type. Packed rows have no whole bytes per weight: row_bytes().
constexpr std::size_t bytes_per_weight(WeightType type) {
    return type == WeightType::kF32 ? 4 : 2;
}

// Columns of packed rows come in blocks of this many.
inline constexpr std::int64_t kPackedBlock = 64;

// Where the parts of one packed row of n_cols weights (a multiple of kPackedBlock) lie, in bytes from its beginning.
// See kernels/packed.h for what is in them.
struct PackedRow {
    std::int64_t n_blocks = 0;
    std::int64_t block_bytes = 0;  // of codes
    std::int64_t group = 0;        // weights that share a scale
    std::int64_t n_groups = 0;
    std::int64_t super_group = 0;  // groups whose scales and zeros are quantized together
    std::int64_t n_supers = 0;
    std::int64_t codes = 0;   // offset of the blocks
    std::int64_t scales = 0;  // offset of the groups' scales
    std::int64_t zeros = 0;   // offset of the groups' zeros; scales == zeros: both in one byte
    std::int64_t bytes = 0;   // of the whole row, a multiple of 8
};

constexpr PackedRow packed_row(WeightType type, std::int64_t n_cols) {
    PackedRow row;
    row.n_blocks = n_cols / kPackedBlock;
    row.group = type == WeightType::kHqq2 ? 16 : 64;
    row.n_groups = n_cols / row.group;
    if (type == WeightType::kInt8) {
        row.block_bytes = 64;
        row.scales = row.zeros = row.n_blocks * row.block_bytes;
        row.bytes = (row.scales + 2 * row.n_groups + 7) / 8 * 8;
        return row;
    }
    row.block_bytes = type == WeightType::kHqq4 ? 32 : type == WeightType::kHqq3 ? 24 : 16;
    row.super_group = type == WeightType::kHqq4 ? 256 : 128;
    row.n_supers = (row.n_groups + row.super_group - 1) / row.super_group;
    row.codes = row.n_supers * 16;
    row.scales = row.codes + row.n_blocks * row.block_bytes;
    row.zeros = type == WeightType::kHqq2 ? row.scales : row.scales + row.n_groups;
    row.bytes = (row.zeros + row.n_groups + 7) / 8 * 8;
    return row;
}

// Bytes of one row of n_cols weights, however stored.
constexpr std::size_t row_bytes(WeightType type, std::int64_t n_cols) {
    return is_packed(type) ? static_cast<std::size_t>(packed_row(type, n_cols).bytes)
                           : static_cast<std::size_t>(n_cols) * bytes_per_weight(type);
}

// Bytes of an expert in the neuron-major layout: three rows of hidden_dim weights per neuron.
constexpr std::size_t expert_bytes(WeightType type, std::int64_t hidden_dim, std::int64_t ffn_dim) {
    return static_cast<std::size_t>(3 * ffn_dim) * row_bytes(type, hidden_dim);
}

constexpr const char* name_of(WeightType type) {
    switch (type) {
        case WeightType::kF32:
            return "F32";
        case WeightType::kF16:
            return "F16";
        case WeightType::kBf16:
            return "BF16";
        case WeightType::kInt8:
            return "INT8";
        case WeightType::kHqq4:
            return "HQQ4";
        case WeightType::kHqq3:
            return "HQQ3";
        case WeightType::kHqq2:
            return "HQQ2";
    }
    return "?";
}

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

// An immutable two-dimensional weight in memory, row-major, rows possibly apart. The memory belongs to somebody else.
// `row_stride` counts elements, not bytes; of packed rows it is a multiple of n_cols, and row_stride / n_cols packed
// rows lie between the beginnings of one row and the next.
struct WeightView {
    const void* data = nullptr;
    WeightType type = WeightType::kF32;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    std::int64_t row_stride = 0;

    const std::byte* row(std::int64_t index) const {
        return static_cast<const std::byte*>(data) + static_cast<std::size_t>(index) * stride_bytes();
    }
    std::size_t stride_bytes() const {
        if (!is_packed(type)) return static_cast<std::size_t>(row_stride) * bytes_per_weight(type);
        return n_cols == 0 ? 0 : static_cast<std::size_t>(row_stride / n_cols) * row_bytes(type, n_cols);
    }
};

enum class NormKind : std::uint8_t {
    kRms,    // x / sqrt(mean(x^2) + eps) * weight
    kLayer,  // (x - mean) / sqrt(variance + eps) * weight + bias
};

// One layer's attention, as its kernels see it: n_heads queries of key_dim against n_kv_heads cached heads, each head
// of the cache serving n_heads / n_kv_heads queries in a row.
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

    constexpr std::int64_t query_width() const { return n_heads * key_dim; }
    constexpr std::int64_t output_width() const { return n_heads * value_dim; }
    // Of the row that holds a token's queries, keys and values.
    constexpr std::int64_t qkv_width() const { return query_width() + n_kv_heads * (key_dim + value_dim); }
};

}  // namespace offstage::kernels
