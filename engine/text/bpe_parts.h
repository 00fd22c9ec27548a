#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/text/added_tokens.h"
#include "engine/text/bpe_model.h"
#include "engine/text/pre_tokenizer.h"
#include "engine/text/text_normalizer.h"
#include "engine/text/token_decoder.h"
#include "engine/text/tokenizer_json.h"

namespace offstage::engine {

// The parts of a BpeTokenizer.
struct BpeParts {
    TextNormalizer normalizer;
    PreTokenizer pre_tokenizer;
    TokenDecoder decoder = TokenDecoder::byte_level();
    BpeModel::Options options;
    std::vector<std::string> tokens;  // by id, empty where there is none: bytes, or text where it is not byte-level
    std::vector<BpeModel::Merge> merges;
    std::vector<std::string> unlisted;  // as BpeModel has them
    std::vector<BpeModel::Alias> aliases;
    // Byte-level: tokens whose name is not written in its alphabet, so that no text
    // produces them.
    std::unordered_map<TokenId, std::string> other_names;
    std::vector<AddedToken> added;
    std::vector<std::string> template_before, template_after;  // special tokens that the file puts around a text
    std::vector<Message> notes;                                // as Tokenizer::notes()
};

// Fills tokens and other_names from the names of the tokens by id (UTF-8; empty: none).
// With options.byte_level the names stand for bytes.
void set_tokens(std::span<const std::string_view> names, BpeParts& parts);

// From a tokenizer.json with a BPE model. Ids must be below `vocab_size`. Takes the added
// tokens of `config` behind those of the file; all of them get the ids that Hugging Face's
// tokenizers library gives them, whatever the file says. Throws Error (kInvalidModel,
// kUnsupported) with `source` and the field.
BpeParts read_bpe_json(const TokenizerJson& file, TokenizerConfig& config, std::int64_t vocab_size,
                       const std::string& source);
// Whether its model is BPE; a model without a type is, too.
bool is_bpe(const TokenizerJson& file, const std::string& source);
// Throws the errors of read_bpe_json() about a file's head.
void check_bpe_json(const TokenizerJson& head, const std::string& source);

// From a tiktoken file: lines of a token in base64, a blank, and its rank, which is its
// id. `pattern`: cuts texts into words. Same errors.
BpeParts read_tiktoken(std::string_view bytes, SplitPattern pattern, std::int64_t vocab_size,
                       const std::string& source);
// Whether `bytes` begin like a tiktoken file.
bool is_tiktoken(std::string_view bytes);
// The pattern for DIR's tiktoken file, from tokenizer_config.json: "pat_str", or the one
// of a known "encoding_name" or "tokenizer_class". Throws Error with the file if it has
// neither.
SplitPattern read_tiktoken_pattern(const std::filesystem::path& directory);

}  // namespace offstage::engine
