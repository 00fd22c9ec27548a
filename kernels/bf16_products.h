#pragma once
// Products of rows in bf16 with many inputs, which read the rows in place: by the
// processor's dot product of pairs of bf16 (AVX512_BF16: vdpbf16ps), or with AVX2 in
// float32, the weights widened in registers.

#include <cstdint>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

// Tiles of inputs, whose sums with a few rows fill the registers; they get about equal
// numbers of tokens.
template <std::int64_t kMost>
struct TokenTiles {
    static constexpr std::int64_t kMostTokens = kMost;
    std::int64_t n_tokens = 0;
    std::int64_t count = (n_tokens + kMostTokens - 1) / kMostTokens;

    std::int64_t begin(std::int64_t tile) const { return n_tokens * tile / count; }
    std::int64_t size(std::int64_t tile) const { return begin(tile + 1) - begin(tile); }
};
using PairTiles = TokenTiles<4>;
using WidenedTiles = TokenTiles<6>;

template <typename InputValue, typename InputTiles>
struct Bf16Products {
    using Value = InputValue;
    using Tiles = InputTiles;
    // Converts the inputs of tiles [tile_begin, tile_end), in the order that multiply()
    // reads. x: rows of n values, a multiple of 32, x_stride apart. to: (n_tokens, n), of
    // all tiles.
    void (*lay_out)(const float* x, std::int64_t x_stride, const Tiles& tiles, std::int64_t n, std::int64_t tile_begin,
                    std::int64_t tile_end, Value* to) = nullptr;
    // y[t * y_stride + r] = weight's row r . x[t] for r in [row_begin, row_end), weights
    // in bf16, any number of tokens; sums in float32. A token's result depends neither on
    // the others nor on their number, a row's not on the range, bit by bit.
    void (*multiply)(const WeightView& weight, const Value* x, const Tiles& tiles, std::int64_t row_begin,
                     std::int64_t row_end, float* y, std::int64_t y_stride) = nullptr;
};
// Inputs are rounded to bf16; numbers too small for bf16's normal range count as 0.
using PairProducts = Bf16Products<Bf16, PairTiles>;
using WidenedProducts = Bf16Products<float, WidenedTiles>;
// With nullptr: the set has none.
const PairProducts& pair_products(InstructionSet set);
const WidenedProducts& widened_products(InstructionSet set);

// Whether these products can use such weights.
inline bool takes_bf16_products(const WeightView& weight) {
    return weight.type == WeightType::kBf16 && weight.n_cols > 0 && weight.n_cols % 32 == 0;
}

}  // namespace offstage::kernels
