#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/indices.h"
#include "engine/text/json_part.h"

namespace offstage::engine {

// A token that Hugging Face's tokenizer files add to, or mark in, the vocabulary of
// tokenizer.model.
struct AddedToken {
    TokenId id = -1;
    std::string content = {};
    bool special = false;      // a control token: without text
    bool lstrip = false;       // takes the white space before it
    bool rstrip = false;       // takes the white space after it
    bool single_word = false;  // only where a blank is on both sides
    bool normalized = false;   // tokenizer.json: searched for in normalized text
    bool literal = false;      // GGUF: its text is literal, also where other tokens are written as bytes
};

// An object with "content" and the flags above. Throws Error naming the field.
AddedToken read_added_token(const JsonPart& part);

// Added tokens of one file: each id and each text once, ids below the model's vocabulary.
class AddedTokens {
  public:
    explicit AddedTokens(std::int64_t vocab_size) : vocab_size_(vocab_size) {}

    // Throws Error naming the file and the field where the token was found.
    void add(AddedToken token, std::int64_t id, const std::string& field, const std::string& file);
    bool has(const std::string& content) const { return ids_.contains(content); }
    // Of a text that is there: it has this token's flags from now on, and stays special.
    void change(AddedToken token);
    bool empty() const { return by_id_.empty(); }
    std::vector<AddedToken> take();  // by rising id

  private:
    std::int64_t vocab_size_;
    std::map<TokenId, AddedToken> by_id_;
    std::map<std::string, TokenId> ids_;  // by content
};

struct TokenizerConfig {
    std::vector<AddedToken> added;  // by rising id, no id twice; of a content that is there twice the last counts
    bool added_have_flags = false;  // added_tokens.json has none
    // Nothing: not in the files. An empty string: explicitly none.
    std::optional<std::string> bos_token;
    std::optional<std::string> eos_token;
    std::optional<std::string> unk_token;
    // Every token that a field names as special: bos_token, pad_token,
    // additional_special_tokens and so on.
    std::set<std::string> named;
    // Only from GGUF files, by id: two tokens may have the same text there.
    TokenId bos_id = -1, eos_id = -1;
    std::vector<TokenId> ends;    // of a turn, besides eos_token
    std::vector<TokenId> silent;  // tokens that add nothing to a text, by rising id
    std::optional<bool> add_bos_token;
    std::optional<bool> add_eos_token;
    // True: each stretch of text between special tokens is encoded like a separate text,
    // with sentencepiece's dummy prefix if the model has one. False: only the beginning
    // of the whole text gets a prefix, and only with add_prefix_space
    // (https://github.com/huggingface/transformers/pull/24565).
    bool legacy = true;
    bool add_prefix_space = true;  // if legacy is true, the model's own add_dummy_prefix decides
};

// Reads DIR/tokenizer_config.json, and for missing fields DIR/special_tokens_map.json and
// DIR/added_tokens.json; each file may be missing. A field that is null counts as
// missing, except where a token is named. Throws Error naming the file and the field; ids
// must be below `vocab_size`.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& directory, std::int64_t vocab_size);

}  // namespace offstage::engine
