#include "ui/window/budget_keeper.h"

#include <algorithm>

#include "ui/engine/engine_controller.h"
#include "ui/engine/kept_budget.h"
#include "ui/panels/benchmark_runner.h"
#include "ui/panels/budget_form.h"

namespace offstage::ui {

BudgetKeeper::BudgetKeeper(EngineController& engine, const BenchmarkRunner& benchmark, QObject* parent)
    : QObject(parent), m_engine(engine), m_benchmark(benchmark) {
    connect(&engine, &EngineController::replanEnded, this, &BudgetKeeper::keep);
    connect(&engine, &EngineController::loadStarted, this, [this] { m_lastKept = 0; });
}

// All changes since the model was opened, with their present values.
void BudgetKeeper::keep() {
    quint64 newest = 0;
    for (const engine::ReplanReport& report : m_engine.replans()) {
        newest = report.state == engine::ReplanState::kDone ? std::max(newest, quint64{report.id}) : newest;
    }
    if (newest <= m_lastKept || m_benchmark.isRunning()) {
        return;
    }
    m_lastKept = newest;
    const BudgetSetting now = settingInForce(m_engine);
    engine::ReplanRequest set;
    for (const auto& [id, request] : m_engine.replanRequests()) {
        if (id > newest || m_benchmark.ownsReplan(id)) {
            continue;
        }
        if (request.vram_bytes) {
            set.vram_bytes = now.vramBytes;
        }
        if (request.ram_bytes) {
            set.ram_bytes = now.ramBytes;
        }
        if (request.context) {
            set.context = now.context;
        }
        if (request.kv) {
            set.kv = now.kv;
        }
        if (request.quality || request.experts) {
            set.experts = now.experts;
            set.quality = now.experts ? std::nullopt : std::optional(now.quality);
        }
    }
    const engine::LoadRequest& load = m_engine.loadRequest();
    KeptBudget::keep(QString::fromStdString(load.model), QString::fromStdString(load.device), set);
}

}  // namespace offstage::ui
