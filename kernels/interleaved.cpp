#include "kernels/interleaved.h"

#include <cassert>
#include <cstring>

namespace offstage::kernels {
namespace {

template <std::size_t kPiece, bool kBack>
void take_piece(const std::byte* from, std::byte* to, std::size_t row_stride) {
    for (std::size_t row = 0; row < kInterleavedRows; ++row) {
        if constexpr (kBack) {
            std::memcpy(to + row * row_stride, from + row * kPiece, kPiece);
        } else {
            std::memcpy(to + row * kPiece, from + row * row_stride, kPiece);
        }
    }
}

template <bool kBack>
void take_rows(WeightType type, std::int64_t n_cols, const std::byte* from, std::byte* to) {
    const std::size_t stride = row_bytes(type, n_cols);
    const auto block_bytes = static_cast<std::size_t>(traits_of(type).block_bytes);
    [[maybe_unused]] const std::byte* strip = from;
    [[maybe_unused]] std::byte* written = to;
    for (std::size_t block = 0; block < stride; block += block_bytes) {
        for (const InterleavedPieces& pieces : interleaved_pieces(type)) {
            const auto piece = static_cast<std::size_t>(pieces.piece);
            const std::size_t begin = block + static_cast<std::size_t>(pieces.begin);
            for (std::size_t at = begin; at < begin + static_cast<std::size_t>(pieces.bytes); at += piece) {
                const std::byte* const source = kBack ? strip : from + at;
                std::byte* const target = kBack ? to + at : written;
                switch (piece) {
                    case 4:
                        take_piece<4, kBack>(source, target, stride);
                        break;
                    case 2:
                        take_piece<2, kBack>(source, target, stride);
                        break;
                    default:
                        take_piece<1, kBack>(source, target, stride);
                }
                if constexpr (kBack) {
                    strip += kInterleavedRows * piece;
                } else {
                    written += kInterleavedRows * piece;
                }
            }
        }
    }
}

}  // namespace

void interleave_rows(WeightType type, std::int64_t n_cols, const std::byte* from, std::byte* to, bool back) {
    assert(can_interleave(type));
    if (back) {
        take_rows<true>(type, n_cols, from, to);
    } else {
        take_rows<false>(type, n_cols, from, to);
    }
}

}  // namespace offstage::kernels
