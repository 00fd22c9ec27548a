#include "engine/text/utf8.h"

#include <algorithm>

namespace offstage::engine {
namespace {

constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

enum class Step { kWhole, kIncomplete, kInvalid };

struct Sequence {
    Step step;
    std::size_t n_bytes;        // whole: of the character; else 1, the byte that is passed over
    std::size_t n_subpart = 1;  // not whole: bytes that begin a character
};

// Unicode 15, table 3-7: the second byte's limits exclude overlong forms, surrogates and
// values above U+10FFFF.
Sequence look_at(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
    const std::uint8_t lead = byte(at);
    if (lead < 0x80) return {Step::kWhole, 1};
    if (lead < 0xC2 || lead > 0xF4) return {Step::kInvalid, 1};
    const std::size_t n = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    std::uint8_t low = 0x80;
    std::uint8_t high = 0xBF;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    for (std::size_t i = 1; i < n; ++i) {
        if (at + i >= text.size()) return {Step::kIncomplete, 1, i};
        if (byte(at + i) < low || byte(at + i) > high) return {Step::kInvalid, 1, i};
        low = 0x80;
        high = 0xBF;
    }
    return {Step::kWhole, n};
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        const Sequence s = look_at(text, at);
        if (s.step != Step::kWhole) return at;
        at += s.n_bytes;
    }
    return std::string_view::npos;
}

std::size_t character_bytes(std::string_view text, std::size_t at) {
    const auto lead = static_cast<unsigned char>(text[at]);
    const std::size_t n = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return std::min(n, text.size() - at);
}

std::uint32_t next_character(std::string_view text, std::size_t& at) {
    static constexpr std::uint32_t kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const std::size_t n = character_bytes(text, at);
    std::uint32_t c = static_cast<unsigned char>(text[at]) & kLeadBits[n];
    for (std::size_t i = 1; i < n; ++i) c = c << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3F);
    at += n;
    return c;
}

void append_utf8(std::uint32_t c, std::string& text) {
    const auto add = [&](std::uint32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (c < 0x80) return add(c);
    if (c < 0x800) {
        add(0xC0 | c >> 6);
    } else {
        if (c < 0x10000) {
            add(0xE0 | c >> 12);
        } else {
            add(0xF0 | c >> 18);
            add(0x80 | (c >> 12 & 0x3F));
        }
        add(0x80 | (c >> 6 & 0x3F));
    }
    add(0x80 | (c & 0x3F));
}

std::size_t white_space_at(std::string_view text) {
    if (text.empty()) return 0;
    const auto c = static_cast<unsigned char>(text[0]);
    if (c == ' ' || (c >= '\t' && c <= '\r')) return 1;
    if (c < 0x80) return 0;
    if (text.starts_with("\xC2\x85") || text.starts_with("\xC2\xA0")) return 2;
    if (text.starts_with("\xE2\x80") && text.size() >= 3) {
        const auto last = static_cast<unsigned char>(text[2]);
        return (last >= 0x80 && last <= 0x8A) || last == 0xA8 || last == 0xA9 || last == 0xAF ? 3 : 0;
    }
    for (const std::string_view three : {"\xE1\x9A\x80", "\xE2\x81\x9F", "\xE3\x80\x80"}) {
        if (text.starts_with(three)) return 3;
    }
    return 0;
}

std::size_t python_space_at(std::string_view text) {
    return !text.empty() && text[0] >= 0x1C && text[0] <= 0x1F ? 1 : white_space_at(text);
}

std::string to_valid_utf8(std::string_view bytes) {
    std::string text;
    text.reserve(bytes.size());
    for (std::size_t at = 0; at < bytes.size();) {
        const Sequence s = look_at(bytes, at);
        if (s.step == Step::kWhole) {
            text += bytes.substr(at, s.n_bytes);
            at += s.n_bytes;
        } else {
            text += kReplacementCharacter;
            at += s.n_subpart;
        }
    }
    return text;
}

std::string Utf8Stream::push(std::string_view bytes) {
    pending_ += bytes;
    std::string shown;
    shown.reserve(pending_.size());
    std::size_t at = 0;
    while (at < pending_.size()) {
        const Sequence s = look_at(pending_, at);
        if (s.step == Step::kIncomplete) break;
        if (s.step == Step::kWhole) {
            shown.append(pending_, at, s.n_bytes);
        } else {
            shown += kReplacementCharacter;  // one for each byte, as sentencepiece does
        }
        at += s.n_bytes;
    }
    pending_.erase(0, at);
    return shown;
}

std::string Utf8Stream::finish() {
    std::string shown;
    for (std::size_t i = 0; i < pending_.size(); ++i) shown += kReplacementCharacter;
    pending_.clear();
    return shown;
}

std::size_t trailing_space(std::string_view text) {
    std::size_t end = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t space = python_space_at(text.substr(at));
        at += space > 0 ? space : character_bytes(text, at);
        if (space == 0) end = at;
    }
    return text.size() - end;
}

}  // namespace offstage::engine
