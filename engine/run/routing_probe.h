#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/mirror.h"
#include "engine/model/model_spec.h"
#include "engine/run/layers/router.h"
#include "engine/run/step_probe.h"

namespace offstage::engine {

// The guesses of speculative loading: the gate of layer l + d on the gate input of layer
// l (Mixtral-Offloading, 3.2), for measurement only; nothing is loaded. Given to
// Forward::set_probe() it fills guesses() at each step. One thread.
class RoutingProbe final : public StepProbe {
  public:
    // Counts only layers with experts. distances: each in 1 .. n_layers - 1; n_guesses: 1
    // .. n_experts, best first. Throws Error (kOutOfMemory) for a small buffer on the
    // device. `device` must outlive this object.
    RoutingProbe(const ModelSpec& spec, Backend& device, std::vector<std::int64_t> distances, std::int64_t n_guesses,
                 std::int64_t max_step);

    const std::vector<std::int64_t>& distances() const { return distances_; }
    std::int64_t n_guesses() const { return n_guesses_; }
    // The last step's guesses: (n_tokens, n_distances, n_layers, n_guesses); for layer l
    // the guesses made at layer l - distance, -1 where there is no such layer.
    std::span<const std::int32_t> guesses() const { return guesses_; }

    void begin_step(std::int64_t n_tokens) override;
    void submit(std::int64_t layer, const DeviceWeights& weights, const StepContext& step) override;
    void collect(std::int64_t layer, const std::int32_t* routing, std::int64_t stride) override;

  private:
    const ModelSpec& spec_;
    Backend& device_;
    std::vector<std::int64_t> distances_;
    std::int64_t n_guesses_;
    std::int64_t n_tokens_ = 0;
    Mirror<std::int32_t> chosen_;  // (n_distances, n_tokens, n_guesses) of one layer
    DeviceBlock weights_;          // (n_tokens, n_guesses) float: the router's, not looked at
    std::vector<std::int32_t> guesses_;
};

}  // namespace offstage::engine
