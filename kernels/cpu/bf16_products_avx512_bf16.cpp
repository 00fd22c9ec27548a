// PairProducts: a block of inputs that fits the second cache is multiplied by all rows
// before the next block. A group of rows, which fits there too, is multiplied by all
// these inputs before the next group.

#include <array>
#include <cstring>
#include <utility>

#include "kernels/cpu/pair_products.h"
#include "kernels/cpu/pair_rows_avx512.h"

namespace offstage::kernels {
namespace {

constexpr std::int64_t kInputBytes = 512 * 1024;
constexpr std::int64_t kGroupBytes = 128 * 1024;
constexpr std::int64_t kLeastRows = 8;

// Rows of a group that follow each other, and where their products go.
struct RowGroup {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  // bytes
    std::int64_t count = 0;
    float* y = nullptr;  // the first row and the tile's first token
    std::int64_t y_stride = 0;
};

// Columns [begin, begin + n) of the rows with one tile. Returns the address at which
// prefetching continues.
template <int kTokens, Fetches kFetches>
const std::byte* multiply_tile(const RowGroup& group, std::int64_t begin, std::int64_t n, const Bf16* x,
                               const std::byte* next) {
    constexpr int kRows = rows_beside(kTokens);
    for (std::int64_t first = 0; first < group.count; first += kRows) {
        const std::int64_t count = std::min<std::int64_t>(kRows, group.count - first);
        const Bf16* rows[kRows];  // surplus entries repeat the last row
        for (int r = 0; r < kRows; ++r) {
            rows[r] = reinterpret_cast<const Bf16*>(group.first +
                                                    (first + std::min<std::int64_t>(r, count - 1)) * group.stride) +
                      begin;
        }
        float products[kLanes];
        multiply_rows<kRows, kTokens, kFetches>(rows, n, x, next, products);
        for (int t = 0; t < kTokens; ++t) {
            float* const to = group.y + t * group.y_stride + first;
            const float* const from = products + t * kRows;
            if (begin == 0 && count == kRows) {
                std::memcpy(to, from, kRows * sizeof(float));
            } else {
                for (std::int64_t r = 0; r < count; ++r) to[r] = begin == 0 ? from[r] : to[r] + from[r];
            }
        }
    }
    return next;
}

using MultiplyTile = const std::byte* (*)(const RowGroup&, std::int64_t, std::int64_t, const Bf16*, const std::byte*);
template <Fetches kFetches, int... kTokens>
constexpr std::array<MultiplyTile, sizeof...(kTokens)> by_tokens(std::integer_sequence<int, kTokens...>) {
    return {multiply_tile<kTokens + 1, kFetches>...};
}
using TileSizes = std::make_integer_sequence<int, PairTiles::kMostTokens>;
constexpr std::array kMultiplyTile = {by_tokens<Fetches::kNone>(TileSizes()), by_tokens<Fetches::kEighth>(TileSizes()),
                                      by_tokens<Fetches::kQuarter>(TileSizes()), by_tokens<Fetches::kHalf>(TileSizes()),
                                      by_tokens<Fetches::kAll>(TileSizes())};

void lay_out_pairs(const float* x, std::int64_t x_stride, const PairTiles& tiles, std::int64_t n,
                   std::int64_t tile_begin, std::int64_t tile_end, Bf16* to) {
    to += tiles.begin(tile_begin) * n;
    for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
        const std::int64_t first = tiles.begin(tile);
        const std::int64_t size = tiles.size(tile);
        for (std::int64_t i = 0; i < n; i += kPairs) {
            for (std::int64_t t = 0; t < size; ++t, to += kPairs) {
                const float* const from = x + (first + t) * x_stride + i;
                const __m512bh rounded = _mm512_cvtne2ps_pbh(load(from + kLanes), load(from));
                _mm512_storeu_si512(to, reinterpret_cast<__m512i>(rounded));
            }
        }
    }
}

void multiply_pairs(const WeightView& weight, const Bf16* x, const PairTiles& tiles, std::int64_t row_begin,
                    std::int64_t row_end, float* y, std::int64_t y_stride) {
    const std::int64_t n = weight.n_cols;
    const auto stride = static_cast<std::int64_t>(weight.stride_bytes());
    const std::int64_t row_bytes = n * static_cast<std::int64_t>(sizeof(Bf16));
    const std::int64_t group_rows = std::max(kLeastRows, kGroupBytes / row_bytes / kLeastRows * kLeastRows);
    const std::int64_t tile_bytes = PairTiles::kMostTokens * row_bytes;
    const std::int64_t tiles_together = std::max<std::int64_t>(kInputBytes / tile_bytes, 1);
    for (std::int64_t first_tile = 0; first_tile < tiles.count; first_tile += tiles_together) {
        const std::int64_t last_tile = std::min(first_tile + tiles_together, tiles.count);
        const std::byte* next = weight.row(row_begin) + group_rows * stride;
        for (std::int64_t row = row_begin; row < row_end; row += group_rows) {
            RowGroup group{weight.row(row), stride, std::min(group_rows, row_end - row), nullptr, y_stride};
            for (std::int64_t begin = 0; begin < n; begin += kBlockColumns) {
                const std::int64_t columns = std::min(kBlockColumns, n - begin);
                for (std::int64_t tile = first_tile; tile < last_tile; ++tile) {
                    const std::int64_t first = tiles.begin(tile);
                    const std::int64_t size = tiles.size(tile);
                    group.y = y + first * y_stride + row;
                    const Fetches fetched =
                        stride == row_bytes ? fetches_of(tile - first_tile, last_tile - first_tile) : Fetches::kNone;
                    const auto fetches = static_cast<std::size_t>(fetched);
                    next = kMultiplyTile[fetches][static_cast<std::size_t>(size - 1)](
                        group, begin, columns, x + first * n + begin * size, next);
                }
            }
        }
    }
}

}  // namespace

namespace avx512_bf16 {

const PairProducts kPairProducts = {lay_out_pairs, multiply_pairs};

}  // namespace avx512_bf16
}  // namespace offstage::kernels
