#include "ui/panels/planned_memory.h"

#include <algorithm>

namespace offstage::ui {

namespace {

// The format of most of a memory's experts, whose colour represents them.
engine::FormatId mainFormat(const engine::MemoryLedger& ledger) {
    const auto most = std::max_element(ledger.experts.begin(), ledger.experts.end());
    return static_cast<engine::FormatId>(most == ledger.experts.end() ? 0 : most - ledger.experts.begin());
}

}  // namespace

engine::MemoryLedger vramAfter(const engine::Plan& plan, const engine::MemoryLedger& now) {
    engine::MemoryLedger after;
    after.dense = plan.dense_bytes;
    after.kv_cache = plan.kv_bytes;
    after.staging = plan.staging_bytes;
    after.workspace = plan.workspace_bytes;
    after.add_experts(mainFormat(now), plan.expert_bytes);
    return after;
}

engine::MemoryLedger ramAfter(const engine::Plan& plan, const engine::MemoryLedger& now) {
    engine::MemoryLedger after = now;
    after.experts.clear();
    after.experts_spare = 0;
    const quint64 others = after.used();
    after.add_experts(mainFormat(now), plan.ram_bytes - std::min<quint64>(plan.ram_bytes, others));
    return after;
}

}  // namespace offstage::ui
