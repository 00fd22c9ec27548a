#include "ui/load/format_categories.h"

#include "ui/plot/plot_colors.h"

namespace offstage::ui {

std::vector<int> formatCategories(std::span<const engine::FormatRow> rows) {
    constexpr int kAll = kSeriesColours * kPatterns;  // colours with patterns
    const auto firstOf = [](int bits) {
        return bits > 16 ? 23 : bits > 8 ? 8 : bits > 4 ? 9 : bits == 4 ? 10 : bits == 3 ? 11 : 26;
    };
    std::vector<int> categories(rows.size());
    std::vector<bool> taken(kAll);
    for (const MemoryCategory other : {Dense, KvCache, Others, Buffers, Spare}) {
        taken[other] = true;
    }
    for (const bool chosen : {true, false}) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (rows[i].for_experts != chosen || rows[i].bits == 0 ||
                rows[i].kind == engine::FormatRow::Kind::kBlocks) {
                continue;
            }
            int category = firstOf(rows[i].bits);
            // The same colour in another pattern, then the next colour; where all are in
            // use, two look alike.
            for (int tried = 1; taken[static_cast<std::size_t>(category)] && tried <= kAll; ++tried) {
                category = (category + kSeriesColours + (tried % kPatterns == 0 ? 1 : 0)) % kAll;
            }
            taken[static_cast<std::size_t>(category)] = true;
            categories[i] = category;
        }
    }
    return categories;
}

}  // namespace offstage::ui
