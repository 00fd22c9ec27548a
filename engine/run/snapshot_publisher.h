#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/run/snapshot_filler.h"
#include "engine/telemetry/recorder.h"
#include "engine/telemetry/routing_recorder.h"
#include "engine/telemetry/snapshot_board.h"

namespace offstage::engine {

// Data for other threads: snapshots, layer events, the popularity used for the plan.
class SnapshotPublisher {
  public:
    // ---- the engine's thread
    void open(LoadedModel& model);
    void close();
    // At once, or when the last time was long enough ago for an eye to care.
    enum class When { kNow, kWhenDue };
    struct Conversation {
        const RoutingRecorder& routing;
        std::int64_t n_tokens = 0, capacity = 0;     // of its KV cache
        std::int64_t n_kept = 0, n_kept_tokens = 0;  // Snapshot::kept_prefixes, kept_tokens
        double overhead_us = 0;                      // Snapshot::decode_overhead_us
    };
    void publish(When when, const Conversation& conversation);

    // ---- any thread; as in Session
    Snapshot latest() const;
    LayerEvents layer_events(std::uint64_t i) const;
    std::vector<float> planned_popularity() const;

  private:
    SnapshotBoard board_;
    SnapshotFiller filler_;
    LoadedModel* model_ = nullptr;
    std::uint64_t revision_ = 0;
    std::chrono::steady_clock::time_point last_published_;
    mutable std::atomic<std::int64_t> looked_at_ms_ = 0;  // by the steady clock; 0: never
    mutable std::mutex mutex_;                            // for the members below
    std::shared_ptr<const Recorder> events_;              // the loaded model's
    std::vector<float> popularity_;
};

}  // namespace offstage::engine
