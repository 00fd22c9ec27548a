#pragma once
// Copies of a part of a weight ("panels") in the order that the batched product reads it.
// Internal to kernels/.

#include <cstdint>

#include "kernels/cpu_kernels.h"
#include "kernels/types.h"

namespace offstage::kernels {

// Panel widths are multiples of this, so that vector stores need no mask.
constexpr std::int64_t kPanelGrain = 64;

// A part of a weight: n_rows rows from first_row on, n_cols columns from first_col on.
// For packed weights first_col and n_cols are multiples of kPackedBlock.
struct PanelSource {
    WeightView weight;
    std::int64_t first_row = 0;
    std::int64_t n_rows = 0;
    std::int64_t first_col = 0;
    std::int64_t n_cols = 0;
};

struct PackKernels {
    // Rows are outputs: panel[i][o] = source[o][i] (counted within the part) as float32;
    // panel rows are `width` long, width >= n_rows. Places [n_rows, width) of a row may
    // be written with anything.
    void (*transpose_f32)(const PanelSource& source, std::int64_t width, float* panel);

    // Pairs of inputs side by side, in the order of bf16 dot products: panel[i / 2][o][i
    // % 2], panel rows `width` pairs long. Weights of other types are rounded to nearest
    // even. An odd number of inputs is filled up with zero.
    void (*transpose_bf16_pairs)(const PanelSource& source, std::int64_t width, Bf16* panel);

    // The same two panels where rows are inputs: panel[i][o] = source[i][o], width >=
    // n_cols.
    void (*copy_f32)(const PanelSource& source, std::int64_t width, float* panel);
    void (*interleave_bf16_pairs)(const PanelSource& source, std::int64_t width, Bf16* panel);
};

const PackKernels& pack_kernels(InstructionSet set);  // precondition: available

}  // namespace offstage::kernels
