#include "ui/panels/benchmark_runner.h"

#include <algorithm>
#include <cmath>

#include "ui/engine/engine_text.h"
#include "ui/engine/format.h"

namespace offstage::ui {

namespace {

// Words from several fields, so that a prompt made of them calls more than a few experts.
constexpr const char* kWords[] = {"river",   "compile",  "sonata", "ledger",  "proton", "market",   "gentle", "theorem",
                                  "harbor",  "function", "violet", "council", "yeast",  "gradient", "winter", "border",
                                  "lantern", "protein",  "verse",  "budget",  "orbit",  "recipe",   "meadow", "packet"};

}  // namespace

BenchmarkRun runOf(const engine::GenerationResult& result) {
    BenchmarkRun run;
    run.time = QDateTime::currentDateTime();
    run.tokensIn = result.prompt_tokens;
    run.tokensReused = result.reused_tokens;
    run.tokensOut = static_cast<qint64>(result.tokens.size());
    run.ttftSeconds = result.ttft_s;
    run.tokensPerSecond = result.decode_tokens_per_s;
    run.itlSeconds.assign(result.device.steps_s.begin(), result.device.steps_s.end());
    run.hitRate = result.device.hit_rate;
    run.bytesCopied = result.device.bytes_copied;
    run.meanBits = result.device.mean_bits;
    run.policy = QString::fromStdString(result.device.decode_policy);
    run.finish = QString::fromUtf8(engine::name_of(result.finish).data());
    run.seed = result.seed;
    run.text = QString::fromStdString(result.text);
    return run;
}

BenchmarkRunner::BenchmarkRunner(EngineController& engine, QObject* parent) : QObject(parent), m_engine(engine) {
    qRegisterMetaType<BenchmarkRun>();
    qRegisterMetaType<BenchmarkComparison>();
    connect(&engine, &EngineController::replanEnded, this, [this](const engine::ReplanReport& report) {
        if (m_replan != 0 && report.id == m_replan) {
            onReplanned(report);
        }
    });
    connect(&engine, &EngineController::answered, this, [this](RequestId id, const engine::GenerationResult& result) {
        if (id != 0 && id == m_request) {
            onAnswered(result);
        }
    });
    connect(&engine, &EngineController::answerFailed, this, [this](RequestId id, const EngineFailure& failure) {
        if (id != 0 && id == m_request) {
            m_request = 0;
            goBack(failure.sentence);
        }
    });
    connect(&engine, &EngineController::answerInterrupted, this, [this](RequestId id) {
        if (id != 0 && id == m_request) {
            m_request = 0;
            goBack(tr("The run was interrupted."));
        }
    });
    // Another model: there is no plan to restore.
    connect(&engine, &EngineController::loadStarted, this, [this] {
        m_ownReplans.clear();
        if (isRunning()) {
            end(tr("Another model was opened; the run has ended."));
        }
    });
}

bool BenchmarkRunner::runScenario(const Scenario& scenario) {
    if (isRunning() || m_engine.state() != EngineController::State::Ready) {
        return false;
    }
    m_kind = Kind::Scenario;
    m_scenario = scenario;
    m_done = 0;
    m_cancelled = false;
    Q_EMIT began();
    next();
    return true;
}

bool BenchmarkRunner::runComparison(const Comparison& comparison) {
    if (isRunning() || m_engine.state() != EngineController::State::Ready) {
        return false;
    }
    m_kind = Kind::Comparison;
    m_comparison = comparison;
    m_result = {comparison.prompt, {}, {}};
    m_step = Step::RunA;
    m_bInForce = false;
    m_cancelled = false;
    m_problem.clear();
    Q_EMIT began();
    next();
    return true;
}

void BenchmarkRunner::cancel() {
    if (!isRunning() || m_cancelled) {
        return;
    }
    m_cancelled = true;
    if (m_request != 0) {
        m_engine.stop();  // its result comes at once, and is not counted
    } else if (m_replan != 0 && m_step == Step::ToB) {
        m_engine.cancelReplan();
    }
}

void BenchmarkRunner::next() {
    if (m_kind == Kind::Scenario) {
        if (m_cancelled || m_done == m_scenario.repeats) {
            end({});
            return;
        }
        Q_EMIT progressed(m_done, m_scenario.repeats, tr("Run %1 of %2").arg(m_done + 1).arg(m_scenario.repeats));
        // As for two plans: contents of the KV cache, even from the same words, would be
        // a head start.
        m_engine.resetConversation();
        start(scenarioRequest());
        return;
    }
    engine::GenerationRequest request;
    request.messages = {{engine::Role::kUser, m_comparison.prompt.toStdString()}};
    request.sampler = m_comparison.sampler;
    request.max_tokens = m_comparison.maxTokens;
    switch (m_step) {
        case Step::RunA:
            Q_EMIT progressed(0, 4, tr("Plan A answers"));
            m_engine.resetConversation();  // contents of the KV cache would be a head start for the second plan
            start(request);
            break;
        case Step::ToB:
            replan(m_comparison.a, m_comparison.b, tr("Going to plan B"));
            break;
        case Step::RunB:
            Q_EMIT progressed(2, 4, tr("Plan B answers"));
            m_engine.resetConversation();
            start(request);
            break;
        case Step::Back:
            replan(m_comparison.b, m_comparison.a, tr("Going back to plan A"));
            break;
    }
}

// A word is at least one token, so these are enough; the engine, which has the tokenizer,
// cuts the rest. The words differ from run to run.
engine::GenerationRequest BenchmarkRunner::scenarioRequest() const {
    engine::GenerationRequest request;
    quint64 state = m_scenario.seed * 0x9e3779b97f4a7c15ULL + static_cast<quint64>(m_done) + 1;
    std::string text;
    for (qint64 i = 0; i < m_scenario.tokensIn; ++i) {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        if (i > 0) {
            text += ' ';
        }
        text += kWords[(state >> 33) % std::size(kWords)];
    }
    request.raw = true;
    request.raw_prompt = text;
    request.raw_tokens = m_scenario.tokensIn;
    request.ignore_end = true;
    request.max_tokens = static_cast<int>(m_scenario.tokensOut);
    request.sampler.seed = m_scenario.seed;
    return request;
}

void BenchmarkRunner::start(const engine::GenerationRequest& request) {
    m_request = m_engine.generate(request);
    if (m_request == 0) {
        goBack(tr("The engine is busy; try again when the answer is written."));
        return;
    }
    m_own.insert(m_request);
}

void BenchmarkRunner::replan(const BudgetSetting& from, const BudgetSetting& to, const QString& what) {
    Q_EMIT progressed(m_step == Step::ToB ? 1 : 3, 4, what);
    if (from.theta != to.theta && !m_engine.setTheta(to.theta)) {
        end(tr("This engine cannot skip neurons."));
        return;
    }
    m_replan = m_engine.replan(changeBetween(from, to));
    m_ownReplans.insert(m_replan);
    if (m_replan == 0) {
        m_engine.setTheta(from.theta);
        end(tr("This engine cannot be re-planned now."));
    }
}

void BenchmarkRunner::onReplanned(const engine::ReplanReport& report) {
    m_replan = 0;
    const bool done = report.state == engine::ReplanState::kDone;
    if (m_step == Step::Back) {
        m_bInForce = !done;
        end(done ? m_problem : tr("The plan before could not be put back: %1").arg(engineText(report.problem)));
        return;
    }
    m_bInForce = done;
    if (!done) {
        m_engine.setTheta(m_comparison.a.theta);  // plan B is in force whole or not at all
        end(m_cancelled ? QString() : engineText(report.problem));
        return;
    }
    m_result.b.residentExperts = report.resident_experts;
    if (m_cancelled) {
        goBack({});
        return;
    }
    m_step = Step::RunB;
    next();
}

void BenchmarkRunner::onAnswered(const engine::GenerationResult& result) {
    m_request = 0;
    // A Stop from any place ends the run: half an answer is no result.
    m_cancelled = m_cancelled || result.finish == engine::FinishReason::kStopped;
    if (m_cancelled) {
        goBack({});
        return;
    }
    BenchmarkRun run = runOf(result);
    if (m_kind == Kind::Scenario) {
        run.label = tr("%1 in, %2 out").arg(m_scenario.tokensIn).arg(m_scenario.tokensOut);
        if (run.tokensOut < m_scenario.tokensOut) {
            run.endedEarly = true;
            run.label = result.finish == engine::FinishReason::kContextFull
                            ? tr("%1: the context was full after %2").arg(run.label).arg(run.tokensOut)
                            : tr("%1: ended early, after %2").arg(run.label).arg(run.tokensOut);
        }
        run.text.clear();
        ++m_done;
        Q_EMIT runFinished(run);
        next();
        return;
    }
    const qint64 resident = m_step == Step::RunA ? -1 : m_result.b.residentExperts;
    run.residentExperts = resident;
    run.setting = m_step == Step::RunA ? m_comparison.a : m_comparison.b;
    run.label = m_step == Step::RunA ? tr("plan A") : tr("plan B");
    if (m_step == Step::RunA) {
        m_result.a = run;
        m_step = Step::ToB;
    } else {
        m_result.b = run;
        Q_EMIT compared(m_result);
        m_step = Step::Back;
    }
    next();
}

void BenchmarkRunner::goBack(const QString& problem) {
    m_problem = problem;
    if (m_kind == Kind::Comparison && m_bInForce) {
        m_step = Step::Back;
        next();
        return;
    }
    end(problem);
}

void BenchmarkRunner::end(const QString& problem) {
    m_kind = Kind::None;
    m_request = 0;
    m_replan = 0;
    Q_EMIT ended(problem);
}

}  // namespace offstage::ui
