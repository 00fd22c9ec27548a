#include "engine/dispatch/executor_list.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace offstage::engine {

ExecutorList::ExecutorList(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& host,
                           ExpertMover& mover, const CostModel& cost)
    : cost_(cost),
      resident_(device, mover),
      copied_(device, mover),
      host_(grid, experts, device, host),
      executors_{&resident_, &copied_, &host_} {}

void ExecutorList::add(std::unique_ptr<ElsewhereExecutor> executor) {
    assert(elsewhere_.size() < kMostElsewhere);
    executors_.push_back(executor.get());
    costs_.push_back(executor.get());
    elsewhere_.push_back(std::move(executor));
}

void ExecutorList::remove_elsewhere() {
    executors_.resize(executors_.size() - elsewhere_.size());
    costs_.clear();
    elsewhere_.clear();
}

bool ExecutorList::any_insists() const {
    return std::any_of(elsewhere_.begin(), elsewhere_.end(), [](const auto& executor) { return executor->insists(); });
}

std::uint32_t ExecutorList::takers(std::int64_t layer, std::int64_t expert) const {
    std::uint32_t takers = 0;
    for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
        if (elsewhere_[i]->takes(layer, expert)) takers |= 1u << i;
    }
    return takers;
}

bool ExecutorList::is_preferred(std::int64_t layer, std::int64_t expert) const {
    return std::any_of(elsewhere_.begin(), elsewhere_.end(), [&](const auto& executor) {
        return executor->is_preferred() && executor->takes(layer, expert);
    });
}

void ExecutorList::apply_machine_choice(std::int64_t layer, std::span<Assignment> assignments) const {
    for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
        if (!elsewhere_[i]->insists()) continue;
        for (Assignment& a : assignments) {
            if (elsewhere_[i]->takes(layer, a.expert)) a.target = target_elsewhere(i);
        }
    }
}

void ExecutorList::submit(LayerWork& work) {
    work.groups_of.resize(executors_.size());
    for (LayerWork::Groups& groups : work.groups_of) groups.clear();
    for (std::size_t g = 0; g < work.assignments.size(); ++g) {
        if (!work.rows.groups()[g].looked_up) work.groups(work.assignments[g].target).push_back(g);
    }
    for (std::size_t i = 0; i < executors_.size(); ++i) {
        if (!work.groups_of[i].empty() && executors_[i]->needs_host_inputs()) work.inputs.fetch();
    }
    for (std::size_t i = 0; i < executors_.size(); ++i) executors_[i]->submit(work, work.groups_of[i]);
}

void ExecutorList::complete(LayerWork& work) {
    const LayerWork::Groups& on_cpu = work.groups(ExecutionTarget::kCpu);
    std::size_t n_computed = 0;
    for (std::size_t i = 0; i < executors_.size(); ++i) {
        executors_[i]->complete(work, work.groups_of[i]);
        if (executors_[i] == &host_) n_computed = on_cpu.size();
    }
    // Groups that a machine elsewhere did not deliver.
    if (on_cpu.size() > n_computed) redirect_to_machines(work, n_computed);
    if (on_cpu.size() > n_computed) host_.complete(work, std::span(on_cpu).subspan(n_computed));
}

// Moves groups of the CPU, from `first` on, to another machine that also has the expert,
// if it would compute it sooner or must compute it. Each group is moved once: if that
// machine does not deliver it either, it stays on the CPU.
void ExecutorList::redirect_to_machines(LayerWork& work, std::size_t first) {
    LayerWork::Groups& on_cpu = work.groups(ExecutionTarget::kCpu);
    std::vector<LayerWork::Groups> taken(elsewhere_.size());
    LayerWork::Groups kept(on_cpu.begin() + static_cast<std::ptrdiff_t>(first), on_cpu.end());
    on_cpu.resize(first);
    std::erase_if(kept, [&](std::size_t g) {
        Assignment& a = work.assignments[g];
        const double read_us = a.place == Place::kDisk ? cost_.disk_read(a.format).us : 0;
        const bool stays_away = is_preferred(work.layer, a.expert);
        double soonest = stays_away ? std::numeric_limits<double>::infinity() : a.cpu_us + read_us;
        std::size_t to = elsewhere_.size();
        for (std::size_t i = 0; i < elsewhere_.size(); ++i) {
            if (!elsewhere_[i]->takes(work.layer, a.expert)) continue;
            if (stays_away && !elsewhere_[i]->is_preferred()) continue;
            const auto n_before = static_cast<double>(taken[i].size());
            const double us = elsewhere_[i]->expert_us(a.format, a.n_tokens) * (n_before + 1) +
                              elsewhere_[i]->transfer_us(a.n_tokens);
            if (us >= soonest) continue;
            soonest = us;
            to = i;
        }
        if (to == elsewhere_.size()) return false;
        a.target = target_elsewhere(to);
        taken[to].push_back(g);
        return true;
    });
    on_cpu.insert(on_cpu.end(), kept.begin(), kept.end());
    for (std::size_t i = 0; i < taken.size(); ++i) elsewhere_[i]->submit(work, taken[i]);
    for (std::size_t i = 0; i < taken.size(); ++i) elsewhere_[i]->complete(work, taken[i]);
}

}  // namespace offstage::engine
