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
        if (miss.target != target) continue;
        out.assignments.push_back({miss.expert, miss.n_tokens, target, miss.format, miss.place, miss.cpu_us,
                                   miss.gpu_us, miss.copy_us, miss.preparing_us, miss.copied_share});
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

DiskReadCost disk_read(Place place, kernels::WeightType format, const CostModel& cost) {
    return place == Place::kDisk ? cost.disk_read(format) : DiskReadCost{};
}

// Plays the finished schedule, its costs set, through and writes its figures.
void predict(std::span<const Assignment> assignments, const CostModel& cost, std::int64_t staging_slots,
             ElsewhereCosts elsewhere, const LayerAtHand& layer, Schedule& figures) {
    double resident_us = 0;
    double copied_us = 0;
    double copied_disk_us = 0;
    double preparing_us = 0;
    std::int64_t n_rows = 0;
    CpuList list;
    ElsewhereLists lists(elsewhere);
    for (const Assignment& a : assignments) {
        n_rows += a.n_tokens;
        if (a.target == ExecutionTarget::kResident) resident_us += a.gpu_us;
        if (is_elsewhere(a.target)) lists.add(a.target, a.format, a.n_tokens);
        if (a.target == ExecutionTarget::kCopy) {
            copied_disk_us += disk_read(a.place, a.format, cost).us;
            preparing_us += a.preparing_us;
        }
        if (a.target == ExecutionTarget::kCpu) {
            const double one_us = a.n_tokens == 1 ? a.cpu_us : cost.expert_costs(layer, 1, a.format).cpu_us;
            const DiskReadCost read = disk_read(a.place, a.format, cost);
            const bool beside = cost.reads_beside(a.format);
            list.add(a.cpu_us, one_us, read, beside, a.n_tokens);
            if (beside) figures.disk_us += read.us + (figures.disk_us == 0 ? read.latency_us : 0);
        }
    }
    LayerTimeline timeline(cost, staging_slots, n_rows);
    timeline.begin(resident_us, list, copied_disk_us, preparing_us);
    for (const Assignment& a : assignments) {
        if (a.target != ExecutionTarget::kCopy) continue;
        copied_us += a.gpu_us;
        timeline.copy(a.copy_us, disk_read(a.place, a.format, cost).us + a.preparing_us, a.gpu_us);
    }
    figures.makespan_us = std::max(timeline.finish(), lists.end_us());
    figures.gpu_us = resident_us + copied_us;
    figures.copy_us = timeline.copying_us();
    figures.cpu_us = timeline.cpu_busy_us();
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
        const CostModel::ExpertCosts costs = cost.expert_costs(layer, load.n_tokens, load.format, load.held);
        if (load.place == Place::kDevice && use_residents) {
            const double gpu_us = cost.gpu_us(load.n_tokens, load.format);
            out.assignments.push_back({load.expert, load.n_tokens, ExecutionTarget::kResident, load.format, load.place,
                                       costs.cpu_us, gpu_us, 0});
            resident_us += gpu_us;
        } else {
            const bool there = goes_there(load);
            (there ? out.preferred : out.candidates)
                .push_back({load.expert, load.n_tokens, load.format, costs.gpu_us, costs.cpu_us,
                            load.n_tokens == 1 ? costs.cpu_us : cost.expert_costs(layer, 1, load.format).cpu_us,
                            costs.copy_us, disk_read(load.place, load.format, cost).us, costs.preparing_us,
                            costs.copied_share, load.place, there ? load.elsewhere & preferred : load.elsewhere});
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
    predict(out.assignments, cost, staging_slots, elsewhere, layer, out);
}

double makespan_us(std::span<const Assignment> assignments, const CostModel& cost, std::int64_t staging_slots,
                   ElsewhereCosts elsewhere, const LayerAtHand& layer) {
    Schedule figures;
    figures.assignments.assign(assignments.begin(), assignments.end());
    for (Assignment& a : figures.assignments) {
        const CostModel::ExpertCosts costs = cost.expert_costs(layer, a.n_tokens, a.format);
        a.cpu_us = costs.cpu_us;
        a.gpu_us = a.target == ExecutionTarget::kCopy ? costs.gpu_us : cost.gpu_us(a.n_tokens, a.format);
        a.copy_us = costs.copy_us;
        a.preparing_us = costs.preparing_us;
        a.copied_share = costs.copied_share;
    }
    predict(figures.assignments, cost, staging_slots, elsewhere, layer, figures);
    return figures.makespan_us;
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
