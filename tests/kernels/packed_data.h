#pragma once
// Random packed rows, and rows of blocks, for the kernel tests.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/blocks.h"
#include "kernels/packed.h"
#include "test_buffer.h"
#include "test_data.h"

namespace offstage::kernels::test {

// Packed rows and rows of files: decoded as they are read.
inline const std::vector<WeightType> kDecodedTypes = [] {
    std::vector<WeightType> types;
    for (const FormatTraits& format : kFormats) {
        if ((format.is_packed() && !format.is_mixed()) || format.is_blocks()) types.push_back(format.type);
    }
    return types;
}();

// A row's length that the type can have, near n, a multiple of kPackedBlock: an odd
// number of blocks of 32.
inline std::int64_t length_for(WeightType type, std::int64_t n) {
    const std::int64_t multiple = row_multiple(type);
    return multiple == 32 ? n + 32 : (n + multiple - 1) / multiple * multiple;
}

// Sets the block's scale and its other factors: the rest of the bytes may be anything.
inline void set_block_scale(WeightType type, float scale, std::byte* block) {
    const std::uint16_t half = to_f16_truncated(scale).bits;
    const auto put = [&](int place) { std::memcpy(block + place, &half, sizeof half); };
    switch (type) {
        case WeightType::kMxfp4:
            block[0] = static_cast<std::byte>(128 + std::ilogb(scale));
            return;
        case WeightType::kIq1M:
            for (int i = 0; i < 4; ++i) {
                std::byte& digit = block[49 + 2 * i];
                digit = (digit & std::byte{15}) | static_cast<std::byte>((half >> (4 * i) & 15) << 4);
            }
            return;
        case WeightType::kQ2K:
            put(82);
            return put(80);
        case WeightType::kQ3K:
            return put(108);
        case WeightType::kQ6K:
            return put(208);
        case WeightType::kQ4_1:
        case WeightType::kQ5_1:
        case WeightType::kQ4K:
        case WeightType::kQ5K:
            put(2);
            [[fallthrough]];
        default:
            return put(0);
    }
}

// Random bytes, with scales that make the largest weight of a block about `scale`.
inline void fill_block_row(WeightType type, std::int64_t n_cols, std::mt19937& generator, float scale, std::byte* row) {
    const FormatTraits& format = traits_of(type);
    std::vector<float> weights(static_cast<std::size_t>(format.group));
    for (std::byte* block = row; n_cols > 0; n_cols -= format.group, block += format.block_bytes) {
        for (int i = 0; i < format.block_bytes; ++i) block[i] = static_cast<std::byte>(generator() & 0xffu);
        set_block_scale(type, 1.0f, block);
        unpack_blocks(type, block, 0, format.group, weights.data());
        float largest = 0.0f;
        for (const float weight : weights) largest = std::max(largest, std::abs(weight));
        set_block_scale(type, largest == 0.0f ? scale : scale / largest * uniform(generator, 0.5f, 1.0f), block);
    }
}

// Any bytes are valid codes, scales and zeros; only the numbers of the supers (INT8: of
// the scales) are drawn. The weights then have the size of `scale`.
inline void fill_packed_row(WeightType type, std::int64_t n_cols, std::mt19937& generator, float scale,
                            std::byte* row) {
    const PackedRow layout = packed_row(type, n_cols);
    for (std::int64_t i = 0; i < layout.bytes; ++i) row[i] = static_cast<std::byte>(generator() & 0xffu);
    const auto factor = [&] { return uniform(generator, 0.25f, 1.0f); };
    if (traits_of(type).coding == WeightCoding::kSigned) {
        for (std::int64_t group = 0; group < layout.n_groups; ++group) {
            const Bf16 value = to_bf16(scale / 127.0f * factor());
            std::memcpy(row + layout.scales + 2 * group, &value, sizeof value);
        }
        return;
    }
    const float most = traits_of(type).has_half_scales() ? 15.0f : 255.0f;  // of a quantized scale or zero
    const auto codes = static_cast<float>(1 << traits_of(type).bits);
    for (std::int64_t super = 0; super < layout.n_supers; ++super) {
        PackedSuper numbers;
        numbers.scale_offset = scale / codes * factor();
        numbers.scale_step = scale / codes / most * factor();
        numbers.zero_offset = codes / 4.0f * factor();
        numbers.zero_step = codes / 2.0f / most * factor();
        std::memcpy(row + 16 * super, &numbers, sizeof numbers);
    }
}

// Rows that end at a page without access, packed ones 8 bytes off any larger alignment,
// blocks at any address; and the weights in them as unpack_row or unpack_blocks reads
// them.
class RandomPackedRows {
  public:
    RandomPackedRows(WeightType type, std::int64_t n_rows, std::int64_t n_cols, std::uint32_t seed, float scale = 1.0f)
        : type_(type),
          n_rows_(n_rows),
          n_cols_(n_cols),
          bytes_(n_rows * static_cast<std::int64_t>(row_bytes(type, n_cols))) {
        std::mt19937 generator(seed);
        values_.resize(static_cast<std::size_t>(n_rows * n_cols));
        for (std::int64_t r = 0; r < n_rows; ++r) {
            std::byte* row = bytes_.data() + r * static_cast<std::int64_t>(row_bytes(type, n_cols));
            float* const values = values_.data() + r * n_cols;
            if (is_blocks(type)) {
                fill_block_row(type, n_cols, generator, scale, row);
                unpack_blocks(type, row, 0, n_cols, values);
            } else {
                fill_packed_row(type, n_cols, generator, scale, row);
                unpack_row(type, row, n_cols, 0, n_cols, values);
            }
        }
    }

    const std::byte* data() const { return bytes_.data(); }
    WeightType type() const { return type_; }
    // Every `apart`-th row, from row `first` on.
    WeightView view(std::int64_t first = 0, std::int64_t apart = 1) const {
        return {bytes_.data() + first * static_cast<std::int64_t>(row_bytes(type_, n_cols_)), type_,
                (n_rows_ - first + apart - 1) / apart, n_cols_,
                static_cast<std::size_t>(apart) * row_bytes(type_, n_cols_)};
    }
    float operator[](std::int64_t i) const { return values_[static_cast<std::size_t>(i)]; }
    const float* row(std::int64_t r) const { return values_.data() + r * n_cols_; }

  private:
    WeightType type_;
    std::int64_t n_rows_;
    std::int64_t n_cols_;
    TestBuffer<std::byte> bytes_;
    std::vector<float> values_;
};

}  // namespace offstage::kernels::test
