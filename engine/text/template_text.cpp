#include "engine/text/template_text.h"

#include <algorithm>
#include <iterator>
#include <utf8proc.h>
#include <utility>

#include "engine/text/template_value.h"

namespace offstage::engine::jinja {
namespace {

utf8proc_int32_t code_point(std::uint32_t c) {
    return static_cast<utf8proc_int32_t>(c);
}

std::uint32_t lower_of(std::uint32_t c) {
    return static_cast<std::uint32_t>(utf8proc_tolower(code_point(c)));
}

std::uint32_t upper_of(std::uint32_t c) {
    return static_cast<std::uint32_t>(utf8proc_toupper(code_point(c)));
}

// Unicode's Other_Lowercase without a capital: small letters set above or below the line.
bool is_other_lower(std::uint32_t c) {
    constexpr std::pair<std::uint32_t, std::uint32_t> kRanges[] = {
        {0xAA, 0xAA},      {0xBA, 0xBA},     {0x2B0, 0x2B8},     {0x2C0, 0x2C1},     {0x2E0, 0x2E4},
        {0x37A, 0x37A},    {0x1D2C, 0x1D6A}, {0x1D78, 0x1D78},   {0x1D9B, 0x1DBF},   {0x2071, 0x2071},
        {0x207F, 0x207F},  {0x2090, 0x209C}, {0x2C7C, 0x2C7D},   {0xA69C, 0xA69D},   {0xA770, 0xA770},
        {0xA7F8, 0xA7F9},  {0xAB5C, 0xAB5F}, {0x10780, 0x10780}, {0x10783, 0x10785}, {0x10787, 0x107B0},
        {0x107B2, 0x107BA}};
    return std::any_of(std::begin(kRanges), std::end(kRanges),
                       [c](const auto& range) { return c >= range.first && c <= range.second; });
}

// Some numbers and symbols, such as U+2160, have a letter case, too.
bool is_lower(std::uint32_t c) {
    const auto category = utf8proc_category(code_point(c));
    return category == UTF8PROC_CATEGORY_LL || is_other_lower(c) ||
           (upper_of(c) != c && category != UTF8PROC_CATEGORY_LT);
}

bool is_upper(std::uint32_t c) {
    const auto category = utf8proc_category(code_point(c));
    return category == UTF8PROC_CATEGORY_LU || (lower_of(c) != c && category != UTF8PROC_CATEGORY_LT);
}

bool is_cased(std::uint32_t c) {
    return is_lower(c) || is_upper(c) || utf8proc_category(code_point(c)) == UTF8PROC_CATEGORY_LT;
}

// Unicode's Case_Ignorable: marks, and signs that stand inside of words.
bool is_case_ignorable(std::uint32_t c) {
    constexpr std::uint32_t kInWords[] = {0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                          0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    switch (utf8proc_category(code_point(c))) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_SK:
            return true;
        default:
            return std::find(std::begin(kInWords), std::end(kInWords), c) != std::end(kInWords);
    }
}

// Unicode's Final_Sigma of the letter at [begin, end): one with case before it in its
// word, and none behind it.
bool ends_word(std::string_view text, std::size_t begin, std::size_t end) {
    while (end < text.size()) {
        const std::uint32_t c = next_character(text, end);
        if (is_case_ignorable(c)) continue;
        if (is_cased(c)) return false;
        break;
    }
    while (begin > 0) {
        --begin;
        while ((static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
        std::size_t at = begin;
        const std::uint32_t c = next_character(text, at);
        if (!is_case_ignorable(c)) return is_cased(c);
    }
    return false;
}

enum class LetterCase { kLower, kUpper, kTitle };

// The capital of a Greek letter with an iota below, which becomes a capital of its own
// (upper) or stays below; empty: another letter.
std::string capital_with_iota(std::uint32_t c, bool upper) {
    constexpr utf8proc_int32_t kIotaBelow = 0x345;
    utf8proc_int32_t parts[8];
    int boundary = 0;
    const auto n = utf8proc_decompose_char(code_point(c), parts, std::size(parts), UTF8PROC_DECOMPOSE, &boundary);
    std::string out;
    if (n < 2 || n > static_cast<utf8proc_ssize_t>(std::size(parts)) || parts[n - 1] != kIotaBelow) return out;
    for (utf8proc_ssize_t i = 0; i + 1 < n; ++i) parts[i] = utf8proc_toupper(parts[i]);
    const auto n_composed = utf8proc_normalize_utf32(parts, n - 1, UTF8PROC_COMPOSE);
    for (utf8proc_ssize_t i = 0; i < n_composed; ++i) append_utf8(static_cast<std::uint32_t>(parts[i]), out);
    append_utf8(upper ? 0x399 : static_cast<std::uint32_t>(kIotaBelow), out);
    return out;
}

// Adds the character at [begin, end) of the text. A few become several.
void append_cased(std::string& out, std::string_view text, std::size_t begin, std::size_t end, LetterCase wanted) {
    std::size_t at = begin;
    const std::uint32_t c = next_character(text, at);
    if (wanted == LetterCase::kLower) {
        if (c == 0x130) {
            out += "i\xCC\x87";
        } else if (c == 0x3A3 && ends_word(text, begin, end)) {
            append_utf8(0x3C2, out);
        } else {
            append_utf8(lower_of(c), out);
        }
        return;
    }
    const bool is_upper_wanted = wanted == LetterCase::kUpper;
    const bool has_no_capital = utf8proc_category(code_point(c)) == UTF8PROC_CATEGORY_LL && upper_of(c) == c;
    if (c == 0xDF) {
        out += is_upper_wanted ? "SS" : "Ss";
    } else if (c == 0x149) {
        out += "\xCA\xBCN";
    } else if (const std::string capital = capital_with_iota(c, is_upper_wanted);
               !capital.empty() && (is_upper_wanted || has_no_capital)) {
        out += capital;
    } else if (has_no_capital) {  // such as ligatures: their parts
        utf8proc_int32_t parts[8];
        int boundary = 0;
        constexpr auto kParts = static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT);
        const auto n = utf8proc_decompose_char(code_point(c), parts, std::size(parts), kParts, &boundary);
        const bool is_one = n < 2 || n > static_cast<utf8proc_ssize_t>(std::size(parts));
        if (is_one) parts[0] = code_point(c);
        for (utf8proc_ssize_t i = 0; i < (is_one ? 1 : n); ++i) {
            const auto part = static_cast<std::uint32_t>(parts[i]);
            const bool changes = !is_one && (i == 0 || is_upper_wanted);
            append_utf8(changes ? upper_of(part) : part, out);
        }
    } else {
        append_utf8(is_upper_wanted ? upper_of(c) : static_cast<std::uint32_t>(utf8proc_totitle(code_point(c))), out);
    }
}

// `is_first(at)`: whether the character there takes a capital.
template <typename IsFirst>
std::string map_case(std::string_view text, LetterCase first, LetterCase other, IsFirst is_first) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = at + character_bytes(text, at);
        append_cased(out, text, at, end, is_first(at) ? first : other);
        at = end;
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
    return map_case(text, LetterCase::kLower, LetterCase::kLower, [](std::size_t) { return true; });
}

std::string to_upper(std::string_view text) {
    return map_case(text, LetterCase::kUpper, LetterCase::kUpper, [](std::size_t) { return true; });
}

std::string to_capitalized(std::string_view text) {
    return map_case(text, LetterCase::kTitle, LetterCase::kLower, [](std::size_t at) { return at == 0; });
}

std::string to_title(std::string_view text) {
    bool after_letter = false;
    return map_case(text, LetterCase::kTitle, LetterCase::kLower,
                    [&](std::size_t at) { return !std::exchange(after_letter, is_cased(next_character(text, at))); });
}

std::string to_title_words(std::string_view text) {
    const auto separates = [&](std::size_t at) {
        return python_space_at(text.substr(at)) > 0 ||
               std::string_view("-({[<").find(text[at]) != std::string_view::npos;
    };
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t rest = at + character_bytes(text, at);
        std::size_t end = rest;
        while (end < text.size() && separates(end) == separates(at)) end += character_bytes(text, end);
        out += to_upper(text.substr(at, rest - at));
        out += to_lower(text.substr(rest, end - rest));  // Jinja looks at a word without its first letter
        at = end;
    }
    return out;
}

bool has_case(std::string_view text, bool upper) {
    bool found = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::uint32_t c = next_character(text, at);
        const bool fits = upper ? is_upper(c) : is_lower(c);
        if (!fits && is_cased(c)) return false;
        found = found || fits;
    }
    return found;
}

bool is_decimal_digit(std::uint32_t c) {
    return utf8proc_category(code_point(c)) == UTF8PROC_CATEGORY_ND;
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
