#include "engine/text/gguf_vocabulary.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

using Type = GgufVocabulary::Type;

constexpr std::string_view kTokens = "tokenizer.ggml.tokens";
constexpr std::string_view kTypes = "tokenizer.ggml.token_type";
constexpr std::int64_t kMaxGgufTokens = 1 << 22;

constexpr std::string_view kWideBar = "\xEF\xBD\x9C";  // U+FF5C

// Texts that end a turn, or a text, in some family; llama.cpp's list.
constexpr std::string_view kEndTexts[] = {
    "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>",
    "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>",
    "<eos>", "<turn|>", "<|tool_response>", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>", "[e~[",
    // between the files of a prompt that is filled in
    "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>",
    "<reponame>", "<|file_sep|>"};
constexpr std::string_view kEndKeys[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
constexpr std::string_view kEndsKey = "tokenizer.ggml.eos_token_ids";  // Ollama's: all that generation_config.json has

void read_names(const GgufMetadata& metadata, std::int64_t vocab_size, GgufVocabulary& vocabulary) {
    const auto names = metadata.texts(kTokens);
    const std::int64_t most = std::min(vocab_size, kMaxGgufTokens);
    if (names.empty() || static_cast<std::int64_t>(names.size()) > most) {
        metadata.reject(kTokens, messages::a_list_of_token_texts(most));
    }
    vocabulary.names.assign(names.begin(), names.end());
    vocabulary.by_name.reserve(names.size());
    std::size_t n_alike = 0;
    std::pair<TokenId, TokenId> first_alike;
    for (std::size_t id = 0; id < names.size(); ++id) {
        if (names[id].empty()) continue;
        if (find_invalid_utf8(names[id]) != std::string_view::npos) {
            reject_item(metadata, kTokens, id, in_quotes(names[id]), messages::text_in_utf8);
        }
        const auto [taken, is_new] = vocabulary.by_name.emplace(names[id], static_cast<TokenId>(id));
        if (is_new) continue;
        if (n_alike++ == 0) first_alike = {taken->second, static_cast<TokenId>(id)};
        taken->second = static_cast<TokenId>(id);
    }
    if (n_alike == 0) return;
    const auto [first, second] = first_alike;
    vocabulary.notes.push_back(
        messages::gguf_texts_twice(n_alike, first, second, in_quotes(names[static_cast<std::size_t>(first)])));
}

void read_types(const GgufMetadata& metadata, GgufVocabulary& vocabulary) {
    vocabulary.types.assign(vocabulary.names.size(), Type::kNormal);
    if (!metadata.has(kTypes)) return;
    const auto types = metadata.integers(kTypes);
    if (types.size() < vocabulary.names.size()) {
        metadata.reject(kTypes, messages::a_list_for_each_token(vocabulary.names.size()));
    }
    std::vector<std::size_t> undefined;
    for (std::size_t id = 0; id < vocabulary.names.size(); ++id) {
        const bool is_known = types[id] >= 1 && types[id] <= 6;
        vocabulary.types[id] = is_known ? static_cast<Type>(types[id]) : Type::kUndefined;
        if (!is_known) undefined.push_back(id);
        if (!is_known || vocabulary.types[id] == Type::kUnused) {
            vocabulary.config.silent.push_back(static_cast<TokenId>(id));
        }
    }
    if (undefined.empty()) return;
    vocabulary.notes.push_back(messages::gguf_types_undefined(undefined.size(), undefined.front(),
                                                              in_quotes(vocabulary.names[undefined.front()])));
}

TokenId read_id(const GgufMetadata& metadata, std::string_view key, GgufVocabulary& vocabulary, TokenId otherwise) {
    const auto n = static_cast<std::int64_t>(vocabulary.names.size());
    if (otherwise >= n) otherwise = -1;
    if (!metadata.has(key)) return otherwise;
    const std::int64_t id =
        metadata.integer(key, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
    if (id >= 0 && id < n) return static_cast<TokenId>(id);
    // Minus one, also in 32 bits, means none.
    const bool is_none = id < 0 || id == std::numeric_limits<std::uint32_t>::max();
    if (!is_none) vocabulary.notes.push_back(messages::gguf_id_beyond(in_quotes(key), id, n));
    return is_none ? TokenId{-1} : otherwise;
}

std::set<TokenId> find_ends(const GgufMetadata& metadata, TokenId eos, GgufVocabulary& vocabulary) {
    std::set<TokenId> ends;
    for (const std::string_view text : kEndTexts) {
        const TokenId id = vocabulary.id_of(text);
        // Some files have their markers as normal tokens. "</s>" and the like may be just
        // a tag that byte pairs make, as in Qwen's vocabulary.
        const bool is_marker = text.find('|') != text.npos || text.find(kWideBar) != text.npos;
        if (id >= 0 && (is_marker || vocabulary.types[static_cast<std::size_t>(id)] != Type::kNormal)) ends.insert(id);
    }
    const auto has = [&](std::string_view text) { return vocabulary.id_of(text) >= 0; };
    // In the harmony format, and in Solar's, "<|end|>" ends a part of an answer only.
    const bool calls = has("<|call|>") || has("<|calls|>");
    if (calls && (has("<|return|>") || has("<|flush|>"))) ends.erase(vocabulary.id_of("<|end|>"));
    if (has("<|tool_response>")) ends.erase(vocabulary.id_of("</s>"));  // Gemma's: a tag of HTML
    for (const TokenId id : ends) vocabulary.types[static_cast<std::size_t>(id)] = Type::kControl;
    ends.insert(eos);
    for (const std::string_view key : kEndKeys) ends.insert(read_id(metadata, key, vocabulary, -1));
    if (metadata.has(kEndsKey)) {
        const auto n = static_cast<std::int64_t>(vocabulary.names.size());
        for (const std::int64_t id : metadata.integers(kEndsKey)) {
            if (id >= 0 && id < n) ends.insert(static_cast<TokenId>(id));
        }
    }
    ends.erase(-1);
    return ends;
}

// Control tokens have no text, nor have unknown ones, with which some files fill their
// vocabulary up.
void read_added(GgufVocabulary& vocabulary) {
    TokenizerConfig& config = vocabulary.config;
    for (std::size_t i = 0; i < vocabulary.names.size(); ++i) {
        const Type type = vocabulary.types[i];
        const auto id = static_cast<TokenId>(i);
        const bool is_special =
            type == Type::kControl || type == Type::kUnknown || id == config.bos_id || id == config.eos_id;
        if ((!is_special && type != Type::kUserDefined) || vocabulary.names[i].empty()) continue;
        config.added.push_back(
            {.id = id, .content = std::string(vocabulary.names[i]), .special = is_special, .literal = true});
    }
}

}  // namespace

void reject_item(const GgufMetadata& metadata, std::string_view key, std::size_t item, const MessageArgument& found,
                 const MessageArgument& expected) {
    throw Error(ErrorKind::kInvalidModel,
                messages::item_rejected(metadata.source(), in_quotes(key), item, found, expected));
}

TokenId GgufVocabulary::id_of(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? TokenId{-1} : found->second;
}

GgufVocabulary read_gguf_vocabulary(const GgufMetadata& metadata, std::int64_t vocab_size,
                                    const GgufDefaults& defaults) {
    GgufVocabulary vocabulary;
    read_names(metadata, vocab_size, vocabulary);
    read_types(metadata, vocabulary);
    TokenizerConfig& config = vocabulary.config;
    config.bos_id = read_id(metadata, "tokenizer.ggml.bos_token_id", vocabulary, defaults.bos);
    config.eos_id = read_id(metadata, "tokenizer.ggml.eos_token_id", vocabulary, defaults.eos);
    vocabulary.unknown = read_id(metadata, "tokenizer.ggml.unknown_token_id", vocabulary, defaults.unknown);
    config.bos_token = config.eos_token = "";  // by id, not by name
    config.add_bos_token = metadata.flag("tokenizer.ggml.add_bos_token", defaults.adds_bos);
    config.add_eos_token = metadata.flag("tokenizer.ggml.add_eos_token", false);
    const std::set<TokenId> ends = find_ends(metadata, config.eos_id, vocabulary);
    config.ends.assign(ends.begin(), ends.end());
    read_added(vocabulary);
    return vocabulary;
}

}  // namespace offstage::engine
