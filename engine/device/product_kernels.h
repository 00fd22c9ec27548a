#pragma once
// The tables of which kernel multiplies what (kernels/product_table.h), for people.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace offstage::engine {

// All rows, the CPU's and CUDA's. "here": whether this machine's CPU can use the row.
nlohmann::ordered_json product_kernels_json();
// The rows for weights of these formats, by name: the CPU's that this machine can use,
// and all of CUDA's. The first row that fits a product decides.
std::string cpu_kernels_text(const std::vector<std::string>& formats);
std::string gpu_kernels_text(const std::vector<std::string>& formats);

}  // namespace offstage::engine
