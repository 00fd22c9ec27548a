#pragma once
// Products of rows in bf16 with many inputs, by the processor's dot product of pairs of
// bf16 (AVX512_BF16: vdpbf16ps). They read the rows in place.

#include <cstdint>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

// The most tokens of a tile of inputs; tiles get about equal numbers of tokens.
struct PairTiles {
    static constexpr std::int64_t kMostTokens = 4;  // their sums with four rows fill the registers
    std::int64_t n_tokens = 0;
    std::int64_t count = (n_tokens + kMostTokens - 1) / kMostTokens;

    std::int64_t begin(std::int64_t tile) const { return n_tokens * tile / count; }
    std::int64_t size(std::int64_t tile) const { return begin(tile + 1) - begin(tile); }
};

struct PairProducts {
    // Rounds the inputs of tiles [tile_begin, tile_end) to bf16, in the order that
    // multiply() reads. x: rows of n values, a multiple of 32, x_stride apart. to:
    // (n_tokens, n), of all tiles.
    void (*lay_out)(const float* x, std::int64_t x_stride, const PairTiles& tiles, std::int64_t n,
                    std::int64_t tile_begin, std::int64_t tile_end, Bf16* to) = nullptr;
    // y[t * y_stride + r] = weight's row r . x[t] for r in [row_begin, row_end), weights
    // in bf16, any number of tokens; sums in float32, numbers too small for bf16's normal
    // range count as 0. A token's result depends neither on the others nor on their
    // number, a row's not on the range, bit by bit.
    void (*multiply)(const WeightView& weight, const Bf16* x, const PairTiles& tiles, std::int64_t row_begin,
                     std::int64_t row_end, float* y, std::int64_t y_stride) = nullptr;
};
// With nullptr: the set has none.
const PairProducts& pair_products(InstructionSet set);

// Whether pair products can use such weights.
inline bool takes_pair_products(const WeightView& weight) {
    return weight.type == WeightType::kBf16 && weight.n_cols > 0 && weight.n_cols % 32 == 0;
}

}  // namespace offstage::kernels
