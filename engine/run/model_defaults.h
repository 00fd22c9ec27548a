#pragma once
// The publisher's recommended settings of a model, used where the user chose nothing.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"
#include "engine/run/sampler_settings.h"
#include "engine/text/chat_template.h"

namespace offstage::engine {

struct ModelDefaults {
    struct Value {
        std::string_view name;  // of SamplerSettings' fields: "top_k"; "max_tokens"
        double value = 0;
    };
    std::vector<Value> sampling;
    std::string sampling_source;     // "qwen3:30b of Ollama", "generation_config.json"
    std::vector<std::string> stops;  // texts that end an answer (not a thought); none is empty
    std::int64_t context = 0;        // 0: none is advised
    std::string system;              // system message; empty: none
    std::string system_source;
    std::string unused;  // values of unused_source that are not used: "mirostat 1"
    std::string unused_source;
    Message name_note;  // which of Ollama's names for the file this is of; empty: it has one

    // Sets the fields that are advised and, by their names, not chosen.
    void apply(SamplerSettings& sampler, const std::function<bool(std::string_view)>& is_chosen = {}) const;
    // The messages, with the system message at their beginning unless they have one.
    std::vector<ChatMessage> with_system(std::vector<ChatMessage> messages) const;
    // Tokens of an answer at most; 0: none is advised.
    int max_tokens() const;
    // The recommended values and their source, a sentence each.
    std::vector<Message> notes() const;
};

// For a model as the user named it, or its model_path(). For one of Ollama's blobs or
// manifests: the layers params and system of the manifest (kUnsupported if that has an
// adapter); for other GGUF files: their keys general.sampling.*; for a folder:
// generation_config.json, if that enables sampling. Values that no sampler accepts are
// `unused`. Throws Error where a file is damaged.
ModelDefaults read_model_defaults(const std::filesystem::path& model);

}  // namespace offstage::engine
