// Transposing copies over Vector.
//
// A tile is kLanes rows of kLanes 32-bit words. 16-bit weights are moved in pairs: a word
// holds two neighbours of a row, and after the transposition a vector holds such a pair
// for kLanes rows, which costs half the shuffles of moving single weights. Packed weights
// are unpacked first, as many rows and columns at a time as fit in the first-level cache.

#include <cstring>
#include <type_traits>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/packed_simd.h"

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

// Weights that are stored as plain numbers.
template <typename Weight>
struct PlainPart {
    const Weight* weights;
    std::int64_t row_stride;
    std::int64_t n_rows;
    std::int64_t n_cols;
};

template <typename Weight>
__attribute__((always_inline)) inline PlainPart<Weight> part_of(const PanelSource& source, PlainRows<Weight> rows) {
    return {rows[source.first_row] + source.first_col, rows.stride, source.n_rows, source.n_cols};
}

// Calls body(rows) with the rows of the whole weight: PlainRows or PackedRows.
template <typename Body>
__attribute__((always_inline)) inline void with_rows_of(const WeightView& weight, const Body& body) {
    with_rows(weight.data, weight.type, weight.n_cols, weight.stride_bytes(), body);
}

// Calls store_tile(words, row, col, n_cols_in_tile) for every tile, transposed: words[c]
// holds column pair (or column) c.
template <typename Weight, typename StoreTile>
__attribute__((always_inline)) inline void for_each_tile(const PlainPart<Weight>& source, const StoreTile& store_tile) {
    using Tile = EdgeTile<Weight>;
    for (std::int64_t row = 0; row < source.n_rows; row += kLanes) {
        const std::int64_t n_rows = source.n_rows - row < kLanes ? source.n_rows - row : kLanes;
        for (std::int64_t col = 0; col < source.n_cols; col += Tile::kCols) {
            const std::int64_t n_cols = source.n_cols - col < Tile::kCols ? source.n_cols - col : Tile::kCols;
            const Weight* from = source.weights + row * source.row_stride + col;
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
__attribute__((always_inline)) inline void transpose_part(const PlainPart<Weight>& source, std::int64_t width,
                                                          float* panel) {
    for_each_tile(source, [&](const Vector(&words)[kLanes], std::int64_t row, std::int64_t col, int n_cols) {
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

// Columns of kLanes rows that are unpacked or rounded before they are transposed.
constexpr std::int64_t kTransposedStretch = 256;

// Calls body(row, n_rows, col, n_cols) for the pieces of the part that such a buffer
// holds.
template <typename Body>
__attribute__((always_inline)) inline void for_each_piece(const PanelSource& source, const Body& body) {
    for (std::int64_t row = 0; row < source.n_rows; row += kLanes) {
        const std::int64_t n_rows = source.n_rows - row < kLanes ? source.n_rows - row : kLanes;
        for (std::int64_t col = 0; col < source.n_cols; col += kTransposedStretch) {
            const std::int64_t left = source.n_cols - col;
            body(row, n_rows, col, left < kTransposedStretch ? left : kTransposedStretch);
        }
    }
}

void transpose_f32_any(const PanelSource& source, std::int64_t width, float* panel) {
    with_rows_of(source.weight, [&](auto rows) {
        if constexpr (!decltype(rows)::kPacked) {
            transpose_part(part_of(source, rows), width, panel);
        } else {
            float wide[kLanes][kTransposedStretch];
            for_each_piece(source, [&](std::int64_t row, std::int64_t n_rows, std::int64_t col, std::int64_t n_cols) {
                for (std::int64_t r = 0; r < n_rows; ++r) {
                    prefetch_part(rows[source.first_row + row + r + kLanes], source.first_col + col, n_cols);
                    unpack(rows[source.first_row + row + r], source.first_col + col, n_cols, wide[r]);
                }
                transpose_part(PlainPart<float>{wide[0], kTransposedStretch, n_rows, n_cols}, width,
                               panel + col * width + row);
            });
        }
    });
}

void store_pairs(const PlainPart<Bf16>& source, std::int64_t width, Bf16* panel) {
    for_each_tile(source, [&](const Vector(&words)[kLanes], std::int64_t row, std::int64_t col, int n_cols) {
        for (int c = 0; c < kLanes && 2 * c < n_cols; ++c) {
            store_words(panel + ((col / 2 + c) * width + row) * 2, words[c]);
        }
    });
}

template <typename Weight>
__attribute__((always_inline)) inline void round_weights(const Weight* from, std::int64_t n, Bf16* to) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store_bf16(to + i, load(from + i));
    if (i < n) store_first_bf16(to + i, static_cast<int>(n - i), load_first(from + i, static_cast<int>(n - i)));
}

void transpose_bf16_pairs_any(const PanelSource& source, std::int64_t width, Bf16* panel) {
    with_rows_of(source.weight, [&](auto rows) {
        using Rows = decltype(rows);
        if constexpr (std::is_same_v<Rows, PlainRows<Bf16>>) {
            store_pairs(part_of(source, rows), width, panel);
        } else {
            Bf16 rounded[kLanes][kTransposedStretch];
            for_each_piece(source, [&](std::int64_t row, std::int64_t n_rows, std::int64_t col, std::int64_t n_cols) {
                for (std::int64_t r = 0; r < n_rows; ++r) {
                    const auto from = rows[source.first_row + row + r];
                    if constexpr (Rows::kPacked) {
                        float wide[kTransposedStretch];
                        prefetch_part(rows[source.first_row + row + r + kLanes], source.first_col + col, n_cols);
                        unpack(from, source.first_col + col, n_cols, wide);
                        round_weights(wide, n_cols, rounded[r]);
                    } else {
                        round_weights(from + source.first_col + col, n_cols, rounded[r]);
                    }
                }
                store_pairs({rounded[0], kTransposedStretch, n_rows, n_cols}, width,
                            panel + (col / 2 * width + row) * 2);
            });
        }
    });
}

// How many rows ahead a narrow part of a wide weight is prefetched: its rows lie too far
// apart for the hardware prefetcher.
constexpr std::int64_t kRowsAhead = 12;

template <typename Weight>
__attribute__((always_inline)) inline void prefetch_row(const Weight* row, std::int64_t row_stride, std::int64_t n) {
    const char* ahead = reinterpret_cast<const char*>(row + kRowsAhead * row_stride);
    const auto n_bytes = n * static_cast<std::int64_t>(sizeof(Weight));
    for (std::int64_t byte = 0; byte < n_bytes; byte += 64) _mm_prefetch(ahead + byte, _MM_HINT_T0);
}

void copy_f32_any(const PanelSource& source, std::int64_t width, float* panel) {
    with_rows_of(source.weight, [&](auto rows) {
        for (std::int64_t i = 0; i < source.n_rows; ++i, panel += width) {
            const auto row = rows[source.first_row + i];
            if constexpr (decltype(rows)::kPacked) {
                prefetch_part(rows[source.first_row + i + kRowsAhead], source.first_col, source.n_cols);
                unpack(row, source.first_col, source.n_cols, panel);
            } else {
                prefetch_row(row + source.first_col, rows.stride, source.n_cols);
                widen_weights(row + source.first_col, source.n_cols, panel);
            }
        }
    });
}

// Pairs of rows; a row missing to an even number is zero.
template <typename Weight>
void interleave_part(const PlainPart<Weight>& source, std::int64_t width, Bf16* panel) {
    const Weight* row = source.weights;
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
    with_rows_of(source.weight, [&](auto rows) {
        if constexpr (!decltype(rows)::kPacked) {
            interleave_part(part_of(source, rows), width, panel);
        } else {
            float wide[2][kTransposedStretch];
            for (std::int64_t i = 0; i < source.n_rows; i += 2) {
                const std::int64_t n_pair = source.n_rows - i < 2 ? 1 : 2;
                for (std::int64_t col = 0; col < source.n_cols; col += kTransposedStretch) {
                    const std::int64_t left = source.n_cols - col;
                    const std::int64_t n_cols = left < kTransposedStretch ? left : kTransposedStretch;
                    for (std::int64_t r = 0; r < n_pair; ++r) {
                        const std::int64_t row = source.first_row + i + r;
                        prefetch_part(rows[row + kRowsAhead], source.first_col + col, n_cols);
                        unpack(rows[row], source.first_col + col, n_cols, wide[r]);
                    }
                    interleave_part(PlainPart<float>{wide[0], kTransposedStretch, n_pair, n_cols}, width,
                                    panel + (i / 2 * width + col) * 2);
                }
            }
        }
    });
}

}  // namespace
}  // namespace offstage::kernels

namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET {

void transpose_f32(const PanelSource& source, std::int64_t width, float* panel) {
    transpose_f32_any(source, width, panel);
}

void transpose_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    transpose_bf16_pairs_any(source, width, panel);
}

void copy_f32(const PanelSource& source, std::int64_t width, float* panel) {
    copy_f32_any(source, width, panel);
}

void interleave_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    interleave_bf16_pairs_any(source, width, panel);
}

}  // namespace offstage::kernels::OFFSTAGE_INSTRUCTION_SET
