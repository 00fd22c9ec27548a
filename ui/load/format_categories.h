#pragma once
// The categories of parts of a memory and of formats in every plot: a category is a
// colour and a pattern (ui/plot/plot_colors.h).

#include <span>
#include <vector>

#include "engine/formats.h"

namespace offstage::ui {

// Large parts have separate colours; small ones, or ones rarely shown side by side, share
// one.
enum MemoryCategory { Dense = 0, KvCache = 1, Others = 6, Buffers = 10, Spare = 13 };

// By index in `rows`. Colours follow from the bits; formats of equal bits have the same
// colour and other patterns, those that users can choose first.
std::vector<int> formatCategories(std::span<const engine::FormatRow> rows);

}  // namespace offstage::ui
