#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/measurement_store.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// The loss of quality from keeping an expert in fewer bits. The loss of a plan is the sum
// over its experts of error^2 * use: `error` the measured relative error of the expert's
// weights in a format, |w - q(w)| / |w| (Frobenius), `use` the share of the layer's calls
// that go to the expert (Popularity::share / n_active), divided by the number of layers -
// so a plan with every expert in one format of error e has loss e^2. Rarely used experts
// count little (CORM, section 4.1). A plain value.
struct Sensitivity {
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    struct Format {
        kernels::WeightType format = kernels::WeightType::kHqq4;
        std::vector<double> errors;  // (n_layers, n_experts), relative
    };
    std::vector<Format> formats;
    std::string source;  // for the user: "measured on every expert", "typical of HQQ"

    // HQQ's errors on normally distributed weights, for models without a measurement.
    static Sensitivity typical(std::int64_t n_layers, std::int64_t n_experts);
    // 0 for plain 16-bit formats, and for formats that are not in the table.
    double error(kernels::WeightType format, std::int64_t layer, std::int64_t expert) const;
};

// See Measurements::sensitivity().
template <>
struct StoredAs<Sensitivity> {
    static constexpr const char* kField = "sensitivity";
    static void write(const Sensitivity& sensitivity, nlohmann::json& out);
    static Sensitivity read(const JsonFields& fields);
};

// The number of neurons of an expert that are quantized to measure its errors, spread
// evenly over it. The error of 192 rows of 4096 is within half a percent of the whole
// expert's.
inline constexpr std::int64_t kSampledNeurons = 64;

// Packs every expert once and quantizes a sample of its neurons to INT8, HQQ4, HQQ3 and
// HQQ2 (no formats if hidden_dim is no multiple of 64). Most of the time goes into
// reading the checkpoint. `progress` (may be empty) gets the experts done and their
// total, on this thread. Throws Error: kCancelled, kOutOfMemory, kInvalidModel (weights
// that are not finite).
Sensitivity measure_sensitivity(const ExpertGrid& grid, WeightSource& master, kernels::ThreadPool& pool,
                                const std::function<void(std::int64_t done, std::int64_t all)>& progress = {},
                                const std::stop_token& stop = {});

}  // namespace offstage::engine
