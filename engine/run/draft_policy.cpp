#include "engine/run/draft_policy.h"

#include <algorithm>
#include <cassert>

#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::int64_t kOutcomes = 32;  // the share of right tokens follows about so many

}  // namespace

void DraftPolicy::Times::add(double value, std::int64_t step) {
    us[n++ % us.size()] = value;
    last_step = step;
}

double DraftPolicy::Times::typical(std::size_t fewest) const {
    std::vector<double> values(us.begin(), us.begin() + static_cast<std::ptrdiff_t>(std::min(n, us.size())));
    if (values.empty()) return 0;
    return values.size() < fewest ? *std::ranges::min_element(values) : median(std::move(values));
}

void DraftPolicy::set_mode(DraftMode mode) {
    *this = {};
    mode_ = mode;
    // The longer the match, the likelier the next token. The first outcomes count most.
    for (std::size_t i = 0; i < kMatches; ++i) {
        const auto matched = static_cast<double>(i + 1);
        shares_[i].right = matched / (matched + 3);
    }
}

void DraftPolicy::forget_times() {
    times_ = {};
}

std::size_t DraftPolicy::length(std::size_t offered, std::size_t matched) const {
    offered = std::min(offered, kMostDrafted);
    if (mode_ == DraftMode::kOff || offered == 0) return 0;
    if (mode_ == DraftMode::kAlways) return offered;
    const Times& plain = times_[0];
    if (plain.n < kFewestPlain || n_steps_ - plain.last_step > kPlainTimesLast) return 0;
    const double plain_us = plain.typical(kFewestPlain);
    double tokens = 1, right = 1;  // of the step, and of the drafted token
    double best = (1 + kMargin) / plain_us;
    std::size_t length = 0;
    for (std::size_t n = 1; n <= offered; ++n) {
        right *= shares_[place_of(matched + n - 1)].right;
        tokens += right;
        const double per_us = tokens / step_us(n, plain_us);
        if (per_us <= best) continue;
        best = per_us;
        length = n;
    }
    return length;
}

// Of a number that was not measured lately: as if each drafted token cost the same as one
// of the nearest number that was.
double DraftPolicy::step_us(std::size_t n_drafted, double plain_us) const {
    const auto known = [&](std::size_t n) { return times_[n].n > 0 && n_steps_ - times_[n].last_step <= kTimesLast; };
    std::size_t nearest = 0;
    for (std::size_t n = 1; n <= kMostDrafted; ++n) {
        const auto distance = [&](std::size_t other) {
            return other > n_drafted ? other - n_drafted : n_drafted - other;
        };
        if (known(n) && (nearest == 0 || distance(n) < distance(nearest))) nearest = n;
    }
    const auto n = static_cast<double>(n_drafted);
    if (nearest == 0) return plain_us * (1 + kHopedCost * n);
    const double known_us = times_[nearest].typical(kFewestTimes);
    if (nearest == n_drafted) return known_us;
    return plain_us + std::max(0.0, known_us - plain_us) * n / static_cast<double>(nearest);
}

void DraftPolicy::add_outcome(std::size_t matched, bool right) {
    assert(matched > 0);
    Share& share = shares_[place_of(matched)];
    ++share.n;
    share.right += ((right ? 1.0 : 0.0) - share.right) / static_cast<double>(std::min(share.n + 1, kOutcomes));
}

void DraftPolicy::add_step(std::size_t n_drafted, double step_us) {
    ++n_steps_;
    if (n_drafted > 0) last_drafted_ = n_steps_;
    Times& times = times_[std::min(n_drafted, kMostDrafted)];
    if (n_steps_ - times.last_step > kTimesLast) times = {};
    times.add(step_us, n_steps_);
}

}  // namespace offstage::engine
