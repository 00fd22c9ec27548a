#include "engine/text/json_grammar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/text/pattern_grammar.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr int kMostDigits = 16;
constexpr double kLargest = 9'007'199'254'740'992;  // 2^53, 16 digits
constexpr std::uint32_t kFirstPlain = 0x20;         // characters before it must be escaped

}  // namespace

std::string JsonGrammar::inside_quotes(std::uint32_t character) const {
    std::string text;
    append_utf8(character, text);
    if (mark_) return text;
    const std::string quoted = nlohmann::json(text).dump();
    return quoted.substr(1, quoted.size() - 2);
}

JsonGrammar::Node JsonGrammar::shared(const char* name, Node (JsonGrammar::*make)()) {
    const auto known = shared_.find(name);
    if (known != shared_.end()) return builder_.call(known->second);
    const GrammarBuilder::Rule rule = builder_.new_rule(name);
    shared_[name] = rule;
    builder_.define(rule, (this->*make)());
    return builder_.call(rule);
}

JsonGrammar::Node JsonGrammar::make_space() {
    if (mark_) return builder_.empty();
    const ByteSet blanks = ByteSet().set(' ').set('\t');
    return builder_.optional(
        builder_.choice({builder_.text(" "),
                         builder_.sequence({builder_.text("\n"), builder_.repeat(builder_.bytes(blanks), 0, 20)})}));
}

JsonGrammar::Node JsonGrammar::enclosed(const char* open, Node inside, const char* close) {
    return builder_.sequence({builder_.text(open), space(), inside, space(), builder_.text(close)});
}

JsonGrammar::Node JsonGrammar::list(Node item, int least, int most) {
    if (most == 0) return enclosed("[", builder_.empty(), "]");
    const Node more = builder_.repeat(builder_.sequence({comma(), item}), std::max(0, least - 1),
                                      most == GrammarBuilder::kNoLimit ? GrammarBuilder::kNoLimit : most - 1);
    const Node items = builder_.sequence({item, more});
    return enclosed("[", least == 0 ? builder_.optional(items) : items, "]");
}

JsonGrammar::Node JsonGrammar::make_value() {
    return builder_.choice(
        {any_object(), any_array(), any_string(), any_number(), any_boolean(), builder_.text("null")});
}

JsonGrammar::Node JsonGrammar::make_object() {
    ByteSet letters;
    for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"))
        letters.set(static_cast<unsigned char>(c));
    const Node name = mark_ ? builder_.repeat(builder_.bytes(letters), 1, GrammarBuilder::kNoLimit) : any_string();
    const Node any = member(name, any_value());
    const Node more = builder_.repeat(builder_.sequence({comma(), any}), 0, GrammarBuilder::kNoLimit);
    return enclosed("{", builder_.optional(builder_.sequence({any, more})), "}");
}

// ---------------------------------------------------------------- strings

// Of two characters that are one beyond U+FFFF both are there, or none.
JsonGrammar::Node JsonGrammar::escape() {
    const auto hex = [&](const char* digits) {
        ByteSet set;
        for (const char* c = digits; *c != '\0'; ++c) set.set(static_cast<unsigned char>(*c));
        return builder_.bytes(set);
    };
    const Node any = hex("0123456789abcdefABCDEF"), two = builder_.repeat(any, 2, 2), d = hex("dD");
    const Node single = hex("\"\\/bfnrt");
    const Node others = builder_.sequence({hex("0123456789abcefABCEF"), builder_.repeat(any, 3, 3)});
    const Node low_d = builder_.sequence({d, hex("01234567"), two});
    const Node pair = builder_.sequence({d, hex("89abAB"), two, builder_.text("\\u"), d, hex("cdefCDEF"), two});
    const Node unicode = builder_.sequence({builder_.text("u"), builder_.choice({others, low_d, pair})});
    return builder_.sequence({builder_.text("\\"), builder_.choice({single, unicode})});
}

JsonGrammar::Node JsonGrammar::plain_character(const std::vector<CharacterRange>& besides) {
    std::vector<CharacterRange> out;
    if (!mark_) out = {{0, kFirstPlain - 1}, {'"', '"'}, {'\\', '\\'}};
    out.insert(out.end(), besides.begin(), besides.end());
    return builder_.characters(other_characters(std::move(out)));
}

