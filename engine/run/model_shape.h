#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/plan/neuron_thresholds.h"
#include "kernels/types.h"

namespace offstage::kernels {
class ThreadPool;
}

namespace offstage::engine {

class WeightSource;

// Facts about a model that need no weights.
struct ModelShape {
    std::string name;
    std::filesystem::path directory;  // or a GGUF file; empty: synthetic
    ModelSpec spec;
    kernels::WeightType type = kernels::WeightType::kBf16;  // of the experts
    std::vector<Message> notes;                             // of the files, a sentence each
};

// The path of the model that the user named: its folder (or config.json or a
// *.safetensors in it), or its GGUF file (of a split one, any part; or a folder that has
// no other model; or a manifest of Ollama's). For a split one, the first part. Throws
// Error (kNotFound, kUnsupported).
std::filesystem::path model_path(const std::string& model);

// The name for users: the folder's, or the file's without .gguf, or the name in a cache
// (name_in_cache()). `model`: what the user named, or its model_path().
std::string model_name(const std::filesystem::path& model);
// The file with a model's own popularity: expert_popularity.json in its folder, or beside
// its GGUF file as NAME.expert_popularity.json.
std::filesystem::path popularity_file(const std::filesystem::path& path);
// And what leaving out its neurons costs: neuron_thresholds.json, or
// NAME.neuron_thresholds.json.
std::filesystem::path neuron_thresholds_file(const std::filesystem::path& path);
// Read from the files beside a model (an empty path: none). A file that cannot be read
// counts as missing; problem (may be nullptr) gets its error.
NeuronThresholds kept_thresholds(const std::filesystem::path& path, Message* problem = nullptr);

// From config.json (or a GGUF file's metadata) and, when they exist, the headers of the
// checkpoint; without a checkpoint the type is the one in config.json. Throws Error as
// reading a model does.
ModelShape read_model_shape(const std::string& model);
// The same, with the checkpoint left open: `weights` do not round, and stay nullptr where
// there is none. The pool must outlive them.
ModelShape read_model_shape(const std::string& model, kernels::ThreadPool& pool,
                            std::unique_ptr<WeightSource>& weights);

}  // namespace offstage::engine
