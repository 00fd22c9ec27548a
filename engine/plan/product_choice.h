#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/device/backend.h"
#include "engine/plan/load_request.h"
#include "engine/plan/measurement_store.h"
#include "kernels/byte_inputs.h"
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

inline constexpr std::array kAllProductRows = {kernels::ProductRows::kFew, kernels::ProductRows::kMany,
                                               kernels::ProductRows::kManyOfSmallExperts};

// Measured once on a device: its time for products of typical shapes with each type of
// files' blocks, the shortest of several for each.
struct DeviceProductTimes {
    struct Pair {
        double float_us = 0;  // inputs in float32
        double bytes_us = 0;  // in 8 bits
    };
    std::map<kernels::WeightType, std::array<Pair, kAllProductRows.size()>> types;  // in that order
    std::string measured_on;                                                        // "2026-11-24"
};

template <>
struct StoredAs<DeviceProductTimes> {
    static constexpr const char* kField = "device_products";
    static void write(const DeviceProductTimes& times, nlohmann::json& out);
    static DeviceProductTimes read(const JsonFields& fields);
};

// The measured products. Many rows: a matrix, and a step over small experts
// (Qwen3-30B-A3B's, a prompt of 512 tokens of which each passes 8). Few rows: what a
// token reads, as one repeated sequence (Backend::begin_repeated), since decoding starts
// its operations so: matrices in turn, more than caches hold, then the experts that a
// token of Mixtral-8x7B and of Qwen3-30B-A3B calls.
struct DeviceTrialShape {
    std::int64_t n_rows = 8192, n_columns = 4096, n_inputs = 256;
    std::int64_t hidden_dim = 2048, ffn_dim = 768, n_experts = 16, n_rows_of_each = 32;
    std::int64_t wide_hidden_dim = 4096, wide_ffn_dim = 14336;
    std::int64_t n_wide = 2, n_narrow = 8;                  // experts of a token: of these widths, of those above
    std::uint64_t weight_bytes = std::uint64_t{256} << 20;  // at most an eighth of the free memory
    int n_turns = 7;                                        // of many rows
    int n_few_turns = 2;
    int n_products = 4;  // of many rows, timed together: one takes little longer than its start
};

// The types for which a device rounds its inputs, and the reason
// (Backend::set_byte_inputs).
struct DeviceProducts {
    enum class Origin : std::uint8_t {
        kNoChoice,   // the device's products are the CPU's, or the model has no blocks of files
        kAskedFor,   // --compute f32, bf16 or int8
        kMeasured,   // just now, and kept
        kKept,       // measured before
        kNotYet,     // not measured: the first load will
        kNoRoom,     // no room to measure: float32 inputs
        kCannotKeep  // nothing could be written, so that the next load might measure otherwise: float32 inputs
    };
    kernels::ByteInputTypes types;
    Origin origin = Origin::kNoChoice;
    std::string measured_on;
};

// For users: "int8 inputs with Q4_K Q6_K, of many tokens with Q6_K, of many tokens with
// small experts with Q4_K"; empty: no choice.
std::string name_of(const DeviceProducts& products);
std::string describe(const DeviceProducts& products);

// "int8" or "f32": the format of inputs in products with this type.
const char* inputs_of(const DeviceProducts& products, kernels::WeightType type, kernels::ProductRows rows);

// Microseconds that a product with such weights takes, in turns for each.
using DeviceProductTimer = std::function<double(kernels::WeightType type, kernels::ProductRows rows, bool byte_inputs)>;

// Types for which rounded inputs are faster: for many rows by more than kProductMargin;
// for few rows by anything, since their sequence is the one that decodes.
kernels::ByteInputTypes faster_inputs(const DeviceProductTimes& times);

// The device's own, which must have no step reserved that it works on; afterwards it
// rounds nothing. Nothing: it has no room, or failed.
std::optional<DeviceProductTimes> measure_device_products(Backend& device, const DeviceTrialShape& shape = {});

// Sets the requested products on the device, or for kAuto those stored for it or, if
// there are none, those measured now and stored for later loads. `weights`: a model's;
// plain ones leave nothing to choose. The device must have no reserved step in use.
// `timer` (tests): replaces the device's own products.
DeviceProducts choose_device_products(Backend& device, ComputeMode asked, kernels::WeightType weights,
                                      const MeasurementStore& cache, const DeviceProductTimer& timer = {});
// The same if nothing has to be measured for it.
DeviceProducts known_device_products(Backend& device, ComputeMode asked, kernels::WeightType weights,
                                     const MeasurementStore& cache);

}  // namespace offstage::engine
