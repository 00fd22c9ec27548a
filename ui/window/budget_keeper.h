#pragma once

#include <QObject>

namespace offstage::ui {

class BenchmarkRunner;
class EngineController;

// Stores the user's changes of the open model's budgets, so that it opens with them the
// next time. GUI thread only.
class BudgetKeeper : public QObject {
    Q_OBJECT

  public:
    // `benchmark`: its changes are not the user's.
    BudgetKeeper(EngineController& engine, const BenchmarkRunner& benchmark, QObject* parent);

  private:
    void keep();

    EngineController& m_engine;
    const BenchmarkRunner& m_benchmark;
    quint64 m_lastKept = 0;  // re-plan of the open model
};

}  // namespace offstage::ui