JsonGrammar::Node JsonGrammar::make_character() {
    return mark_ ? plain_character({}) : builder_.choice({plain_character({}), escape()});
}

// Any number of characters are one rule: a token within it needs no look at its caller.
JsonGrammar::Node JsonGrammar::make_string() {
    return quoted(builder_.repeat(make_character(), 0, GrammarBuilder::kNoLimit));
}

JsonGrammar::Node JsonGrammar::string(int least, int most) {
    if (least == 0 && most == GrammarBuilder::kNoLimit) return any_string();
    return quoted(builder_.repeat(character(), least, most));
}

JsonGrammar::Node JsonGrammar::string_of(const std::string& value) {
    return mark_ ? quoted(builder_.text(value)) : builder_.text(nlohmann::json(value).dump());
}

JsonGrammar::Node JsonGrammar::name(const std::string& of_member) {
    const bool is_bare = mark_ && !of_member.empty() && of_member.find_first_of(": \t\n\r") == std::string::npos;
    return is_bare ? builder_.text(of_member) : string_of(of_member);
}

JsonGrammar::Node JsonGrammar::literal(const nlohmann::ordered_json& value) {
    if (!mark_ || value.is_primitive()) {
        return mark_ && value.is_string() ? string_of(value.get<std::string>()) : builder_.text(value.dump());
    }
    std::vector<Node> parts = {builder_.text(value.is_array() ? "[" : "{")};
    for (const auto& item : value.items()) {
        if (parts.size() > 1) parts.push_back(builder_.text(","));
        if (value.is_object()) parts.push_back(builder_.sequence({name(item.key()), builder_.text(":")}));
        parts.push_back(literal(item.value()));
    }
    parts.push_back(builder_.text(value.is_array() ? "]" : "}"));
    return builder_.sequence(std::move(parts));
}

JsonGrammar::Node JsonGrammar::characters(std::span<const CharacterRange> ranges) {
    if (mark_) return builder_.characters(std::vector(ranges.begin(), ranges.end()));
    std::vector<CharacterRange> plain;
    std::vector<Node> parts;
    const auto has = [&](std::uint32_t c) {
        return std::any_of(ranges.begin(), ranges.end(),
                           [&](const CharacterRange& range) { return range.first <= c && c <= range.second; });
    };
    for (std::uint32_t c = 0; c < 0x80; ++c) {
        if (!has(c)) continue;
        if (c < kFirstPlain || c == '"' || c == '\\') {
            parts.push_back(builder_.text(inside_quotes(c)));
        } else {
            plain.emplace_back(c, c);
        }
    }
    for (const auto& [low, high] : ranges) {
        if (high >= 0x80) plain.emplace_back(std::max<std::uint32_t>(low, 0x80), high);
    }
    if (!plain.empty()) parts.push_back(builder_.characters(plain));
    return builder_.choice(std::move(parts));
}

JsonGrammar::Node JsonGrammar::string_of_pattern(std::string_view pattern) {
    return quoted(add_pattern(
        builder_, pattern, [&](std::span<const CharacterRange> ranges) { return characters(ranges); }, character()));
}

// What follows the `at` bytes that the sorted values from begin to end have in common, with
// the closing quote. Up to where a text differs from all of them it has no escapes, so that
// it cannot be one of them in other words.
JsonGrammar::Node JsonGrammar::other_rest(const std::vector<std::string>& values, std::size_t begin, std::size_t end,
                                          std::size_t at) {
    std::vector<Node> parts;
    std::vector<CharacterRange> used;
    if (values[begin].size() == at) {
        ++begin;
    } else {
        parts.push_back(quote());
    }
    while (begin < end) {
        std::size_t next = at;
        const std::uint32_t c = next_character(values[begin], next);
        const std::string_view text = std::string_view(values[begin]).substr(0, next);
        std::size_t last = begin;
        while (last < end && std::string_view(values[last]).starts_with(text)) ++last;
        used.emplace_back(c, c);
        const GrammarBuilder::Rule rest = builder_.new_rule("other key");
        builder_.define(rest, other_rest(values, begin, last, next));
        parts.push_back(builder_.sequence({builder_.text(inside_quotes(c)), builder_.call(rest)}));
        begin = last;
    }
    parts.push_back(builder_.sequence(
        {plain_character(used), builder_.repeat(make_character(), 0, GrammarBuilder::kNoLimit), quote()}));
    return builder_.choice(std::move(parts));
}

