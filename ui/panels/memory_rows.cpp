#include "ui/panels/memory_rows.h"

#include <array>

#include <QCoreApplication>

#include "ui/format.h"
#include "ui/panels/budget_form.h"

namespace offstage::ui {

namespace {

struct Memory {
    Q_DECLARE_TR_FUNCTIONS(MemoryRow)
};

// Categories: colours go round after seven, with other patterns. What is large has a colour of its own; what is small,
// or rarely seen beside its namesake, shares one.
enum Category { Dense = 0, KvCache = 1, Others = 6, Staging = 10, Workspace = 12, Spare = 13 };

int categoryOfFormat(std::size_t format) {
    static constexpr std::array<int, kernels::kWeightTypes> kCategories = {16, 9, 2, 3, 5, 4, 11};
    return kCategories[format];
}

}  // namespace

StackedBar::Row memoryRow(const QString& name, const engine::MemoryLedger& ledger) {
    StackedBar::Row row;
    // A small budget in a large memory would be a hair: then the bar is the budget, and what others hold is left out.
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
    for (std::size_t i = 0; i < ledger.experts.size(); ++i) {
        add(Memory::tr("experts, %1").arg(formatText(static_cast<kernels::WeightType>(i))), ledger.experts[i],
            categoryOfFormat(i));
    }
    add(Memory::tr("room for experts"), ledger.experts_spare, Spare);
    add(Memory::tr("KV cache"), ledger.kv_cache, KvCache);
    add(Memory::tr("staging"), ledger.staging, Staging);
    add(Memory::tr("workspace"), ledger.workspace, Workspace);
    if (!hair) {
        add(Memory::tr("other programs"), ledger.others, Others);
    }
    return row;
}

}  // namespace offstage::ui
