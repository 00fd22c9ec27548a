#include "engine/experts/placement_learner.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace offstage::engine {
namespace {

constexpr double kLargestWeight = 1e100;

}  // namespace

PlacementLearner::PlacementLearner(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active,
                                   std::int64_t half_life)
    : n_layers_(n_layers),
      n_experts_(n_experts),
      n_active_(n_active),
      growth_(std::exp2(1.0 / static_cast<double>(std::max<std::int64_t>(1, half_life)))),
      counts_(static_cast<std::size_t>(n_layers * n_experts), 0.0) {}

void PlacementLearner::observe(std::span<const std::int32_t> experts, std::int64_t n_tokens) {
    assert(static_cast<std::int64_t>(experts.size()) == n_tokens * n_layers_ * n_active_);
    std::size_t i = 0;
    for (std::int64_t token = 0; token < n_tokens; ++token) {
        for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
            for (std::int64_t a = 0; a < n_active_; ++a, ++i) {
                if (experts[i] < 0 || experts[i] >= n_experts_) continue;
                counts_[static_cast<std::size_t>(layer * n_experts_ + experts[i])] += weight_;
            }
        }
        weight_ *= growth_;
        if (weight_ > kLargestWeight) {
            for (double& count : counts_) count /= weight_;
            weight_ = 1;
        }
    }
}

double PlacementLearner::count(std::int64_t layer, std::int64_t expert) const {
    return counts_[static_cast<std::size_t>(layer * n_experts_ + expert)] * growth_ / weight_;
}

std::optional<Exchange> PlacementLearner::propose(std::span<const std::uint8_t> resident) const {
    assert(resident.size() == counts_.size());
    struct Candidate {
        std::int64_t layer = -1, expert = -1;
        double count = 0;
    };
    const auto exchange = [](const Candidate& admit, const Candidate& evict) {
        return Exchange{admit.layer, admit.expert, evict.layer, evict.expert};
    };
    const auto is_worth = [](const Candidate& admit, const Candidate& evict, double margin) {
        return admit.layer >= 0 && evict.layer >= 0 && admit.count > margin * evict.count + kConstant;
    };

    Candidate best_outside;
    Candidate worst_inside;
    std::optional<Exchange> proposal;
    double gain = 0;
    for (std::int64_t layer = 0; layer < n_layers_; ++layer) {
        Candidate outside;
        Candidate inside;
        for (std::int64_t expert = 0; expert < n_experts_; ++expert) {
            const double n = count(layer, expert);
            if (resident[static_cast<std::size_t>(layer * n_experts_ + expert)] != 0) {
                if (inside.layer < 0 || n < inside.count) inside = {layer, expert, n};
            } else if (outside.layer < 0 || n > outside.count) {
                outside = {layer, expert, n};
            }
        }
        if (is_worth(outside, inside, kMargin) && outside.count - inside.count > gain) {
            gain = outside.count - inside.count;
            proposal = exchange(outside, inside);
        }
        if (outside.layer >= 0 && (best_outside.layer < 0 || outside.count > best_outside.count))
            best_outside = outside;
        if (inside.layer >= 0 && (worst_inside.layer < 0 || inside.count < worst_inside.count)) worst_inside = inside;
    }
    if (!proposal && is_worth(best_outside, worst_inside, kMargin * kMargin))
        proposal = exchange(best_outside, worst_inside);
    return proposal;
}

}  // namespace offstage::engine
