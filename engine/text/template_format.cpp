#include "engine/text/template_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/text/template_text.h"

namespace offstage::engine::jinja {
namespace {

constexpr std::size_t kMaxWidth = 4096;
constexpr std::size_t kMaxPrecision = 100;

// The format of one value: [[fill]align][sign][#][0][width][,][.precision][type], or the
// same after a %.
struct FormatSpec {
    PromptText fill = " ";
    char align = 0;  // < > ^, or = for after the sign; 0: the default of the value's type
    char sign = 0;   // 0: as -, which texts refuse
    bool alternate = false;
    char separator = 0;  // thousands separator
    std::size_t width = 0;
    std::optional<std::size_t> precision;
    char type = 0;
};

[[noreturn]] void refuse_format(const std::string& format) {
    fail_unsupported(messages::text_format(format));
}

std::optional<std::size_t> take_number(std::string_view& text, std::size_t most) {
    std::size_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (end == text.data()) return std::nullopt;
    if (failure != std::errc() || number > most) fail(messages::repetition_too_long);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

bool take(std::string_view& text, char c) {
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
}

FormatSpec read_spec(const PromptText& format) {
    constexpr std::string_view kAligns = "<>^=";
    const std::string& whole = format.bytes;
    std::string_view text = whole;
    FormatSpec spec;
    const std::size_t first = text.empty() ? 0 : character_bytes(text, 0);
    if (first < text.size() && kAligns.find(text[first]) != std::string_view::npos) {
        spec.fill = format.part(0, first);
        spec.align = text[first];
        text.remove_prefix(first + 1);
    } else if (!text.empty() && kAligns.find(text[0]) != std::string_view::npos) {
        spec.align = text[0];
        text.remove_prefix(1);
    }
    if (!text.empty() && std::string_view("+- ").find(text[0]) != std::string_view::npos) {
        spec.sign = text[0];
        text.remove_prefix(1);
    }
    spec.alternate = take(text, '#');
    if (take(text, '0') && spec.align == 0) {
        spec.fill = "0";
        spec.align = '=';
    }
    spec.width = take_number(text, kMaxWidth).value_or(0);
    if (text.starts_with(',') || text.starts_with('_')) {
        spec.separator = text[0];
        text.remove_prefix(1);
    }
    if (take(text, '.')) {
        spec.precision = take_number(text, kMaxPrecision);
        if (!spec.precision) refuse_format(whole);
    }
    if (!text.empty()) {
        spec.type = text[0];
        text.remove_prefix(1);
    }
    if (!text.empty()) refuse_format(whole);
    return spec;
}

PromptText repeated(const PromptText& fill, std::size_t n) {
    PromptText text;
    for (std::size_t i = 0; i < n; ++i) text.append(fill);
    return text;
}

// `n_before`: bytes of a sign and a prefix, after which '=' fills.
PromptText aligned(const PromptText& text, const FormatSpec& spec, char otherwise, std::size_t n_before,
                   Budget& budget) {
    const std::size_t n = count_characters(text.bytes);
    const std::size_t missing = spec.width > n ? spec.width - n : 0;
    const char align = spec.align != 0 ? spec.align : otherwise;
    const std::size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
    budget.spend_bytes(text.size() + missing * spec.fill.size());
    if (align != '=') n_before = 0;
    PromptText out = text.part(0, n_before);
    out.append(repeated(spec.fill, before));
    out.append(text, n_before);
    out.append(repeated(spec.fill, missing - before));
    return out;
}

std::string grouped(const std::string& digits, char separator) {
    const std::size_t n = std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string out;
    for (std::size_t i = 0; i < n; ++i) {
        if (i > 0 && (n - i) % 3 == 0) out += separator;
        out += digits[i];
    }
    return out + digits.substr(n);
}

// Without a sign.
std::string real_digits(double size, const FormatSpec& spec) {
    const char type = spec.type == '%' ? 'f' : static_cast<char>(spec.type | 0x20);
    const auto style = type == 'e'   ? std::chars_format::scientific
                       : type == 'f' ? std::chars_format::fixed
                                     : std::chars_format::general;
    const std::size_t precision = std::max<std::size_t>(spec.precision.value_or(6), type == 'g' ? 1 : 0);
    char buffer[512];
    const auto written = std::to_chars(buffer, buffer + sizeof buffer, spec.type == '%' ? size * 100 : size, style,
                                       static_cast<int>(precision));
    if (written.ec != std::errc()) fail(messages::number_too_large);
    std::string digits(buffer, written.ptr);
    if (spec.type == '%') digits += '%';
    return spec.type == 'E' || spec.type == 'F' || spec.type == 'G' ? to_upper(digits) : digits;
}

PromptText formatted_number(const Value& value, const FormatSpec& spec, const std::string& format, Budget& budget) {
    const bool is_real = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos && spec.type != 0;
    std::string digits, prefix;
    bool negative = false;
    if (is_real || !value.is_integer()) {
        const double d = value.as_double();
        if (!is_real && (spec.type != 0 || spec.precision)) refuse_format(format);
        if (spec.alternate) refuse_format(format);
        negative = std::signbit(d) && !std::isnan(d);
        digits = is_real ? real_digits(std::fabs(d), spec) : to_text(Value::real(std::fabs(d))).bytes;
    } else {
        if (spec.precision || (spec.type == 'c')) refuse_format(format);
        const std::int64_t i = value.as_int();
        negative = i < 0;
        const auto size = negative ? 0 - static_cast<std::uint64_t>(i) : static_cast<std::uint64_t>(i);
        const int base = spec.type == 'b' ? 2 : spec.type == 'o' ? 8 : spec.type == 'x' || spec.type == 'X' ? 16 : 10;
        if (base == 10 && spec.type != 0 && spec.type != 'd') refuse_format(format);
        char buffer[72];
        digits.assign(buffer, std::to_chars(buffer, buffer + sizeof buffer, size, base).ptr);
        if (spec.alternate && base != 10) prefix = std::string("0") + spec.type;
        if (spec.type == 'X') digits = to_upper(digits);
        if (base != 10 && spec.separator != 0) refuse_format(format);
    }
    if (spec.separator != 0) {
        if (spec.align == '=' && spec.fill.bytes == "0") refuse_format(format);
        digits = grouped(digits, spec.separator);
    }
    const bool is_shown = spec.sign == '+' || spec.sign == ' ';
    const std::string sign = negative ? "-" : is_shown ? std::string(1, spec.sign) : "";
    return aligned(sign + prefix + digits, spec, '>', sign.size() + prefix.size(), budget);
}

PromptText formatted_text(const PromptText& text, const FormatSpec& spec, char otherwise, Budget& budget) {
    const std::size_t n = byte_of_character(text.bytes, spec.precision.value_or(text.size()));
    return aligned(text.part(0, n), spec, otherwise, 0, budget);
}

// ---------------------------------------------------------------- str.format()

PromptText formatted(const Value& value, const PromptText& format, Budget& budget) {
    budget.spend_bytes(value.weight());
    if (format.empty()) return to_text(value);
    FormatSpec spec = read_spec(format);
    if (value.is_number()) return formatted_number(value, spec, format.bytes, budget);
    if (!value.is(Kind::kString)) fail(messages::text_format_of_type(format.bytes, type_name(value)));
    if (spec.align == '=' && spec.fill.bytes == "0") spec.align = '<';
    if ((spec.type != 0 && spec.type != 's') || spec.align == '=' || spec.sign != 0 || spec.alternate ||
        spec.separator != 0) {
        refuse_format(format.bytes);
    }
    return formatted_text(value.as_text(), spec, '<', budget);
}

// "0", "name", "" (the next one), followed by ".attribute" and "[key]".
Value field_of(std::string_view name, const Arguments& arguments, std::size_t& next, Budget& budget) {
    const std::string_view whole = name;
    const auto bad_field = [&]() { fail(messages::text_format_field(std::string(whole))); };
    const std::string_view first = name.substr(0, name.find_first_of(".["));
    name.remove_prefix(first.size());
    std::size_t index = 0;
    const auto read = std::from_chars(first.data(), first.data() + first.size(), index);
    const bool is_number = read.ec == std::errc() && read.ptr == first.data() + first.size();
    if (first.empty() || is_number) {
        // A field without a number after one with a number, or the reverse, is an error
        // in Python.
        constexpr std::size_t kNumbered = std::string::npos;
        if (first.empty() ? next == kNumbered : next != 0 && next != kNumbered) bad_field();
        index = first.empty() ? next++ : index;
        if (!first.empty()) next = kNumbered;
        if (index >= arguments.positional.size()) bad_field();
    }
    const Value* found = first.empty() || is_number ? &arguments.positional[index] : nullptr;
    for (const auto& [key, value] : arguments.named) found = found == nullptr && key == first ? &value : found;
    if (found == nullptr) bad_field();
    Value value = *found;
    while (!name.empty()) {
        budget.step();
        if (take(name, '.')) {
            const std::string_view attribute = name.substr(0, name.find_first_of(".["));
            if (attribute.empty()) bad_field();
            value = attribute_of(value, attribute, budget);
            name.remove_prefix(attribute.size());
            continue;
        }
        const std::size_t end = name.find(']');
        if (!name.starts_with('[') || end == std::string_view::npos || end == 1) bad_field();
        std::string_view key = name.substr(1, end - 1);
        name.remove_prefix(end + 1);
        std::string_view rest = key;
        const auto number = key[0] >= '0' && key[0] <= '9' ? take_number(rest, 1u << 30) : std::nullopt;
        value = item_of(value,
                        number && rest.empty() ? Value::integer(static_cast<std::int64_t>(*number))
                                               : Value::string(std::string(key)),
                        budget);
    }
    return value;
}

// The ends of a field's name and of the whole field, in the text after its {.
struct FieldEnds {
    std::size_t name, all;
};
FieldEnds ends_of_field(std::string_view text) {
    std::size_t name = 0;
    while (name < text.size() && std::string_view("{}:!").find(text[name]) == std::string_view::npos) {
        // Text in brackets is a key.
        name = text[name] == '[' ? std::min(text.find(']', name), text.size() - 1) + 1 : name + 1;
    }
    std::size_t end = name, n_open = 1;
    for (; end < text.size(); ++end) {
        if (text[end] == '{') ++n_open;
        if (text[end] == '}' && --n_open == 0) break;
    }
    if (end == text.size() || text[name] == '{') fail(messages::text_format_values);
    return {name, end};
}

Value converted(const Value& value, std::string_view conversion, Budget& budget) {
    if (conversion != "s" && conversion != "r") refuse_format("!" + std::string(conversion));
    budget.spend_bytes(value.weight() * 4);
    if (conversion == "s") return Value::string(to_text(value));
    return Value::string(value.has_data() ? PromptText::of_data(to_repr(value)) : PromptText(to_repr(value)));
}

// The text of a field in a format that is marked up.
PromptText formatted_markup(const Value& value, const PromptText& format, Budget& budget) {
    if (value.is_markup() && !format.empty()) refuse_format(format.bytes);
    return escaped(value.is_markup() ? value : Value::string(formatted(value, format, budget)), budget);
}

// `depth`: the remaining nesting of fields in another field's format. `next`: the number
// of the value that {} takes.
PromptText filled(const PromptText& format, bool is_markup, const Arguments& arguments, std::size_t& next, int depth,
                  Budget& budget) {
    if (depth < 0) fail(messages::text_format_values);
    PromptText out;
    const std::string_view text = format.bytes;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t brace = std::min(text.find_first_of("{}", at), text.size());
        out.append(format, at, brace - at);
        budget.spend_bytes(brace - at);
        if (brace == text.size()) break;
        if (text.substr(brace, 2) == "{{" || text.substr(brace, 2) == "}}") {
            out.append(format, brace, 1);
            at = brace + 2;
            continue;
        }
        if (text[brace] == '}') fail(messages::text_format_values);
        const std::size_t begin = brace + 1;
        auto [name, end] = ends_of_field(text.substr(begin));
        Value value = field_of(text.substr(begin, name), arguments, next, budget);
        if (text[begin + name] == '!') {
            const std::size_t n = std::min(text.find(':', begin + name), begin + end) - begin - name;
            value = converted(value, text.substr(begin + name + 1, n - 1), budget);
            name += n;
        }
        const PromptText spec = name == end ? PromptText() : format.part(begin + name + 1, end - name - 1);
        const PromptText whole = filled(spec, is_markup, arguments, next, depth - 1, budget);
        out.append(is_markup ? formatted_markup(value, whole, budget) : formatted(value, whole, budget));
        at = begin + end + 1;
    }
    return out;
}

}  // namespace

Value format_braces(const Value& format, const Arguments& arguments, Budget& budget) {
    std::size_t next = 0;
    const bool is_markup = format.is_markup();
    return new_string(filled(format.as_text(), is_markup, arguments, next, 2, budget), budget, is_markup);
}

PromptText escaped(const Value& value, Budget& budget) {
    budget.spend_bytes(value.weight() * 6);
    if (value.is_markup()) return value.as_text();
    const PromptText text = to_text(value);
    PromptText out;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.bytes.find_first_of("&<>\"'", at), text.size());
        out.append(text, at, next - at);
        if (next == text.size()) break;
        const char c = text.bytes[next];
        const char* const code = c == '&'   ? "&amp;"
                                 : c == '<' ? "&lt;"
                                 : c == '>' ? "&gt;"
                                 : c == '"' ? "&#34;"
                                            : "&#39;";
        out.append(text.has_data(next, 1) ? PromptText::of_data(code) : PromptText(code));
        at = next + 1;
    }
    return out;
}

