#pragma once
// The functions of quantized_dots.h for the formats of a quantized_dots_*_simd.cpp: files
// of few formats, because all formats together take half a minute to compile.

#include "kernels/cpu/quantized_dots.h"
#include "kernels/cpu/quantized_row_dots_simd.h"
#include "kernels/cpu/quantized_strip_dots_simd.h"

namespace offstage::kernels {
namespace {

// Rows of codebook codes unpacked at once: they fit in a core's first-level cache, and in
// byte_product_scratch().
constexpr std::int64_t kUnpackedRows = 8;

template <WeightType kType>
void multiply_by_rows(const WeightView& weight, const std::byte* const* inputs, int n_tokens, std::int64_t row_begin,
                      std::int64_t row_end, float* y, std::int64_t y_stride, [[maybe_unused]] std::byte* scratch) {
    const auto multiply = [&](const UnpackedRows& unpacked, std::int64_t begin, std::int64_t end) {
        int first = 0;
        const auto take = [&](auto count) {
            for (; n_tokens - first >= count; first += count) {
                multiply_rows<kType, decltype(count)::value>(weight, unpacked, inputs + first, begin, end,
                                                             y + first * y_stride, y_stride);
            }
        };
        take(std::integral_constant<int, 4>());
        take(std::integral_constant<int, 3>());
        take(std::integral_constant<int, 2>());
        take(std::integral_constant<int, 1>());
    };
    if constexpr (has_codebook(kType)) {
        const CodebookCodes unpack = fastest_codebook_codes();
        auto* const codes = reinterpret_cast<std::int8_t*>(scratch);
        for (std::int64_t begin = row_begin; begin < row_end; begin += kUnpackedRows) {
            const std::int64_t end = std::min(begin + kUnpackedRows, row_end);
            for (std::int64_t row = begin; row < end; ++row) {
                const auto* const blocks = reinterpret_cast<const std::uint8_t*>(weight.row(row));
                const auto row_bytes = static_cast<std::int64_t>(weight.stride_bytes());
                for (std::int64_t line = 0; line < row_bytes; line += 64) {
                    prefetch(blocks + kUnpackedRows * row_bytes + line);
                }
                unpack(kType, blocks, weight.n_cols / kGroup, codes + (row - begin) * weight.n_cols);
            }
            multiply({codes, begin}, begin, end);
        }
    } else {
        multiply({}, row_begin, row_end);
    }
}

template <WeightType kType>
void unpack_panel(const WeightView& weight, const PackedRow& layout, std::int64_t row, std::int64_t n_rows,
                  std::byte* scratch) {
    const CodePanel panel(scratch, weight.n_cols);
    if constexpr (can_interleave(kType) && kHasStripPanels) {
        if (weight.interleaved) {
            const std::int64_t lane = row % kInterleavedRows;
            const auto* const strip = reinterpret_cast<const std::uint8_t*>(weight.row(row - lane));
            unpack_strip<kType>(strip, static_cast<int>(lane) / kLanes, weight.n_cols, panel);
            return;
        }
    }
    unpack_rows<kType>(weight, &layout, row, n_rows, panel);
}

template <WeightType kType>
constexpr QuantizedDots dots_of_type() {
    QuantizedDots dots;
    dots.by_rows = multiply_by_rows<kType>;
    if constexpr (can_interleave(kType)) dots.by_strips = multiply_interleaved<kType>;
    dots.unpack = unpack_panel<kType>;
    return dots;
}

// The formats whose functions one file has.
enum class DotsFile : std::uint8_t { kInt8Hqq, kQ4_0Q5_0Q8_0, kQ4KQ5K, kQ2KQ3KQ6K, kIq4Mxfp4, kIq1Iq2Iq3 };

constexpr DotsFile file_of_dots(WeightType type) {
    if (is_packed(type)) return DotsFile::kInt8Hqq;
    if (has_codebook(type)) return DotsFile::kIq1Iq2Iq3;
    if (has_half_scales(type)) return DotsFile::kQ2KQ3KQ6K;
    if (type == WeightType::kIq4Nl || type == WeightType::kIq4Xs || type == WeightType::kMxfp4) {
        return DotsFile::kIq4Mxfp4;
    }
    return traits_of(type).group == 32 ? DotsFile::kQ4_0Q5_0Q8_0 : DotsFile::kQ4KQ5K;
}

template <DotsFile kFile>
const QuantizedDots* dots_of_file(WeightType type) {
    const QuantizedDots* found = nullptr;
    with_coded_type(type, [&](auto constant) {
        constexpr WeightType kType = decltype(constant)::value;
        if constexpr (file_of_dots(kType) == kFile) {
            static constexpr QuantizedDots kDots = dots_of_type<kType>();
            found = &kDots;
        }
    });
    return found;
}

}  // namespace
}  // namespace offstage::kernels
