#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/mirror.h"
#include "engine/model/model_spec.h"
#include "engine/run/layers/router.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// Guesses of the experts that the next layer will call: the next layer's router on this
// layer's input (Mixtral-Offloading, 3.2). For steps of up to Prefetcher::kGuessingTokens
// tokens; n_active experts for each token. One thread, the engine's.
class NextLayerGuesses {
  public:
    // The referents must outlive this object. Throws Error (kOutOfMemory).
    NextLayerGuesses(const ExpertGrid& grid, Backend& device);

    void begin_step() { n_ = 0; }
    // The guesses that were made in the layer before are `expected()` from now on; there
    // are none for the next layer until make().
    void begin_layer();
    // The device computes them; fetch() copies them to the host, where they are valid
    // after the next wait for the compute queue.
    void make(const RouterWeights& next, const StepContext& step);
    void fetch();
    bool stores() const { return guesses_.mapped() != nullptr; }  // whether fetch() is an operation
    // How many were made for the next layer. set_made(): for a layer of which the host
    // sees them later, while others may have been made since; fetched and there.
    std::int64_t n_made() const { return n_; }
    void set_made(std::int64_t n) { n_ = n; }

    std::span<const std::int32_t> next();                                    // of the next layer
    const std::vector<std::int32_t>& expected() const { return expected_; }  // of the present layer

  private:
    const ExpertGrid& grid_;
    Backend& device_;
    Mirror<std::int32_t> guesses_;  // (kGuessingTokens, n_active)
    DeviceBlock weights_;
    // In the place of these two where the device shares the host's memory.
    std::vector<std::int32_t> own_guesses_;
    std::vector<float> own_weights_;
    std::int64_t n_ = 0;
    std::vector<std::int32_t> expected_;
};

}  // namespace offstage::engine
