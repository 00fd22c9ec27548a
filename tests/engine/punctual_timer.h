#pragma once

#include <algorithm>
#include <chrono>
#include <sched.h>
#include <sys/prctl.h>

namespace offstage::test {

// For a thread that must act at given times. A timer wakes it late, by some tens of
// microseconds if the processor was idle: so it is set earlier by its last delay, and the
// thread waits actively for the rest. One thread.
class PunctualTimer {
  public:
    using Clock = std::chrono::steady_clock;

    // For the calling thread: no slack of timers, and before all threads without this
    // priority, if the system allows that.
    static void make_prompt() {
        ::prctl(PR_SET_TIMERSLACK, 1);  // nanoseconds; 50,000 unless it is set
        const sched_param lowest{::sched_get_priority_min(SCHED_FIFO)};
        ::sched_setscheduler(0, SCHED_FIFO, &lowest);
    }
    // The time to set the system's timer to.
    Clock::time_point wake_at(Clock::time_point due) const { return due == kNever ? due : due - lead_; }
    // It has woken the thread.
    void woken(Clock::time_point wake_at) {
        const auto late = std::clamp<Clock::duration>(Clock::now() - wake_at, Clock::duration::zero(), kMostLead);
        lead_ += (late - lead_) / 16;
    }
    // Whether the time has come. If it is too near for sleeping, waits in a loop until it
    // has come.
    bool is_time(Clock::time_point due) const {
        if (due > Clock::now() + lead_) return false;
        while (due > Clock::now()) {
        }
        return true;
    }
    static constexpr Clock::time_point kNever = Clock::time_point::max();

  private:
    static constexpr std::chrono::microseconds kMostLead{60};
    Clock::duration lead_{};
};

}  // namespace offstage::test
