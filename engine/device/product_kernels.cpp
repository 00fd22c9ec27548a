#include "engine/device/product_kernels.h"

#include <algorithm>

#include "kernels/cpu_kernels.h"
#include "kernels/cpu_product_table.h"

namespace offstage::engine {
namespace {

bool this_cpu_can_use(const kernels::ProductRowText& row) {
    const std::uint32_t facts = kernels::product_facts(kernels::cpu_kernels().instruction_set);
    return (row.need_bits & kernels::product_needs::kOfMachine & ~facts) == 0;
}

nlohmann::ordered_json row_json(const kernels::ProductRowText& row) {
    nlohmann::ordered_json json = {
        {"of", row.of},          {"weights", row.weights}, {"inputs", row.inputs},      {"fewest_rows", row.fewest},
        {"most_rows", row.most}, {"needs", row.needs},     {"kernel", row.kernel.name}, {"file", row.kernel.file}};
    if (row.most == kernels::kAnyRows) json["most_rows"] = nullptr;
    return json;
}

std::string kernels_text(const std::vector<kernels::ProductRowText>& rows, const std::vector<std::string>& formats,
                         const char* title, bool (*shown)(const kernels::ProductRowText& row)) {
    std::uint8_t weights = 0;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (std::find(formats.begin(), formats.end(), format.name) != formats.end()) {
            weights |= kernels::weights_of(format.type);
        }
    }
    std::string lines;
    for (const kernels::ProductRowText& row : rows) {
        if ((row.weight_bits & weights) == 0 || !shown(row)) continue;
        lines += (lines.empty() ? title : "                 ") + row.of + ", " + row.weights + ", rows: " + row.rows() +
                 ", inputs: " + row.inputs;
        for (const std::string& need : row.needs) lines += ", " + need;
        lines += std::string(": ") + row.kernel.name + " (" + row.kernel.file + ")\n";
    }
    return lines;
}

}  // namespace

nlohmann::ordered_json product_kernels_json() {
    auto cpu = nlohmann::ordered_json::array();
    for (const kernels::ProductRowText& row : kernels::cpu_product_rows()) {
        cpu.push_back(row_json(row));
        cpu.back()["here"] = this_cpu_can_use(row);
    }
    auto cuda = nlohmann::ordered_json::array();
    for (const kernels::ProductRowText& row : kernels::cuda_product_rows()) cuda.push_back(row_json(row));
    return {{"cpu", cpu}, {"cuda", cuda}};
}

std::string cpu_kernels_text(const std::vector<std::string>& formats) {
    return kernels_text(kernels::cpu_product_rows(), formats, "  kernels        ", this_cpu_can_use);
}

std::string gpu_kernels_text(const std::vector<std::string>& formats) {
    return kernels_text(kernels::cuda_product_rows(), formats, "  on the GPU     ",
                        [](const kernels::ProductRowText& /*row*/) { return true; });
}

}  // namespace offstage::engine
