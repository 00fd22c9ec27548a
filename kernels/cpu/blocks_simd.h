#pragma once
// Rows whose decoding is called through pointers, under the names that products over rows
// have (products_simd.h, packed_simd.h): a file's blocks (kernels/blocks.h) always,
// packed rows where they are unpacked once for several tokens. So products of these are
// compiled once for all formats.

#include <cstdint>

#include "kernels/cpu/products_simd.h"
#include "kernels/types.h"

namespace offstage::kernels {

// Of a format. layout: of packed rows only.
struct RowDecoder {
    // out[i] = weight begin + i of the row, for n of them; multiples of 16, of packed
    // rows of kPackedBlock.
    void (*unpack)(const std::uint8_t* row, const PackedRow* layout, std::int64_t begin, std::int64_t n,
                   float* out) = nullptr;
    // Packed rows: prefetches what unpack() of the same part reads.
    void (*fetch)(const std::uint8_t* row, const PackedRow* layout, std::int64_t begin, std::int64_t n) = nullptr;
    // Blocks: row . x, n long. Prefetches as many bytes as the row has from `ahead` on.
    float (*dot)(const std::uint8_t* row, const std::uint8_t* ahead, const float* x, std::int64_t n) = nullptr;
};

namespace OFFSTAGE_INSTRUCTION_SET {
const RowDecoder& block_decoder(WeightType type);  // blocks_simd.cpp
}

namespace {

struct DecodedRef {
    const std::uint8_t* bytes = nullptr;
    const RowDecoder* decoder = nullptr;
    const PackedRow* layout = nullptr;
    std::int64_t bytes_of_256 = 0;  // weights of blocks
};

// Rows of any format.
struct DecodedRows {
    using Row = DecodedRef;
    static constexpr bool kPacked = true;
    DecodedRef first;
    std::size_t stride_bytes = 0;

    Row operator[](std::int64_t i) const {
        Row row = first;
        row.bytes += i * static_cast<std::ptrdiff_t>(stride_bytes);
        return row;
    }
    DecodedRows from(std::int64_t i) const { return {(*this)[i], stride_bytes}; }
    std::int64_t row_bytes(std::int64_t n) const {
        return first.layout != nullptr ? first.layout->bytes : n * first.bytes_of_256 / 256;
    }
};

inline void unpack(DecodedRef row, std::int64_t begin, std::int64_t n, float* out) {
    row.decoder->unpack(row.bytes, row.layout, begin, n, out);
}

__attribute__((always_inline)) inline void prefetch_part(DecodedRef row, std::int64_t begin, std::int64_t n) {
    if (row.layout != nullptr) return row.decoder->fetch(row.bytes, row.layout, begin, n);
    const std::uint8_t* const end = row.bytes + (begin + n) * row.bytes_of_256 / 256;
    for (const std::uint8_t* p = row.bytes + begin * row.bytes_of_256 / 256; p < end; p += 64) prefetch(p);
}

template <int kRows>
void dot_rows(const DecodedRef* rows, const DecodedRef* ahead, const float* x, std::int64_t n, float* sums) {
    for (int r = 0; r < kRows; ++r) sums[r] = rows[r].decoder->dot(rows[r].bytes, ahead[r].bytes, x, n);
}

}  // namespace
}  // namespace offstage::kernels
