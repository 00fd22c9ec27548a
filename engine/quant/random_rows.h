#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/expert_layout.h"
#include "kernels/types.h"

namespace offstage::engine {

// Some rows of random weights in a format, always the same ones: repeat them for a
// measurement. Their values do not matter, except that they must not be denormal.
std::vector<std::byte> random_rows(kernels::WeightType type, std::int64_t n_cols);

// The same as an expert; its biases are 0. block: layout.bytes().
void fill_random_expert(const kernels::ExpertLayout& layout, std::byte* block);

}  // namespace offstage::engine
