#include "engine/telemetry/decode_meter.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/statistics.h"

namespace offstage::engine {

void DecodeMeter::add(double step_us, const DispatchTotals& totals, bool disturbed) {
    const Step step{step_us, totals.routed_tokens - routed_, totals.resident_tokens - resident_, disturbed};
    if (steps_.size() < kSteps) {
        steps_.push_back(step);
    } else {
        steps_[next_] = step;
    }
    next_ = (next_ + 1) % kSteps;
    pass(totals);
}

void DecodeMeter::pass(const DispatchTotals& totals) {
    routed_ = totals.routed_tokens;
    resident_ = totals.resident_tokens;
}

void DecodeMeter::clear() {
    steps_.clear();
    next_ = 0;
}

MeasuredDecode DecodeMeter::figures(bool hits) const {
    MeasuredDecode measured;
    if (static_cast<std::int64_t>(steps_.size()) < kFewest) return measured;
    measured.n_steps = static_cast<std::int64_t>(steps_.size());
    std::vector<double> us, undisturbed;
    us.reserve(steps_.size());
    std::uint64_t routed = 0, resident = 0;
    for (const Step& step : steps_) {
        us.push_back(step.us);
        if (!step.disturbed) undisturbed.push_back(step.us);
        routed += step.routed;
        resident += step.resident;
    }
    measured.n_undisturbed = static_cast<std::int64_t>(undisturbed.size());
    measured.undisturbed_us = median(std::move(undisturbed));
    std::sort(us.begin(), us.end());
    const auto cut = static_cast<std::ptrdiff_t>(us.size() / 20);
    measured.step_us =
        std::accumulate(us.begin() + cut, us.end() - cut, 0.0) / static_cast<double>(us.end() - us.begin() - 2 * cut);
    if (hits && routed > 0) measured.hit_rate = static_cast<double>(resident) / static_cast<double>(routed);
    return measured;
}

}  // namespace offstage::engine