JsonGrammar::Node JsonGrammar::string_except(std::vector<std::string> values) {
    if (values.empty()) return any_string();
    std::sort(values.begin(), values.end());
    return builder_.sequence({quote(), other_rest(values, 0, values.size(), 0)});
}

// ---------------------------------------------------------------- numbers

JsonGrammar::Node JsonGrammar::one_of(char first, char last) {
    ByteSet set;
    for (char c = first; c <= last; ++c) set.set(static_cast<unsigned char>(c));
    return builder_.bytes(set);
}

JsonGrammar::Node JsonGrammar::fraction(bool is_not_zero) {
    const Node some = is_not_zero ? builder_.sequence({digits(0, 7), one_of('1', '9')}) : digits(1, kMostDigits);
    return builder_.sequence({builder_.text("."), some});
}

JsonGrammar::Node JsonGrammar::make_number() {
    const Node sign = builder_.optional(builder_.text("-"));
    const Node whole =
        builder_.choice({builder_.text("0"), builder_.sequence({one_of('1', '9'), digits(0, kMostDigits - 1)})});
    const Node plus = builder_.optional(builder_.bytes(ByteSet().set('+').set('-')));
    const Node power = builder_.sequence({builder_.bytes(ByteSet().set('e').set('E')), plus, digits(1, 2)});
    return builder_.sequence({sign, whole, builder_.optional(fraction(false)), builder_.optional(power)});
}

// Numbers with as many digits as both bounds, from the digit `at` on.
JsonGrammar::Node JsonGrammar::same_length(const std::string& low, const std::string& high, std::size_t at) {
    const auto digit = [&](char c) { return builder_.text(std::string(1, c)); };
    if (at == low.size()) return builder_.empty();
    const bool are_all =
        low.find_first_not_of('0', at) == std::string::npos && high.find_first_not_of('9', at) == std::string::npos;
    if (are_all) return digits(static_cast<int>(low.size() - at), static_cast<int>(low.size() - at));
    if (low[at] == high[at]) return builder_.sequence({digit(low[at]), same_length(low, high, at + 1)});
    const std::size_t n_behind = low.size() - at - 1;
    const std::string nines(low.size(), '9'), zeros(low.size(), '0');
    std::vector<Node> parts = {builder_.sequence({digit(low[at]), same_length(low, nines, at + 1)}),
                               builder_.sequence({digit(high[at]), same_length(zeros, high, at + 1)})};
    if (low[at] + 1 < high[at]) {
        const int n = static_cast<int>(n_behind);
        parts.push_back(
            builder_.sequence({one_of(static_cast<char>(low[at] + 1), static_cast<char>(high[at] - 1)), digits(n, n)}));
    }
    return builder_.choice(std::move(parts));
}

JsonGrammar::Node JsonGrammar::integers(std::int64_t low, std::int64_t high) {
    std::vector<Node> parts;
    std::string first = std::to_string(low);
    const std::string last = std::to_string(high);
    for (; first.size() < last.size(); first = "1" + std::string(first.size(), '0')) {
        parts.push_back(same_length(first, std::string(first.size(), '9'), 0));
    }
    parts.push_back(same_length(first, last, 0));
    return builder_.choice(std::move(parts));
}

namespace {

// The digits behind the point of a number below 2^53, without zeros at the end.
std::string fraction_digits(double value) {
    std::array<char, 400> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed).ptr;
    const std::string_view all(text.data(), static_cast<std::size_t>(end - text.data()));
    const std::size_t point = all.find('.');
    return point == std::string_view::npos ? std::string() : std::string(all.substr(point + 1));
}

// The next number of these digits, or the one before; false: there is none.
bool step_digits(std::string& digits, bool up) {
    for (std::size_t i = digits.size(); i-- > 0;) {
        if (digits[i] != (up ? '9' : '0')) {
            digits[i] = static_cast<char>(digits[i] + (up ? 1 : -1));
            return true;
        }
        digits[i] = up ? '0' : '9';
    }
    return false;
}

}  // namespace

