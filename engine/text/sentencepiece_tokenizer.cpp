#include "engine/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <sentencepiece_processor.h>
#include <set>
#include <utility>

#include "engine/error.h"
#include "engine/text/sentencepiece_file.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581 stands for a space in pieces
constexpr std::string_view kUnknownToken = "<unk>";        // LlamaTokenizer's, where no file names another
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::int64_t kMaxVocabulary = 1 << 24;

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

std::string_view without_white_begin(std::string_view text) {
    while (const std::size_t n = python_space_at(text)) text.remove_prefix(n);
    return text;
}

std::string_view without_white_end(std::string_view text) {
    while (!text.empty()) {
        std::size_t n = 1;  // bytes of the last character
        while (n < text.size() && (static_cast<unsigned char>(text[text.size() - n]) & 0xC0) == 0x80) ++n;
        if (python_space_at(text.substr(text.size() - n)) != n) break;
        text.remove_suffix(n);
    }
    return text;
}

bool begins_with_blank(std::string_view text) {
    return text.starts_with(' ') || text.starts_with(kSpaceSymbol);
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(std::string_view model, const TokenizerConfig& config,
                                               std::int64_t vocab_size, const std::string& source)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
    SentencePieceFile file = check_sentencepiece(model, std::min(vocab_size, kMaxVocabulary), source);
    legacy_ = config.legacy;
    add_prefix_space_ = config.add_prefix_space;
    // A further normalizer_spec, which protobuf merges into the one before it:
    // add_dummy_prefix = false.
    if (!legacy_) file.serialized.append("\x1A\x02\x18\x00", 4);
    try {
        const auto status = processor_->LoadFromSerializedProto(file.serialized);
        if (!status.ok()) {
            throw Error(ErrorKind::kInvalidModel, messages::sentencepiece_invalid(source), status.ToString());
        }
    } catch (const Error&) {
        throw;
    } catch (const std::exception& e) {
        throw Error(ErrorKind::kInvalidModel, messages::sentencepiece_invalid(source), e.what());
    }
    const bool begins_with_space = legacy_ ? file.add_dummy_prefix : add_prefix_space_;
    strips_first_space_ = begins_with_space || file.remove_extra_whitespaces;
    strips_leading_spaces_ = file.remove_extra_whitespaces;

    const std::size_t n_added = config.added.empty() ? 0 : static_cast<std::size_t>(config.added.back().id) + 1;
    if (n_added > static_cast<std::size_t>(kMaxVocabulary)) {
        throw Error(ErrorKind::kInvalidModel, messages::added_token_id_too_large(source));
    }
    tokens_.resize(std::max(static_cast<std::size_t>(processor_->GetPieceSize()), n_added));
    read_pieces(file.unk_surface);
    read_added(config);
    read_named(config);

    bos_ = config.bos_token ? named_token(*config.bos_token, "bos_token", source) : processor_->bos_id();
    eos_ = config.eos_token ? named_token(*config.eos_token, "eos_token", source) : processor_->eos_id();
    ends_ = config.ends;
    for (const TokenId id : {bos_, eos_}) {
        if (id < 0) continue;
        Token& token = tokens_[static_cast<std::size_t>(id)];
        token.kind = Kind::kControl;
        token.bytes.clear();
    }
    adds_bos_ = bos_ >= 0 && config.add_bos_token.value_or(true);
    adds_eos_ = eos_ >= 0 && config.add_eos_token.value_or(false);

    if (legacy_) return;
    space_ = piece_of(std::string(kSpaceSymbol));
    // LlamaTokenizer's choice; another text might merge with what follows it in another
    // way.
    guard_ = config.unk_token.value_or(std::string(kUnknownToken));
    std::vector<TokenId> pieces;
    append_plain(guard_, pieces);
    n_guard_pieces_ = pieces.size();
}

SentencePieceTokenizer::~SentencePieceTokenizer() = default;

