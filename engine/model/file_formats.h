#pragma once

#include <span>
#include <string>

#include "engine/formats.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// format_rows() with rows for a model's file formats (WeightType::kFile1 and those after
// it): bits of a weight, rounded down, and the types of their matrices as the method.
// They live as long as the program. Any thread.
std::span<const FormatRow> format_rows_of(const ExpertGrid& grid);

// A format of experts of this layout, for the user: "HQQ4"; of a file's, the types of the
// matrices, "Q4_K, Q6_K".
std::string format_name(kernels::WeightType format, const kernels::ExpertLayout& layout);
// The formats of the experts in the file, for the user: "BF16", "Q4_K, Q6_K".
std::string stored_formats_of(const ExpertGrid& grid, kernels::WeightType master);
// Those of them that are blocks, whose values were quantized before: "Q4_K, Q6_K". Empty:
// none.
std::string block_formats_of(const ExpertGrid& grid);

}  // namespace offstage::engine
