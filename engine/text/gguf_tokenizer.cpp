#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/files/files_messages.h"
#include "engine/json.h"
#include "engine/text/bpe_tokenizer.h"
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

void read_gguf_merges(const GgufMetadata& metadata, const GgufVocabulary& vocabulary, BpeParts& parts) {
    const auto merges = metadata.texts(kMergesKey);
    if (merges.empty()) metadata.reject(kMergesKey, messages::a_list_of_gguf_merges);
    parts.merges.reserve(merges.size());
    std::string together;
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const std::string_view text = merges[rank];
        const std::size_t space = text.find(' ', 1);  // a token may be a blank
        const std::string_view left = text.substr(0, space);
        const std::string_view right = space < text.size() ? text.substr(space + 1) : std::string_view();
        together = left;
        together += right;
        const BpeModel::Merge merge = {vocabulary.id_of(left), vocabulary.id_of(right), vocabulary.id_of(together),
                                       static_cast<std::uint32_t>(rank)};
        if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
            reject_item(metadata, kMergesKey, rank, in_quotes(text), messages::two_tokens_with_a_blank);
        }
        parts.merges.push_back(merge);
    }
}

// Of Gemma: characters, not bytes, and a sign in the place of blanks.
TokenDecoder gemma_decoder(const std::string& source) {
    const json steps = {{"type", "Sequence"},
                        {"decoders",
                         {{{"type", "Replace"}, {"pattern", {{"String", "\xE2\x96\x81"}}}, {"content", " "}},
                          {{"type", "ByteFallback"}},
                          {{"type", "Fuse"}}}}};
    return TokenDecoder(JsonPart(steps, source));
}

std::unique_ptr<Tokenizer> open_bpe(const GgufMetadata& metadata, std::int64_t vocab_size) {
    const GgufPreTokenizer pre = read_gguf_pre_tokenizer(metadata);
    GgufVocabulary vocabulary = read_gguf_vocabulary(metadata, vocab_size, {.adds_bos = pre.adds_bos});
    BpeParts parts;
    parts.normalizer = TextNormalizer(JsonPart(pre.normalizer, metadata.source()));
    parts.pre_tokenizer = PreTokenizer(JsonPart(pre.pre_tokenizer, metadata.source()));
    parts.options.byte_level = parts.pre_tokenizer.is_byte_level();
    parts.options.whole_words = pre.whole_words;
    if (!parts.options.byte_level) {
        parts.decoder = gemma_decoder(metadata.source());
        parts.options.byte_fallback = parts.options.fuse_unknown = true;
        parts.options.unknown = vocabulary.unknown;
        vocabulary.config.add_bos_token = true;  // some files say false, which is wrong
    }
    const auto is_there = [&](std::string_view name) { return vocabulary.id_of(name) >= 0; };
    if (!pre.before.empty() && std::all_of(pre.before.begin(), pre.before.end(), is_there)) {
        parts.template_before.assign(pre.before.begin(), pre.before.end());
        vocabulary.config.add_bos_token.reset();
    }
    read_gguf_merges(metadata, vocabulary, parts);
    set_tokens(vocabulary.names, parts);
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
    if (scores.size() != n_tokens) metadata.reject(kScoresKey, expected);
    for (std::size_t id = 0; id < n_tokens; ++id) {
        if (!std::isfinite(static_cast<float>(scores[id]))) {
            reject_item(metadata, kScoresKey, id, scores[id], messages::a_number);
        }
    }
    return scores;
}

// Phi-3 and Phi-3.5-MoE drop the white space behind their special tokens, which the file
// does not say.
void strip_after_special_tokens(const GgufMetadata& metadata, std::vector<AddedToken>& added) {
    const std::string_view architecture = metadata.text("general.architecture", "");
    if (architecture != "phi3" && architecture != "phimoe") return;
    for (AddedToken& token : added) {
        token.rstrip = token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
    }
}

std::unique_ptr<Tokenizer> open_sentencepiece(const GgufMetadata& metadata, std::int64_t vocab_size) {
    GgufVocabulary vocabulary =
        read_gguf_vocabulary(metadata, vocab_size, {.bos = 1, .eos = 2, .unknown = 0, .adds_bos = true});
    const std::size_t n = vocabulary.names.size();
    const std::vector<double> scores = read_scores(metadata, n);
    const auto n_bytes = std::count(vocabulary.types.begin(), vocabulary.types.end(), Type::kByte);
    if (n_bytes != 0 && n_bytes != 256) {
        metadata.reject(kTypesKey, messages::all_or_no_byte_tokens(n_bytes));
    }
    std::vector<std::string> placeholders(n);  // of tokens without a text
    std::vector<SentencePiece> pieces(n);
    for (std::size_t id = 0; id < n; ++id) {
        SentencePiece& piece = pieces[id];
        piece = {vocabulary.names[id], static_cast<float>(scores[id]),
                 static_cast<std::uint32_t>(vocabulary.types[id])};
        // The library wants one unknown piece, and each with a text.
        if (vocabulary.types[id] == Type::kUnknown) piece.type = static_cast<std::uint32_t>(Type::kControl);
        if (piece.text.empty()) {
            placeholders[id] = "[EMPTY_" + std::to_string(id) + "]";
            piece = {placeholders[id], 0, static_cast<std::uint32_t>(Type::kControl)};
        }
    }
    if (vocabulary.unknown < 0) metadata.reject("tokenizer.ggml.unknown_token_id", messages::the_id_of_a_token);
    pieces[static_cast<std::size_t>(vocabulary.unknown)].type = static_cast<std::uint32_t>(Type::kUnknown);
    vocabulary.config.unk_token = vocabulary.names[static_cast<std::size_t>(vocabulary.unknown)];
    // User-defined pieces of sentencepiece itself, whose score is 0, are parts of a text;
    // those added to it later, as llama.cpp's converters write them, are cut out of it.
    std::erase_if(vocabulary.config.added, [&](const AddedToken& token) {
        const auto id = static_cast<std::size_t>(token.id);
        return vocabulary.types[id] == Type::kUserDefined && scores[id] == 0;
    });
    strip_after_special_tokens(metadata, vocabulary.config.added);
    const bool add_prefix = metadata.flag("tokenizer.ggml.add_space_prefix", true);
    return std::make_unique<SentencePieceTokenizer>(write_sentencepiece(pieces, add_prefix), vocabulary.config,
                                                    vocab_size, metadata.source());
}

}  // namespace

bool Tokenizer::is_in(const GgufMetadata& metadata) {
    const std::string_view model = metadata.text(kModelKey, "none");
    return model != "none" && model != "no_vocab";
}

std::unique_ptr<Tokenizer> Tokenizer::open(const GgufMetadata& metadata, std::int64_t vocab_size) {
    if (!is_in(metadata)) {
        throw Error(ErrorKind::kNotFound, messages::no_tokenizer_in_metadata(metadata.source(), in_quotes(kModelKey)));
    }
    const std::string_view model = metadata.text(kModelKey);
    if (model == "llama") return open_sentencepiece(metadata, vocab_size);
    if (model == "gpt2" || model == "gemma4") return open_bpe(metadata, vocab_size);
    throw Error(ErrorKind::kUnsupported, messages::tokenizer_model_unsupported(metadata.source(), in_quotes(model)));
}

}  // namespace offstage::engine
