#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/json.h"
#include "engine/text/bpe_tokenizer.h"
#include "engine/text/byte_level.h"
#include "engine/text/gguf_pre_tokenizer.h"
#include "engine/text/gguf_vocabulary.h"
#include "engine/text/sentencepiece_tokenizer.h"
#include "engine/text/sentencepiece_writer.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

using nlohmann::json;
using Type = GgufVocabulary::Type;

constexpr std::string_view kModelKey = "tokenizer.ggml.model";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kScoresKey = "tokenizer.ggml.scores";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";

// ---------------------------------------------------------------- byte pair encoding

// The texts of a merge and its result; a token may be a blank.
struct MergeTexts {
    explicit MergeTexts(std::string_view text) {
        const std::size_t space = text.find(' ', 1);
        left = text.substr(0, space);
        if (space < text.size()) right = text.substr(space + 1);
        together = std::string(left) + std::string(right);
    }
    std::string_view left, right;
    std::string together;
};

// As llama.cpp: a merge's result need not be a token, and if a merge is listed twice the
// first one counts.
void read_gguf_merges(std::span<const std::string_view> merges, GgufVocabulary& vocabulary, BpeParts& parts) {
    parts.merges.reserve(merges.size());
    std::unordered_map<std::string, TokenId> unlisted;
    std::vector<std::size_t> others;  // those with a text that is no token
    const auto id_of = [&](std::string_view text) {
        const TokenId id = vocabulary.id_of(text);
        const auto found = id < 0 ? unlisted.find(std::string(text)) : unlisted.end();
        return found == unlisted.end() ? id : found->second;
    };
    const auto add = [&](std::size_t rank) {
        const MergeTexts texts(merges[rank]);
        const BpeModel::Merge merge = {id_of(texts.left), id_of(texts.right), id_of(texts.together),
                                       static_cast<std::uint32_t>(rank)};
        if (merge.left < 0 || merge.right < 0 || merge.merged < 0) return false;
        parts.merges.push_back(merge);
        return true;
    };
    for (std::size_t rank = merges.size(); rank-- > 0;) {
        if (!add(rank)) others.push_back(rank);
    }
    if (others.empty()) return;
    const auto n = static_cast<TokenId>(vocabulary.names.size());
    for (const std::size_t rank : others) {
        MergeTexts texts(merges[rank]);
        if (texts.left.empty() || texts.right.empty() || id_of(texts.together) >= 0) continue;
        parts.unlisted.push_back(parts.options.byte_level ? byte_level_bytes(texts.together).value_or(texts.together)
                                                          : texts.together);
        unlisted.emplace(std::move(texts.together), n + static_cast<TokenId>(unlisted.size()));
    }
    for (const std::size_t rank : others) static_cast<void>(add(rank));
    vocabulary.notes.push_back(
        messages::gguf_merges_no_token(others.size(), others.back(), in_quotes(merges[others.back()])));
}

// A vocabulary of the other kind would give the wrong tokens, or none.
void check_blank(const GgufMetadata& metadata, const GgufVocabulary& vocabulary, bool byte_level) {
    constexpr std::string_view kByteBlank = "\xC4\xA0";
    constexpr std::string_view kSign = "\xE2\x96\x81";
    const std::string_view other = byte_level ? kSign : kByteBlank;
    if (vocabulary.id_of(byte_level ? kByteBlank : kSign) >= 0 || vocabulary.id_of(other) < 0) return;
    metadata.reject(kModelKey, messages::a_model_with_blank(byte_level ? "gemma4, llama" : "gpt2", in_quotes(other)));
}

// Gemma: characters, not bytes, and a sign in the place of blanks.
TokenDecoder gemma_decoder(const std::string& source) {
    const json steps = {{"type", "Sequence"},
                        {"decoders",
                         {{{"type", "Replace"}, {"pattern", {{"String", "\xE2\x96\x81"}}}, {"content", " "}},
                          {{"type", "ByteFallback"}},
                          {{"type", "Fuse"}}}}};
    return TokenDecoder(JsonPart(steps, source));
}

struct GgufBpe {
    GgufPreTokenizer pre;
    GgufVocabulary vocabulary;
    std::span<const std::string_view> merges;
};

