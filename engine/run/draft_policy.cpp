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
        of(Drafter::kLookup).shares[i].right = matched / (matched + 3);
        for (const Drafter drafter : {Drafter::kLayer, Drafter::kModel}) of(drafter).shares[i].right = kHopedShare;
    }
}

void DraftPolicy::forget_times() {
    for (Observed& observed : observed_) observed.times = {};
}

DraftPolicy::Choice DraftPolicy::choose(std::size_t offered, std::size_t matched, Drafter drafter) const {
    offered = std::min(offered, kMostDrafted);
    const bool always = mode_ == DraftMode::kAlways;
    if (mode_ == DraftMode::kOff || offered == 0 || (!always && !knows_plain())) return {};
    const double plain_us = always ? 1 : plain().typical(kFewestPlain);
    const Observed& observed = of(drafter);
    double tokens = 1, right = 1;  // of the step, and of the drafted token
    Choice best{0, always ? 0 : (1 + kMargin) / plain_us};
    for (std::size_t n = 1; n <= offered; ++n) {
        right *= observed.shares[place_of(matched + n - 1)].right;
        tokens += right;
        const double worth = always ? tokens : tokens / step_us(n, plain_us, observed);
        if (worth > best.worth || (always && n == offered)) best = {n, worth};
    }
    return best.length > 0 ? best : Choice{};
}

bool DraftPolicy::probes(Drafter drafter) const {
    return mode_ == DraftMode::kAuto && knows_plain() && n_steps_ - of(drafter).last_outcome >= kProbeSteps;
}

// Of a number that was not measured lately: as if each drafted token cost the same as one
// of the nearest number that was.
double DraftPolicy::step_us(std::size_t n_drafted, double plain_us, const Observed& observed) const {
    const auto& times = observed.times;
    // Few times, which other work may have disturbed, are soon added to.
    const auto known = [&](std::size_t n) {
        const std::int64_t lasts = times[n].n < kFewestTimes ? kProbeSteps : kTimesLast;
        return times[n].n > 0 && n_steps_ - times[n].last_step <= lasts;
    };
    std::size_t nearest = 0;
    for (std::size_t n = 1; n <= kMostDrafted; ++n) {
        const auto distance = [&](std::size_t other) {
            return other > n_drafted ? other - n_drafted : n_drafted - other;
        };
        if (known(n) && (nearest == 0 || distance(n) < distance(nearest))) nearest = n;
    }
    const auto n = static_cast<double>(n_drafted);
    if (nearest == 0) return plain_us * (1 + kHopedCost * n);
    const double known_us = times[nearest].typical(kFewestTimes);
    if (nearest == n_drafted) return known_us;
    return plain_us + std::max(0.0, known_us - plain_us) * n / static_cast<double>(nearest);
}

void DraftPolicy::add_outcome(std::size_t matched, bool right, Drafter drafter) {
    assert(matched > 0);
    of(drafter).last_outcome = n_steps_;
    Share& share = of(drafter).shares[place_of(matched)];
    ++share.n;
    share.right += ((right ? 1.0 : 0.0) - share.right) / static_cast<double>(std::min(share.n + 1, kOutcomes));
}

void DraftPolicy::add_step(std::size_t n_drafted, double step_us, Drafter drafter) {
    ++n_steps_;
    if (n_drafted > 0) last_drafted_ = n_steps_;
    Times& times = of(n_drafted == 0 ? Drafter::kLookup : drafter).times[std::min(n_drafted, kMostDrafted)];
    if (n_steps_ - times.last_step > kTimesLast) times = {};
    times.add(step_us, n_steps_);
}

}  // namespace offstage::engine
