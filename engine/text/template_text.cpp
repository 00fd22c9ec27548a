#include "engine/text/template_text.h"

#include <algorithm>

#include "engine/text/template_value.h"

namespace offstage::engine::jinja {
namespace {

std::uint32_t decode(std::string_view text, std::size_t at, std::size_t n) {
    const auto lead = static_cast<unsigned char>(text[at]);
    if (n == 1) return lead;
    std::uint32_t c = n == 2 ? lead & 0x1Fu : n == 3 ? lead & 0x0Fu : lead & 0x07u;
    for (std::size_t i = 1; i < n; ++i) c = (c << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3Fu);
    return c;
}

void append(std::string& out, std::uint32_t c) {  // below U+0800: no mapped letter lies beyond
    if (c < 0x80) {
        out += static_cast<char>(c);
    } else {
        out += static_cast<char>(0xC0 | (c >> 6));
        out += static_cast<char>(0x80 | (c & 0x3F));
    }
}

bool between(std::uint32_t c, std::uint32_t low, std::uint32_t high) {
    return c >= low && c <= high;
}

// Whether c is in a block in which capital and small letters alternate; `even`: the
// capital is the even one.
bool alternates(std::uint32_t c, bool& even) {
    even = true;
    if (between(c, 0x100, 0x12F) || between(c, 0x132, 0x137) || between(c, 0x14A, 0x177) || between(c, 0x460, 0x481) ||
        between(c, 0x48A, 0x4BF) || between(c, 0x4D0, 0x52F)) {
        return true;
    }
    even = false;
    return between(c, 0x139, 0x148) || between(c, 0x179, 0x17E) || between(c, 0x4C1, 0x4CE);
}

std::uint32_t lower_of(std::uint32_t c) {
    if (between(c, 'A', 'Z') || (between(c, 0xC0, 0xDE) && c != 0xD7) || between(c, 0x410, 0x42F)) return c + 32;
    bool even = true;
    if (alternates(c, even)) return (c % 2 == 0) == even ? c + 1 : c;
    if (between(c, 0x391, 0x3AB) && c != 0x3A2) return c + 32;
    if (between(c, 0x400, 0x40F)) return c + 80;
    if (between(c, 0x531, 0x556)) return c + 48;
    switch (c) {
        case 0x178:
            return 0xFF;
        case 0x386:
            return 0x3AC;
        case 0x388:
            return 0x3AD;
        case 0x389:
            return 0x3AE;
        case 0x38A:
            return 0x3AF;
        case 0x38C:
            return 0x3CC;
        case 0x38E:
            return 0x3CD;
        case 0x38F:
            return 0x3CE;
        case 0x4C0:
            return 0x4CF;
        default:
            return c;
    }
}

std::uint32_t upper_of(std::uint32_t c) {
    if (between(c, 'a', 'z') || (between(c, 0xE0, 0xFE) && c != 0xF7) || between(c, 0x430, 0x44F)) return c - 32;
    bool even = true;
    if (alternates(c, even)) return (c % 2 == 0) == even ? c : c - 1;
    if (c == 0x3C2) return 0x3A3;
    if (between(c, 0x3B1, 0x3CB)) return c - 32;
    if (between(c, 0x450, 0x45F)) return c - 80;
    if (between(c, 0x561, 0x586)) return c - 48;
    switch (c) {
        case 0xB5:
            return 0x39C;
        case 0xFF:
            return 0x178;
        case 0x131:
            return 'I';
        case 0x17F:
            return 'S';
        case 0x3AC:
            return 0x386;
        case 0x3AD:
            return 0x388;
        case 0x3AE:
            return 0x389;
        case 0x3AF:
            return 0x38A;
        case 0x3CC:
            return 0x38C;
        case 0x3CD:
            return 0x38E;
        case 0x3CE:
            return 0x38F;
        case 0x4CF:
            return 0x4C0;
        default:
            return c;
    }
}

enum class LetterCase { kLower, kUpper, kTitle };

void append_cased(std::string& out, std::string_view text, std::size_t at, std::size_t n, LetterCase wanted) {
    const std::uint32_t c = decode(text, at, n);
    if (c == 0xDF && wanted != LetterCase::kLower) {
        out += wanted == LetterCase::kUpper ? "SS" : "Ss";
        return;
    }
    if (c == 0x149 && wanted != LetterCase::kLower) {
        out += "\xCA\xBCN";
        return;
    }
    if (c == 0x130 && wanted == LetterCase::kLower) {
        out += "i\xCC\x87";
        return;
    }
    const std::uint32_t changed = wanted == LetterCase::kLower ? lower_of(c) : upper_of(c);
    if (changed == c) {
        out += text.substr(at, n);
    } else {
        append(out, changed);
    }
}

// `is_first(at)`: whether the character there takes a capital.
template <typename IsFirst>
std::string map_case(std::string_view text, LetterCase first, LetterCase other, IsFirst is_first) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t n = character_bytes(text, at);
        append_cased(out, text, at, n, is_first(at, n) ? first : other);
        at += n;
    }
    return out;
}

// Bytes of the line end that begins `text`, by the rules of str.splitlines(); 0: none.
std::size_t line_end_at(std::string_view text) {
    for (const std::string_view end :
         {"\r\n", "\n", "\r", "\v", "\f", "\x1C", "\x1D", "\x1E", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
        if (text.starts_with(end)) return end.size();
    }
    return 0;
}

}  // namespace

std::string to_lower(std::string_view text) {
    return map_case(text, LetterCase::kLower, LetterCase::kLower, [](std::size_t, std::size_t) { return true; });
}

