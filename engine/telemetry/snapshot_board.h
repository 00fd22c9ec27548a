#pragma once

#include <memory>
#include <mutex>

#include "engine/telemetry/snapshot.h"

namespace offstage::engine {

// Hands the newest Snapshot from the engine's thread to readers: publish() on one thread,
// latest() on any. The lock is held only to copy a pointer, never while a kernel runs or
// counts are gathered, so that no window waits for the engine.
class SnapshotBoard {
  public:
    void publish(Snapshot snapshot) {
        auto next = std::make_shared<const Snapshot>(std::move(snapshot));
        const std::lock_guard lock(mutex_);
        latest_.swap(next);
    }

    Snapshot latest() const {
        std::shared_ptr<const Snapshot> current;
        {
            const std::lock_guard lock(mutex_);
            current = latest_;
        }
        return current ? *current : Snapshot{};
    }

  private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Snapshot> latest_;
};

}  // namespace offstage::engine
