#pragma once

#include <algorithm>
#include <chrono>

#include "engine/plan/repeated_time.h"

namespace offstage::engine {

// A stored cost counts as too low only if everything takes longer for so many seconds:
// computers become slower for a moment, by a third, without other work of their own.
inline constexpr double kSlowerForS = 1;

// Seconds that a measurement has taken so far. Where one thread does all (`alone`), other
// work makes it longer instead of worse: then the thread's wait for a core counts only
// beyond three times as much.
class MeasuringTime {
  public:
    explicit MeasuringTime(bool alone) : alone_(alone) {}
    double seconds() const {
        const double all = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
        return alone_ ? std::max(all / 4, all - (own_wait_us() - waited_before_us_) / 1e6) : all;
    }

  private:
    const bool alone_;
    const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    const double waited_before_us_ = own_wait_us();
};

}  // namespace offstage::engine
