#include "ui/load/memory_rows.h"

#include <algorithm>

#include <QCoreApplication>

#include "ui/engine/format.h"
#include "ui/load/format_categories.h"

namespace offstage::ui {

namespace {

struct Memory {
    Q_DECLARE_TR_FUNCTIONS(MemoryRow)
};

}  // namespace

StackedBar::Row memoryRow(const QString& name, const engine::MemoryLedger& ledger,
                          std::span<const engine::FormatRow> formats) {
    StackedBar::Row row;
    // A small budget in a large memory would be invisible: then the bar is the budget,
    // and other programs' share is left out.
    const bool hair = ledger.budget > 0 && ledger.budget < ledger.total / 8;
    row.name = hair ? Memory::tr("%1, budget").arg(name) : name;
    row.total = static_cast<double>(hair ? ledger.budget : ledger.total);
    row.budget = hair ? 0 : static_cast<double>(ledger.budget);
    const auto add = [&](const QString& part, quint64 bytes, int category) {
        if (bytes > 0) {
            row.parts.push_back({part, static_cast<double>(bytes), category});
        }
    };
    add(Memory::tr("dense weights"), ledger.dense, Dense);
    const std::vector<int> categories = formatCategories(formats);
    for (std::size_t i = 0; i < std::min(ledger.experts.size(), formats.size()); ++i) {
        add(Memory::tr("experts, %1").arg(formatText(formats[i])), ledger.experts[i], categories[i]);
    }
    add(Memory::tr("room for experts"), ledger.experts_spare, Spare);
    add(Memory::tr("KV cache"), ledger.kv_cache, KvCache);
    add(Memory::tr("buffers"), ledger.staging + ledger.workspace, Buffers);
    if (!hair) {
        add(Memory::tr("other programs"), ledger.others, Others);
    }
    return row;
}

void addGhost(StackedBar::Row& row, const engine::MemoryLedger& now, engine::MemoryLedger after, quint64 budget,
              std::span<const engine::FormatRow> formats) {
    const bool hair = now.total > 0 && row.total < static_cast<double>(now.total);  // as memoryRow() chose
    after.total = after.budget = 0;
    after.others = hair ? 0 : now.others;
    row.ghost = memoryRow(row.name, after, formats).parts;
    row.ghostBudget = static_cast<double>(budget);
    if (hair) {
        row.total = std::max(row.total, row.ghostBudget);
        row.budget = static_cast<double>(now.budget);
    }
}

}  // namespace offstage::ui
