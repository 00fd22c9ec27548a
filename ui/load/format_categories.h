#pragma once
// What stands for parts of a memory and for formats in every plot: a category is a colour
// and a pattern (ui/plot/plot_colors.h).

#include <span>
#include <vector>

#include "engine/formats.h"

namespace offstage::ui {

// What is large has a colour of its own; what is small, or rarely seen beside its
// namesake, shares one.
enum MemoryCategory { Dense = 0, KvCache = 1, Others = 6, Staging = 10, Workspace = 12, Spare = 13 };

// By place in `rows`, whichever of them are in use. Colours follow from the bits; formats
// of as many bits have the same colour and other patterns, those that a person may choose
// first.
std::vector<int> formatCategories(std::span<const engine::FormatRow> rows);

}  // namespace offstage::ui
