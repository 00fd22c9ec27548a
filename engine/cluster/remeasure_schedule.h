#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace offstage::engine {

// When a connected machine is measured again. A cost measured while it was starting, or
// busy with other work, leaves it without experts, and without use the cost is never
// corrected. So an unused machine is measured anew while this one computes nothing: some
// seconds later, and in growing intervals until two measurements in a row agree; after
// that when steps have been made since in which it was not used. From machines that
// exchange shares of layers the costs of experts are learnt, but not those of the link:
// it is measured again after steps. One thread.
class RemeasureSchedule {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // first_s 0: never.
    RemeasureSchedule(double first_s, double longest_s) : first_s_(first_s), longest_s_(longest_s) {}

    // A new connection: earlier ones do not count.
    void begin() {
        previous_us_ = 0;
        interval_s_ = first_s_;
    }
    // It has just been measured: the time of an expert, and the number of corrections by
    // use until then (LinkCosts::n_corrections).
    void measured(Time now, double expert_us, std::uint64_t n_corrections) {
        agrees_ = previous_us_ > 0 && std::max(previous_us_, expert_us) < kAgrees * std::min(previous_us_, expert_us);
        if (previous_us_ > 0) interval_s_ = std::min(2 * interval_s_, longest_s_);
        previous_us_ = expert_us;
        at_ = link_at_ = now;
        n_corrections_ = n_corrections;
    }
    void link_measured(Time now) { link_at_ = now; }
    // last_step: when this machine last worked on a step; the greatest time value during
    // a step.
    bool is_due(Time now, Time last_step, std::uint64_t n_corrections) {
        if (!(first_s_ > 0)) return false;
        if (n_corrections != n_corrections_) {  // corrections by use are more exact
            n_corrections_ = n_corrections;
            agrees_ = true;
            interval_s_ = first_s_;
            at_ = now;
        }
        if (agrees_ && last_step <= at_) return false;
        return now - at_ >= std::chrono::duration<double>(interval_s_) && is_idle(now, last_step);
    }
    bool is_link_due(Time now, Time last_step) const {
        if (!(first_s_ > 0) || last_step <= link_at_) return false;
        return now - link_at_ >= std::chrono::duration<double>(first_s_) && is_idle(now, last_step);
    }

  private:
    static constexpr double kAgrees = 1.5;
    static constexpr double kIdleSeconds = 1;
    bool is_idle(Time now, Time last_step) const {
        return last_step <= now && now - last_step >= std::chrono::duration<double>(std::min(kIdleSeconds, first_s_));
    }

    const double first_s_, longest_s_;
    double interval_s_ = first_s_;
    double previous_us_ = 0;  // 0: measured less than once
    bool agrees_ = false;
    std::uint64_t n_corrections_ = 0;
    Time link_at_{};
    Time at_{};  // of the last measurement, or of the last noticed use
};

}  // namespace offstage::engine
