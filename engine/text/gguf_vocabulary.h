#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/files/gguf.h"
#include "engine/indices.h"
#include "engine/message.h"
#include "engine/text/added_tokens.h"

namespace offstage::engine {

// The tokens of a GGUF file's metadata and their special properties. Names point into the
// file.
struct GgufVocabulary {
    // "tokenizer.ggml.token_type"; without it every token is normal. Other values count
    // as undefined, and such a token adds nothing to a text, like an unused one.
    enum class Type : std::uint8_t { kUndefined, kNormal, kUnknown, kControl, kUserDefined, kUnused, kByte };

    std::vector<std::string_view> names;                    // by id, "tokenizer.ggml.tokens"; empty: no such token
    std::vector<Type> types;                                // by id
    std::unordered_map<std::string_view, TokenId> by_name;  // of tokens with the same text the last one
    TokenId unknown = -1;
    // Control and user-defined tokens as added ones, the ends of a text, and those of a
    // turn: eos, eot and eom, and, as in llama.cpp, every token with a text that known
    // models end with.
    TokenizerConfig config;
    std::vector<Message> notes;  // parts of the file that are read differently from their values, a sentence each

    TokenId id_of(std::string_view name) const;  // -1: none
};

// A tokenizer's defaults for missing keys.
struct GgufDefaults {
    TokenId bos = -1;
    TokenId eos = -1;
    TokenId unknown = -1;
    bool adds_bos = false;
};

// Problems that llama.cpp accepts with a warning are handled in the same way, with a
// note: duplicate texts, unknown types, ids of special tokens beyond the vocabulary.
// Throws Error (kInvalidModel) with the file, the key and the item, the actual and the
// expected value: no tokens or more than `vocab_size`, one that is not UTF-8, a list of
// types that is too short.
GgufVocabulary read_gguf_vocabulary(const GgufMetadata& metadata, std::int64_t vocab_size,
                                    const GgufDefaults& defaults);

// Throws: SOURCE: "KEY"[ITEM] is FOUND; expected EXPECTED.
[[noreturn]] void reject_item(const GgufMetadata& metadata, std::string_view key, std::size_t item,
                              const MessageArgument& found, const MessageArgument& expected);

}  // namespace offstage::engine
