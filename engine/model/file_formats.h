#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/formats.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// format_rows() with what a model's file formats are (WeightType::kFile1 and those after
// it): bits of a weight, rounded down, and the types of their matrices as the method. They
// live as long as the program. Any thread.
std::span<const FormatRow> format_rows_of(const ExpertGrid& grid);

// What the experts are in as they lie in the file, for the person: "BF16", "Q4_K, Q6_K".
std::string stored_formats_of(const ExpertGrid& grid, kernels::WeightType master);
// Those of them that are blocks, in which values were quantized once before: "Q4_K, Q6_K".
// Empty: none.
std::string block_formats_of(const ExpertGrid& grid);

}  // namespace offstage::engine
