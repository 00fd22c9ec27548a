#include "engine/text/gguf_vocabulary.h"

#include <algorithm>
#include <set>

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
constexpr std::string_view kEndTexts[] = {"<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>",
                                          "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>",
                                          "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>",
                                          "<turn|>", "<|tool_response>",
                                          "<\xEF\xBD\x9C"
                                          "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
                                          "[e~[",
                                          // between the files of a prompt that is filled
                                          // in
                                          "<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|fim_repo|>",
                                          "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>"};
constexpr std::string_view kEndKeys[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

void read_names(const GgufMetadata& metadata, std::int64_t vocab_size, GgufVocabulary& vocabulary) {
    const auto names = metadata.texts(kTokens);
    const std::int64_t most = std::min(vocab_size, kMaxGgufTokens);
    if (names.empty() || static_cast<std::int64_t>(names.size()) > most) {
        metadata.reject(kTokens, messages::a_list_of_token_texts(most));
    }
    vocabulary.names.assign(names.begin(), names.end());
    vocabulary.by_name.reserve(names.size());
    for (std::size_t id = 0; id < names.size(); ++id) {
        if (names[id].empty()) continue;
        if (find_invalid_utf8(names[id]) != std::string_view::npos) {
            reject_item(metadata, kTokens, id, in_quotes(names[id]), messages::text_in_utf8);
        }
        const auto [first, is_new] = vocabulary.by_name.emplace(names[id], static_cast<TokenId>(id));
        if (!is_new) {
            reject_item(metadata, kTokens, id, in_quotes(names[id]), messages::each_text_once(first->second));
        }
    }
}

void read_types(const GgufMetadata& metadata, GgufVocabulary& vocabulary) {
    vocabulary.types.assign(vocabulary.names.size(), Type::kNormal);
    if (!metadata.has(kTypes)) return;
    const auto types = metadata.integers(kTypes);
    if (types.size() != vocabulary.names.size()) {
        metadata.reject(kTypes, messages::a_list_for_each_token(vocabulary.names.size()));
    }
    for (std::size_t id = 0; id < types.size(); ++id) {
        if (types[id] < 1 || types[id] > 6) {
            reject_item(metadata, kTypes, id, std::to_string(types[id]), messages::a_token_type);
        }
        vocabulary.types[id] = static_cast<Type>(types[id]);
    }
}

TokenId read_id(const GgufMetadata& metadata, std::string_view key, const GgufVocabulary& vocabulary,
                TokenId otherwise) {
    const auto last = static_cast<std::int64_t>(vocabulary.names.size()) - 1;
    if (!metadata.has(key)) return otherwise <= last ? otherwise : TokenId{-1};
    return static_cast<TokenId>(metadata.integer(key, 0, last));
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
    ends.erase(-1);
    return ends;
}

// Control tokens, and unknown ones, which some files fill their vocabulary up with, have
// no text of their own.
void read_added(GgufVocabulary& vocabulary) {
    for (std::size_t id = 0; id < vocabulary.names.size(); ++id) {
        const Type type = vocabulary.types[id];
        const bool is_special = type == Type::kControl || type == Type::kUnknown;
        if ((!is_special && type != Type::kUserDefined) || vocabulary.names[id].empty()) continue;
        vocabulary.config.added.push_back(
            {.id = static_cast<TokenId>(id), .content = std::string(vocabulary.names[id]), .special = is_special});
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
    const TokenId bos = read_id(metadata, "tokenizer.ggml.bos_token_id", vocabulary, defaults.bos);
    const TokenId eos = read_id(metadata, "tokenizer.ggml.eos_token_id", vocabulary, defaults.eos);
    vocabulary.unknown = read_id(metadata, "tokenizer.ggml.unknown_token_id", vocabulary, defaults.unknown);
    TokenizerConfig& config = vocabulary.config;
    const auto name_of = [&](TokenId id) {
        return id < 0 ? std::string() : std::string(vocabulary.names[static_cast<std::size_t>(id)]);
    };
    config.bos_token = name_of(bos);
    config.eos_token = name_of(eos);
    for (const TokenId id : {bos, eos}) {
        if (id >= 0) config.named.insert(name_of(id));
    }
    config.named.erase("");
    config.add_bos_token = metadata.flag("tokenizer.ggml.add_bos_token", defaults.adds_bos);
    config.add_eos_token = metadata.flag("tokenizer.ggml.add_eos_token", false);
    const std::set<TokenId> ends = find_ends(metadata, eos, vocabulary);
    config.ends.assign(ends.begin(), ends.end());
    read_added(vocabulary);
    return vocabulary;
}

}  // namespace offstage::engine
