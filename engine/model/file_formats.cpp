#include "engine/model/file_formats.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

namespace offstage::engine {
namespace {

using kernels::WeightType;

void add_types(const kernels::ExpertLayout& layout, bool blocks_only, std::vector<std::string>& names) {
    for (const WeightType type : {layout.gate, layout.up, layout.down}) {
        const std::string name = kernels::name_of(type);
        if (blocks_only && !kernels::is_blocks(type)) continue;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
}

std::vector<std::string> types_of(const ExpertGrid& grid, bool blocks_only) {
    std::vector<std::string> names;
    for (const kernels::ExpertLayout& layout : grid.file_layouts) add_types(layout, blocks_only, names);
    return names;
}

std::string joined(const std::vector<std::string>& names, const char* between) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
    return text;
}

// One model's rows, and the texts that they show.
struct RowsOfModel {
    std::vector<std::string> methods;
    std::vector<FormatRow> rows;
};

}  // namespace

std::span<const FormatRow> format_rows_of(const ExpertGrid& grid) {
    if (grid.file_layouts.empty()) return format_rows();
    RowsOfModel made;
    std::string key;
    for (const kernels::ExpertLayout& layout : grid.file_layouts) {
        std::vector<std::string> types;
        add_types(layout, false, types);
        made.methods.push_back(joined(types, " + "));
        key +=
            made.methods.back() + " " + std::to_string(layout.hidden_dim) + "x" + std::to_string(layout.ffn_dim) + "\n";
    }
    static std::mutex mutex;
    static std::map<std::string, RowsOfModel> known;  // by what differs: as many as models were opened, at most
    const std::lock_guard lock(mutex);
    const auto found = known.find(key);
    if (found != known.end()) return found->second.rows;
    RowsOfModel& kept = known.emplace(key, std::move(made)).first->second;
    kept.rows.assign(format_rows().begin(), format_rows().end());
    for (std::size_t i = 0; i < grid.file_layouts.size(); ++i) {
        FormatRow& row = kept.rows[static_cast<std::size_t>(WeightType::kFile1) + i];
        row.method = kept.methods[i];
        // Down, as their names have it: Q8_0 is 8.5 bits.
        row.bits = static_cast<int>(8.0 * static_cast<double>(grid.file_layouts[i].weight_bytes()) /
                                    static_cast<double>(grid.expert_weights()));
    }
    return kept.rows;
}

std::string format_name(WeightType format, const kernels::ExpertLayout& layout) {
    if (!kernels::traits_of(format).is_of_file()) return kernels::name_of(format);
    std::vector<std::string> types;
    add_types(layout, false, types);
    return joined(types, ", ");
}

std::string stored_formats_of(const ExpertGrid& grid, WeightType master) {
    return grid.file_layouts.empty() ? kernels::name_of(master) : joined(types_of(grid, false), ", ");
}

std::string block_formats_of(const ExpertGrid& grid) {
    return joined(types_of(grid, true), ", ");
}

}  // namespace offstage::engine
