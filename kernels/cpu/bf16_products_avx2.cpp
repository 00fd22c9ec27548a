// WidenedProducts: a group of rows, which fits the second cache, is multiplied by all
// tiles of inputs before the next group.

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/cpu/bf16_rows_avx2.h"
#include "kernels/cpu/pair_products.h"

namespace offstage::kernels {
namespace {

constexpr std::int64_t kRowsTogetherBytes = 128 * 1024;

// Rows that follow each other.
struct RowsTogether {
    const std::byte* first = nullptr;
    std::int64_t stride = 0;  // bytes
    std::int64_t count = 0;

    const Bf16* row(std::int64_t r) const {  // surplus rows repeat the last one
        return reinterpret_cast<const Bf16*>(first + std::min(r, count - 1) * stride);
    }
};

// y of the group's rows and one tile: columns [begin, begin + n).
template <int kTokens>
void multiply_tile(const RowsTogether& group, std::int64_t begin, std::int64_t n, const float* x, Ahead& ahead,
                   float* y, std::int64_t y_stride) {
    for (std::int64_t row = 0; row < group.count; row += 2) {
        float sums[2][kTokens];
        multiply_two_rows<kTokens>(group.row(row) + begin, group.row(row + 1) + begin, n, x, ahead, sums);
        for (std::int64_t r = 0; r < std::min<std::int64_t>(2, group.count - row); ++r) {
            for (int t = 0; t < kTokens; ++t) {
                float& to = y[t * y_stride + row + r];
                to = begin == 0 ? sums[r][t] : to + sums[r][t];
            }
        }
    }
}

using MultiplyTile = void (*)(const RowsTogether&, std::int64_t, std::int64_t, const float*, Ahead&, float*,
                              std::int64_t);
template <int... kTokens>
constexpr std::array<MultiplyTile, sizeof...(kTokens)> by_tokens(std::integer_sequence<int, kTokens...> /*tokens*/) {
    return {multiply_tile<kTokens + 1>...};
}
constexpr std::array kMultiplyWidenedTile = by_tokens(std::make_integer_sequence<int, WidenedTiles::kMostTokens>());

void lay_out(const float* x, std::int64_t x_stride, const WidenedTiles& tiles, std::int64_t n, std::int64_t tile_begin,
             std::int64_t tile_end, float* to) {
    for (std::int64_t tile = tile_begin; tile < tile_end; ++tile) {
        const std::int64_t first = tiles.begin(tile);
        lay_out_tile(
            tiles.size(tile), n, [&](std::int64_t t) { return x + (first + t) * x_stride; }, to + first * n);
    }
}

void multiply(const WeightView& weight, const float* x, const WidenedTiles& tiles, std::int64_t row_begin,
              std::int64_t row_end, float* y, std::int64_t y_stride) {
    const std::int64_t n = weight.n_cols;
    const auto stride = static_cast<std::int64_t>(weight.stride_bytes());
    const std::int64_t row_bytes = n * static_cast<std::int64_t>(sizeof(Bf16));
    const std::int64_t group_rows = std::max<std::int64_t>(2, kRowsTogetherBytes / row_bytes / 2 * 2);
    // Bytes of two rows for kPairs columns, by turns of the tiles.
    const std::int64_t step = std::max<std::int64_t>(2 * kPairs * sizeof(Bf16) / tiles.count, 1);
    for (std::int64_t row = row_begin; row < row_end; row += group_rows) {
        const RowsTogether group{weight.row(row), stride, std::min(group_rows, row_end - row)};
        Ahead ahead{weight.row(row + group.count), stride == row_bytes ? step : 0};
        for (std::int64_t begin = 0; begin < n; begin += kBlockColumns) {
            const std::int64_t columns = std::min(kBlockColumns, n - begin);
            for (std::int64_t tile = 0; tile < tiles.count; ++tile) {
                const std::int64_t first = tiles.begin(tile);
                const std::int64_t size = tiles.size(tile);
                kMultiplyWidenedTile[static_cast<std::size_t>(size - 1)](
                    group, begin, columns, x + first * n + begin * size, ahead, y + first * y_stride + row, y_stride);
            }
        }
    }
}

}  // namespace

namespace avx2 {

const WidenedProducts kWidenedProducts = {lay_out, multiply};

}  // namespace avx2
}  // namespace offstage::kernels
