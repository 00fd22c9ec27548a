#include "engine/dispatch/live_comparison.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "engine/plan/plan_messages.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostVerdicts = 64;

Decimal in_milliseconds(double us) {
    return {us / 1000, us < 10'000 ? 2 : 1};
}

}  // namespace

LiveComparison::LiveComparison(std::vector<MessageArgument> names) : names_(std::move(names)) {
    assert(names_.size() >= 2);
}

std::size_t LiveComparison::way() const {
    if (!comparing_) return in_use_;
    return is_holders_turn() ? holder_ : challenger();
}

bool LiveComparison::is_holders_turn() const {
    const std::size_t n = window_us_.size();
    return n % 2 == n / 2 % 2;  // A B, B A, A B ...
}

void LiveComparison::begin(std::span<const std::size_t> challengers) {
    assert(is_due());
    challengers_.assign(challengers.begin(), challengers.end());
    if (challengers_.empty()) {
        next_comparison_ = steps_ + kAgain;
        return;
    }
    const auto used = std::find(challengers_.begin(), challengers_.end(), in_use_);
    if (used != challengers_.end()) std::rotate(challengers_.begin(), used, used + 1);
    comparing_ = true;
    holder_ = 0;
    begin_trial();
}

void LiveComparison::begin_trial() {
    holder_steps_.clear();
    challenger_steps_.clear();
    window_.clear();
    window_us_.clear();
}

bool LiveComparison::record(double step_us, bool differ) {
    ++steps_;
    if (!comparing_ || !differ || !(step_us > 0) || !std::isfinite(step_us)) return false;
    (is_holders_turn() ? holder_steps_ : challenger_steps_).push_back(step_us);
    window_.push_back(step_us);
    if (window_.size() < kWindow) return false;
    window_us_.push_back(median(window_));
    window_.clear();
    if (window_us_.size() % 2 == 1) return false;

    // By how much the challenger takes longer, in the logarithm: 0.02 is about 2 %.
    const std::size_t n = window_us_.size() / 2;
    double sum = 0, squares = 0;
    for (std::size_t pair = 0; pair < n; ++pair) {
        const double first = std::log(window_us_[2 * pair]), second = std::log(window_us_[2 * pair + 1]);
        const double change = pair % 2 == 0 ? second - first : first - second;
        sum += change;
        squares += change * change;
    }
    const double mean = sum / static_cast<double>(n);
    const double variance = n > 1 ? std::max(0.0, squares - sum * mean) / static_cast<double>(n - 1) : 0;
    const double noise = kStandardErrors * std::sqrt(variance / static_cast<double>(n));
    const bool hopeless = n >= kLeastPairs && mean > std::max(noise, std::log1p(kMargin));
    if (n < kPairs && !hopeless) return false;
    end_trial(mean, noise);
    return true;
}

void LiveComparison::end_trial(double change, double noise) {
    const std::size_t rival = challenger();
    Verdict verdict;
    verdict.at_step = steps_;
    verdict.holder_us = median(holder_steps_);
    verdict.challenger_us = median(challenger_steps_);
    verdict.is_clear = std::abs(change) > std::max(noise, std::log1p(kMargin));
    const bool wins = verdict.is_clear && change < 0;
    verdict.winner = wins ? rival : holder_;
    const std::size_t loser = wins ? holder_ : rival;
    const MessageArgument winner = names_[verdict.winner];
    const Decimal won = in_milliseconds(wins ? verdict.challenger_us : verdict.holder_us);
    const Decimal lost = in_milliseconds(wins ? verdict.holder_us : verdict.challenger_us);
    const std::size_t n_tokens = challenger_steps_.size();
    if (!verdict.is_clear) {
        verdict.reason = messages::choice_not_clearly_better(winner, names_[loser], won, lost, n_tokens);
    } else {
        const auto& decided = verdict.winner == in_use_ ? messages::choice_kept : messages::choice_changed;
        verdict.reason = decided(winner, won, lost, names_[loser], n_tokens);
    }
    in_use_ = holder_ = verdict.winner;
    if (verdicts_.size() == kMostVerdicts) verdicts_.erase(verdicts_.begin());
    verdicts_.push_back(std::move(verdict));

    challengers_.erase(challengers_.begin());
    if (challengers_.empty()) {
        comparing_ = false;
        next_comparison_ = steps_ + kEvery;
    } else {
        begin_trial();
    }
}

}  // namespace offstage::engine
