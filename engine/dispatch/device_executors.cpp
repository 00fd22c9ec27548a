#include "engine/dispatch/device_executors.h"

namespace offstage::engine {
namespace {

// Returns when it is done, on the compute queue.
DeviceEvent run_on_device(Backend& device, LayerWork& work, std::span<const ExpertCall> calls) {
    const DeviceEvent begin = device.record(DeviceEvent::Queue::kCompute);
    device.submit(ops::Experts{calls, work.normalised, work.rows.device_row_token(), work.rows.outputs().device()});
    const DeviceEvent end = device.record(DeviceEvent::Queue::kCompute);
    work.device_times.push_back({begin, end});
    return end;
}

}  // namespace

void ResidentExecutor::submit(LayerWork& work, std::span<const std::size_t> groups) {
    calls_.clear();
    bool any_early = false;
    for (const std::size_t g : groups) {
        const RowGroup& group = work.rows.groups()[g];
        const ExpertCall call = work.call(mover_.weights(group.expert), group);
        const bool early = mover_.came_early(group.expert);
        if (early && prefill_) {
            mover_.computed_early(group.expert, run_on_device(device_, work, {&call, 1}));
        } else {
            calls_.push_back(call);
            any_early |= early;
        }
    }
    if (calls_.empty()) return;
    const DeviceEvent end = run_on_device(device_, work, calls_);
    if (!any_early) return;
    for (const std::size_t g : groups) {
        const std::int32_t expert = work.rows.groups()[g].expert;
        if (mover_.came_early(expert)) mover_.computed_early(expert, end);
    }
}

void CopiedExecutor::submit(LayerWork& work, std::span<const std::size_t> groups) {
    for (const std::size_t g : groups) {
        const RowGroup& group = work.rows.groups()[g];
        SparseCopies::Rows rows;
        if (mover_.copier().copies_sparse()) {
            rows = {work.inputs.get(), work.rows.host_row_token(), group.first_row, group.n_rows};
        }
        const auto arrival = mover_.next_arrival(rows);
        if (!arrival.has_value()) {
            work.leave_to_cpu(g);
            continue;
        }
        ExpertCall call = work.call(arrival->weights, group);
        call.neurons = arrival->neurons;
        call.whole_ffn_dim = arrival->whole_ffn_dim;
        device_.wait(arrival->whole);
        mover_.computed(run_on_device(device_, work, {&call, 1}));
    }
}

}  // namespace offstage::engine
