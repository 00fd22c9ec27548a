#include "engine/text/sentencepiece_tokenizer.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <sentencepiece_processor.h>
#include <set>
#include <utility>

#include "engine/error.h"
#include "engine/text/encoding_watch.h"
#include "engine/text/sentencepiece_file.h"
#include "engine/text/text_messages.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581 stands for a space in pieces
constexpr std::string_view kUnknownToken = "<unk>";        // LlamaTokenizer's, where no file names another
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::int64_t kMaxVocabulary = 1 << 24;

PromptText with_spaces(const PromptText& piece) {
    PromptText text;
    for (std::size_t at = 0; at < piece.size();) {
        const std::size_t next = std::min(piece.bytes.find(kSpaceSymbol, at), piece.size());
        text.append(piece, at, next - at);
        if (next == piece.size()) break;
        text.append(piece.has_data(next, kSpaceSymbol.size()) ? PromptText::of_data(" ") : PromptText(" "));
        at = next + kSpaceSymbol.size();
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
                                               std::int64_t vocab_size, const std::string& source,
                                               const std::map<TokenId, std::string>& names)
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
    for (const auto& [id, name] : names) {
        Token& token = tokens_[static_cast<std::size_t>(id)];
        token.name = name;
        if (token.kind == Kind::kPiece) token.bytes = with_spaces(name).bytes;
    }
    for (const TokenId id : file.user_defined) user_defined_.add(tokens_[static_cast<std::size_t>(id)].bytes, id);
    read_added(config);
    read_named(config);

    bos_ = config.bos_token ? named_token(*config.bos_token, "bos_token", source) : processor_->bos_id();
    eos_ = config.eos_token ? named_token(*config.eos_token, "eos_token", source) : processor_->eos_id();
    if (config.bos_id >= 0) bos_ = config.bos_id;
    if (config.eos_id >= 0) eos_ = config.eos_id;
    ends_ = config.ends;
    for (const TokenId id : config.silent) tokens_[static_cast<std::size_t>(id)].bytes.clear();
    for (const TokenId id : {bos_, eos_}) {
        if (id < 0) continue;
        Token& token = tokens_[static_cast<std::size_t>(id)];
        token.kind = Kind::kControl;
        token.bytes.clear();
    }
    adds_bos_ = bos_ >= 0 && config.add_bos_token.value_or(true);
    adds_eos_ = eos_ >= 0 && config.add_eos_token.value_or(false);

    if (legacy_) return;
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
            token.bytes = with_spaces(token.name).bytes;
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

// Named pieces become special tokens; a name that is no piece and was not added has no
// id, and is ignored.
void SentencePieceTokenizer::read_named(const TokenizerConfig& config) {
    std::set<std::string> names = config.named;
    if (!config.unk_token) names.emplace(kUnknownToken);
    if (!config.bos_token && processor_->bos_id() >= 0) names.insert(processor_->IdToPiece(processor_->bos_id()));
    if (!config.eos_token && processor_->eos_id() >= 0) names.insert(processor_->IdToPiece(processor_->eos_id()));
    for (const std::string& name : names) {
        if (specials_.find(name) != nullptr) continue;
        const TokenId id = piece_of(name);
        if (id < 0) continue;
        specials_.add(name, {.id = id});
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
        append_part(with_prefix(utf8).bytes, ids);
    }
    return ids;
}

std::vector<TokenId> SentencePieceTokenizer::encode_after(TokenId before, std::string_view utf8,
                                                          const ChatTemplate* chat) const {
    check_text(utf8);
    PromptText text = PromptText::of_data(std::string(utf8));
    const bool is_special = special_token(piece_name(before)) == before && before >= 0;
    if (!legacy_) text = is_special ? with_spaces(text) : with_prefix(text);
    std::vector<TokenId> ids;
    Markers markers(chat);
    append_data(text, markers, ids);
    return ids;
}

// The beginning of a text as LlamaTokenizer prepares it with "legacy": false.
PromptText SentencePieceTokenizer::with_prefix(const PromptText& text) const {
    const bool has_prefix = text.empty() || begins_with_blank(text.bytes) || !add_prefix_space_;
    PromptText prefixed(has_prefix ? std::string_view() : kSpaceSymbol);
    prefixed.append(with_spaces(text));
    return prefixed;
}

bool SentencePieceTokenizer::is_text_in_data(TokenId token, Markers& markers) const {
    const Token& known = tokens_[static_cast<std::size_t>(token)];
    return known.kind == Kind::kControl || known.kind == Kind::kUnknown || markers.contains(token, known.bytes);
}

void SentencePieceTokenizer::append_plain(std::string_view text, std::vector<TokenId>& ids) const {
    if (text.empty()) return;
    EncodingWatch::look();
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
std::vector<SentencePieceTokenizer::Part> SentencePieceTokenizer::split(const PromptText& text,
                                                                        Markers& markers) const {
    std::vector<Part> parts;
    std::size_t stretch = 0;  // the beginning of text that is in no part yet
    for (std::size_t at = 0; at < text.size();) {
        auto match = specials_.match_at(text.bytes, at);
        while (match.n_bytes > 0 && text.has_data(at, match.n_bytes) && is_text_in_data(match.value->id, markers))
            match = specials_.match_at(text.bytes, at, match.n_bytes - 1);
        if (match.n_bytes == 0) {
            ++at;
            continue;
        }
        if (stretch < at) parts.push_back({text.part(stretch, at - stretch)});
        parts.push_back({text.part(at, match.n_bytes), match.value});
        stretch = at += match.n_bytes;
    }
    if (stretch < text.size()) parts.push_back({text.part(stretch)});
    return parts;
}

// PreTrainedTokenizer.tokenize() of transformers 4, line by line: single_word checks the
// neighbours before they are stripped, and a token that is no separate word is joined to
// its neighbour, which then becomes plain text.
void SentencePieceTokenizer::apply_flags(std::vector<Part>& parts) const {
    const auto found = [&](const PromptText& text) { return text.has_data() ? nullptr : specials_.find(text.bytes); };
    const auto strip = [&](Part* part, std::string_view (*stripped)(std::string_view)) {
        if (part == nullptr) return;
        part->text = part->text.part(stripped(part->text.bytes));
        part->special = found(part->text);
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].special == nullptr) continue;
        const Special& special = *parts[i].special;
        Part* const left = i > 0 ? &parts[i - 1] : nullptr;
        Part* const right = i + 1 < parts.size() ? &parts[i + 1] : nullptr;
        const bool joins_left = left != nullptr && !left->text.empty() && left->text.bytes.back() != ' ';
        const bool joins_right = right != nullptr && !right->text.empty() && right->text.bytes.front() != ' ';
        if (special.rstrip) strip(right, without_white_begin);
        if (special.lstrip) strip(left, without_white_end);
        if (!special.single_word || (!joins_left && !joins_right)) continue;
        Part joined = joins_left ? std::move(*left) : std::exchange(parts[i], {});
        joined.text.append(joins_left ? parts[i].text : right->text);
        joined.special = found(joined.text);
        (joins_left ? *left : *right) = std::move(joined);
        parts[i] = {};
    }
}

