#include "engine/plan/dispatch_policy.h"

#include <algorithm>
#include <cassert>

#include "engine/plan/layer_timeline.h"

namespace offstage::engine {
namespace {

using Candidate = Schedule::Candidate;

// The order in which the GPU finishes first (Johnson's rule for two machines, except for
// the bounded number of slots). Copies of one format all take the same time: the longest
// expert comes first.
void sort_for_copying(std::vector<Candidate>& candidates) {
    const bool one_kind = std::all_of(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return candidate.format == candidates.front().format && candidate.disk_us == candidates.front().disk_us;
    });
    if (one_kind) {
        std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
            return a.n_tokens != b.n_tokens ? a.n_tokens > b.n_tokens : a.expert < b.expert;
        });
        return;
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
        const double a_arrives = a.disk_us + a.preparing_us + a.copy_us;
        const double b_arrives = b.disk_us + b.preparing_us + b.copy_us;
        const bool a_first = a_arrives <= a.gpu_us;
        const bool b_first = b_arrives <= b.gpu_us;
        if (a_first != b_first) return a_first;
        if (a_first && a_arrives != b_arrives) return a_arrives < b_arrives;
        if (!a_first && a.gpu_us != b.gpu_us) return a.gpu_us > b.gpu_us;
        if (a.n_tokens != b.n_tokens) return a.n_tokens > b.n_tokens;
        return a.format != b.format ? a.format < b.format : a.expert < b.expert;
    });
}

void add_assignments(ExecutionTarget target, const std::vector<Candidate>& candidates, Schedule& out) {
    for (const Candidate& miss : candidates) {
        if (miss.target == target) out.assignments.push_back(miss);
    }
}

// Bit i: the i-th executor.
std::uint32_t preferred_of(ElsewhereCosts elsewhere) {
    std::uint32_t preferred = 0;
    for (std::size_t i = 0; i < elsewhere.size(); ++i) preferred |= elsewhere[i]->is_preferred() ? 1u << i : 0;
    return preferred;
}

// The kind of execution that is shortest by itself.
ExecutionTarget fastest_target(const Candidate& miss, bool can_copy, ElsewhereCosts elsewhere) {
    double shortest = miss.cpu_us;
    ExecutionTarget target = ExecutionTarget::kCpu;
    const auto consider = [&](ExecutionTarget other, double us) {
        if (us >= shortest) return;
        shortest = us;
        target = other;
    };
    if (can_copy) consider(ExecutionTarget::kCopy, miss.gpu_us + miss.copy_us + miss.preparing_us);
    for (std::size_t i = 0; i < elsewhere.size(); ++i) {
        if ((miss.elsewhere >> i & 1u) == 0) continue;
        const ExecutorCost& cost = *elsewhere[i];
        consider(target_elsewhere(i), cost.expert_us(miss.format, miss.n_tokens) + cost.transfer_us(miss.n_tokens));
    }
    return target;
}

// An expert to compute on the CPU, with its costs on all sides of this machine.
Assignment costed(const ExpertLoad& load, const CostModel& cost, const LayerAtHand& layer) {
    const CostModel::ExpertCosts costs = cost.expert_costs(layer, load.n_tokens, load.format, load.held);
    return {.expert = load.expert,
            .n_tokens = load.n_tokens,
            .format = load.format,
            .place = load.place,
            .cpu_us = costs.cpu_us,
            .gpu_us = costs.gpu_us,
            .copy_us = costs.copy_us,
            .preparing_us = costs.preparing_us,
            .copied_share = costs.copied_share,
            .one_us = load.n_tokens == 1 ? costs.cpu_us : cost.expert_costs(layer, 1, load.format).cpu_us,
            .disk_us = load.place == Place::kDisk ? cost.disk_read(load.format).us : 0};
}

// As one that the device holds.
void make_resident(Assignment& a, const CostModel& cost) {
    a.target = ExecutionTarget::kResident;
    a.gpu_us = cost.gpu_us(a.n_tokens, a.format);
    a.copy_us = a.preparing_us = a.disk_us = 0;
    a.copied_share = 1;
}

}  // namespace

