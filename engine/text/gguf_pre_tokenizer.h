#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "engine/files/gguf.h"

namespace offstage::engine {

// What "tokenizer.ggml.pre" stands for: the parts of a tokenizer.json that a GGUF file has
// only a name for. The names are llama.cpp's (src/llama-vocab.cpp); the parts are those of
// the models that a name was given to, with the NFC that llama.cpp leaves out.
struct GgufPreTokenizer {
    nlohmann::json normalizer;     // null: none
    nlohmann::json pre_tokenizer;  // null: none; else it ends with ByteLevel
    bool whole_words = false;      // as BpeModel::Options has it
    bool adds_bos = false;         // where the file does not say
    bool may_lack_merges = false;  // its files need no list of them
    // Special tokens before a text, whatever the file says, where it has them all.
    std::vector<std::string_view> before;
};

// "tokenizer.ggml.model", but "gemma4" where Ollama's converter calls Gemma 4's "llama".
std::string_view gguf_tokenizer_model(const GgufMetadata& metadata);

// Of a file whose model is "gpt2" or "gemma4". A family whose files of Ollama's converter
// say "default" has the one that its other files name. Throws Error (kUnsupported) with
// the file, the key, the name found and the names known.
GgufPreTokenizer read_gguf_pre_tokenizer(const GgufMetadata& metadata);

}  // namespace offstage::engine