GgufBpe read_bpe(const GgufMetadata& metadata, std::int64_t vocab_size) {
    GgufBpe file;
    file.pre = read_gguf_pre_tokenizer(metadata);
    file.vocabulary = read_gguf_vocabulary(metadata, vocab_size, {.adds_bos = file.pre.adds_bos});
    auto& notes = file.vocabulary.notes;
    if (file.pre.is_assumed) notes.insert(notes.begin(), messages::gguf_pre_missing);
    check_blank(metadata, file.vocabulary, !file.pre.pre_tokenizer.is_null());
    // A list may be empty; only some files may be without one.
    if (!metadata.has(kMergesKey) && !file.pre.may_lack_merges) metadata.reject(kMergesKey, messages::a_list_of_texts);
    file.merges = metadata.texts(kMergesKey);
    return file;
}

std::unique_ptr<Tokenizer> open_bpe(const GgufMetadata& metadata, std::int64_t vocab_size,
                                    std::vector<Message>& notes) {
    GgufBpe file = read_bpe(metadata, vocab_size);
    const GgufPreTokenizer& pre = file.pre;
    GgufVocabulary& vocabulary = file.vocabulary;
    BpeParts parts;
    parts.normalizer = TextNormalizer(JsonPart(pre.normalizer, metadata.source()));
    parts.pre_tokenizer = PreTokenizer(JsonPart(pre.pre_tokenizer, metadata.source()));
    parts.options.byte_level = parts.pre_tokenizer.is_byte_level();
    parts.options.whole_words = pre.whole_words;
    if (!parts.options.byte_level) {
        parts.decoder = gemma_decoder(metadata.source());
        parts.options.byte_fallback = parts.options.fuse_unknown = true;
        parts.options.unknown = vocabulary.unknown;
        vocabulary.config.add_bos_token = true;  // some files wrongly have false
    }
    const auto is_there = [&](std::string_view name) { return vocabulary.id_of(name) >= 0; };
    if (!pre.before.empty() && std::all_of(pre.before.begin(), pre.before.end(), is_there)) {
        parts.template_before.assign(pre.before.begin(), pre.before.end());
        vocabulary.config.add_bos_token.reset();
    }
    read_gguf_merges(file.merges, vocabulary, parts);
    set_tokens(vocabulary.names, parts);
    notes = std::move(vocabulary.notes);
    return std::make_unique<BpeTokenizer>(std::move(parts), vocabulary.config, vocab_size, metadata.source());
}

// ---------------------------------------------------------------- sentencepiece

std::vector<double> read_scores(const GgufMetadata& metadata, std::size_t n_tokens) {
    const Message expected = messages::a_number_for_each_token(n_tokens);
    const GgufValue* const value = metadata.find(kScoresKey);
    std::vector<double> scores;
    if (value != nullptr && std::holds_alternative<std::vector<std::int64_t>>(*value)) {
        const auto integers = metadata.integers(kScoresKey);
        scores.assign(integers.begin(), integers.end());
    } else {
        const auto numbers = metadata.numbers(kScoresKey);
        scores.assign(numbers.begin(), numbers.end());
    }
    if (scores.size() < n_tokens) metadata.reject(kScoresKey, expected);
    for (std::size_t id = 0; id < n_tokens; ++id) {
        if (!std::isfinite(static_cast<float>(scores[id]))) {
            reject_item(metadata, kScoresKey, id, scores[id], messages::a_number);
        }
    }
    return scores;
}

// Phi-3 and Phi-3.5-MoE drop the white space after their special tokens; the file has no
// field for it.
void strip_after_special_tokens(const GgufMetadata& metadata, std::vector<AddedToken>& added) {
    const std::string_view architecture = metadata.text("general.architecture", "");
    if (architecture != "phi3" && architecture != "phimoe") return;
    for (AddedToken& token : added) {
        token.rstrip = token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
    }
}

