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

enum class WeightType : std::uint8_t { kF32, kF16, kBf16 };

constexpr std::size_t bytes_per_weight(WeightType type) {
    return type == WeightType::kF32 ? 4 : 2;
}

constexpr const char* name_of(WeightType type) {
    switch (type) {
        case WeightType::kF32:
            return "F32";
        case WeightType::kF16:
            return "F16";
        case WeightType::kBf16:
            return "BF16";
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
// `row_stride` counts elements, not bytes.
struct WeightView {
    const void* data = nullptr;
    WeightType type = WeightType::kF32;
    std::int64_t n_rows = 0;
    std::int64_t n_cols = 0;
    std::int64_t row_stride = 0;

    const std::byte* row(std::int64_t index) const {
        return static_cast<const std::byte*>(data) +
               static_cast<std::size_t>(index * row_stride) * bytes_per_weight(type);
    }
};

// Tokens of one block of a KV cache: keys and values of a sequence lie in blocks of this many, in any order.
inline constexpr std::int64_t kKvBlockTokens = 64;

// Keys and values of all layers in one piece of memory, float32: (n_layers, 2, n_kv_heads, n_slots, head_dim), part 0
// keys, part 1 values. Slot s belongs to block s / kKvBlockTokens. The memory belongs to somebody else.
struct KvView {
    float* data = nullptr;
    std::int64_t n_layers = 0;
    std::int64_t n_kv_heads = 0;
    std::int64_t n_slots = 0;  // multiple of kKvBlockTokens
    std::int64_t head_dim = 0;

    // (n_slots, head_dim), contiguous.
    float* part(std::int64_t layer, std::int64_t part, std::int64_t kv_head) const {
        return data + ((layer * 2 + part) * n_kv_heads + kv_head) * n_slots * head_dim;
    }
};

}  // namespace offstage::kernels
