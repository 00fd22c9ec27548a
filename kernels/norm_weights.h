#pragma once

#include <cstdint>

#include "kernels/types.h"

namespace offstage::kernels {

// Weights of a norm, float32.
struct NormWeights {
    NormKind kind = NormKind::kRms;
    const float* weight = nullptr;  // (dim); nullptr: all 1. kRms only
    const float* bias = nullptr;    // (dim); nullptr: none. kLayer only
    std::int64_t dim = 0;
    float eps = 0;
};

}  // namespace offstage::kernels
