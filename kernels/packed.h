#pragma once
// Rows of weights in fewer bits. Each row is packed separately (a neuron's w1 row, w3 row
// and w2 column are three rows), so that any neuron can be moved or multiplied without
// its neighbours (CORM, 4.1). Little-endian.
//
//   [ supers | blocks | scales | zeros | up to 7 unused bytes ]
//   offsets: packed_row() in kernels/formats.h
//
// A block holds the codes of 64 weights in 16 lanes, four codes each: code k of lane l
// belongs to weight 16 k + l, so that a vector of 16 lanes uses 16 consecutive inputs.
//   INT8  64 signed bytes, in the weights' order
//   HQQ4  16 lanes of 16 bits, code k in bits 4k .. 4k+3; group 64, super group 256
//   HQQ3  16 lanes of 12 bits without gaps (lane l begins at bit 12 l of the 24 bytes),
//         code k in bits 3k .. 3k+2; group 64, super group 128
//   HQQ2  16 lanes of 8 bits, code k in bits 2k, 2k+1; group 16, super group 128
// (bits, groups and super groups: Mixtral-Offloading, section 4.2)
//
// INT8: value = scale * code; scales: one bf16 per group of 64; no zeros, no supers.
// HQQ:  value = scale * (code - zero), scale = scale_offset + scale_step * S,
//       zero = zero_offset + zero_step * Z.
//       Supers: per super group of scales four float32: scale_offset, scale_step,
//       zero_offset, zero_step.
//       HQQ4, HQQ3: S and Z are bytes, all S of the row, then all Z. HQQ2: one byte per
//       group, S in its low four bits, Z in the high.
// Bits per weight at 4096 columns: INT8 8.25, HQQ4 4.28, HQQ3 3.28, HQQ2 2.56.
//
// C++17, without SIMD: the definition against which every kernel is tested.

#include <cstdint>
#include <cstring>

#include "kernels/types.h"

namespace offstage::kernels {

// Scales and zeros of the groups of super group s of a HQQ row.
struct PackedSuper {
    float scale_offset = 0;
    float scale_step = 0;
    float zero_offset = 0;
    float zero_step = 0;
};
static_assert(sizeof(PackedSuper) == 16, "as in the rows");

// Code of weight w (0 .. 63) of a HQQ block.
inline int packed_code(WeightType type, const std::byte* block, int w) {
    const int bits = traits_of(type).bits;
    const int first = w % 16 * 4 * bits + w / 16 * bits;  // bit of the block
    unsigned word = static_cast<unsigned>(block[first / 8]);
    if (first % 8 + bits > 8) word |= static_cast<unsigned>(block[first / 8 + 1]) << 8u;
    return static_cast<int>(word >> static_cast<unsigned>(first % 8) & ((1u << static_cast<unsigned>(bits)) - 1u));
}

// Scale and zero of a group of a row; zero is 0 for INT8.
inline void packed_group(WeightType type, const std::byte* row, const PackedRow& layout, std::int64_t group,
                         float& scale, float& zero) {
    if (traits_of(type).coding == WeightCoding::kSigned) {
        Bf16 value;
        std::memcpy(&value, row + layout.scales + 2 * group, sizeof value);
        scale = to_float(value);
        zero = 0.0f;
        return;
    }
    PackedSuper super;
    std::memcpy(&super, row + group / layout.super_group * 16, sizeof super);
    const auto s = static_cast<unsigned>(row[layout.scales + group]);
    const auto z = static_cast<unsigned>(row[layout.zeros + group]);
    const bool halves = traits_of(type).has_half_scales();
    scale = super.scale_offset + super.scale_step * static_cast<float>(halves ? s & 15u : s);
    zero = super.zero_offset + super.zero_step * static_cast<float>(halves ? z >> 4u : z);
}

// out[i] = weight begin + i of the row, for n weights.
inline void unpack_row(WeightType type, const std::byte* row, std::int64_t n_cols, std::int64_t begin, std::int64_t n,
                       float* out) {
    const PackedRow layout = packed_row(type, n_cols);
    const bool is_signed = traits_of(type).coding == WeightCoding::kSigned;
    float scale = 0.0f;
    float zero = 0.0f;
    for (std::int64_t i = begin; i < begin + n; ++i) {
        if (i == begin || i % layout.group == 0) packed_group(type, row, layout, i / layout.group, scale, zero);
        const std::byte* block = row + layout.codes + i / kPackedBlock * layout.block_bytes;
        const auto w = static_cast<int>(i % kPackedBlock);
        const int code = is_signed ? static_cast<std::int8_t>(block[w]) : packed_code(type, block, w);
        out[i - begin] = scale * (static_cast<float>(code) - zero);
    }
}

}  // namespace offstage::kernels
