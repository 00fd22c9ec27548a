#pragma once
// Random packed rows for the kernel tests.

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/packed.h"
#include "test_buffer.h"

namespace offstage::kernels::test {

inline const std::vector<WeightType> kPackedTypes = [] {
    std::vector<WeightType> types;
    for (const FormatTraits& format : kFormats) {
        if (format.is_packed() && !format.is_mixed()) types.push_back(format.type);
    }
    return types;
}();

// Any bytes are valid codes, scales and zeros; only the supers' (INT8: the scales') numbers are drawn. The weights are
// then of the size of `scale`.
inline void fill_packed_row(WeightType type, std::int64_t n_cols, std::mt19937& generator, float scale,
                            std::byte* row) {
    const PackedRow layout = packed_row(type, n_cols);
    for (std::int64_t i = 0; i < layout.bytes; ++i) row[i] = static_cast<std::byte>(generator() & 0xffu);
    std::uniform_real_distribution<float> uniform(0.25f, 1.0f);
    if (traits_of(type).coding == WeightCoding::kSigned) {
        for (std::int64_t group = 0; group < layout.n_groups; ++group) {
            const Bf16 value = to_bf16(scale / 127.0f * uniform(generator));
            std::memcpy(row + layout.scales + 2 * group, &value, sizeof value);
        }
        return;
    }
    const float most = traits_of(type).has_half_scales() ? 15.0f : 255.0f;  // of a quantized scale or zero
    const auto codes = static_cast<float>(1 << traits_of(type).bits);
    for (std::int64_t super = 0; super < layout.n_supers; ++super) {
        PackedSuper numbers;
        numbers.scale_offset = scale / codes * uniform(generator);
        numbers.scale_step = scale / codes / most * uniform(generator);
        numbers.zero_offset = codes / 4.0f * uniform(generator);
        numbers.zero_step = codes / 2.0f / most * uniform(generator);
        std::memcpy(row + 16 * super, &numbers, sizeof numbers);
    }
}

// Packed rows that end at a page nobody may touch and begin 8 bytes off any larger alignment; and the weights in them
// as unpack_row reads them.
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
            fill_packed_row(type, n_cols, generator, scale, row);
            unpack_row(type, row, n_cols, 0, n_cols, values_.data() + r * n_cols);
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
