#include "engine/run/model_shape.h"

#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/files/text_file.h"
#include "engine/model/checkpoint.h"
#include "engine/model/gguf_model.h"
#include "engine/model/model_files.h"
#include "engine/model/model_finder.h"
#include "engine/model/model_messages.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "engine/name_hash.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;

bool has_checkpoint(const fs::path& directory) {
    std::error_code failure;
    if (!fs::is_directory(directory, failure)) return true;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory, failure)) {
        if (entry.path().extension() == ".safetensors") return true;
    }
    return false;
}

// "torch_dtype" in transformers 4, "dtype" in 5; bfloat16, the usual type, if neither is
// given.
kernels::WeightType named_type(const fs::path& directory) {
    const auto config = read_json_object(directory / "config.json");
    for (const char* key : {"dtype", "torch_dtype"}) {
        if (!config.has_value() || !config->contains(key)) continue;
        if ((*config)[key] == "float32") return kernels::WeightType::kF32;
        if ((*config)[key] == "float16") return kernels::WeightType::kF16;
    }
    return kernels::WeightType::kBf16;
}

}  // namespace

fs::path model_path(const std::string& model) {
    fs::path path(model);
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (!fs::exists(status)) {
        throw Error(ErrorKind::kNotFound, messages::no_model_at(model));
    }
    if (fs::is_directory(status)) {
        if (fs::exists(path / "config.json", failure) && has_checkpoint(path)) return path;
        const std::vector<fs::path> files = gguf_models_in(path);
        return files.size() == 1 ? files.front() : path;
    }
    // Any part of a split model identifies the model.
    if (is_gguf_path(path)) return gguf_parts_of(path).front();
    if (const auto manifest = ollama_manifest_of(fs::absolute(path).lexically_normal())) {
        if (manifest->model.empty()) throw Error(ErrorKind::kUnsupported, messages::no_model_file(manifest->name));
        if (!fs::exists(manifest->model, failure)) {
            throw Error(ErrorKind::kNotFound,
                        messages::ollama_blob_missing(shown_path(manifest->model), manifest->name, manifest->name));
        }
        return manifest->model;
    }
    if (path.filename() != "config.json" && path.extension() != ".safetensors" &&
        !path.filename().string().ends_with(".index.json")) {
        throw Error(ErrorKind::kUnsupported, messages::no_model_file(path.filename().string()));
    }
    return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::string model_name(const fs::path& model) {
    const fs::path path = model_path(model);
    // A GGUF file by the name of the link, if it is one: caches link to files that are
    // named after their contents.
    const bool is_file = is_gguf_path(path);
    const fs::path whole = is_file ? fs::absolute(path).lexically_normal() : fs::weakly_canonical(path);
    std::string name = name_in_cache(fs::absolute(model).lexically_normal());
    if (name.empty()) name = name_in_cache(whole);
    if (!name.empty()) return name;
    return is_file ? gguf_name(whole) : whole.filename().string();
}

ModelShape read_model_shape(const std::string& model) {
    kernels::ThreadPool pool(1);
    std::unique_ptr<WeightSource> weights;
    return read_model_shape(model, pool, weights);
}

ModelShape read_model_shape(const std::string& model, kernels::ThreadPool& pool,
                            std::unique_ptr<WeightSource>& weights) {
    ModelShape shape;
    if (is_synthetic(model)) {
        SyntheticModel synthetic = parse_synthetic(model);
        shape.type = synthetic.expert_type();
        shape.name = std::move(synthetic.name);
        shape.spec = std::move(synthetic.spec);
        return shape;
    }
    shape.directory = model_path(model);
    shape.spec = read_model_spec(shape.directory, &shape.notes);
    shape.name = model_name(model);
    if (has_checkpoint(shape.directory)) {
        weights = open_weights(Checkpoint::open(shape.directory), shape.spec, false, pool);
        shape.type = weights->expert_type();
        for (Message& note : weights->notes()) shape.notes.push_back(std::move(note));
        for (const UnusedTensors& part : weights->unused()) shape.notes.push_back(describe(part));
    } else {
        shape.type = named_type(shape.directory);
    }
    return shape;
}

namespace {

// File names end at 255 bytes: a model's name that leaves too few is cut, and its hash
// distinguishes it from others with the same beginning.
fs::path file_beside(const fs::path& model, const std::string& name) {
    if (!is_gguf_path(model)) return model / name;
    constexpr std::size_t kLongestName = 255;
    std::string stem = gguf_name(model);
    if (const std::size_t room = kLongestName - 1 - name.size(); stem.size() > room) {
        const std::string hash = "-" + name_hash(stem);
        stem = stem.substr(0, room - hash.size()) + hash;
    }
    return model.parent_path() / (stem + "." + name);
}

}  // namespace

fs::path popularity_file(const fs::path& model) {
    return file_beside(model, "expert_popularity.json");
}

fs::path neuron_thresholds_file(const fs::path& model) {
    return file_beside(model, "neuron_thresholds.json");
}

NeuronThresholds kept_thresholds(const fs::path& path, Message* problem) {
    std::error_code failure;
    if (path.empty() || !fs::exists(neuron_thresholds_file(path), failure)) return {};
    try {
        return read_neuron_thresholds(neuron_thresholds_file(path));
    } catch (const Error& error) {
        if (problem != nullptr) *problem = error.message();
        return {};
    }
}

}  // namespace offstage::engine