void SentencePieceTokenizer::read_pieces(const std::string& unk_surface) {
    for (int id = 0; id < processor_->GetPieceSize(); ++id) {
        Token& token = tokens_[static_cast<std::size_t>(id)];
        token.name = processor_->IdToPiece(id);
        if (processor_->IsControl(id)) {
            token.kind = Kind::kControl;
            specials_.add(token.name, {.id = id});
        } else if (processor_->IsUnknown(id)) {
            token.kind = Kind::kUnknown;
            token.bytes = unk_surface;
        } else if (processor_->IsByte(id)) {
            token.kind = Kind::kByte;
            token.bytes = byte_of(token.name);
        } else {
            token.kind = Kind::kPiece;
            token.bytes = with_spaces(token.name);
        }
    }
}

void SentencePieceTokenizer::read_added(const TokenizerConfig& config) {
    for (const AddedToken& added : config.added) {
        Token& token = tokens_[static_cast<std::size_t>(added.id)];
        const bool is_listed_again = token.name == added.content;
        specials_.add(
            added.content,
            {.id = added.id, .lstrip = added.lstrip, .rstrip = added.rstrip, .single_word = added.single_word});
        if (is_listed_again && (token.kind == Kind::kUnknown || (token.kind == Kind::kPiece && !added.special)))
            continue;
        token.name = added.content;
        token.kind = added.special || token.kind == Kind::kControl ? Kind::kControl : Kind::kAdded;
        token.bytes = token.kind == Kind::kControl ? std::string() : added.content;
    }
}

// Pieces become special tokens by being named; what is no piece and was not added has no
// id, and is passed over.
void SentencePieceTokenizer::read_named(const TokenizerConfig& config) {
    std::set<std::string> names = config.named;
    if (!config.unk_token) names.emplace(kUnknownToken);
    if (!config.bos_token && processor_->bos_id() >= 0) names.insert(processor_->IdToPiece(processor_->bos_id()));
    if (!config.eos_token && processor_->eos_id() >= 0) names.insert(processor_->IdToPiece(processor_->eos_id()));
    for (const std::string& name : names) {
        if (Special* special = specials_.find(name)) {
            special->named = true;
            continue;
        }
        const TokenId id = piece_of(name);
        if (id < 0) continue;
        specials_.add(name, {.id = id, .named = true});
        Token& token = tokens_[static_cast<std::size_t>(id)];
        if (token.kind == Kind::kUnknown) continue;
        token.kind = Kind::kControl;
        token.bytes.clear();
    }
}

TokenId SentencePieceTokenizer::piece_of(const std::string& text) const {
    const int piece = processor_->PieceToId(text);
    return piece >= 0 && processor_->IdToPiece(piece) == text ? piece : -1;
}

TokenId SentencePieceTokenizer::named_token(const std::string& text, const char* field,
                                            const std::string& source) const {
    if (text.empty()) return -1;
    const TokenId special = special_token(text);
    if (special >= 0) return special;
    throw Error(ErrorKind::kInvalidModel, messages::special_token_unknown(field, text, source));
}

std::vector<TokenId> SentencePieceTokenizer::encode(std::string_view utf8) const {
    check_text(utf8);
    std::vector<TokenId> ids;
    if (legacy_) {
        append_plain(utf8, ids);
    } else {
        append_part(with_prefix(utf8), ids);
    }
    return ids;
}

std::vector<TokenId> SentencePieceTokenizer::encode_after(TokenId before, std::string_view utf8) const {
    const bool is_special = special_token(piece_name(before)) == before && before >= 0;
    if (legacy_ || !is_special) return encode(utf8);
    check_text(utf8);
    std::vector<TokenId> ids;
    append_part(with_spaces(utf8), ids);
    return ids;
}

// The whole text as LlamaTokenizer prepares it with "legacy": false.
std::string SentencePieceTokenizer::with_prefix(std::string_view text) const {
    if (text.empty()) return {};
    return (add_prefix_space_ ? std::string(kSpaceSymbol) : std::string()) + with_spaces(text);
}

