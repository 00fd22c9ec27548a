#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace offstage::engine {

// What the engine's thread spends its time on, by the host's clock. One thread, the
// engine's; a change of the phase takes some 30 ns.
class HostTimes {
  public:
    enum class Phase : std::uint8_t {
        kBetweenSteps,  // choosing the token, and all else that no step does
        kPreparing,     // room in the KV cache, inputs of the step
        kStarting,      // submitting operations (a device that computes at once computes meanwhile)
        kWaiting,       // for the device
        kComputing,     // experts of the CPU, and copies of experts
        kRecording,     // reading choices, deciding, counting, recording
    };
    static constexpr std::array<const char*, 6> kNames = {"between_steps", "preparing", "starting",
                                                          "waiting",       "computing", "recording"};
    using Sums = std::array<double, kNames.size()>;  // microseconds by phase

    // Until now the thread was in the phase that is returned.
    Phase enter(Phase phase) {
        const auto now = Clock::now();
        sums_[static_cast<std::size_t>(phase_)] += std::chrono::duration<double, std::micro>(now - since_).count();
        since_ = now;
        const Phase before = phase_;
        phase_ = phase;
        return before;
    }
    // Since the model was loaded.
    const Sums& sums() const { return sums_; }

    // A phase within another.
    class Scope {
      public:
        Scope(HostTimes& times, Phase phase) : times_(times), before_(times.enter(phase)) {}
        ~Scope() { times_.enter(before_); }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        HostTimes& times_;
        const Phase before_;
    };

  private:
    using Clock = std::chrono::steady_clock;
    Sums sums_{};
    Phase phase_ = Phase::kBetweenSteps;
    Clock::time_point since_ = Clock::now();
};

}  // namespace offstage::engine
