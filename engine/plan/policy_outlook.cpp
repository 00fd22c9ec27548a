#include "engine/plan/policy_outlook.h"

#include <algorithm>
#include <cassert>

namespace offstage::engine {

PolicyOutlook::PolicyOutlook(PolicyKind favourite)
    : policies_{PolicyKind::kBalanced, PolicyKind::kStatic, PolicyKind::kThreshold, PolicyKind::kTransfer} {
    const auto found = std::find(policies_.begin(), policies_.end(), favourite);
    assert(found != policies_.end());
    std::rotate(policies_.begin(), found, found + 1);
}

void PolicyOutlook::clear() {
    predicted_us_.fill(0);
    differ_ = {};
}

void PolicyOutlook::add_layer(std::span<const ExpertLoad> loads, const CostModel& cost, std::int64_t staging_slots,
                              ElsewhereCosts elsewhere, const LayerAtHand& layer) {
    for (std::size_t i = 0; i < kPolicies; ++i) {
        decide(policies_[i], loads, cost, staging_slots, schedules_[i], elsewhere, layer);
        predicted_us_[i] += schedules_[i].makespan_us;
        for (std::size_t j = 0; j < i; ++j) differ_[i][j] |= !same_ways(schedules_[i], schedules_[j]);
    }
}

std::vector<std::size_t> PolicyOutlook::challengers() const {
    std::vector<std::size_t> found;
    for (std::size_t i = 1; i < kPolicies; ++i) {
        bool is_new = predicted_us_[i] <= kHopeless * predicted_us_[0];
        for (std::size_t j = 0; j < i; ++j) is_new &= differ_[i][j];
        if (is_new) found.push_back(i);
    }
    std::stable_sort(found.begin(), found.end(),
                     [&](std::size_t a, std::size_t b) { return predicted_us_[a] < predicted_us_[b]; });
    return found;
}

bool same_ways(const Schedule& a, const Schedule& b) {
    return std::equal(
        a.assignments.begin(), a.assignments.end(), b.assignments.begin(), b.assignments.end(),
        [](const Assignment& x, const Assignment& y) { return x.expert == y.expert && x.target == y.target; });
}

}  // namespace offstage::engine
