#include "engine/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <sentencepiece_processor.h>
#include <utility>

#include "engine/error.h"
#include "engine/text/sentencepiece_file.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581 stands for a space in pieces
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::size_t kMaxTextBytes = 16u << 20;
constexpr std::int64_t kMaxVocabulary = 1 << 24;

void check_text(std::string_view text) {
    if (text.size() > kMaxTextBytes) {
        throw Error(ErrorKind::kInvalidInput,
                    "The text is longer than " + std::to_string(kMaxTextBytes >> 20) + " MiB.");
    }
    const std::size_t bad = find_invalid_utf8(text);
    if (bad != std::string_view::npos) {
        throw Error(ErrorKind::kInvalidInput, "The text is not valid UTF-8 at byte " + std::to_string(bad) + ".");
    }
}

std::string with_spaces(std::string_view piece) {
    std::string text;
    for (std::size_t at = 0; at < piece.size();) {
        if (piece.substr(at).starts_with(kSpaceSymbol)) {
            text += ' ';
            at += kSpaceSymbol.size();
        } else {
            text += piece[at++];
        }
    }
    return text;
}

// "<0x0A>"; the library has already refused byte pieces of another form.
char byte_of(const std::string& piece) {
    unsigned value = 0;
    if (piece.size() == 6) std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
    return static_cast<char>(static_cast<unsigned char>(value));
}

// Length of the white space character that begins `text`, or 0: Unicode's White_Space, as Hugging Face's strip flags
// use it.
std::size_t white_space_at(std::string_view text) {
    if (text.empty()) return 0;
    const auto c = static_cast<unsigned char>(text[0]);
    if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
    for (const std::string_view two : {"\xC2\x85", "\xC2\xA0"}) {
        if (text.starts_with(two)) return 2;
    }
    if (text.size() < 3) return 0;
    const std::string_view three = text.substr(0, 3);
    if (three.starts_with("\xE2\x80")) {
        const auto last = static_cast<unsigned char>(three[2]);
        return (last >= 0x80 && last <= 0x8A) || last == 0xA8 || last == 0xA9 || last == 0xAF ? 3 : 0;
    }
    return three == "\xE1\x9A\x80" || three == "\xE2\x81\x9F" || three == "\xE3\x80\x80" ? 3 : 0;
}

std::string_view without_white_end(std::string_view text) {
    while (!text.empty()) {
        std::size_t n = 1;  // bytes of the last character
        while (n < text.size() && (static_cast<unsigned char>(text[text.size() - n]) & 0xC0) == 0x80) ++n;
        if (white_space_at(text.substr(text.size() - n)) != n) break;
        text.remove_suffix(n);
    }
    return text;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string_view model, const TokenizerConfig& config,
                                               std::int64_t vocab_size, const std::string& source)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
    const SentencePieceFile file = check_sentencepiece(model, std::min(vocab_size, kMaxVocabulary), source);
    try {
        const auto status = processor_->LoadFromSerializedProto(file.serialized);
        if (!status.ok()) {
            throw Error(ErrorKind::kInvalidModel, source + " is no valid sentencepiece model.", status.ToString());
        }
    } catch (const Error&) {
        throw;
    } catch (const std::exception& e) {
        throw Error(ErrorKind::kInvalidModel, source + " is no valid sentencepiece model.", e.what());
    }
    strips_first_space_ = file.add_dummy_prefix || file.remove_extra_whitespaces;
    strips_leading_spaces_ = file.remove_extra_whitespaces;

    const auto n_pieces = static_cast<std::size_t>(processor_->GetPieceSize());
    const std::size_t n_added = config.added.empty() ? 0 : static_cast<std::size_t>(config.added.back().id) + 1;
    if (n_added > static_cast<std::size_t>(kMaxVocabulary)) {
        throw Error(ErrorKind::kInvalidModel, source + ": an added token's id is larger than any vocabulary.");
    }
    tokens_.resize(std::max(n_pieces, n_added));
    for (std::size_t i = 0; i < n_pieces; ++i) {
        const int id = static_cast<int>(i);
        Token& token = tokens_[i];
        token.name = processor_->IdToPiece(id);
        if (processor_->IsControl(id)) {
            token.kind = Kind::kControl;
            add_special(token.name, {id, false, false});
        } else if (processor_->IsUnknown(id)) {
            token.kind = Kind::kUnknown;
            token.bytes = file.unk_surface;
        } else if (processor_->IsByte(id)) {
            token.kind = Kind::kByte;
            token.bytes = byte_of(token.name);
        } else {
            token.kind = Kind::kPiece;
            token.bytes = with_spaces(token.name);
        }
    }
    for (const AddedToken& added : config.added) {
        Token& token = tokens_[static_cast<std::size_t>(added.id)];
        const bool is_piece = token.kind == Kind::kPiece && token.name == added.content;
        // A piece that is merely listed again is found by sentencepiece itself.
        if (is_piece && !added.special) continue;
        add_special(added.content, {added.id, added.lstrip, added.rstrip});
        if (token.kind == Kind::kUnknown && token.name == added.content) continue;
        token.name = added.content;
        token.kind = added.special || token.kind == Kind::kControl ? Kind::kControl : Kind::kAdded;
        token.bytes = token.kind == Kind::kControl ? std::string() : added.content;
    }

    bos_ = config.bos_token ? named_token(*config.bos_token, "bos_token", source) : processor_->bos_id();
    eos_ = config.eos_token ? named_token(*config.eos_token, "eos_token", source) : processor_->eos_id();
    for (const TokenId id : {bos_, eos_}) {
        if (id < 0) continue;
        Token& token = tokens_[static_cast<std::size_t>(id)];
        token.kind = Kind::kControl;
        token.bytes.clear();
    }
    adds_bos_ = bos_ >= 0 && config.add_bos_token.value_or(true);
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

