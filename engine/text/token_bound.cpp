#include "engine/text/token_bound.h"

#include <algorithm>
#include <bitset>
#include <string>

namespace offstage::engine {
namespace {

// Characters are counted in three classes, by their first byte: a token with a character
// of a class is at most as long as the longest such token. Within a class normalizers may
// exchange characters: capital and small letters.
enum class ByteClass : std::size_t { kLetter, kSign, kOther, kNone };
constexpr std::size_t kClasses = 3;
// Unicode's normal forms make at most three bytes of other characters one.
constexpr double kShrinks = 3;
// Characters that normalizers and templates may remove count as if only one of so many
// remained.
constexpr double kDropped = 4;

constexpr bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

ByteClass class_of_first(unsigned char byte) {
    const unsigned char small = byte | 0x20;
    if ((small >= 'a' && small <= 'z') || (byte >= '0' && byte <= '9')) return ByteClass::kLetter;
    if (byte > ' ' && byte < 0x7F) return ByteClass::kSign;
    // Excludes bytes that begin combining marks, blanks, characters without width and
    // full-width forms.
    if (byte < 0xCE || byte == 0xE2 || byte == 0xEF) return ByteClass::kNone;
    return ByteClass::kOther;
}

}  // namespace

TokenBound::TokenBound(const Tokenizer& tokenizer) {
    std::array<std::size_t, kClasses> longest{};
    std::bitset<256> alone;  // bytes that are tokens
    for (std::int64_t id = 0; id < tokenizer.vocab_size(); ++id) {
        const auto token = static_cast<TokenId>(id);
        const std::string text =
            tokenizer.is_control(token) ? tokenizer.piece_name(token) : tokenizer.piece_bytes(token);
        longest_ = std::max(longest_, static_cast<double>(text.size()));
        if (text.size() == 1) alone.set(static_cast<unsigned char>(text[0]));
        std::array<bool, kClasses> has{};
        std::size_t n = 0;
        for (const char c : text) {
            const auto byte = static_cast<unsigned char>(c);
            const ByteClass kind = is_continuation(byte) ? ByteClass::kOther : class_of_first(byte);
            n += kind != ByteClass::kNone ? 1 : 0;
            if (kind != ByteClass::kNone) has[static_cast<std::size_t>(kind)] = true;
        }
        for (std::size_t kind = 0; kind < kClasses; ++kind) {
            if (has[kind]) longest[kind] = std::max(longest[kind], n);
        }
    }
    for (std::size_t byte = 0; byte < share_.size(); ++byte) {
        const ByteClass kind = class_of_first(static_cast<unsigned char>(byte));
        if (kind == ByteClass::kNone || longest[static_cast<std::size_t>(kind)] == 0) continue;
        const bool is_ascii = kind != ByteClass::kOther;
        if (is_ascii ? !alone[byte] : !alone.all()) continue;
        share_[byte] = 1 / (static_cast<double>(longest[static_cast<std::size_t>(kind)]) * (is_ascii ? 1 : kShrinks));
    }
}

std::int64_t TokenBound::at_least(std::string_view text) const {
    double n = 0, share = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (!is_continuation(byte)) share = share_[byte];
        // A mark after an ASCII character may turn both into another character.
        const bool is_marked = byte < 0x80 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0x80;
        if (!is_marked) n += share;
    }
    return static_cast<std::int64_t>(std::max(n, static_cast<double>(text.size()) / (kDropped * longest_)));
}

}  // namespace offstage::engine
