#pragma once

#include <deque>
#include <optional>
#include <vector>

#include <QObject>
#include <QSet>

#include "ui/engine/engine_controller.h"
#include "ui/panels/benchmark_export.h"

namespace offstage::ui {

// Runs prompts one after the other through the window's engine, while nothing else uses
// it: a scenario, or one prompt under two plans. Cancel stops the running prompt and
// restores the plan. GUI thread only.
class BenchmarkRunner : public QObject {
    Q_OBJECT

  public:
    struct Scenario {
        qint64 tokensIn = 512;  // exactly
        qint64 tokensOut = 32;  // exactly, unless the context is full before; see BenchmarkRun::endedEarly
        int repeats = 3;
        quint64 seed = 1;
    };
    struct Comparison {
        QString prompt;
        engine::SamplerSettings sampler;  // with the seed
        int maxTokens = 128;
        BudgetSetting a;  // in force
        BudgetSetting b;
    };

    explicit BenchmarkRunner(EngineController& engine, QObject* parent = nullptr);

    // False: the engine is not ready, or something runs already.
    bool runScenario(const Scenario& scenario);
    bool runComparison(const Comparison& comparison);
    void cancel();
    bool isRunning() const { return m_kind != Kind::None; }
    // Whether this answer is the runner's, not the user's.
    bool owns(RequestId id) const { return m_own.contains(id); }
    bool ownsReplan(quint64 id) const { return m_ownReplans.contains(id); }

  Q_SIGNALS:
    void began();
    void progressed(int done, int all, const QString& what);
    void runFinished(const offstage::ui::BenchmarkRun& run);  // one of a scenario
    void compared(const offstage::ui::BenchmarkComparison& comparison);
    void ended(const QString& problem);  // the whole run; empty: it succeeded or was cancelled

  private:
    enum class Kind { None, Scenario, Comparison };
    enum class Step { RunA, ToB, RunB, Back };

    void next();
    void start(const engine::GenerationRequest& request);
    void replan(const BudgetSetting& from, const BudgetSetting& to, const QString& what);
    void onReplanned(const engine::ReplanReport& report);
    void onAnswered(const engine::GenerationResult& result);
    void goBack(const QString& problem);
    void end(const QString& problem);
    engine::GenerationRequest scenarioRequest() const;

    EngineController& m_engine;
    Kind m_kind = Kind::None;
    RequestId m_request = 0;  // in progress; 0: none
    QSet<RequestId> m_own;    // all requests of this object
    quint64 m_replan = 0;
    QSet<quint64> m_ownReplans;  // of the open model
    bool m_cancelled = false;
    QString m_problem;

    Scenario m_scenario;
    int m_done = 0;

    Comparison m_comparison;
    Step m_step = Step::RunA;
    BenchmarkComparison m_result;
    bool m_bInForce = false;
};

// A result as a run.
BenchmarkRun runOf(const engine::GenerationResult& result);

}  // namespace offstage::ui

Q_DECLARE_METATYPE(offstage::ui::BenchmarkRun)
Q_DECLARE_METATYPE(offstage::ui::BenchmarkComparison)
