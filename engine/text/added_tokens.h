#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/indices.h"

namespace offstage::engine {

// A token that Hugging Face's tokenizer files add to, or mark in, the vocabulary of tokenizer.model.
struct AddedToken {
    TokenId id = -1;
    std::string content;
    bool special = false;  // a control token: no text of its own
    bool lstrip = false;   // takes the white space before it
    bool rstrip = false;   // takes the white space after it
};

struct TokenizerConfig {
    std::vector<AddedToken> added;  // by rising id, no id and no content twice
    // Nothing: the files do not say. An empty string: they say that there is none.
    std::optional<std::string> bos_token;
    std::optional<std::string> eos_token;
    std::optional<bool> add_bos_token;
};

// DIR/tokenizer_config.json, and where it is silent DIR/special_tokens_map.json and DIR/added_tokens.json; none of them
// need be there. Throws Error naming the file and the field; ids must be below `vocab_size`.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& directory, std::int64_t vocab_size);

}  // namespace offstage::engine
