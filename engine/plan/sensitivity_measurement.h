#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/model/fingerprint.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/sensitivity.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

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
