#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/model/model_spec.h"
#include "engine/plan/load_request.h"
#include "engine/plan/popularity.h"
#include "kernels/types.h"

namespace offstage::engine {

// What can be known of a model without its weights.
struct ModelShape {
    std::string name;
    std::filesystem::path directory;  // empty: synthetic
    ModelSpec spec;
    kernels::WeightType type = kernels::WeightType::kBf16;  // of the experts
    std::uint64_t checkpoint_bytes = 0;                     // of the files that a load maps; 0: there are none
};

// The folder that holds a model, from what a person named: the folder itself, or a file
// in it (config.json, a *.safetensors). Throws Error (kNotFound, kUnsupported).
std::filesystem::path model_directory(const std::string& model);

// From config.json and, when they are there, the headers of the checkpoint; without a checkpoint the type is the one
// that config.json names. Throws Error as reading a model does.
ModelShape read_model_shape(const std::string& model);

// The counts that placement starts from: `file`, else the model's own
// expert_popularity.json, else none. `model`: its name; directory: empty for a synthetic
// one. Throws Error (kInvalidInput) when they are another model's.
Popularity popularity_of(const std::string& model, const std::filesystem::path& directory, const ExpertGrid& grid,
                         const std::string& file);

}  // namespace offstage::engine