std::vector<TokenId> SentencePieceTokenizer::encode_prompt(const PromptText& prompt, const ChatTemplate* chat) const {
    check_text(prompt.bytes);
    Markers markers(chat);
    std::vector<Part> parts = split(legacy_ ? prompt : with_spaces(prompt), markers);
    apply_flags(parts);
    const auto first = std::find_if(parts.begin(), parts.end(), [](const Part& part) { return !part.text.empty(); });
    if (!legacy_ && first != parts.end() && first->special == nullptr) first->text = with_prefix(first->text);
    std::vector<TokenId> ids;
    for (const Part& part : parts) {
        if (part.special == nullptr) {
            append_data(part.text, markers, ids);
        } else {
            ids.push_back(part.special->id);
        }
    }
    return ids;
}

// A part of a text. LlamaTokenizer keeps a part's leading blanks by putting something
// before them, whose pieces are dropped again.
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

// A part that may have data. The library finds user-defined pieces in any text: those in
// data are broken up by a character that occurs neither in a piece nor in this text, and
// that character's pieces are left out again.
void SentencePieceTokenizer::append_data(const PromptText& text, Markers& markers, std::vector<TokenId>& ids) const {
    std::vector<std::size_t> breaks;
    for (std::size_t at = 0; at < text.size() && !user_defined_.empty();) {
        const auto match = user_defined_.match_at(text.bytes, at);
        const std::size_t character = character_bytes(text.bytes, at);
        if (match.n_bytes == 0 || !text.has_data(at, match.n_bytes)) {
            at += std::max(match.n_bytes, character);
        } else if (!is_text_in_data(*match.value, markers)) {
            at += match.n_bytes;
        } else {
            const std::size_t border = text.end_of_stretch(at);
            const std::size_t place = border < at + match.n_bytes ? border : at + character;
            if (breaks.empty() || breaks.back() < place) breaks.push_back(place);
            at += character;
        }
    }
    if (breaks.empty()) return append_part(text.bytes, ids);

    const std::string separator = private_character(text.bytes);
    std::string broken;
    std::size_t done = 0;
    for (const std::size_t place : breaks) {
        broken.append(text.bytes, done, place - done) += separator;
        done = place;
    }
    broken.append(text.bytes, done);
    std::vector<TokenId> found, left_out;
    append_part(broken, found);
    append_plain(separator, left_out);  // perhaps with a blank before it
    if (left_out.empty()) throw Error(ErrorKind::kInvalidInput, messages::text_not_tokenized);
    const std::size_t n = processor_->IsByte(left_out.back()) ? separator.size() : 1;
    for (auto from = found.begin(); from != found.end();) {
        const auto next =
            std::search(from, found.end(), left_out.end() - static_cast<std::ptrdiff_t>(n), left_out.end());
        ids.insert(ids.end(), from, next);
        from = next == found.end() ? next : next + static_cast<std::ptrdiff_t>(n);
    }
}

// A character of U+E000 to U+F8FF that occurs in no piece and not in `text`.
std::string SentencePieceTokenizer::private_character(std::string_view text) const {
    constexpr std::uint32_t kFirst = 0xE000, kEnd = 0xF900;
    std::vector<bool> is_taken(kEnd - kFirst);
    for (std::size_t at = 0; at < text.size();) {
        const std::uint32_t c = next_character(text, at);
        if (c >= kFirst && c < kEnd) is_taken[c - kFirst] = true;
    }
    for (std::uint32_t c = kFirst; c < kEnd; ++c) {
        std::string character;
        append_utf8(c, character);
        if (!is_taken[c - kFirst] && piece_of(character) < 0) return character;
    }
    throw Error(ErrorKind::kInvalidInput, messages::text_not_tokenized);
}

// The library's own Decode() does not support added tokens; this is the same loop
// (release 0.1.97), with them.
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
        const bool begins_text = token.kind == Kind::kPiece && !piece.empty() && at_start;
        if (begins_text && strips_first_space_ && token.name.starts_with(kSpaceSymbol)) {
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
