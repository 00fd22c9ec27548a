#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/eval/draft_bench.h"
#include "engine/message.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_settings.h"
#include "engine/run/loaded_model.h"
#include "engine/telemetry/host_times.h"

namespace offstage::engine {

struct BenchRequest {
    std::int64_t prompt_tokens = 512;
    std::int64_t decode_tokens = 32;
    int repeats = 5;
    std::vector<ThetaChoice> compared = {};  // BenchResult::thetas
};

// Tokens of the longest sequence that a bench decodes.
std::int64_t context_of(const BenchRequest& request);

// Decoding with a theta beside decoding without one: alternating, token by token, so that
// both run under the same conditions.
struct ThetaGain {
    ThetaChoice theta;
    double active_share = 0;                // of the neurons that were checked; 0: none
    double tokens_per_s = 0;                // median of the tokens
    double whole_tokens_per_s = 0;          // of the tokens without a theta, in alternation
    double bytes_per_token = 0;             // of weights
    double gain = 0;                        // times as fast as the token without beside it: median of the pairs
    double lower_gain = 0, upper_gain = 0;  // quartiles
    double bytes_allow = 0;                 // the gain if only bytes of weights took time
    // Whether the quartiles lie on one side of 1: otherwise the difference may be chance.
    bool is_distinguishable() const { return lower_gain > 1 || upper_gain < 1; }
    // The measured share of the gain that the bytes allow. Nothing if they allow none, if
    // the gain is not distinguishable from none, or if it is larger: then other work
    // disturbed the tokens without the theta.
    std::optional<double> share_of_gain() const;
};

// A rate of the run, and the most that it could be.
struct BenchRate {
    std::string what;      // "weights that the CPU reads"
    std::string unit;      // "GB/s" or "GFLOP/s": 1e9 a second
    double rate = 0;       // median of the repeats
    double limit = 0;      // 0: not known
    double fraction = 0;   // of the limit: median over the repeats; never above 1 (limited())
    std::string limit_is;  // the limit and its source; without one, the reason: "read bandwidth of
                           // 1.00 GiB of the weights, measured in this run"
};

// The rate with its share of the limit. A rate above its limit shows that other work
// disturbed the measurement of the limit: a `best` one of all its measurements may
// replace it; otherwise there is no limit, and limit_is has the reason.
BenchRate limited(BenchRate rate, double best);

// Medians over the valid repeats. Measured times have measured limits, from the same
// process: the read bandwidth right before and after each timed decode, the peak
// arithmetic before the first prefill, and once more after the last if a rate was above
// it. Accounted times have accounted limits: those of the hardware profile. A rate of one
// kind is never divided by a limit of the other. An accelerator's read bandwidth is
// measured once, before the first timed prefill, if it has 256 MiB to spare.
struct BenchResult {
    bool accounted = false;  // the device is emulated
    double prefill_tokens_per_s = 0;
    double decode_tokens_per_s = 0;
    // Counted for the timed tokens: each expert in its format, and the dense weights.
    std::uint64_t active_weight_bytes_per_token = 0;
    // With a theta, for the timed tokens: the share of active neurons among those counted
    // (0: none were counted), experts that were copied without the other neurons, and the
    // bytes that this saved on the bus.
    double active_share = 0;
    double decode_hit_rate = 0;  // of the timed tokens' experts, the share of resident ones
    double sparse_copies_per_token = 0;
    double copied_bytes_per_token = 0;
    double copy_bytes_saved_per_token = 0;
    double neuron_hit_rate = 0;     // of the neurons that these needed, the share already on the device
    LoadingTimes loading;           // mean of the timed tokens
    HostTimes::Sums host_us{};      // mean of the timed tokens, by HostTimes::Phase
    BenchRate prefill;              // products of weights and attention, two operations per multiply-add
    std::vector<BenchRate> decode;  // reading or copying weights: one rate for the CPU, or three with an accelerator
    std::string prefill_products;   // "f32", "bf16" or "int8": how the products were formed
    double peak_bf16_gflops = 0;    // measured; 0 where times are not this CPU's
    double peak_f32_gflops = 0;
    double peak_int8_gops = 0;
    Forecast forecast;                // for this plan and prompt, before anything ran; empty if no costs are known
    int repeats = 0;                  // decodes that counted
    int dropped_repeats = 0;          // decodes whose two bandwidths differed by more than kBracketTolerance
    std::vector<ThetaGain> thetas;    // for BenchRequest::compared
    std::optional<DraftGain> drafts;  // of a model that was loaded with drafts
    Message note;                     // if tokens' times differed from the forecast (doubt_costs()); otherwise empty
};

// The two bandwidths around a timed decode in which the CPU read weights may differ by
// this share of the larger; beyond it the machine changed meanwhile.
inline constexpr double kBracketTolerance = 0.15;

// Times are those of the model's device: accounted ones if it is emulated.
//
// Times prefill of prompt_tokens random tokens and decode of decode_tokens after them.
// Repeats whose two bandwidths differ too much are dropped and tried again, three times
// `repeats` at most; if none is valid, all count and dropped_repeats shows it. As many
// repeats follow that decode with the compared thetas, decode_tokens each and as many
// without any, and as many with drafts and without. Afterwards the model has its
// original theta. `log` (may be empty) gets a line for each repeat. Throws Error
// (kInvalidInput) when the context is too small, or as LoadedModel::use_theta() does.
BenchResult run_bench(LoadedModel& model, const BenchRequest& request,
                      const std::function<void(const std::string&)>& log);

}  // namespace offstage::engine
