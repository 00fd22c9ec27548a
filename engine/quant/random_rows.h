#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/types.h"

namespace offstage::engine {

// Some rows of random weights in a format, always the same ones: to be repeated where
// something is to be measured. What is computed with them does not matter; that they are
// no denormals does.
std::vector<std::byte> random_rows(kernels::WeightType type, std::int64_t n_cols);

}  // namespace offstage::engine
