#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/plan/measurement_store.h"
#include "kernels/gemm.h"
#include "kernels/types.h"

namespace offstage::engine {

// Measured once on a machine: one core's time for products of typical shapes
// (kernels::TrialProduct), the shortest of many for each.
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

template <>
struct StoredAs<ProductTimes> {
    static constexpr const char* kField = "products";
    static void write(const ProductTimes& times, nlohmann::json& out);
    static ProductTimes read(const JsonFields& fields);
};

// The form of products on the CPU, and the reason.
struct ComputeChoice {
    enum class Origin : std::uint8_t {
        kAskedFor,   // --compute f32, bf16 or int8
        kWeights,    // float32 weights: rounding them would lose precision of the checkpoint
        kMeasured,   // just now, and kept
        kKept,       // measured before
        kCannotKeep  // nothing could be written, so that the next load might measure otherwise: f32 on every machine
    };
    kernels::ProductForm form;
    Origin origin = Origin::kCannotKeep;
    ProductTimes times;  // for kMeasured and kKept
};

// For users: "measured on 2026-11-22 and kept for this machine: f32 takes 0.73 ms where
// bf16 takes 1.44 and int8 0.45, and float inputs of a file's blocks 0.21 where int8
// takes 0.08".
std::string describe(const ComputeChoice& choice);

// Microseconds that one such product takes.
using ProductTimer = std::function<double(kernels::TrialProduct)>;

// All forms are timed in turn, kProductTurns of each, and the shortest of each counts:
// other load on the machine only ever adds. Forms that round, bf16 and inputs of 8 bits,
// are chosen if they are faster by more than kProductMargin; for many tokens, inputs of 8
// bits only if they are chosen for few as well. Processors with an instruction for it are
// about twice as fast, others half as fast, so that noise cannot decide.
inline constexpr int kProductTurns = 31;
inline constexpr double kProductMargin = 1.25;
kernels::ProductForm faster_form(const ProductTimes& times);

// `asked` unset: the choice stored for this machine (processor, instruction set and
// library; not the number of threads, so that it changes no answer), or else one that is
// measured now, on one thread, and stored for later loads. `timer` (tests): replaces
// kernels::ProductTrial.
ComputeChoice choose_compute(std::optional<kernels::ProductForm> asked, kernels::WeightType weights,
                             const MeasurementStore& cache, const ProductTimer& timer = {});
// "2026-11-22", of now or of seconds since 1970.
std::string today();
std::string date_of(std::int64_t seconds);
// The same if nothing has to be measured for it.
std::optional<ComputeChoice> kept_compute(kernels::WeightType weights, const MeasurementStore& cache);

}  // namespace offstage::engine
