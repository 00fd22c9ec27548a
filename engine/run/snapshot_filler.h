#pragma once

#include <chrono>
#include <cstdint>

#include "engine/telemetry/snapshot.h"

namespace offstage::engine {

class LoadedModel;

// Collects a loaded model's data for a Snapshot: experts, memories, dispatch. One thread,
// the engine's.
class SnapshotFiller {
  public:
    // A model was loaded: its dispatcher's recorder and the memory of other programs are
    // read again.
    void reset() { looked_ = {}; }
    void fill(LoadedModel& model, Snapshot& snapshot);

  private:
    void fill_memories(LoadedModel& model, Snapshot& snapshot);

    // The shortest time between two queries of the driver and the system.
    static constexpr auto kLookEvery = std::chrono::milliseconds(500);
    std::chrono::steady_clock::time_point looked_{};
    std::uint64_t device_others_ = 0;
    std::uint64_t ram_others_ = 0;
    std::uint64_t ram_total_ = 0;
};

}  // namespace offstage::engine