std::optional<JsonGrammar::Node> JsonGrammar::fractions(std::string low, std::string high, bool without_low,
                                                        bool without_high) {
    constexpr std::size_t kFinest = 15;  // digits: so many tell two numbers apart
    if (low.size() > kFinest || high.size() > kFinest) return std::nullopt;
    const bool has_end = !high.empty();
    std::vector<Node> parts;
    for (std::size_t n = 1; n <= std::max({low.size() + 1, high.size() + 1, std::size_t{7}}); ++n) {
        std::string first = low.substr(0, n), last = high.substr(0, n);
        first.resize(n, '0');
        last.resize(n, has_end ? '0' : '9');
        if ((n < low.size() || without_low) && !step_digits(first, true)) continue;
        if (n >= high.size() && without_high && !step_digits(last, false)) continue;
        if (first <= last) parts.push_back(same_length(first, last, 0));
    }
    if (parts.empty()) return std::nullopt;
    return builder_.sequence({builder_.text("."), builder_.choice(std::move(parts))});
}

// Beside a bound that is no whole number: what has the bound's whole number and another
// fraction.
void JsonGrammar::add_partial(double low, double high, const Bounds& bounds, std::vector<Node>& parts) {
    constexpr double kFine = 1e7;  // larger ones have too few digits left
    if (high > kFine && low > kFine) return;
    const auto add = [&](double whole, const std::string& from, const std::string& to, bool without_from,
                         bool without_to) {
        const auto fraction = fractions(from, to, without_from, without_to);
        if (!fraction) return;
        const auto number = static_cast<std::int64_t>(whole);
        parts.push_back(builder_.sequence({integers(number, number), *fraction}));
    };
    const double first = std::floor(low), last = std::floor(high);
    const std::string from = fraction_digits(low), to = fraction_digits(high);
    const bool without_low = bounds.without_low && *bounds.low >= 0;
    if (first == last) {
        if (!to.empty()) add(first, from, to, without_low, bounds.without_high);
        return;
    }
    if (!from.empty()) add(first, from, {}, without_low, false);
    if (!to.empty() && high <= kFine) add(last, {}, to, without_low && low == last, bounds.without_high);
}

// The numbers from 0 on; both bounds are given.
std::optional<JsonGrammar::Node> JsonGrammar::magnitudes(const Bounds& bounds, bool is_integer) {
    const double low = std::max(0.0, *bounds.low), high = *bounds.high;
    const auto first =
        static_cast<std::int64_t>(bounds.without_low && *bounds.low >= 0 ? std::floor(low) + 1 : std::ceil(low));
    const auto last = static_cast<std::int64_t>(bounds.without_high ? std::ceil(high) - 1 : std::floor(high));
    std::vector<Node> parts;
    if (first <= last) parts.push_back(integers(first, last));
    if (!is_integer) {
        // Between two whole numbers within the bounds any fraction is.
        const auto begin = static_cast<std::int64_t>(std::ceil(low));
        const auto end = static_cast<std::int64_t>(std::floor(high));
        // Beside a large bound that is out a fraction may be rounded to it.
        const bool is_exact = (!bounds.without_low || low <= 1e7) && (!bounds.without_high || high <= 1e7);
        if (begin < end && is_exact) parts.push_back(builder_.sequence({integers(begin, end - 1), fraction(true)}));
        add_partial(low, high, bounds, parts);
    }
    if (parts.empty()) return std::nullopt;
    return builder_.choice(std::move(parts));
}

std::optional<JsonGrammar::Node> JsonGrammar::number(const Bounds& given, bool is_integer) {
    if (!given.low && !given.high && !is_integer) return any_number();
    if (given.low.value_or(0) > kLargest || given.high.value_or(0) < -kLargest) return std::nullopt;
    Bounds bounds = given;
    bounds.low = std::clamp(given.low.value_or(-kLargest), -kLargest, kLargest);
    bounds.high = std::clamp(given.high.value_or(kLargest), -kLargest, kLargest);
    std::vector<Node> parts;
    if (*bounds.high >= 0) {
        if (const auto positive = magnitudes(bounds, is_integer)) parts.push_back(*positive);
    }
    if (*bounds.low < 0) {
        const bool to_zero = *bounds.high >= 0;  // "-0" is left out
        const Bounds mirrored{to_zero ? 0 : -*bounds.high, -*bounds.low, to_zero || bounds.without_high,
                              bounds.without_low};
        if (const auto negative = magnitudes(mirrored, is_integer)) {
            parts.push_back(builder_.sequence({builder_.text("-"), *negative}));
        }
    }
    if (parts.empty()) return std::nullopt;
    return builder_.choice(std::move(parts));
}

}  // namespace offstage::engine
