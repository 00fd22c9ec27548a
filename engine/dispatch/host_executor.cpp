#include "engine/dispatch/host_executor.h"

#include <algorithm>

namespace offstage::engine {

void HostExecutor::complete(LayerWork& work, std::span<const std::size_t> groups) {
    if (groups.empty()) return;
    const float* const inputs = work.inputs.get();
    const auto on_disk = [&](const RowGroup& group) {
        return experts_.place(work.layer, group.expert) == Place::kDisk;
    };
    // Experts in RAM in one go; those on disk follow.
    for (const std::size_t g : groups) {
        if (!on_disk(work.rows.groups()[g])) add_call(work, work.rows.groups()[g]);
    }
    run_calls(work, inputs);
    on_disk_.clear();
    for (const std::size_t g : groups) {
        if (on_disk(work.rows.groups()[g])) on_disk_.push_back(g);
    }
    if (experts_.reads_ahead()) {
        compute_as_they_come(work, inputs);
    } else {
        compute_in_turn(work, inputs);
    }
    work.rows.upload(groups);
}

void HostExecutor::compute_in_turn(LayerWork& work, const float* inputs) {
    for (const std::size_t g : on_disk_) {
        if (static_cast<std::int64_t>(calls_.size()) == experts_.disk_slots().size()) run_calls(work, inputs);
        add_call(work, work.rows.groups()[g]);
    }
    run_calls(work, inputs);
}

// Those that are there, while others are read.
void HostExecutor::compute_as_they_come(LayerWork& work, const float* inputs) {
    const auto index = [&](std::size_t g) { return experts_.index(work.layer, work.rows.groups()[g].expert); };
    while (!on_disk_.empty()) {
        computing_.clear();
        std::erase_if(on_disk_, [&](std::size_t g) {
            const RowGroup& group = work.rows.groups()[g];
            const auto weights = experts_.on_host_now(work.layer, group.expert);
            if (!weights) return false;
            calls_.push_back({*weights, group.first_row, group.n_rows});
            computing_.push_back(index(g));
            return true;
        });
        if (calls_.empty()) {
            auto next = std::find_if(on_disk_.begin(), on_disk_.end(),
                                     [&](std::size_t g) { return experts_.disk_slots().is_coming(index(g)); });
            if (next == on_disk_.end()) next = on_disk_.begin();
            add_call(work, work.rows.groups()[*next]);
            computing_.push_back(index(*next));
            on_disk_.erase(next);
        }
        run_calls(work, inputs);
        for (const std::size_t expert : computing_) experts_.disk_slots().release(expert);
    }
}

void HostExecutor::add_call(const LayerWork& work, const RowGroup& group) {
    calls_.push_back({experts_.on_host(work.layer, group.expert), group.first_row, group.n_rows});
}

void HostExecutor::run_calls(LayerWork& work, const float* inputs) {
    if (calls_.empty()) return;
    amounts_.clear();
    for (const ExpertCall& call : calls_) {
        amounts_.push_back({static_cast<double>(call.weights.layout.bytes()),
                            2.0 * static_cast<double>(grid_.expert_weights() * call.n_rows)});
    }
    work.cpu_us += device_.run_on_host(
        amounts_, [&] { operations_.experts(calls_, inputs, work.rows.host_row_token(), work.rows.outputs().host()); });
    calls_.clear();
}

}  // namespace offstage::engine
