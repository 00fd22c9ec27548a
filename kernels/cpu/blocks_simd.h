#pragma once
// Rows of a file's blocks (kernels/blocks.h) under the names that products over rows have
// (products_simd.h, packed_simd.h). Two functions of blocks_simd.cpp hide the format, so
// that products are compiled once for all formats.

#include <cstdint>

#include "kernels/cpu/products_simd.h"

namespace offstage::kernels {

struct BlockKernels {
    // out[i] = weight begin + i of the row, for n of them; multiples of 16.
    void (*unpack)(const std::uint8_t* row, std::int64_t begin, std::int64_t n, float* out);
    // row . x, n long. Prefetches as many bytes as the row has from `ahead` on.
    float (*dot)(const std::uint8_t* row, const std::uint8_t* ahead, const float* x, std::int64_t n);
};

namespace OFFSTAGE_INSTRUCTION_SET {
const BlockKernels& block_kernels(WeightType type);
}

namespace {

struct BlockRef {
    const std::uint8_t* bytes = nullptr;
    const BlockKernels* kernels = nullptr;
    std::int64_t bytes_of_256 = 0;  // weights
};

// Rows of blocks, of any format.
struct BlockRows {
    using Row = BlockRef;
    static constexpr bool kPacked = true;
    BlockRef first;
    std::size_t stride_bytes = 0;

    Row operator[](std::int64_t i) const {
        return {first.bytes + i * static_cast<std::ptrdiff_t>(stride_bytes), first.kernels, first.bytes_of_256};
    }
    BlockRows from(std::int64_t i) const { return {(*this)[i], stride_bytes}; }
    std::int64_t row_bytes(std::int64_t n) const { return n * first.bytes_of_256 / 256; }
};

inline void unpack(BlockRef row, std::int64_t begin, std::int64_t n, float* out) {
    row.kernels->unpack(row.bytes, begin, n, out);
}

__attribute__((always_inline)) inline void prefetch_part(BlockRef row, std::int64_t begin, std::int64_t n) {
    const std::uint8_t* const end = row.bytes + (begin + n) * row.bytes_of_256 / 256;
    for (const std::uint8_t* p = row.bytes + begin * row.bytes_of_256 / 256; p < end; p += 64) prefetch(p);
}

template <int kRows>
void dot_rows(const BlockRef* rows, const BlockRef* ahead, const float* x, std::int64_t n, float* sums) {
    for (int r = 0; r < kRows; ++r) sums[r] = rows[r].kernels->dot(rows[r].bytes, ahead[r].bytes, x, n);
}

}  // namespace
}  // namespace offstage::kernels