void SentencePieceTokenizer::add_special(const std::string& text, const Special& special) {
    specials_.insert_or_assign(text, special);
    auto& lengths = special_lengths_[static_cast<unsigned char>(text.front())];
    const auto at = std::lower_bound(lengths.begin(), lengths.end(), text.size(), std::greater<>());
    if (at == lengths.end() || *at != text.size()) lengths.insert(at, text.size());
}

TokenId SentencePieceTokenizer::named_token(const std::string& text, const char* field,
                                            const std::string& source) const {
    if (text.empty()) return -1;
    const TokenId special = special_token(text);
    if (special >= 0) return special;
    const int piece = processor_->PieceToId(text);
    if (piece >= 0 && processor_->IdToPiece(piece) == text) return piece;
    throw Error(ErrorKind::kInvalidModel, std::string("The tokenizer's ") + field + " \"" + text +
                                              "\" is neither a piece of " + source + " nor an added token.");
}

std::vector<TokenId> SentencePieceTokenizer::encode(std::string_view utf8) const {
    check_text(utf8);
    std::vector<TokenId> ids;
    append_plain(utf8, ids);
    return ids;
}

void SentencePieceTokenizer::append_plain(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    std::vector<int> found;
    try {
        const auto status = processor_->Encode(text, &found);
        if (!status.ok()) throw Error(ErrorKind::kInvalidInput, "The text cannot be tokenized.", status.ToString());
    } catch (const Error&) {
        throw;
    } catch (const std::exception& e) {
        throw Error(ErrorKind::kInvalidInput, "The text cannot be tokenized.", e.what());
    }
    ids.insert(ids.end(), found.begin(), found.end());
}

SentencePieceTokenizer::Match SentencePieceTokenizer::match_at(std::string_view text, std::size_t at) const {
    for (const std::size_t n : special_lengths_[static_cast<unsigned char>(text[at])]) {
        if (n > text.size() - at) continue;
        const auto it = specials_.find(text.substr(at, n));
        if (it != specials_.end()) return {n, it->second};
    }
    return {};
}

std::vector<TokenId> SentencePieceTokenizer::encode_with_special(std::string_view utf8) const {
    check_text(utf8);
    std::vector<TokenId> ids;
    std::size_t stretch = 0;  // where the text not yet encoded begins
    for (std::size_t at = 0; at < utf8.size();) {
        const Match match = match_at(utf8, at);
        if (match.n_bytes == 0) {
            ++at;
            continue;
        }
        std::string_view before = utf8.substr(stretch, at - stretch);
        if (match.special.lstrip) before = without_white_end(before);
        append_plain(before, ids);
        ids.push_back(match.special.id);
        at += match.n_bytes;
        while (match.special.rstrip) {
            const std::size_t n = white_space_at(utf8.substr(at));
            if (n == 0) break;
            at += n;
        }
        stretch = at;
    }
    append_plain(utf8.substr(stretch), ids);
    return ids;
}

// The library's own Decode() knows no added tokens; this is the same walk (release 0.1.97), with them.
std::string SentencePieceTokenizer::decode(std::span<const TokenId> tokens) const {
    std::string text;
    std::string bytes;  // byte pieces in a row: UTF-8 is looked for across them
    const auto flush_bytes = [&] {
        std::string_view rest = bytes;
        while (!rest.empty()) {
            const std::size_t bad = std::min(find_invalid_utf8(rest), rest.size());
            text += rest.substr(0, bad);
            rest.remove_prefix(bad);
            if (rest.empty()) break;
            text += kReplacement;
            rest.remove_prefix(1);
        }
        bytes.clear();
    };
    bool at_start = true;
    bool took_space = false;
    for (const TokenId id : tokens) {
        if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size()) continue;
        const Token& token = tokens_[static_cast<std::size_t>(id)];
        if (token.kind == Kind::kByte) {
            bytes += token.bytes;
            continue;
        }
        flush_bytes();
        if (took_space || !text.empty()) at_start = false;
        took_space = false;
        std::string_view piece = token.bytes;
        if (token.kind == Kind::kPiece && at_start && strips_first_space_ && token.name.starts_with(kSpaceSymbol)) {
            piece.remove_prefix(1);
            took_space = !strips_leading_spaces_;
        }
        text += piece;
    }
    flush_bytes();
    return text;
}

std::string SentencePieceTokenizer::piece_bytes(TokenId token) const {
    if (token < 0 || static_cast<std::size_t>(token) >= tokens_.size()) return {};
    return tokens_[static_cast<std::size_t>(token)].bytes;
}

std::string SentencePieceTokenizer::piece_name(TokenId token) const {
    if (token < 0 || static_cast<std::size_t>(token) >= tokens_.size()) return {};
    return tokens_[static_cast<std::size_t>(token)].name;
}

bool SentencePieceTokenizer::is_control(TokenId token) const {
    if (token < 0 || static_cast<std::size_t>(token) >= tokens_.size()) return false;
    return tokens_[static_cast<std::size_t>(token)].kind == Kind::kControl;
}

TokenId SentencePieceTokenizer::special_token(std::string_view text) const {
    const auto it = specials_.find(text);
    return it == specials_.end() ? -1 : it->second.id;
}

}  // namespace offstage::engine
