#pragma once
// Rows of a file's blocks side by side: 16 consecutive rows lie as one strip of the same
// length, in which a product finds the bytes of all 16 in one vector, instead of reading
// the rows one by one and adding up their lanes at the end. The bytes are those of the
// blocks in another order.
//
// A block's bytes are cut into pieces (interleaved_pieces()): its codes into words of
// four bytes, scales of two bytes and exponents of one byte where these do not fill
// words. A strip is, block after block of its rows, piece after piece: (blocks, pieces,
// 16 rows).

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels {

inline constexpr std::int64_t kInterleavedRows = 16;

// A part of a block: from its byte `begin` on, `bytes` in pieces of `piece`.
struct InterleavedPieces {
    int begin = 0;
    int bytes = 0;
    int piece = 4;
};

// In their order; a second one without bytes is none. Both without: rows of this type are
// not interleaved.
constexpr std::array<InterleavedPieces, 2> interleaved_pieces(WeightType type) {
    switch (type) {
        case WeightType::kQ8_0:
            return {{{0, 2, 2}, {2, 32, 4}}};
        case WeightType::kQ4_0:
        case WeightType::kIq4Nl:
            return {{{0, 2, 2}, {2, 16, 4}}};
        case WeightType::kMxfp4:
            return {{{0, 1, 1}, {1, 16, 4}}};
        case WeightType::kQ2K:
            return {{{0, 84, 4}, {}}};
        case WeightType::kQ3K:
            return {{{0, 108, 4}, {108, 2, 2}}};
        case WeightType::kQ4K:
            return {{{0, 144, 4}, {}}};
        case WeightType::kQ5K:
            return {{{0, 176, 4}, {}}};
        case WeightType::kQ6K:
            return {{{0, 208, 4}, {208, 2, 2}}};
        case WeightType::kIq4Xs:
            return {{{0, 136, 4}, {}}};
        default:
            return {};
    }
}

constexpr bool can_interleave(WeightType type) {
    return interleaved_pieces(type)[0].bytes > 0;
}
// So many rows of it.
constexpr bool can_interleave(WeightType type, std::int64_t n_rows) {
    return can_interleave(type) && n_rows % kInterleavedRows == 0;
}

// 16 rows of n_cols weights, one after the other, as a strip, or (`back`) the other way
// round. from and to: kInterleavedRows * row_bytes(type, n_cols) bytes that do not
// overlap.
void interleave_rows(WeightType type, std::int64_t n_cols, const std::byte* from, std::byte* to, bool back = false);

}  // namespace offstage::kernels
