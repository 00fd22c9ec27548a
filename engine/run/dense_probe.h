#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware_profile.h"
#include "engine/model/model_spec.h"
#include "engine/plan/cost_model.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {

class CalibrationCache;
struct CostPlace;

// Microseconds that a step of n tokens after `past` others takes beside its experts, as
// if it had been timed; for tests.
using StepTimer = std::function<double(std::int64_t n_tokens, std::int64_t past)>;

// A model whose dense part is to be timed: only sizes and formats count.
struct DenseProbeModel {
    const ModelSpec& spec;
    kernels::WeightType type = kernels::WeightType::kBf16;  // of the checkpoint
    std::optional<kernels::WeightType> dense{};             // see QuantSettings::dense
    kernels::KvType kv = kernels::KvType::kBf16;
    StepTimer timer{};  // tests: in the place of this machine
};

// What steps take beside their routed experts, found by making some with the model's own
// layers (Forward): whatever a step does is in it. All experts are on the device; the
// time that they are computed with does not count.

// On the GPU of a profile: accounted, in some milliseconds, without memory for weights.
DenseCosts account_dense(const DenseProbeModel& model, const HardwareProfile& profile);

// What dense_costs() says where nothing has to be measured; else nothing. `emulated`: the
// profile of an emulated device, or nullptr.
std::optional<DenseCosts> known_dense_costs(const DenseProbeModel& model, const CostPlace& place,
                                            const HardwareProfile* emulated, const CalibrationCache& cache);

// On a device: accounted where it is emulated, else kept, else measured now with random
// weights (some seconds) and kept. Large models are measured by some of their layers
// and a part of their head, for which the device must have room; where it has none,
// nothing is known. `anew`: what is kept does not count. `checks`: a step of one token is
// timed again, and where what is kept does not hold, is old or in doubt, all is measured
// again (CalibrationCache::notes()). Throws Error (kCancelled,
// kDevice).
DenseCosts dense_costs(const DenseProbeModel& model, Backend& device, CpuOperations& operations,
                       const CalibrationCache& cache, const std::stop_token& stop, bool anew = false,
                       bool checks = true);
// A run of this model was far from its forecast: what is kept of its dense part is in
// doubt. Returns whether that is new.
bool doubt_dense_costs(const DenseProbeModel& model, const CostPlace& place, const CalibrationCache& cache);

// Layers with a pause behind each, in which the thread that computes waits for something.
struct PausedLayers {
    // How much longer the CPU takes for a layer, experts and all: caches and clock have cooled down, and other threads
    // have run there.
    double longer_us = 0;
    double layer_us = 0;  // that it takes then, without the pause
    double pause_us = 0;  // what a pause takes, but for the first of each token
};
// Medians of some tokens with pauses beside some without, of random weights; all 0 where there is no memory for them,
// or a stop is requested. `pause` is called with whether it is the first of a token. Some tenths of a second, if pauses
// are short. Throws Error (kDevice).
PausedLayers measure_paused_layers(const DenseProbeModel& model, CpuOperations& operations,
                                   const std::function<void(bool first)>& pause, const std::stop_token& stop);

}  // namespace offstage::engine
