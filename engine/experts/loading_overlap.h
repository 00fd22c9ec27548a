#pragma once

#include <limits>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/telemetry/layer_event.h"

namespace offstage::engine {

// Measures how long experts are copied to an accelerator, how long something is computed,
// and how long both go on at once (CORM, table 3): by the device's events, and by the
// host's clock for the CPU's experts. Layers are measured one after the other, each after
// its end; a copy that lasts beyond a layer's end counts in the next one from there. Steps
// may go unmeasured. One thread, the engine's.
class LoadingOverlap {
  public:
    // The device must outlive this object.
    explicit LoadingOverlap(Backend& device) : device_(device) {}

    // The copy begins when two events have happened: `submitted`, recorded on the copy
    // queue right before it, and `after`, for which it waits.
    void add_copy(DeviceEvent submitted, DeviceEvent after, DeviceEvent end) {
        copies_.push_back({submitted, after, end});
    }

    struct Span {
        double begin_us = 0, end_us = 0;
    };
    struct Layer {
        DeviceEvent begin;                 // on the compute queue
        double routed_us = 0, end_us = 0;  // since then: the router's answer, and the layer's end
        double routed_seen_us = 0;         // Backend::now_us() when the host knew of the router's answer
    };
    void begin_step();
    // The device computes until the router's answer. Further spans are `device`, since
    // the layer's begin, and `host`, by Backend::now_us(). Spans may overlap.
    LoadingTimes measure(const Layer& layer, std::span<const Span> device, std::span<const Span> host);

  private:
    struct Copy {
        DeviceEvent submitted, after, end;
    };

    Backend& device_;
    std::vector<Copy> copies_;     // that have not ended, or after the last layer that was measured
    std::vector<Span> computing_;  // room: since the layer's begin, apart from each other
    double step_us_ = 0;           // of the layers of the step that were measured
    // The host's clock when the step began. Each layer gives an estimate, which is late
    // by the delay with which the host learned of the router's answer: the earliest
    // estimate counts.
    double begun_us_ = std::numeric_limits<double>::infinity();
};

}  // namespace offstage::engine