std::string to_upper(std::string_view text) {
    return map_case(text, LetterCase::kUpper, LetterCase::kUpper, [](std::size_t, std::size_t) { return true; });
}

std::string to_capitalized(std::string_view text) {
    return map_case(text, LetterCase::kTitle, LetterCase::kLower, [](std::size_t at, std::size_t) { return at == 0; });
}

std::string to_title(std::string_view text) {
    bool after_letter = false;
    return map_case(text, LetterCase::kTitle, LetterCase::kLower, [&](std::size_t at, std::size_t n) {
        const std::uint32_t c = decode(text, at, n);
        const bool is_letter = c == 0xDF || lower_of(c) != c || upper_of(c) != c;
        const bool first = !after_letter;
        after_letter = is_letter;
        return first;
    });
}

std::string to_title_words(std::string_view text) {
    bool at_word = true;
    return map_case(text, LetterCase::kUpper, LetterCase::kLower, [&](std::size_t at, std::size_t) {
        const bool separates =
            python_space_at(text.substr(at)) > 0 || std::string_view("-({[<").find(text[at]) != std::string_view::npos;
        const bool first = at_word && !separates;
        at_word = separates;
        return first;
    });
}

bool has_case(std::string_view text, bool upper) {
    bool found = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t n = character_bytes(text, at);
        const std::uint32_t c = decode(text, at, n);
        const bool is_upper = lower_of(c) != c;
        const bool is_lower = upper_of(c) != c || c == 0xDF;
        if (upper ? is_lower : is_upper) return false;
        found = found || (upper ? is_upper : is_lower);
        at += n;
    }
    return found;
}

std::string_view strip_characters(std::string_view text, std::string_view characters, bool left, bool right) {
    const auto occurs = [&](std::string_view character) {
        for (std::size_t at = 0; at < characters.size();) {
            const std::size_t n = character_bytes(characters, at);
            if (characters.substr(at, n) == character) return true;
            at += n;
        }
        return false;
    };
    while (left && !text.empty()) {
        const std::size_t n = character_bytes(text, 0);
        if (!occurs(text.substr(0, n))) break;
        text.remove_prefix(n);
    }
    while (right && !text.empty()) {
        std::size_t at = text.size() - 1;
        while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
        if (!occurs(text.substr(at))) break;
        text = text.substr(0, at);
    }
    return text;
}

std::size_t count_text(std::string_view text, std::string_view what) {
    if (what.empty()) return count_characters(text) + 1;
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + what.size())) ++n;
    return n;
}

PromptText replace_text(const PromptText& text, std::string_view from, const PromptText& to, std::int64_t count) {
    PromptText out;
    std::size_t at = 0;
    if (from.empty()) {  // before every character and at the end
        for (; count != 0; --count) {
            out.append(to);
            if (at == text.size()) return out;
            const std::size_t n = character_bytes(text.bytes, at);
            out.append(text, at, n);
            at += n;
        }
    } else {
        for (; count != 0; --count) {
            const std::size_t next = text.bytes.find(from, at);
            if (next == std::string::npos) break;
            out.append(text, at, next - at);
            out.append(to);
            at = next + from.size();
        }
    }
    out.append(text, at);
    return out;
}

std::vector<std::string_view> split_text(std::string_view text, std::string_view separator, std::int64_t limit) {
    std::vector<std::string_view> parts;
    if (!separator.empty()) {
        for (; limit != 0; --limit) {
            const std::size_t next = text.find(separator);
            if (next == std::string_view::npos) break;
            parts.push_back(text.substr(0, next));
            text.remove_prefix(next + separator.size());
        }
        parts.push_back(text);
        return parts;
    }
    text = strip_left(text);
    while (!text.empty()) {
        if (limit-- == 0) {
            parts.push_back(text);
            break;
        }
        std::size_t end = 0;
        while (end < text.size() && python_space_at(text.substr(end)) == 0) end += character_bytes(text, end);
        parts.push_back(text.substr(0, end));
        text = strip_left(text.substr(end));
    }
    return parts;
}

std::vector<std::string_view> split_text_from_right(std::string_view text, std::string_view separator,
                                                    std::int64_t limit) {
    std::vector<std::string_view> parts;
    if (!separator.empty()) {
        for (; limit != 0; --limit) {
            const std::size_t last = text.rfind(separator);
            if (last == std::string_view::npos) break;
            parts.push_back(text.substr(last + separator.size()));
            text = text.substr(0, last);
        }
        parts.push_back(text);
        std::reverse(parts.begin(), parts.end());
        return parts;
    }
    parts = split_text(text, {}, -1);
    if (limit < 0 || parts.size() <= static_cast<std::size_t>(limit) + 1) {
        if (limit == 0 && !parts.empty()) parts = {strip_right(text)};
        return parts;
    }
    // The rest before the last words stays unchanged.
    parts.erase(parts.begin(), parts.end() - static_cast<std::ptrdiff_t>(limit) - 1);
    const std::string_view first = parts.front();
    parts.front() = text.substr(0, static_cast<std::size_t>(first.data() + first.size() - text.data()));
    return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
    std::vector<std::string_view> lines;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = line_end_at(text.substr(at));
        if (end > 0) {
            lines.push_back(text.substr(begin, at - begin + (keep_ends ? end : 0)));
            begin = at + end;
        }
        at += std::max<std::size_t>(end, 1);
    }
    if (begin < text.size()) lines.push_back(text.substr(begin));
    return lines;
}

}  // namespace offstage::engine::jinja
