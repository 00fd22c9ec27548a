#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fingerprint.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/popularity.h"
#include "kernels/thread_pool.h"
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

// Stored measurements: JSON files in DIRECTORY/sensitivity, named by the model's
// fingerprint (WeightSource::model_fingerprint). A file that is damaged or of another
// shape is ignored.
class SensitivityCache {
  public:
    explicit SensitivityCache(std::filesystem::path directory);  // empty: keeps nothing
    std::optional<Sensitivity> load(const Fingerprint& model, const ExpertGrid& grid) const;
    // Whole or not at all; failing to write is no error. Returns the reason, empty: kept.
    std::string store(const Fingerprint& model, const std::string& name, const Sensitivity& sensitivity) const;
    const std::filesystem::path& directory() const { return directory_; }

  private:
    std::filesystem::path file_of(const Fingerprint& model) const;
    std::filesystem::path directory_;
};

}  // namespace offstage::engine
