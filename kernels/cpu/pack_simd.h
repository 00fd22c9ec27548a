#pragma once
// Transposing copies over Vector. Included after simd_avx2.h or simd_avx512.h.
//
// A tile is kLanes rows of kLanes 32-bit words. 16-bit weights are moved in pairs: a word holds two neighbours of a
// row, and after the transposition a vector holds such a pair for kLanes rows, which costs half the shuffles of moving
// each alone.

#include <cstring>
#include <type_traits>

#include "kernels/cpu/pack.h"

namespace offstage::kernels {
namespace {

// Tiles at the edges are copied here, padded with zeros.
template <typename Weight>
struct EdgeTile {
    static constexpr int kCols = kLanes * static_cast<int>(4 / sizeof(Weight));
    Weight weights[kLanes][kCols];

    __attribute__((always_inline)) void fill(const Weight* source, std::int64_t row_stride, std::int64_t n_rows,
                                             std::int64_t n_cols) {
        std::memset(weights, 0, sizeof weights);
        for (std::int64_t r = 0; r < n_rows; ++r) {
            std::memcpy(weights[r], source + r * row_stride, static_cast<std::size_t>(n_cols) * sizeof(Weight));
        }
    }
};

// Calls store_tile(words, row, col, n_cols_in_tile) for every tile, transposed: words[c] holds column pair (or column)
// c.
template <typename Weight, typename StoreTile>
__attribute__((always_inline)) inline void for_each_tile(const Weight* weights, const PanelSource& source,
                                                         const StoreTile& store_tile) {
    using Tile = EdgeTile<Weight>;
    for (std::int64_t row = 0; row < source.n_rows; row += kLanes) {
        const std::int64_t n_rows = source.n_rows - row < kLanes ? source.n_rows - row : kLanes;
        for (std::int64_t col = 0; col < source.n_cols; col += Tile::kCols) {
            const std::int64_t n_cols = source.n_cols - col < Tile::kCols ? source.n_cols - col : Tile::kCols;
            const Weight* from = weights + row * source.row_stride + col;
            Vector words[kLanes];
            if (n_rows == kLanes && n_cols == Tile::kCols) {
                for (int r = 0; r < kLanes; ++r) {
                    const Weight* place = from + r * source.row_stride;
                    _mm_prefetch(reinterpret_cast<const char*>(place) + 512, _MM_HINT_T0);
                    words[r] = load_words(place);
                }
            } else {
                Tile tile;
                tile.fill(from, source.row_stride, n_rows, n_cols);
                for (int r = 0; r < kLanes; ++r) words[r] = load_words(tile.weights[r]);
            }
            transpose_words(words);
            store_tile(words, row, col, static_cast<int>(n_cols));
        }
    }
}

template <typename Weight>
void transpose_f32_from(const Weight* weights, const PanelSource& source, std::int64_t width, float* panel) {
    for_each_tile(weights, source, [&](const Vector(&words)[kLanes], std::int64_t row, std::int64_t col, int n_cols) {
        float* to = panel + col * width + row;
        if constexpr (sizeof(Weight) == 4) {
            for (int c = 0; c < kLanes && c < n_cols; ++c) store(to + c * width, words[c]);
        } else if (n_cols == 2 * kLanes) {
#pragma GCC unroll 16
            for (int c = 0; c < kLanes; ++c) {
                store(to + 2 * c * width, low_half(words[c], Weight{}));
                store(to + (2 * c + 1) * width, high_half(words[c], Weight{}));
            }
        } else {
            for (int c = 0; c < kLanes && 2 * c < n_cols; ++c) {
                store(to + 2 * c * width, low_half(words[c], Weight{}));
                if (2 * c + 1 < n_cols) store(to + (2 * c + 1) * width, high_half(words[c], Weight{}));
            }
        }
    });
}

void transpose_f32_any(const PanelSource& source, std::int64_t width, float* panel) {
    switch (source.type) {
        case WeightType::kF32:
            transpose_f32_from(static_cast<const float*>(source.data), source, width, panel);
            return;
        case WeightType::kF16:
            transpose_f32_from(static_cast<const F16*>(source.data), source, width, panel);
            return;
        case WeightType::kBf16:
            transpose_f32_from(static_cast<const Bf16*>(source.data), source, width, panel);
            return;
        default:
            return;
    }
}

void store_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    const auto* weights = static_cast<const Bf16*>(source.data);
    for_each_tile(weights, source, [&](const Vector(&words)[kLanes], std::int64_t row, std::int64_t col, int n_cols) {
        for (int c = 0; c < kLanes && 2 * c < n_cols; ++c) {
            store_words(panel + ((col / 2 + c) * width + row) * 2, words[c]);
        }
    });
}

// Other types are first rounded, a group of rows and a stretch of columns at a time.
template <typename Weight>
void transpose_pairs_from(const PanelSource& source, std::int64_t width, Bf16* panel) {
    constexpr std::int64_t kStretch = 256;
    Bf16 rounded[kLanes][kStretch];
    const auto* weights = static_cast<const Weight*>(source.data);
    for (std::int64_t row = 0; row < source.n_rows; row += kLanes) {
        const std::int64_t n_rows = source.n_rows - row < kLanes ? source.n_rows - row : kLanes;
        for (std::int64_t col = 0; col < source.n_cols; col += kStretch) {
            const std::int64_t n_cols = source.n_cols - col < kStretch ? source.n_cols - col : kStretch;
            for (std::int64_t r = 0; r < n_rows; ++r) {
                const Weight* from = weights + (row + r) * source.row_stride + col;
                std::int64_t i = 0;
                for (; i + kLanes <= n_cols; i += kLanes) store_bf16(&rounded[r][i], load(from + i));
                if (i < n_cols) {
                    const int n_last = static_cast<int>(n_cols - i);
                    store_first_bf16(&rounded[r][i], n_last, load_first(from + i, n_last));
                }
            }
            store_pairs({rounded, WeightType::kBf16, n_rows, n_cols, kStretch}, width,
                        panel + (col / 2 * width + row) * 2);
        }
    }
}

void transpose_bf16_pairs_any(const PanelSource& source, std::int64_t width, Bf16* panel) {
    switch (source.type) {
        case WeightType::kF32:
            transpose_pairs_from<float>(source, width, panel);
            return;
        case WeightType::kF16:
            transpose_pairs_from<F16>(source, width, panel);
            return;
        case WeightType::kBf16:
            store_pairs(source, width, panel);
            return;
        default:
            return;
    }
}

// How many rows ahead a narrow part of a wide weight is fetched: its rows lie too far apart for the processor to
// foresee.
constexpr std::int64_t kRowsAhead = 12;

template <typename Weight>
__attribute__((always_inline)) inline void prefetch_row(const Weight* row, std::int64_t row_stride, std::int64_t n) {
    const char* ahead = reinterpret_cast<const char*>(row + kRowsAhead * row_stride);
    const auto n_bytes = n * static_cast<std::int64_t>(sizeof(Weight));
    for (std::int64_t byte = 0; byte < n_bytes; byte += 64) _mm_prefetch(ahead + byte, _MM_HINT_T0);
}

template <typename Weight>
void copy_f32_from(const PanelSource& source, std::int64_t width, float* panel) {
    const auto* row = static_cast<const Weight*>(source.data);
    for (std::int64_t i = 0; i < source.n_rows; ++i, row += source.row_stride, panel += width) {
        prefetch_row(row, source.row_stride, source.n_cols);
        std::int64_t o = 0;
        for (; o + kLanes <= source.n_cols; o += kLanes) store(panel + o, load(row + o));
        if (o < source.n_cols) {
            const int n_last = static_cast<int>(source.n_cols - o);
            store_first(panel + o, n_last, load_first(row + o, n_last));
        }
    }
}

void copy_f32_any(const PanelSource& source, std::int64_t width, float* panel) {
    switch (source.type) {
        case WeightType::kF32:
            copy_f32_from<float>(source, width, panel);
            return;
        case WeightType::kF16:
            copy_f32_from<F16>(source, width, panel);
            return;
        case WeightType::kBf16:
            copy_f32_from<Bf16>(source, width, panel);
            return;
        default:
            return;
    }
}

template <typename Weight>
void interleave_pairs_from(const PanelSource& source, std::int64_t width, Bf16* panel) {
    const auto* row = static_cast<const Weight*>(source.data);
    for (std::int64_t i = 0; i < source.n_rows; i += 2, row += 2 * source.row_stride, panel += 2 * width) {
        prefetch_row(row, source.row_stride, source.n_cols);
        prefetch_row(row + source.row_stride, source.row_stride, source.n_cols);
        const bool has_second = i + 1 < source.n_rows;
        for (std::int64_t o = 0; o < source.n_cols; o += kLanes) {
            const int n_lanes = source.n_cols - o < kLanes ? static_cast<int>(source.n_cols - o) : kLanes;
            const bool whole = n_lanes == kLanes;
            const Vector first = whole ? load(row + o) : load_first(row + o, n_lanes);
            Vector second = zero();
            if (has_second) {
                const Weight* below = row + source.row_stride + o;
                second = whole ? load(below) : load_first(below, n_lanes);
            }
            if constexpr (std::is_same_v<Weight, Bf16>) {
                store_words(panel + 2 * o, join_halves(first, second));
            } else {
                store_words(panel + 2 * o, pair_as_bf16(first, second));
            }
        }
    }
}

void interleave_bf16_pairs_any(const PanelSource& source, std::int64_t width, Bf16* panel) {
    switch (source.type) {
        case WeightType::kF32:
            interleave_pairs_from<float>(source, width, panel);
            return;
        case WeightType::kF16:
            interleave_pairs_from<F16>(source, width, panel);
            return;
        case WeightType::kBf16:
            interleave_pairs_from<Bf16>(source, width, panel);
            return;
        default:
            return;
    }
}

}  // namespace
}  // namespace offstage::kernels
