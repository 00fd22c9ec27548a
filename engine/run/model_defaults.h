#pragma once
// What the publisher of a model advises for its answers, for where the user chose
// nothing.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "engine/run/sampler_settings.h"

namespace offstage::engine {

struct ModelDefaults {
    struct Value {
        std::string_view name;  // of SamplerSettings' fields: "top_k"; "max_tokens"
        double value = 0;
    };
    std::vector<Value> sampling;
    std::string sampling_source;     // "qwen3:30b of Ollama", "generation_config.json"
    std::vector<std::string> stops;  // an answer ends where one of these that is a special token is drawn
    std::int64_t context = 0;        // 0: none is advised
    std::string system;              // system message; empty: none
    std::string system_source;

    // Sets the fields that are advised and, by their names, not chosen.
    void apply(SamplerSettings& sampler, const std::function<bool(std::string_view)>& is_chosen = {}) const;
    // Tokens of an answer at most; 0: none is advised.
    int max_tokens() const;
    // What is advised and from where, a sentence each.
    std::vector<Message> notes() const;
};

// Of a model at a path that model_path() gives. Of one of Ollama's blobs: the layers
// params and system of its manifest; else of a GGUF file: its keys general.sampling.*; of
// a folder: generation_config.json, where that says that it samples. Values that no
// sampler takes are passed over. Throws Error where a file is damaged.
ModelDefaults read_model_defaults(const std::filesystem::path& model);

}  // namespace offstage::engine
