#include "ui/panels/cache_comparison.h"

#include <algorithm>

#include "ui/engine/format.h"
#include "ui/panels/token_log.h"

namespace offstage::ui {

namespace {

using engine::CacheCalls;
using engine::CacheKind;

constexpr CacheKind kCompared[] = {CacheKind::kLru, CacheKind::kLfu, CacheKind::kSlru, CacheKind::kStatic};

quint64 stepsOf(const CacheCalls& calls) {
    return calls.layers.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, calls.n_layers));
}

}  // namespace

CacheCalls cacheCallsOf(const TokenLog& log, int layers, int experts, std::size_t mostCalls) {
    CacheCalls calls;
    calls.n_layers = layers;
    calls.n_experts = experts;
    const auto isWhole = [&](const LoggedStep& step) {
        return static_cast<int>(step.layers.size()) == layers &&
               std::all_of(step.layers.begin(), step.layers.end(), [&](const engine::LayerEvent& layer) {
                   const auto from = step.assignments.begin() + static_cast<std::ptrdiff_t>(layer.first_assignment);
                   // For a piece of a prompt before its end the last layer computes
                   // nothing.
                   const bool mayBeEmpty = layer.is_prefill != 0 && layer.layer + 1 == layers;
                   return (layer.n_assignments > 0 || mayBeEmpty) &&
                          std::all_of(from, from + layer.n_assignments,
                                      [&](const engine::AssignmentEvent& a) { return a.expert < experts; });
               });
    };
    const auto& steps = log.steps();
    std::size_t first = steps.size(), n = 0;
    while (first > 0 && log.isOfPresentModel(steps[first - 1].id) &&
           n + steps[first - 1].assignments.size() <= mostCalls) {
        n += steps[--first].assignments.size();
    }
    calls.calls.reserve(n);
    for (std::size_t i = first; i < steps.size(); ++i) {
        const LoggedStep& step = steps[i];
        if (!isWhole(step)) {
            continue;
        }
        const auto tokens = static_cast<std::size_t>(std::max(0, step.tokens()));
        for (const engine::LayerEvent& layer : step.layers) {
            const std::size_t begin = calls.calls.size();
            for (std::size_t a = 0; a < layer.n_assignments; ++a) {
                const engine::AssignmentEvent& assignment = step.assignments[layer.first_assignment + a];
                calls.calls.push_back({{layer.layer, assignment.expert}, std::int64_t{assignment.n_tokens}});
            }
            std::sort(calls.calls.begin() + static_cast<std::ptrdiff_t>(begin), calls.calls.end(),
                      [](const CacheCalls::Call& a, const CacheCalls::Call& b) { return a.key.expert < b.key.expert; });
            calls.layers.push_back({layer.layer, layer.is_prefill == 0, begin, layer.n_assignments,
                                    static_cast<std::size_t>(calls.n_tokens), tokens});
        }
        calls.n_tokens += static_cast<std::int64_t>(tokens);
    }
    return calls;
}

// Thrown out of a replay that is to stop; never leaves work().
struct Stopped {};

// A policy that counts its steps, and leaves the replay after a stop.
class CacheComparison::Watched : public engine::CachePolicy {
  public:
    Watched(std::unique_ptr<engine::CachePolicy> policy, Run& run) : m_policy(std::move(policy)), m_run(run) {}

    CacheKind kind() const override { return m_policy->kind(); }
    void begin_step() override {
        m_run.done.fetch_add(1, std::memory_order_relaxed);
        if (m_run.stop.load(std::memory_order_relaxed)) {
            throw Stopped{};
        }
        m_policy->begin_step();
    }
    void used(engine::ExpertKey key, std::int64_t tokens) override { m_policy->used(key, tokens); }
    void entered(engine::ExpertKey key) override { m_policy->entered(key); }
    void left(engine::ExpertKey key) override { m_policy->left(key); }
    std::optional<engine::ExpertKey> victim(engine::ExpertKey admitted, engine::MayGo mayGo) const override {
        return m_policy->victim(admitted, mayGo);
    }
    std::optional<engine::ExpertKey> least_useful(engine::MayGo mayGo) const override {
        return m_policy->least_useful(mayGo);
    }
    void forget() override { m_policy->forget(); }

  private:
    std::unique_ptr<engine::CachePolicy> m_policy;
    Run& m_run;
};

CacheComparison::CacheComparison(QObject* parent) : QObject(parent) {}

CacheComparison::~CacheComparison() {
    cancel();
    if (m_thread) {
        m_thread->wait();
    }
}

void CacheComparison::start(CacheCalls calls, engine::Popularity popularity, std::int64_t places) {
    if (m_run) {
        return;
    }
    if (m_thread) {
        m_thread->wait();  // its last signal has come: it is at its end
    }
    m_run = std::make_shared<Run>();
    m_run->total = std::max<quint64>(1, (std::size(kCompared) + 1) * stepsOf(calls));
    places = std::clamp<std::int64_t>(places, 0, calls.n_layers * calls.n_experts);
    m_thread.reset(QThread::create([run = m_run, calls = std::move(calls), popularity = std::move(popularity), places] {
        work(*run, calls, popularity, places);
    }));
    connect(m_thread.get(), &QThread::finished, this, &CacheComparison::finish);
    m_thread->start(QThread::LowestPriority);
}

void CacheComparison::work(Run& run, const CacheCalls& calls, const engine::Popularity& popularity,
                           std::int64_t places) {
    const auto runOne = [&](const QString& name, CacheKind kind, std::int64_t n) {
        Watched policy(engine::make_cache_policy(kind, popularity), run);
        run.results.push_back({name, replay(calls, policy, n, initial_residents(n, false, popularity))});
    };
    try {
        for (const CacheKind kind : kCompared) {
            runOne(policyText(kind), kind, places);
        }
        runOne(tr("No cache"), CacheKind::kStatic, 0);
        run.results.push_back(
            {tr("Best possible"), replay_oracle(calls, places, initial_residents(places, false, popularity))});
    } catch (const Stopped&) {
        run.results.clear();
    }
}

void CacheComparison::finish() {
    const std::shared_ptr<Run> run = std::exchange(m_run, nullptr);
    if (run) {
        Q_EMIT finished(run->stop ? std::vector<PolicyResult>{} : run->results);
    }
}

void CacheComparison::cancel() {
    if (m_run) {
        m_run->stop = true;
    }
}

double CacheComparison::progress() const {
    return m_run ? std::min(1.0, static_cast<double>(m_run->done.load()) / static_cast<double>(m_run->total)) : 0;
}

}  // namespace offstage::ui
