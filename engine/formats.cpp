#include "engine/formats.h"

#include <array>
#include <vector>

#include "kernels/formats.h"

namespace offstage::engine {

std::span<const FormatRow> format_rows() {
    static constexpr auto kRows = [] {
        std::array<FormatRow, kernels::kWeightTypes> rows;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const kernels::FormatTraits& format = kernels::kFormats[i];
            rows[i] = {format.type, format.option,      format.name,     format.method,
                       format.bits, format.for_experts, format.for_dense};
        }
        return rows;
    }();
    return kRows;
}

const FormatRow& format_row(FormatId id) {
    return format_rows()[static_cast<std::size_t>(id)];
}

std::string list_formats(bool (*wanted)(const FormatRow&), std::string (*column)(const FormatRow&)) {
    std::vector<std::string> values;
    for (const FormatRow& row : format_rows()) {
        if (wanted(row)) values.push_back(column(row));
    }
    std::string list;
    for (std::size_t i = 0; i < values.size(); ++i) {
        list += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i];
    }
    return list;
}

}  // namespace offstage::engine
