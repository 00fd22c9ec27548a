#include "engine/plan/measured_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace offstage::engine {
namespace {

constexpr std::size_t kMostVerdicts = 64;

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

std::string milliseconds(double us) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), us < 10'000 ? "%.2f" : "%.1f", us / 1000);
    return text.data();
}

}  // namespace

MeasuredChoice::MeasuredChoice(PolicyKind favourite, PolicyKind challenger)
    : favourite_(favourite), challenger_(challenger), kept_(favourite) {
    favourite_steps_.reserve(kWindow * kWindows);
    challenger_steps_.reserve(kWindow * kWindows);
}

bool MeasuredChoice::comparing() const {
    return comparing_;
}

PolicyKind MeasuredChoice::current() const {
    if (!comparing_) return kept_;
    return window_ % 2 == 0 ? favourite_ : challenger_;
}

void MeasuredChoice::record(double step_us, bool schedules_differ) {
    ++steps_;
    if (favourite_ == challenger_ || !schedules_differ || !(step_us > 0) || !std::isfinite(step_us)) return;
    if (!comparing_) {
        if (steps_ < next_comparison_) return;
        // This step ran as decided before; the comparison begins with the next one.
        comparing_ = true;
        window_ = in_window_ = 0;
        favourite_steps_.clear();
        challenger_steps_.clear();
        return;
    }
    (window_ % 2 == 0 ? favourite_steps_ : challenger_steps_).push_back(step_us);
    if (++in_window_ < kWindow) return;
    in_window_ = 0;
    if (++window_ < 2 * kWindows) return;

    comparing_ = false;
    next_comparison_ = steps_ + kEvery;
    Verdict verdict;
    verdict.at_step = steps_;
    verdict.favourite_us = median(favourite_steps_);
    verdict.challenger_us = median(challenger_steps_);
    const bool favourite_wins = verdict.favourite_us <= verdict.challenger_us;
    const PolicyKind winner = favourite_wins ? favourite_ : challenger_;
    verdict.reason = std::string(name_of(winner)) + (winner == kept_ ? " is kept: " : " is used from now on: ") +
                     milliseconds(std::min(verdict.favourite_us, verdict.challenger_us)) + " ms per token against " +
                     milliseconds(std::max(verdict.favourite_us, verdict.challenger_us)) + " with " +
                     std::string(name_of(favourite_wins ? challenger_ : favourite_)) + " (" +
                     std::to_string(kWindow * kWindows) + " tokens each)";
    kept_ = verdict.kept = winner;
    if (verdicts_.size() == kMostVerdicts) verdicts_.erase(verdicts_.begin());
    verdicts_.push_back(std::move(verdict));
}

}  // namespace offstage::engine
