#pragma once

#include <span>

#include <QString>

#include "engine/telemetry/snapshot.h"
#include "ui/plot/stacked_bar.h"

namespace offstage::ui {

// One memory as a bar: dense weights, experts by format, KV cache, buffers,
// other programs. Parts of one kind look alike in all bars of the program. `formats`: of
// ledger.experts. If the model takes only a small part of a memory, only that part is
// shown, up to the budget if that is small too, and the row's name says so.
StackedBar::Row memoryRow(const QString& name, const engine::MemoryLedger& ledger,
                          std::span<const engine::FormatRow> formats = engine::format_rows());

// Adds a ghost below the present parts: the parts with another budget.
void addGhost(StackedBar::Row& row, const engine::MemoryLedger& now, engine::MemoryLedger after, quint64 budget,
              std::span<const engine::FormatRow> formats = engine::format_rows());

}  // namespace offstage::ui
