#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "engine/files/gguf.h"

namespace offstage::engine {

// The meaning of "tokenizer.ggml.pre": parts of a tokenizer.json that a GGUF file only
// names. The names are llama.cpp's (src/llama-vocab.cpp); the parts are those of the
// models that a name was given to, including the NFC that llama.cpp leaves out.
struct GgufPreTokenizer {
    nlohmann::json normalizer;     // null: none
    nlohmann::json pre_tokenizer;  // null: none; else it ends with ByteLevel
    bool whole_words = false;      // as BpeModel::Options has it
    bool adds_bos = false;         // if the file has no key for it
    bool may_lack_merges = false;  // its files need no list of them
    bool is_assumed = false;       // the file names none, and its architecture has no other than "default"
    // Special tokens before a text, regardless of the file, if its vocabulary has them
    // all.
    std::vector<std::string_view> before;
};

// "tokenizer.ggml.model", but "gemma4" where Ollama's converter calls Gemma 4's "llama".
std::string_view gguf_tokenizer_model(const GgufMetadata& metadata);

// For a file whose model is "gpt2" or "gemma4". If Ollama's converter wrote "default" for
// a family, the name in the family's other files counts. Throws Error (kUnsupported) with
// the file, the key, the actual and the known names.
GgufPreTokenizer read_gguf_pre_tokenizer(const GgufMetadata& metadata);

}  // namespace offstage::engine
