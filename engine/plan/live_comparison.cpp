#include "engine/plan/live_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostVerdicts = 64;

std::string as_milliseconds(double us) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), us < 10'000 ? "%.2f" : "%.1f", us / 1000);
    return text.data();
}

}  // namespace

LiveComparison::LiveComparison(std::string favourite, std::string challenger)
    : favourite_(std::move(favourite)), challenger_(std::move(challenger)) {
    favourite_steps_.reserve(kWindow * kWindows);
    challenger_steps_.reserve(kWindow * kWindows);
}

bool LiveComparison::uses_favourite() const {
    return comparing_ ? window_ % 2 == 0 : favourite_kept_;
}

bool LiveComparison::record(double step_us, bool differ) {
    ++steps_;
    if (!differ || !(step_us > 0) || !std::isfinite(step_us)) return false;
    if (!comparing_) {
        if (steps_ < next_comparison_) return false;
        // This step ran as decided before; the comparison begins with the next one.
        comparing_ = true;
        window_ = in_window_ = 0;
        favourite_steps_.clear();
        challenger_steps_.clear();
        return false;
    }
    (window_ % 2 == 0 ? favourite_steps_ : challenger_steps_).push_back(step_us);
    if (++in_window_ < kWindow) return false;
    in_window_ = 0;
    if (++window_ < 2 * kWindows) return false;

    comparing_ = false;
    next_comparison_ = steps_ + kEvery;
    Verdict verdict;
    verdict.at_step = steps_;
    verdict.favourite_us = median(favourite_steps_);
    verdict.challenger_us = median(challenger_steps_);
    const bool wins = verdict.favourite_us <= verdict.challenger_us;
    verdict.favourite_kept = wins;
    verdict.reason = (wins ? favourite_ : challenger_) +
                     (wins == favourite_kept_ ? " is kept: " : " is used from now on: ") +
                     as_milliseconds(std::min(verdict.favourite_us, verdict.challenger_us)) + " ms per token against " +
                     as_milliseconds(std::max(verdict.favourite_us, verdict.challenger_us)) + " with " +
                     (wins ? challenger_ : favourite_) + " (" + std::to_string(kWindow * kWindows) + " tokens each)";
    favourite_kept_ = wins;
    if (verdicts_.size() == kMostVerdicts) verdicts_.erase(verdicts_.begin());
    verdicts_.push_back(std::move(verdict));
    return true;
}

}  // namespace offstage::engine
