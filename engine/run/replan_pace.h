#pragma once

#include <algorithm>
#include <cmath>

namespace offstage::engine {

// The remaining time of a re-plan, from its progress so far: a computer that is busy with
// other work, or with an answer, may take a thousand times as long as the parts of a
// re-plan were measured to take alone.
class ReplanPace {
  public:
    // piece_us: the expected time of one piece of the work. Two pieces count as done at
    // that pace at first, so that the first real one does not decide alone.
    void begin(double piece_us) { *this = ReplanPace{2 * piece_us}; }
    // done_us: the expected time of the finished pieces; elapsed_us: since begin(). Older
    // progress counts less, and much less if answers began or ended since.
    void advance(double done_us, double elapsed_us, bool idle) {
        constexpr double kHalfLifeUs = 10e6;
        const double us = elapsed_us - elapsed_us_;
        const double kept = std::exp2(-us / kHalfLifeUs) * (idle == idle_ ? 1.0 : 0.1);
        recent_us_ = recent_us_ * kept + us;
        recent_done_us_ = recent_done_us_ * kept + done_us - done_us_;
        elapsed_us_ = elapsed_us;
        done_us_ = done_us;
        idle_ = idle;
    }
    // left_us: the expected time of the rest.
    double seconds(double left_us) const {
        if (!(left_us > 0)) return 0;
        const double expected_us = at_first_us_ + recent_done_us_;
        return expected_us > 0 ? left_us * (at_first_us_ + recent_us_) / expected_us / 1e6 : 0;
    }

    ReplanPace() = default;

  private:
    explicit ReplanPace(double at_first_us) : at_first_us_(std::max(0.0, at_first_us)) {}

    double at_first_us_ = 0;
    double done_us_ = 0, elapsed_us_ = 0;
    double recent_done_us_ = 0, recent_us_ = 0;
    bool idle_ = true;
};

}  // namespace offstage::engine
