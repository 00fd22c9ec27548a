#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "kernels/gemm.h"
#include "kernels/types.h"

namespace offstage::engine {

class CalibrationCache;

// What was measured once on a machine: how long one core takes for products of typical
// shapes (kernels::TrialProduct), the shortest of many each.
struct ProductTimes {
    double f32_us = 0;
    double bf16_us = 0;
    double blocks_f32_us = 0;  // with a file's blocks
    double blocks_bf16_us = 0;
    double byte_prompts_us = 0;
    double float_inputs_us = 0;
    double byte_inputs_us = 0;
    std::string measured_on;  // "2026-11-22"
};

// How products are formed on the CPU, and why so.
struct ComputeChoice {
    enum class Origin : std::uint8_t {
        kAskedFor,   // --compute f32, bf16 or int8
        kWeights,    // float32 weights: rounding them would lose what the checkpoint holds
        kMeasured,   // just now, and kept
        kKept,       // measured before
        kCannotKeep  // nothing could be written, so that the next load might measure otherwise: f32 on every machine
    };
    kernels::ProductForm form;
    Origin origin = Origin::kCannotKeep;
    ProductTimes times;  // of kMeasured and kKept
};

// For a person: "measured on 2026-11-22 and kept for this machine: f32 takes 0.73 ms where
// bf16 takes 1.44 and int8 0.45, and float inputs of a file's blocks 0.21 where int8 takes 0.08".
std::string describe(const ComputeChoice& choice);

// Microseconds that one such product takes.
using ProductTimer = std::function<double(kernels::TrialProduct)>;

// All take turns, kProductTurns of each, and the shortest of each counts: other load on
// the machine only ever adds. What rounds, bf16 and inputs of 8 bits, is chosen where it
// is faster by more than kProductMargin; of many tokens, inputs of 8 bits only where they
// are for few as well. Processors with an instruction for it are about
// twice as fast or half as fast, so that noise cannot decide.
inline constexpr int kProductTurns = 31;
inline constexpr double kProductMargin = 1.25;
kernels::ProductForm faster_form(const ProductTimes& times);

// `asked` unset: the choice that is kept for this machine (processor, instruction set and library; not the number of
// threads, so that it changes no answer), or else one that is measured now, on one thread, and kept for all loads to
// come. `timer` (tests): in the place of kernels::ProductTrial.
ComputeChoice choose_compute(std::optional<kernels::ProductForm> asked, kernels::WeightType weights,
                             const CalibrationCache& cache, const ProductTimer& timer = {});
// "2026-11-22", of now or of seconds since 1970.
std::string today();
std::string date_of(std::int64_t seconds);
// What it would be, where nothing has to be measured for it.
std::optional<ComputeChoice> kept_compute(kernels::WeightType weights, const CalibrationCache& cache);

}  // namespace offstage::engine
