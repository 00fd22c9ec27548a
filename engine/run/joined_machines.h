#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "engine/message.h"
#include "engine/telemetry/snapshot.h"

namespace offstage::engine {

class JoinedMachines;
class LoadedModel;

// Connects to machines for a model that is loaded. Throws Error.
using JoinMachinesFn = std::function<std::unique_ptr<JoinedMachines>(LoadedModel& model, const std::stop_token& stop)>;

// Other machines that compute experts of a loaded model. Created and destroyed between
// two steps, by the thread that makes steps, and destroyed before the model, which
// continues alone.
class JoinedMachines {
  public:
    virtual ~JoinedMachines() = default;
    // The thread that makes steps, after each: how long it took, of how many tokens.
    virtual void after_step(double us, std::int64_t n_tokens) = 0;
    // Any thread: Snapshot::machines and what follows it there.
    virtual void fill(Snapshot& snapshot) const = 0;
    // Any thread. Grows whenever machines come, go, or get other experts.
    virtual std::uint64_t revision() const = 0;
    // Any thread: sentences for the user since the last call.
    virtual std::vector<Message> take_notes() = 0;
    // The thread that makes steps, between two answers: a function that joins the same
    // machines anew, after this object has been destroyed, if that would use them better;
    // empty: they stay as they are. The function does not wait for the machines.
    virtual JoinMachinesFn join_again(const std::stop_token& stop) {
        static_cast<void>(stop);
        return {};
    }
};

}  // namespace offstage::engine
