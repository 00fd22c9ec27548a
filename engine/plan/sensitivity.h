#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/popularity.h"
#include "kernels/types.h"

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
    // This expert's part of the plan's loss.
    double loss(kernels::WeightType format, std::int64_t layer, std::int64_t expert,
                const Popularity& popularity) const;
};

// JSON: {"format": "offstage-sensitivity", "version": 1, "model": "...", "source": "...",
// "n_layers": L, "n_experts": E, "errors": {"hqq4": [[E numbers] x L], ...}}. At most 64
// MiB. Reading throws Error with file, key and expected value.
Sensitivity parse_sensitivity(std::string_view json, const std::string& source);
Sensitivity read_sensitivity(const std::filesystem::path& file);
std::string to_json(const Sensitivity& sensitivity, const std::string& model);

}  // namespace offstage::engine
