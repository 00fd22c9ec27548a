#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/measurement_store.h"
#include "engine/plan/repeated_time.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

inline constexpr std::int64_t kFullCalibration = 1024;  // tokens

// Microseconds of an expert of n tokens on the CPU, in place of a measurement; for tests.
using ExpertTimer = std::function<double(std::int64_t n_tokens)>;

struct CalibrationRequest {
    // Experts in RAM that are run and copied in turn, so that no cache contains them; at
    // least one. Host addresses.
    std::span<const kernels::ExpertView> experts;
    kernels::WeightType format = kernels::WeightType::kBf16;  // theirs
    // Device memory for one expert each, used in turn, so that the device's caches
    // contain none; empty: CPU only.
    std::span<std::byte* const> device_slots;
    bool pinned = false;
    std::int64_t n_active = 2;                // experts per token, for the layer-wise measurements
    std::int64_t largest = kFullCalibration;  // token counts 1, 2, 4 ... largest
    // Real time. 1 and 2 tokens are always timed; larger counts for which the time is too
    // short are left out of the table (CostModel extrapolates along the last two).
    double budget_s = 3.0;
    ExpertTimer timer{};  // tests: in the place of the CPU
};

// Times weight copy, activation copy, and one expert on the device and on the CPU; then
// both sides at once, for the slow-downs. Each several times where time allows; only
// measurements that other work did not disturb count (RepeatedTime); costs rise with the
// number of tokens. The CPU's expert of one token is timed with some thetas as well. The
// device must be reserve()d for steps of `largest` tokens; without room for their
// activations, only smaller counts are timed. Overwrites the slots; `dense` stays empty.
// `progress` (may be empty) gets 0 .. 1. Throws Error: kCancelled; kOutOfMemory when not
// even one token's activations fit; kInternal when the device fails or refuses a copy.
CostTable calibrate(Backend& device, CpuOperations& host, const CalibrationRequest& request,
                    const std::function<void(double)>& progress, std::stop_token stop);

// A stored cost that does not hold any more.
struct CostDrift {
    Message what;  // "an expert on the CPU"
    double kept_us = 0, now_us = 0;
};
// Times an expert of one token and its copy again, in some milliseconds; nothing: the
// table holds (has_drifted()). quiet: whether no other work came between; then the CPU's
// experts in `kept` get the time of now (retime()). Throws as calibrate().
std::optional<CostDrift> check_costs(Backend& device, CpuOperations& host, const CalibrationRequest& request,
                                     CostTable& kept, std::stop_token stop, bool& quiet);
// Repeats check(quiet), whose meaning is as above, and returns the drift that lasts. Costs
// that seem too low are checked for kSlowerForS; then only a check without other work
// says that they hold: one that was disturbed says nothing.
template <typename Check>
std::optional<CostDrift> lasting_drift(const Check& check, bool& quiet) {
    std::optional<CostDrift> slower;
    for (const MeasuringTime checking(false);;) {
        const std::optional<CostDrift> drift = check(quiet);
        if (drift ? drift->now_us < drift->kept_us : quiet || !slower) return drift;
        if (drift) slower = drift;
        if (checking.seconds() >= kSlowerForS) return slower;
    }
}
// The sentences for it, and for a run that took another time than its forecast.
Message cost_measured_again(const CostDrift& drift);
Message run_unlike_forecast(double took_us, double forecast_us);

// The key of a stored measurement, besides shape and format: the device, and the host
// that works beside it.
struct CostPlace {
    DeviceInfo device;
    int n_threads = 1;
    kernels::ProductForm form{};
};
CostPlace place_of(const Backend& device, const CpuOperations& host);
// "NVIDIA H200 ...|AMD EPYC ... x16 avx512_bf16|f32|BF16 4096x14336", "|pageable" behind
// where copies come from memory that is not page-locked; what else than silu the expert
// computes comes behind its shape.
std::string cost_key(const CostPlace& place, kernels::WeightType format, const ExpertGrid& grid, bool pinned = true);

// The costs of one format of a model's experts, stored or measured now. What the grid and
// the memory decide of the request is filled in.
struct FormatCalibration : CalibrationRequest {
    ExpertGrid grid;
    bool anew = false;   // ignores stored costs
    bool checks = true;  // times stored costs again
};

// calibrate() for random experts in one format, in memory that is page-locked if the system
// allows it, with a slot on the device if that has room for one (otherwise only the CPU
// is measured, and nothing is stored). Stored costs that are old, in doubt or fail
// check_costs() are measured anew; for the last case the cache gets a note. If the device
// is the CPU, measurements with fewer than kFullCalibration tokens are stored separately,
// for the same `largest` only, and not where those of kFullCalibration are stored, which
// are found first: such are measured anew in full. The device must be reserve()d as for
// calibrate(). `measured` (may be nullptr): whether the cache had nothing. Throws as
// calibrate(), and kOutOfMemory when RAM has no room for the samples.
CostTable calibrate_format(Backend& device, CpuOperations& host, const FormatCalibration& wanted,
                           const MeasurementStore& cache, const std::function<void(double)>& progress,
                           std::stop_token stop, bool* measured = nullptr);

// How stored costs are used: the kept ones, if they are young, not in doubt and, where
// they are to be checked, holds(them), which may adapt them to the present; otherwise
// measure(doubt) with the doubt that the new ones are stored with.
template <typename Costs, typename Holds, typename Measure>
Costs kept_or_measured(std::optional<Costs> kept, bool checks, const Holds& holds, const Measure& measure) {
    CostDoubt doubt = CostDoubt::kNone;
    if (kept && !are_old(kept->measured_at)) {
        if (kept->doubt != CostDoubt::kRaised && (!checks || holds(*kept))) return *kept;
        if (kept->doubt != CostDoubt::kNone) doubt = CostDoubt::kAnswered;
    }
    return measure(doubt);
}

// Marks the costs under this key (CostTable, DenseCosts, DiskReadCost) as doubtful.
// Returns whether they exist and were not doubtful before.
template <typename Costs>
bool raise_doubt(const std::string& key, const MeasurementStore& cache) {
    Costs costs;
    if (!cache.load(key, costs) || costs.doubt != CostDoubt::kNone) return false;
    costs.doubt = CostDoubt::kRaised;
    return cache.store(key, costs).empty();
}

class RowQuantizer;

// From the store, or measured now on rows of a model's size (some milliseconds per packed
// format) and stored. hidden_dim: a multiple of kernels::kPackedBlock, otherwise nothing
// is measured. helper: of the device with this fingerprint, or nullptr. Throws Error
// (kCancelled).
QuantizingSpeeds quantizing_speeds(std::int64_t hidden_dim, const MeasurementStore& cache, std::stop_token stop,
                                   RowQuantizer* helper = nullptr, const std::string& device = {});

}  // namespace offstage::engine
