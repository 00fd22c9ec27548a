#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/run/loaded_model.h"

namespace offstage::engine {

struct BenchRequest {
    std::int64_t prompt_tokens = 512;
    std::int64_t decode_tokens = 32;
    int repeats = 5;
};

// Medians over the repeats that counted. The machine's limits are measured in the same process: the read bandwidth
// right before and after each timed decode, the peak arithmetic before the first prefill.
struct BenchResult {
    double prefill_tokens_per_s = 0;
    double decode_tokens_per_s = 0;
    std::uint64_t active_weight_bytes_per_token = 0;
    double decode_gb_per_s = 0;            // active weight bytes x tokens per second, in 1e9
    double read_bandwidth_gb_per_s = 0;    // mean of the two brackets, median of the repeats
    double decode_bandwidth_fraction = 0;  // median of each repeat's own fraction
    double prefill_gflops = 0;             // weights and attention, two operations per multiply-add
    double peak_bf16_gflops = 0;
    double peak_f32_gflops = 0;
    double prefill_peak_fraction = 0;  // of peak_bf16_gflops
    std::string prefill_products;      // "f32" or "bf16": how the products were formed
    int repeats = 0;                   // decodes that counted
    int dropped_repeats = 0;           // decodes whose brackets disagreed by more than kBracketTolerance
};

// The two bandwidths around a timed decode may differ by this share of the larger; else the machine changed meanwhile.
inline constexpr double kBracketTolerance = 0.15;

// Times are those of the model's device: accounted ones where it is emulated. Fractions of the host's limits say little
// where a GPU does the work.
//
// Times prefill of prompt_tokens random tokens and decode of decode_tokens after them. Repeats whose brackets disagree
// are dropped and tried again, three times `repeats` at most; if none agrees, all count and dropped_repeats says so.
// `log` (may be empty) is told of each repeat. Throws Error (kInvalidInput) when the context is too small.
BenchResult run_bench(LoadedModel& model, const BenchRequest& request,
                      const std::function<void(const std::string&)>& log);

}  // namespace offstage::engine
