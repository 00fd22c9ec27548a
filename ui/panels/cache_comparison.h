#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include <QObject>
#include <QThread>

#include "engine/eval/cache_replay.h"

namespace offstage::ui {

class TokenLog;

// The latest completely known steps of the present model as calls to a cache; at most
// about `mostCalls`.
inline constexpr std::size_t kMostReplayedCalls = std::size_t{1} << 19;
engine::CacheCalls cacheCallsOf(const TokenLog& log, int layers, int experts,
                                std::size_t mostCalls = kMostReplayedCalls);

// One policy's result for the recorded calls.
struct PolicyResult {
    QString name;
    engine::ReplayResult result;
};

// Replays cache policies on recorded calls, without the model, on a separate thread of
// the system's lowest priority. GUI thread only; finished() is emitted there.
class CacheComparison : public QObject {
    Q_OBJECT

  public:
    explicit CacheComparison(QObject* parent = nullptr);
    ~CacheComparison() override;  // waits for the thread, which ends at once

    // Does nothing while one is running. `popularity`: the first contents of each cache;
    // `places`: experts that each may hold.
    void start(engine::CacheCalls calls, engine::Popularity popularity, std::int64_t places);
    void cancel();
    bool isRunning() const { return m_run != nullptr; }
    double progress() const;  // 0..1

  Q_SIGNALS:
    // Empty after cancel().
    void finished(const std::vector<offstage::ui::PolicyResult>& results);

  private:
    struct Run {
        std::atomic<bool> stop = false;
        std::atomic<quint64> done = 0;  // steps, of all policies
        quint64 total = 1;
        std::vector<PolicyResult> results;
    };
    class Watched;

    static void work(Run& run, const engine::CacheCalls& calls, const engine::Popularity& popularity,
                     std::int64_t places);
    void finish();

    std::shared_ptr<Run> m_run;  // null: nothing runs
    std::unique_ptr<QThread> m_thread;
};

}  // namespace offstage::ui