void Schedule::clear() {
    assignments.clear();
    candidates.clear();
    preferred.clear();
    gpu_us = copy_us = cpu_us = makespan_us = disk_us = 0;
}

void decide(PolicyKind policy, std::span<const ExpertLoad> loads, const CostModel& cost, std::int64_t staging_slots,
            Schedule& out, ElsewhereCosts elsewhere, const LayerAtHand& layer) {
    assert(elsewhere.size() <= kMostElsewhere);
    out.clear();
    const bool accelerated = cost.table().has_accelerator();
    const std::uint32_t preferred = preferred_of(elsewhere);
    // Away from the policy, which has the others.
    const auto goes_there = [&](const ExpertLoad& load) {
        return (load.elsewhere & preferred) != 0 && !(accelerated && load.place == Place::kDevice);
    };
    const bool all_resident = std::all_of(loads.begin(), loads.end(), [&](const ExpertLoad& load) {
        return load.place == Place::kDevice || goes_there(load);
    });
    const bool use_residents = accelerated && (policy != PolicyKind::kLayers || all_resident);

    double resident_us = 0;
    std::int64_t n_rows = 0;
    for (const ExpertLoad& load : loads) {
        if (load.n_tokens <= 0) continue;
        n_rows += load.n_tokens;
        Assignment with_costs = costed(load, cost, layer);
        if (load.place == Place::kDevice && use_residents) {
            make_resident(with_costs, cost);
            resident_us += with_costs.gpu_us;
            out.assignments.push_back(with_costs);
        } else if (goes_there(load)) {
            out.preferred.push_back({with_costs, load.elsewhere & preferred});
        } else {
            out.candidates.push_back({with_costs, load.elsewhere});
        }
    }
    sort_for_copying(out.candidates);
    sort_for_copying(out.preferred);
    split_balanced(out.preferred, 0, cost, 0, n_rows, SplitHere::kNothing, elsewhere);
    const bool can_copy = accelerated && staging_slots > 0;
    if (can_copy || !elsewhere.empty()) {
        switch (policy) {
            case PolicyKind::kThreshold:
                for (Candidate& miss : out.candidates) miss.target = fastest_target(miss, can_copy, elsewhere);
                break;
            case PolicyKind::kTransfer:
                for (Candidate& miss : out.candidates)
                    miss.target = can_copy ? ExecutionTarget::kCopy : ExecutionTarget::kCpu;
                break;
            case PolicyKind::kBalanced:
                split_balanced(out.candidates, resident_us, cost, staging_slots, n_rows,
                               can_copy ? SplitHere::kCpuAndCopies : SplitHere::kCpu, elsewhere);
                break;
            case PolicyKind::kStatic:
            case PolicyKind::kLayers:
                break;
        }
    }
    add_assignments(ExecutionTarget::kCopy, out.candidates, out);
    add_assignments(ExecutionTarget::kCpu, out.candidates, out);
    for (std::size_t i = 0; i < elsewhere.size(); ++i) {
        add_assignments(target_elsewhere(i), out.preferred, out);
        add_assignments(target_elsewhere(i), out.candidates, out);
    }
    LayerTimeline timeline(cost, staging_slots, n_rows, elsewhere);
    out.makespan_us = timeline.makespan_us(out.assignments, 0);
    out.gpu_us = timeline.gpu_busy_us();
    out.copy_us = timeline.copying_us();
    out.cpu_us = timeline.cpu_busy_us();
    out.disk_us = timeline.reading_beside_us();
}

double makespan_us(std::span<const Assignment> assignments, const CostModel& cost, std::int64_t staging_slots,
                   ElsewhereCosts elsewhere, const LayerAtHand& layer) {
    std::vector<Assignment> all;
    std::int64_t n_rows = 0;
    for (const Assignment& a : assignments) {
        n_rows += a.n_tokens;
        all.push_back(costed({a.expert, a.n_tokens, a.place, a.format}, cost, layer));
        all.back().target = a.target;
        if (a.target == ExecutionTarget::kResident) make_resident(all.back(), cost);
    }
    return LayerTimeline(cost, staging_slots, n_rows, elsewhere).makespan_us(all, 0);
}

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