void SentencePieceTokenizer::append_plain(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    std::vector<int> found;
    try {
        const auto status = processor_->Encode(text, &found);
        if (!status.ok()) throw Error(ErrorKind::kInvalidInput, messages::text_not_tokenized, status.ToString());
    } catch (const Error&) {
        throw;
    } catch (const std::exception& e) {
        throw Error(ErrorKind::kInvalidInput, messages::text_not_tokenized, e.what());
    }
    ids.insert(ids.end(), found.begin(), found.end());
}

// The text cut before and after each special token.
std::vector<std::string> SentencePieceTokenizer::split(std::string_view text) const {
    std::vector<std::string> parts;
    std::size_t stretch = 0;  // where the text that is in no part yet begins
    for (std::size_t at = 0; at < text.size();) {
        const auto match = specials_.match_at(text, at);
        if (match.n_bytes == 0) {
            ++at;
            continue;
        }
        if (stretch < at) parts.emplace_back(text.substr(stretch, at - stretch));
        parts.emplace_back(text.substr(at, match.n_bytes));
        stretch = at += match.n_bytes;
    }
    if (stretch < text.size()) parts.emplace_back(text.substr(stretch));
    return parts;
}

// PreTrainedTokenizer.tokenize() of transformers 4, line by line: single_word looks at
// the neighbours as they were before they were stripped, and a token that is no word of
// its own joins its neighbour, which then is plain text whatever it was.
void SentencePieceTokenizer::apply_flags(std::vector<std::string>& parts) const {
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const Special* found = specials_.find(parts[i]);
        if (found == nullptr) continue;
        const Special& special = *found;
        std::string* const left = i > 0 ? &parts[i - 1] : nullptr;
        std::string* const right = i + 1 < parts.size() ? &parts[i + 1] : nullptr;
        const bool joins_left = left != nullptr && !left->empty() && left->back() != ' ';
        const bool joins_right = right != nullptr && !right->empty() && right->front() != ' ';
        if (special.rstrip && right != nullptr) *right = without_white_begin(*right);
        if (special.lstrip && left != nullptr) *left = without_white_end(*left);
        if (!special.single_word) continue;
        if (joins_left) {
            *left += parts[i];
            parts[i].clear();
        } else if (joins_right) {
            right->insert(0, parts[i]);
            parts[i].clear();
        }
    }
}

std::vector<TokenId> SentencePieceTokenizer::encode_with_special(std::string_view utf8) const {
    check_text(utf8);
    std::vector<std::string> parts = legacy_ ? split(utf8) : split(with_prefix(utf8));
    apply_flags(parts);
    std::vector<TokenId> ids;
    bool prefix_was_alone = false;  // nothing but a blank stands before a named special token
    for (const std::string& part : parts) {
        const Special* special = specials_.find(part);
        if (special == nullptr) {
            append_part(part, ids);
            continue;
        }
        prefix_was_alone = prefix_was_alone || (special->named && ids.size() == 1 && ids.front() == space_);
        ids.push_back(special->id);
    }
    if (!legacy_ && prefix_was_alone) ids.erase(ids.begin());
    return ids;
}

// A part of a text. LlamaTokenizer's way to keep the blanks that a part begins with:
// something before them, whose pieces are dropped again.
void SentencePieceTokenizer::append_part(std::string_view text, std::vector<TokenId>& ids) const {
    if (legacy_ || !begins_with_blank(text)) {
        append_plain(text, ids);
        return;
    }
    std::vector<TokenId> found;
    append_plain(guard_ + std::string(text), found);
    const std::size_t n_dropped = found.size() >= n_guard_pieces_ ? n_guard_pieces_ : 0;
    ids.insert(ids.end(), found.begin() + static_cast<std::ptrdiff_t>(n_dropped), found.end());
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
    const Special* special = specials_.find(text);
    return special != nullptr ? special->id : -1;
}

}  // namespace offstage::engine