// ---------------------------------------------------------------- %

Value format_percent(const Value& whole, const Value& values, Budget& budget) {
    const PromptText& format = whole.as_text();
    const bool is_tuple = values.is(Row::kTuple);
    const bool is_mapping = values.is(Kind::kDict);
    const std::string_view text = format.bytes;
    PromptText out;
    std::size_t next = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t sign = std::min(text.find('%', at), text.size());
        out.append(format, at, sign - at);
        budget.spend_bytes(sign - at);
        if (sign == text.size()) break;
        std::string_view rest = text.substr(sign + 1);
        const Value* value = nullptr;
        if (rest.starts_with('(')) {
            const std::size_t end = rest.find(')');
            if (!is_mapping || end == std::string_view::npos) fail(messages::text_format_values);
            value = values.find(rest.substr(1, end - 1));
            if (value == nullptr) fail(messages::text_format_field(std::string(rest.substr(1, end - 1))));
            rest.remove_prefix(end + 1);
        }
        FormatSpec spec;
        bool zero = false;
        for (; !rest.empty() && std::string_view("-+ #0").find(rest[0]) != std::string_view::npos;
             rest.remove_prefix(1)) {
            if (rest[0] == '-') spec.align = '<';
            if (rest[0] == '+' || (rest[0] == ' ' && spec.sign != '+')) spec.sign = rest[0];
            if (rest[0] == '#') spec.alternate = true;
            if (rest[0] == '0') zero = true;
        }
        spec.width = take_number(rest, kMaxWidth).value_or(0);
        if (take(rest, '.')) spec.precision = take_number(rest, kMaxPrecision).value_or(0);
        while (!rest.empty() && std::string_view("hlL").find(rest[0]) != std::string_view::npos) rest.remove_prefix(1);
        if (rest.empty()) fail(messages::text_format_values);
        spec.type = rest[0];
        const std::string shown = "%" + std::string(1, spec.type);
        at = text.size() - rest.size() + 1;
        if (spec.type == '%') {
            out.append("%");
            continue;
        }
        if (value == nullptr) {
            const std::size_t n = is_tuple ? values.as_list().items.size() : 1;
            if (next >= n) fail(messages::text_format_values);
            value = is_tuple ? &values.as_list().items[next] : &values;
            ++next;
        }
        budget.spend_bytes(value->weight() * 4);
        if (spec.type == 's' || spec.type == 'r') {
            const Value shown_value = spec.type == 'r' ? converted(*value, "r", budget) : *value;
            out.append(formatted_text(whole.is_markup() ? escaped(shown_value, budget) : to_text(shown_value), spec,
                                      '>', budget));
            continue;
        }
        if (!value->is_number()) fail(messages::text_format_of_type(shown, type_name(*value)));
        if (zero && spec.align == 0) {
            spec.fill = "0";
            spec.align = '=';
        }
        const bool is_integer = std::string_view("diuxXo").find(spec.type) != std::string_view::npos;
        if (is_integer && (spec.precision || spec.alternate)) refuse_format(shown);
        // Markup's values have no index, which these take.
        if (whole.is_markup() && std::string_view("xXo").find(spec.type) != std::string_view::npos)
            fail(messages::text_format_of_type(shown, type_name(*value)));
        if (spec.type == 'i' || spec.type == 'u') spec.type = 'd';
        Value number = *value;
        if (spec.type == 'd' && !number.is_integer()) {
            if (!(std::fabs(number.as_double()) < 9.2e18)) fail(messages::number_too_large);
            number = Value::integer(static_cast<std::int64_t>(number.as_double()));
        }
        if (is_integer && !number.is_integer()) fail(messages::text_format_of_type(shown, type_name(number)));
        if (!is_integer && std::string_view("eEfFgG").find(spec.type) == std::string_view::npos) refuse_format(shown);
        out.append(formatted_number(number, spec, shown, budget));
    }
    const bool is_complete = is_tuple ? next == values.as_list().items.size()
                                      : next > 0 || is_mapping || values.has_index() || values.is(Kind::kUndefined);
    if (!is_complete) fail(messages::text_format_values);
    return new_string(std::move(out), budget, whole.is_markup());
}

}  // namespace offstage::engine::jinja
