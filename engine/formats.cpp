#include "engine/formats.h"

#include <algorithm>
#include <array>

#include "kernels/formats.h"

namespace offstage::engine {

std::span<const FormatRow> format_rows() {
    static constexpr auto kRows = [] {
        std::array<FormatRow, kernels::kWeightTypes> rows;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const kernels::FormatTraits& format = kernels::kFormats[i];
            const auto kind = format.is_blocks()    ? FormatRow::Kind::kBlocks
                              : format.is_of_file() ? FormatRow::Kind::kFile
                                                    : FormatRow::Kind::kOwn;
            rows[i] = {format.type, format.option,      format.name,      format.method,
                       format.bits, format.for_experts, format.for_dense, kind};
        }
        return rows;
    }();
    return kRows;
}

const FormatRow& format_row(FormatId id) {
    return format_rows()[static_cast<std::size_t>(id)];
}

std::vector<FormatRow> expert_formats() {
    std::vector<FormatRow> rows;
    for (const FormatRow& row : format_rows()) {
        if (row.for_experts) rows.push_back(row);
    }
    std::stable_sort(rows.begin(), rows.end(), [](const FormatRow& a, const FormatRow& b) { return a.bits > b.bits; });
    return rows;
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
