#include "engine/run/layer_recorder.h"

#include <algorithm>
#include <utility>

#include "engine/as_size.h"

namespace offstage::engine {

void LayerRecorder::begin_step(bool timed) {
    timed_ = timed;
    pending_.active = false;
}

DeviceEvent LayerRecorder::point() {
    return timed_ ? device_.record(DeviceEvent::Queue::kCompute) : DeviceEvent();
}

DeviceEvent LayerRecorder::end_layer() {
    return last_end_ = point();
}

void LayerRecorder::add(std::int64_t layer, const Events& events, const kernels::NeuronCounts& neurons,
                        Schedule& schedule) {
    pending_.active = true;
    pending_.layer = layer;
    pending_.events = events;
    pending_.moves = mover_.copier().moves();
    pending_.sparse = mover_.sparse().work();
    const kernels::NeuronCounts& counted = pending_.sparse.counted;
    pending_.neurons = {neurons.neurons + counted.neurons, neurons.active + counted.active, neurons.skipped_bytes};
    std::swap(pending_.schedule, schedule);
}

void LayerRecorder::record() {
    if (!pending_.active) return;
    pending_.active = false;
    LayerTimes times = measure(pending_.layer, pending_.events, work_.device_times, work_.host_times);
    const ExpertCopier::Moves& moves = pending_.moves;
    if (moves.copied_on_demand) times.copy_us = device_.elapsed_us(moves.first_copy, moves.last_copy);
    times.cpu_us = work_.cpu_us;
    static_cast<CopyCounts&>(times) = moves;
    times.sparse = pending_.sparse;
    times.needed_neurons = times.sparse.needed;
    times.held_neurons = times.sparse.held;
    for (const Assignment& a : pending_.schedule.assignments) {
        if (is_elsewhere(a.target)) continue;
        (a.target == ExecutionTarget::kCpu ? times.host_read_bytes : times.device_read_bytes) +=
            experts_.expert_bytes(a.format);
    }
    times.device_read_bytes -= std::min(times.device_read_bytes, moves.unread_bytes);
    times.host_read_bytes -= std::min(times.host_read_bytes, pending_.neurons.skipped_bytes);
    times.neurons = pending_.neurons.neurons;
    times.active_neurons = pending_.neurons.active;
    dispatcher_.finish_layer(static_cast<std::int32_t>(pending_.layer), pending_.schedule, times);
}

void LayerRecorder::record_resident(std::int64_t layer, const Events& events, const LayerWork::Span& experts,
                                    kernels::WeightType format, const Schedule& schedule) {
    LayerTimes times = measure(layer, events, {&experts, 1}, {});
    times.device_read_bytes = schedule.assignments.size() * experts_.expert_bytes(format);
    dispatcher_.finish_layer(static_cast<std::int32_t>(layer), schedule, times);
}

LayerTimes LayerRecorder::measure(std::int64_t layer, const Events& events, std::span<const LayerWork::Span> device,
                                  std::span<const LoadingOverlap::Span> host) {
    if (measured_.size() <= as_size(layer)) measured_.resize(as_size(layer + 1));
    LayerTimes& times = measured_[as_size(layer)];
    times.measured = events.timed;
    if (!events.timed) return times;
    const auto at_us = [&](DeviceEvent event) { return device_.elapsed_us(events.begin, event); };
    times = {};
    times.attention_us = at_us(events.routed);
    mover_.prefetcher().add_attention(times.attention_us);
    const double end_us = at_us(events.end);
    times.layer_us = end_us - times.attention_us;
    device_spans_.clear();
    for (const LayerWork::Span& span : device) {
        const double begin_us = at_us(span.begin);
        if (begin_us <= 0) continue;  // no longer known
        device_spans_.push_back({begin_us, at_us(span.end)});
        times.gpu_us += device_spans_.back().end_us - begin_us;
    }
    if (device_.shares_host_memory()) return times;
    if (events.shared_end.ticket > 0) device_spans_.push_back({times.attention_us, at_us(events.shared_end)});
    times.loading = mover_.copier().overlap().measure({events.begin, times.attention_us, end_us, events.routed_seen_us},
                                                      device_spans_, host);
    return times;
}

}  // namespace offstage::engine
