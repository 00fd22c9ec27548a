#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware_profile.h"
#include "engine/model/model_spec.h"
#include "engine/plan/cost_model.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {

class MeasurementStore;
struct CostPlace;

// Microseconds of a step of n tokens after `past` others beside its experts, in place of
// a measurement; for tests.
using StepTimer = std::function<double(std::int64_t n_tokens, std::int64_t past)>;

// A model whose dense part is measured: only sizes and formats count.
struct DenseProbeModel {
    const ModelSpec& spec;
    kernels::WeightType type = kernels::WeightType::kBf16;  // of the checkpoint
    std::optional<kernels::WeightType> dense{};             // see QuantSettings::dense
    kernels::KvType kv = kernels::KvType::kBf16;
    StepTimer timer{};  // tests: in the place of this machine
    // What forecasts take for its experts on the CPU; nullptr: not known.
    const CostTable* experts = nullptr;
};

// Enough of a model to make steps with, on a device: the model's own layers (Forward)
// with random weights. One thread.
class DenseProbe {
  public:
    static constexpr std::int64_t kMostTokens = 512;
    static constexpr std::int64_t kLongestPast = 4096;
    static constexpr std::size_t kMostTimes = 16;  // that guess_us() takes of a gate
    static constexpr double kLeastUs = 1e-3;       // what was measured counts with at least this time
    static constexpr std::uint64_t kPlentyBytes = std::uint64_t{1} << 44;  // addresses only

    // spec: the model's, or less of it. dry: nothing is computed, and weights take no
    // memory. pause: see pause_layers(); empty: none. Throws Error (kOutOfMemory).
    DenseProbe(const DenseProbeModel& model, ModelSpec spec, Backend& device, CpuOperations& operations, bool dry,
               const std::function<void(bool first)>& pause = {});
    ~DenseProbe();

    // One step of n tokens after `past` others, of other tokens each time, without the
    // time of its routed experts; whole_: and with it. Where the CPU computes all and
    // spec has the model's experts, not thinner ones, their time is DenseProbeModel's:
    // what they take longer between a step's other work than one after the other counts
    // here. Throws Error (kDevice).
    double step_us(std::int64_t n_tokens, std::int64_t past);
    double whole_step_us(std::int64_t n_tokens, std::int64_t past);
    void set_guessing(bool guesses);
    // The gates of all layers but the first on one token: the cost of guessing its
    // experts. Their weights are in the caches, because the layer that they belong to
    // reads them as well.
    double guess_us();
    double head_us();  // the head on one token
    // Whether `pause` is called after each layer's experts of the next steps: with true
    // for the first one. pauses_us(): the times of these calls since then.
    void pause_layers(bool on);
    const std::vector<double>& pauses_us() const;

  private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

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
// room, the costs are unknown. `anew`: ignores stored costs, but a doubt of them counts as
// answered. `checks`: times a step of one token again, and measures all again if the
// stored costs do not hold, are old or in doubt (MeasurementStore::notes()). Throws Error
// (kCancelled, kDevice).
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
