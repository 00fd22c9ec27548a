#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/dispatch/expert_executor.h"
#include "engine/dispatch/resident_layers.h"

namespace offstage::engine {

// The device's share of a token's experts in a layer of which it does not have all. It
// computes them while the router's choice goes to the host, so that the host schedules
// only the others. One thread, the engine's.
class ResidentShare {
  public:
    // The referents must outlive this object.
    ResidentShare(const ExpertStore& experts, ResidentLayers& residents) : experts_(experts), residents_(residents) {}

    // Whether the device computes a share of this layer; if not `wanted` it does not.
    bool begin(std::int64_t layer, bool wanted);
    // After begin() was true. See ResidentLayers::compute().
    void compute(const std::int32_t* chosen, const float* input, float* out) {
        residents_.compute(layer_, chosen, input, out);
    }
    // For each assignment of a layer with a share, 1 if compute() has its expert.
    std::span<const std::uint8_t> looked_up(std::int64_t layer, std::span<const Assignment> assignments);

  private:
    const ExpertStore& experts_;
    ResidentLayers& residents_;
    std::int64_t layer_ = 0;
    std::vector<std::uint8_t> looked_up_;
};

}  // namespace offstage::engine