std::unique_ptr<Tokenizer> open_sentencepiece(const GgufMetadata& metadata, std::int64_t vocab_size,
                                              std::vector<Message>& notes) {
    const std::string_view pre = metadata.text("tokenizer.ggml.pre", "default");
    if (pre != "default" && metadata.has(kMergesKey)) {
        metadata.reject("tokenizer.ggml.pre", messages::default_pre_of_llama(in_quotes(pre)));
    }
    GgufVocabulary vocabulary =
        read_gguf_vocabulary(metadata, vocab_size, {.bos = 1, .eos = 2, .unknown = 0, .adds_bos = true});
    const std::size_t n = vocabulary.names.size();
    const std::vector<double> scores = read_scores(metadata, n);
    std::set<std::string_view> bytes;
    for (std::size_t id = 0; id < n; ++id) {
        if (vocabulary.types[id] == Type::kByte) bytes.insert(vocabulary.names[id]);
    }
    const std::size_t n_bytes = bytes.size();
    if (n_bytes != 0 && n_bytes != 256) {
        metadata.reject(kTypesKey, messages::all_or_no_byte_tokens(n_bytes));
    }
    check_blank(metadata, vocabulary, false);
    std::vector<std::string> placeholders(n);  // for tokens without a text, or with a text that another one has
    std::map<TokenId, std::string> names;
    std::vector<SentencePiece> pieces(n);
    for (std::size_t id = 0; id < n; ++id) {
        SentencePiece& piece = pieces[id];
        piece = {vocabulary.names[id], static_cast<float>(scores[id]),
                 static_cast<std::uint32_t>(vocabulary.types[id])};
        // The library needs one unknown piece, and each with a text.
        if (vocabulary.types[id] == Type::kUnknown) piece.type = static_cast<std::uint32_t>(Type::kControl);
        if (piece.text.empty()) {
            placeholders[id] = "[EMPTY_" + std::to_string(id) + "]";
            piece = {placeholders[id], 0, static_cast<std::uint32_t>(Type::kControl)};
        } else if (vocabulary.id_of(piece.text) != static_cast<TokenId>(id)) {
            placeholders[id] = "[AGAIN_" + std::to_string(id) + "]";
            names.emplace(static_cast<TokenId>(id), piece.text);
            piece.text = placeholders[id];
            if (piece.type != static_cast<std::uint32_t>(Type::kControl)) {
                piece.type = static_cast<std::uint32_t>(Type::kUnused);
            }
        }
        if (vocabulary.types[id] == Type::kUndefined) piece.type = static_cast<std::uint32_t>(Type::kNormal);
        // As llama.cpp: the last token with a byte's text stands for the byte.
        if (placeholders[id].empty() && bytes.contains(piece.text)) {
            piece.type = static_cast<std::uint32_t>(Type::kByte);
        }
    }
    if (vocabulary.unknown < 0) metadata.reject("tokenizer.ggml.unknown_token_id", messages::the_id_of_a_token);
    pieces[static_cast<std::size_t>(vocabulary.unknown)].type = static_cast<std::uint32_t>(Type::kUnknown);
    vocabulary.config.unk_token = vocabulary.names[static_cast<std::size_t>(vocabulary.unknown)];
    // Sentencepiece's own user-defined pieces, whose score is 0, are parts of a text;
    // pieces added later, as llama.cpp's converters write them, are cut out of it.
    std::erase_if(vocabulary.config.added, [&](const AddedToken& token) {
        const auto id = static_cast<std::size_t>(token.id);
        return vocabulary.types[id] == Type::kUserDefined && scores[id] == 0 && !token.special;
    });
    strip_after_special_tokens(metadata, vocabulary.config.added);
    const bool add_prefix = metadata.flag("tokenizer.ggml.add_space_prefix", true);
    notes = std::move(vocabulary.notes);
    return std::make_unique<SentencePieceTokenizer>(write_sentencepiece(pieces, add_prefix), vocabulary.config,
                                                    vocab_size, metadata.source(), names);
}

}  // namespace

bool Tokenizer::is_in(const GgufMetadata& metadata) {
    const std::string_view model = metadata.text(kModelKey, "none");
    return model != "none" && model != "no_vocab";
}

void Tokenizer::check(const GgufMetadata& metadata, std::int64_t vocab_size) {
    if (!is_in(metadata)) return;
    const std::string_view model = gguf_tokenizer_model(metadata);
    if (model == "gpt2" || model == "gemma4") {
        static_cast<void>(read_bpe(metadata, vocab_size));
    } else {
        static_cast<void>(open(metadata, vocab_size));
    }
}

std::unique_ptr<Tokenizer> Tokenizer::open(const GgufMetadata& metadata, std::int64_t vocab_size) {
    if (!is_in(metadata)) {
        throw Error(ErrorKind::kNotFound, messages::no_tokenizer_in_metadata(metadata.source(), in_quotes(kModelKey)));
    }
    const std::string_view model = gguf_tokenizer_model(metadata);
    std::vector<Message> notes;
    std::unique_ptr<Tokenizer> tokenizer;
    if (model == "llama") tokenizer = open_sentencepiece(metadata, vocab_size, notes);
    if (model == "gpt2" || model == "gemma4") tokenizer = open_bpe(metadata, vocab_size, notes);
    if (tokenizer == nullptr) {
        throw Error(ErrorKind::kUnsupported,
                    messages::tokenizer_model_unsupported(metadata.source(), in_quotes(model)));
    }
    tokenizer->notes_ = std::move(notes);
    return tokenizer;
}

}  // namespace offstage::engine
