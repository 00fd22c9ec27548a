#include "engine/dispatch/host_executor.h"

namespace offstage::engine {

void HostExecutor::complete(LayerWork& work, std::span<const std::size_t> groups) {
    if (groups.empty()) return;
    const float* const inputs = work.inputs.get();
    const auto on_disk = [&](const RowGroup& group) {
        return experts_.place(work.layer, group.expert) == Place::kDisk;
    };
    // Experts in RAM in one go; those on disk as many at a time as there are slots for
    // them.
    for (const std::size_t g : groups) {
        if (!on_disk(work.rows.groups()[g])) add_call(work, work.rows.groups()[g]);
    }
    run_calls(work, inputs);
    for (const std::size_t g : groups) {
        if (!on_disk(work.rows.groups()[g])) continue;
        if (static_cast<std::int64_t>(calls_.size()) == experts_.disk_slots().size()) run_calls(work, inputs);
        add_call(work, work.rows.groups()[g]);
    }
    run_calls(work, inputs);
    work.rows.upload(groups);
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
