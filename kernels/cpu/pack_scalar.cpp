#include <algorithm>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

namespace {

// Calls body(row, col, weight) for every weight of the part, row and col counted within
// it.
template <typename Body>
void for_each_weight(const PanelSource& source, const Body& body) {
    const WeightView& weight = source.weight;
    float weights[kStretch];
    for (std::int64_t row = 0; row < source.n_rows; ++row) {
        for (std::int64_t col = 0; col < source.n_cols; col += kStretch) {
            const std::int64_t n = std::min(kStretch, source.n_cols - col);
            read_weights(weight.row(source.first_row + row), weight.type, weight.n_cols, source.first_col + col, n,
                         weights);
            for (std::int64_t i = 0; i < n; ++i) body(row, col + i, weights[i]);
        }
    }
}

}  // namespace

void transpose_f32(const PanelSource& source, std::int64_t width, float* panel) {
    for_each_weight(source, [&](std::int64_t o, std::int64_t i, float weight) { panel[i * width + o] = weight; });
}

void transpose_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    for_each_weight(source, [&](std::int64_t o, std::int64_t i, float weight) {
        panel[(i / 2 * width + o) * 2 + i % 2] = to_bf16(weight);
        if (i % 2 == 0 && i + 1 == source.n_cols) panel[(i / 2 * width + o) * 2 + 1] = {};
    });
}

void copy_f32(const PanelSource& source, std::int64_t width, float* panel) {
    for_each_weight(source, [&](std::int64_t i, std::int64_t o, float weight) { panel[i * width + o] = weight; });
}

void interleave_bf16_pairs(const PanelSource& source, std::int64_t width, Bf16* panel) {
    for_each_weight(source, [&](std::int64_t i, std::int64_t o, float weight) {
        panel[(i / 2 * width + o) * 2 + i % 2] = to_bf16(weight);
        if (i % 2 == 0 && i + 1 == source.n_rows) panel[(i / 2 * width + o) * 2 + 1] = {};
    });
}

}  // namespace offstage::kernels::scalar
