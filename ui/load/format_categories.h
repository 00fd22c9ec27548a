#pragma once
// The categories of parts of a memory and of formats in every plot: a category is a
// colour and a pattern (ui/plot/plot_colors.h).

#include <span>
#include <vector>

#include "engine/formats.h"

namespace offstage::ui {

// In the order of a bar, so that parts that touch differ in lightness: experts and buffers
// are light between dark dense weights, KV cache and other programs. Room for experts has
// the colour of other programs, in another pattern.
enum MemoryCategory { Dense = 7, KvCache = 12, Buffers = 13, Others = 29, Spare = 44 };

// By index in `rows`. Colours follow from the bits; formats of equal bits have the same
// colour and other patterns, those that users can choose first.
std::vector<int> formatCategories(std::span<const engine::FormatRow> rows);

}  // namespace offstage::ui
