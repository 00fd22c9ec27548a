#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/dispatch/dispatcher.h"
#include "engine/dispatch/expert_executor.h"
#include "engine/experts/expert_mover.h"
#include "engine/experts/expert_store.h"

namespace offstage::engine {

// Reads a layer's times once the layer has ended on the device, and gives them to the
// dispatcher with the work that was done: it learns from them and records the layer. The
// layers of a step come in their order. One thread, the engine's.
//
// In a step that is not timed the compute queue records no points for this; a layer is
// then recorded with the times that were measured last for it.
class LayerRecorder {
  public:
    // Points of a layer in the compute queue; without times all but `routed` are long
    // past.
    struct Events {
        bool timed = true;
        DeviceEvent begin, routed, end;
        DeviceEvent shared_end;     // of the shared experts, which follow `routed`; without any: long past
        double routed_seen_us = 0;  // LoadingOverlap::Layer; where the CPU may compute
    };

    // work: of the layer that was submitted last, unchanged until its times have been
    // read. The referents must outlive this object.
    LayerRecorder(const ExpertStore& experts, Backend& device, const LayerWork& work, ExpertMover& mover,
                  Dispatcher& dispatcher)
        : experts_(experts), device_(device), work_(work), mover_(mover), dispatcher_(dispatcher) {}

    // Forgets a layer whose times were not read.
    void begin_step(bool timed);
    // The first layer's operations follow.
    void begin_layers() { end_layer(); }
    bool is_timed() const { return timed_; }
    // A point of the compute queue that only times need; long past in a step without.
    DeviceEvent point();
    // The end of the layer before in the compute queue.
    DeviceEvent last_end() const { return last_end_; }
    // All of a layer's operations were submitted.
    DeviceEvent end_layer();

    // The layer that was submitted; neurons: of the experts that the CPU computed. Takes
    // the schedule's assignments: the dispatcher's next decision overwrites them in any
    // case.
    void add(std::int64_t layer, const Events& events, const kernels::NeuronCounts& neurons, Schedule& schedule);
    // Records that layer, if there is one: it has ended.
    void record();
    // Records a layer of one token that the device computed alone: it has ended.
    void record_resident(std::int64_t layer, const Events& events, const LayerWork::Span& experts,
                         kernels::WeightType format, const Schedule& schedule);

  private:
    struct Pending {
        bool active = false;
        std::int64_t layer = 0;
        Events events;
        ExpertCopier::Moves moves;
        Schedule schedule;
        kernels::NeuronCounts neurons;
        SparseCopies::Work sparse;
    };

    LayerTimes measure(std::int64_t layer, const Events& events, std::span<const LayerWork::Span> device,
                       std::span<const LoadingOverlap::Span> host);

    const ExpertStore& experts_;
    Backend& device_;
    const LayerWork& work_;
    ExpertMover& mover_;
    Dispatcher& dispatcher_;
    bool timed_ = true;
    DeviceEvent last_end_;
    Pending pending_;
    std::vector<LayerTimes> measured_;                // by layer: the device's times, measured last
    std::vector<LoadingOverlap::Span> device_spans_;  // room for measure()
};

}  // namespace offstage::engine
