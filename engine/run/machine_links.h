#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <vector>

#include "engine/message.h"
#include "engine/run/joined_machines.h"

namespace offstage::engine {

// The machines that a session has joined. The engine's thread joins and parts from them
// between two steps; other threads read their state meanwhile.
class MachineLinks {
  public:
    // ---- the engine's thread
    bool any() const { return machines_ != nullptr; }
    // Parts from the present machines first; `join` may be empty. Throws Error, and there
    // are none.
    void join(const JoinMachinesFn& join, LoadedModel& model, const std::stop_token& stop);
    // Before an answer, if the machines need it. If that fails they stay apart, and the
    // user gets a note with the reason.
    void join_again(LoadedModel& model, const std::stop_token& stop);
    void part();
    void after_step(double us, std::int64_t n_tokens) {
        if (machines_ != nullptr) machines_->after_step(us, n_tokens);
    }

    // ---- any thread
    // Sentences for the user since the last call, also of machines that were joined
    // before.
    std::vector<Message> take_notes();
    // Snapshot::machines and what follows it there; the revision grows with theirs.
    void fill(Snapshot& snapshot) const;

  private:
    // Only the engine's thread writes these, with the lock held. The lock is held only
    // for short reads of the machines' state, never while machines are being joined.
    std::unique_ptr<JoinedMachines> machines_;
    std::uint64_t revision_ = 0;  // of all machines joined earlier
    std::vector<Message> notes_;  // of those
    mutable std::mutex mutex_;
};

}  // namespace offstage::engine
