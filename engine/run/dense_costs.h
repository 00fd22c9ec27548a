#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware_profile.h"
#include "engine/plan/cost_model.h"
#include "engine/run/dense_probe.h"

namespace offstage::engine {

class MeasurementStore;
struct CostPlace;

// The cost of steps beside their routed experts, found by running some with the model's
// own layers (Forward), so that all of a step's work is included. All experts are on the
// device; the time of computing them does not count.

// On the GPU of a profile: accounted, in some milliseconds, without memory for weights.
DenseCosts account_dense(const DenseProbeModel& model, const HardwareProfile& profile);

// The result of dense_costs() if nothing has to be measured; otherwise nothing.
// `emulated`: the profile of an emulated device, or nullptr.
std::optional<DenseCosts> known_dense_costs(const DenseProbeModel& model, const CostPlace& place,
                                            const HardwareProfile* emulated, const MeasurementStore& cache);

// On a device: accounted where it is emulated, otherwise stored costs, otherwise measured
// now with random weights (some seconds) and stored. Large models are measured by some of
// their layers and a part of their head, for which the device must have room; without
// room, the costs are unknown. `anew`: ignores stored costs. `checks`: times a step of
// one token again, and measures all again if the stored costs do not hold, are old or in
// doubt (MeasurementStore::notes()). Throws Error (kCancelled, kDevice).
DenseCosts dense_costs(const DenseProbeModel& model, Backend& device, CpuOperations& operations,
                       const MeasurementStore& cache, const std::stop_token& stop, bool anew = false,
                       bool checks = true);
// Called when a run of this model was far from its forecast: marks the stored costs of
// its dense part as doubtful. Returns whether that is new.
bool doubt_dense_costs(const DenseProbeModel& model, const CostPlace& place, const MeasurementStore& cache);

// Layers with a pause after each, in which the computing thread waits.
struct PausedLayers {
    // The extra time of the CPU for a layer, including experts, after a pause: caches and
    // clock have cooled down, and other threads have run there.
    double longer_us = 0;
    double layer_us = 0;  // the layer's time then, without the pause
    double pause_us = 0;  // a pause's time, without the first of each token
};
// Medians of some tokens with pauses and some without, with random weights; all 0 where
// there is no memory for them, or a stop is requested. `pause` gets true for the first
// pause of a token. Some tenths of a second, if pauses are short. Throws Error (kDevice).
PausedLayers measure_paused_layers(const DenseProbeModel& model, CpuOperations& operations,
                                   const std::function<void(bool first)>& pause, const std::stop_token& stop);

}  // namespace offstage::engine
