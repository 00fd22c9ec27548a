#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace offstage::engine {

// Decides when to forecast the other shape again, and whether it is so much better that
// machines are joined anew: they pack experts again then, and receive a conversation that
// they do not know. A forecast follows changes of the costs, and after a change of the
// shape the next forecast waits for twice as long, so that the shape does not swing. One
// thread.
class ShapeSwitch {
  public:
    using Time = std::chrono::steady_clock::time_point;

    // first_s: after the first choice; 0: never.
    explicit ShapeSwitch(double first_s) : interval_s_(first_s) {}

    // A shape was chosen by these costs, in the caller's fixed order.
    void chosen(Time now, std::vector<double> costs) {
        costs_ = std::move(costs);
        chosen_at_ = now;
    }
    // It is time to forecast both shapes.
    bool is_due(Time now, const std::vector<double>& costs) const {
        return interval_s_ > 0 && now - chosen_at_ >= std::chrono::duration<double>(interval_s_) &&
               !(costs.size() == costs_.size() && std::equal(costs.begin(), costs.end(), costs_.begin(), are_alike));
    }
    // Both shapes were forecast by these costs.
    void forecast(std::vector<double> costs) { costs_ = std::move(costs); }
    // Microseconds of a token; 0: not known.
    static bool is_better(double in_force_us, double other_us) {
        return in_force_us > 0 && other_us > 0 && other_us * kBetter <= in_force_us;
    }
    // The shape has been changed.
    void switched(Time now, std::vector<double> costs) {
        interval_s_ *= 2;
        chosen(now, std::move(costs));
    }

  private:
    static constexpr double kBetter = 1.15;  // so many times faster
    static constexpr double kAlike = 1.1;
    static bool are_alike(double a, double b) { return std::max(a, b) <= kAlike * std::min(a, b); }

    double interval_s_;
    std::vector<double> costs_;
    Time chosen_at_{};
};

}  // namespace offstage::engine
