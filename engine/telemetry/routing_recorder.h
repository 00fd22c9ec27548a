#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/telemetry/snapshot.h"

namespace offstage::engine {

// Counts the experts of tokens: over the last kRoutingWindow tokens and over the
// conversation. The engine's thread calls record() once per step, any thread fill(). Both
// hold a lock while they copy the counts.
class RoutingRecorder {
  public:
    RoutingRecorder() = default;
    RoutingRecorder(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active);

    // A new model: other shapes, all counts at zero.
    void reshape(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active);

    // experts: (n_tokens, n_layers, n_active), in the order of the text.
    void record(std::span<const std::int32_t> experts, std::int64_t n_tokens);
    void reset();
    // Sets the routing fields of a snapshot, and its revision.
    void fill(Snapshot& snapshot) const;

  private:
    std::int64_t n_layers_ = 0;
    std::int64_t n_experts_ = 0;
    std::int64_t n_active_ = 0;
    std::uint64_t revision_ = 0;
    std::vector<std::int32_t> window_;  // ring of kRoutingWindow tokens, each (n_layers, n_active)
    std::vector<std::uint32_t> window_counts_;
    std::vector<std::uint64_t> conversation_counts_;
    std::int64_t n_tokens_ = 0;
};

}  // namespace offstage::engine
