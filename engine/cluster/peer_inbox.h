#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "engine/cluster/node_protocol.h"

namespace offstage::engine {

// Shares of layers received from other machines, stored until this machine's step reaches
// them. A machine can be ahead only by layers for which it needs no other machine: so the
// store is bounded. Any thread puts; the one that makes steps takes.
class PeerInbox {
  public:
    using Clock = std::chrono::steady_clock;
    struct Arrived {
        NodeOutputs outputs;
        Clock::time_point at;
    };

    explicit PeerInbox(std::size_t most_bytes) : most_bytes_(most_bytes) {}

    // Nothing of earlier steps counts from now on, and no machine is lost.
    void begin_step(std::uint64_t step);
    // False: it holds too much already. Messages of an earlier step, or that have arrived
    // on another way, are dropped. NodeOutputs::lost: earlier messages of the machine
    // still count, and no later ones of that step.
    bool put(NodeOutputs outputs);
    // The machine's next message of a layer. none: it did not come in time (`until`), the
    // machine is lost, or the step must not be finished.
    std::optional<Arrived> take(std::int32_t layer, std::uint32_t machine, std::optional<Clock::time_point> until);
    // In the running step. Its earlier messages still count.
    void lose(std::uint32_t machine);
    void lose_in(std::uint64_t step, std::uint32_t machine);  // the same, if that is the running one
    void abandon(std::uint64_t step);                         // and all before it; also before it has begun
    std::size_t n_bytes() const;

  private:
    using Key = std::tuple<std::uint64_t, std::int32_t, std::uint32_t>;  // step, layer, machine
    struct Held {
        std::deque<Arrived> arrived;  // and not taken
        std::uint32_t next_part = 0;  // behind the last that has come
    };

    const std::size_t most_bytes_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::map<Key, Held> held_;
    std::set<std::pair<std::uint64_t, std::uint32_t>> lost_in_;  // step, machine: reported as lost
    std::size_t bytes_ = 0;
    std::uint64_t step_ = 0, abandoned_ = 0;
    std::uint32_t lost_ = 0;
};

}  // namespace offstage::engine
