// Values as text: Python's str() and repr(), and JSON.

#include <charconv>
#include <cmath>
#include <utf8proc.h>

#include "engine/text/template_value.h"
#include "engine/text/text_messages.h"

namespace offstage::engine::jinja {
namespace {

// Python's repr of a float: shortest digits that read back the same, an exponent below
// 1e-4 and from 1e16.
std::string float_text(double d) {
    if (std::isnan(d)) return "nan";
    if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
    char buffer[64];
    const double size = std::fabs(d);
    if (size != 0 && (size < 1e-4 || size >= 1e16)) {
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
        return {buffer, end};
    }
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed).ptr;
    std::string text(buffer, end);
    if (text.find('.') == std::string::npos) text += ".0";
    return text;
}

void append_hex(std::string& out, unsigned value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[(value >> shift) & 15];
}

// As Python's str.isprintable().
bool is_printable(std::uint32_t c) {
    if (c == ' ') return true;
    switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
        case UTF8PROC_CATEGORY_ZS:
            return false;
        default:
            return true;
    }
}

std::string string_repr(const std::string& text, bool is_markup) {
    const bool use_double = text.find('\'') != std::string::npos && text.find('"') == std::string::npos;
    const char quote = use_double ? '"' : '\'';
    std::string out = is_markup ? "Markup(" : "";
    out += quote;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t begin = at;
        const std::uint32_t c = next_character(text, at);
        if (c == static_cast<unsigned char>(quote) || c == '\\') {
            out += '\\';
            out += text[begin];
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '\r') {
            out += "\\r";
        } else if (c == '\t') {
            out += "\\t";
        } else if (is_printable(c)) {
            out.append(text, begin, at - begin);
        } else {
            out += c < 0x100 ? "\\x" : c < 0x10000 ? "\\u" : "\\U";
            append_hex(out, c, c < 0x100 ? 2 : c < 0x10000 ? 4 : 8);
        }
    }
    out += quote;
    if (is_markup) out += ')';
    return out;
}

// In UTF-16 if it does not fit four digits.
void append_json_escape(std::string& out, std::uint32_t c) {
    if (c >= 0x10000) {
        append_json_escape(out, 0xD800 + ((c - 0x10000) >> 10));
        c = 0xDC00 + ((c - 0x10000) & 0x3FF);
    }
    out += "\\u";
    append_hex(out, c, 4);
}

void append_json_string(std::string& out, const std::string& text, bool ascii) {
    out += '"';
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        const auto u = static_cast<unsigned char>(c);
        if (ascii && u >= 0x7F) {
            append_json_escape(out, next_character(text, at));
            --at;
            continue;
        }
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\r':
                out += "\\r";
                break;
            case '\t':
                out += "\\t";
                break;
            case '\b':
                out += "\\b";
                break;
            case '\f':
                out += "\\f";
                break;
            default:
                if (u < 0x20) {
                    append_json_escape(out, u);
                } else {
                    out += c;
                }
        }
    }
    out += '"';
}

void append_line(std::string& out, int indent, int level) {
    if (indent < 0) return;
    out += '\n';
    out.append(static_cast<std::size_t>(indent) * static_cast<std::size_t>(level), ' ');
}

void append_json(std::string& out, const Value& v, const JsonStyle& style, int level) {
    switch (v.kind()) {
        case Kind::kNone:
            out += "null";
            break;
        case Kind::kBool:
            out += v.as_int() != 0 ? "true" : "false";
            break;
        case Kind::kInt:
            out += std::to_string(v.as_int());
            break;
        case Kind::kFloat: {
            const double d = v.as_double();
            out += std::isnan(d) ? "NaN" : std::isinf(d) ? (d < 0 ? "-Infinity" : "Infinity") : float_text(d);
            break;
        }
        case Kind::kString:
            append_json_string(out, v.as_string(), style.ascii);
            break;
        case Kind::kList: {
            const auto& items = v.as_list().items;
            if (!v.is(Row::kList) && !v.is(Row::kTuple)) fail(messages::tojson_of_type(type_name(v)));
            out += '[';
            for (std::size_t i = 0; i < items.size(); ++i) {
                if (i > 0) out += style.between_items;
                append_line(out, style.indent, level + 1);
                append_json(out, items[i], style, level + 1);
            }
            if (!items.empty()) append_line(out, style.indent, level);
            out += ']';
            break;
        }
        case Kind::kDict: {
            const auto& items = v.as_dict().items;
            out += '{';
            for (std::size_t i = 0; i < items.size(); ++i) {
                if (i > 0) out += style.between_items;
                append_line(out, style.indent, level + 1);
                const Value& key = items[i].first;
                if (key.is(Kind::kString)) {
                    append_json_string(out, key.as_string(), style.ascii);
                } else if (key.is_number() || key.is(Kind::kNone)) {
                    out += '"';
                    append_json(out, key, {}, 0);
                    out += '"';
                } else {
                    fail(messages::tojson_key_of_type(type_name(key)));
                }
                out += style.after_key;
                append_json(out, items[i].second, style, level + 1);
            }
            if (!items.empty()) append_line(out, style.indent, level);
            out += '}';
            break;
        }
        default:
            fail(messages::tojson_of_type(type_name(v)));
    }
}

}  // namespace

std::string to_repr(const Value& v) {
    switch (v.kind()) {
        case Kind::kUndefined:
            return "Undefined";
        case Kind::kNone:
            return "None";
        case Kind::kBool:
            return v.as_int() != 0 ? "True" : "False";
        case Kind::kInt:
            return std::to_string(v.as_int());
        case Kind::kFloat:
            return float_text(v.as_double());
        case Kind::kString:
            return string_repr(v.as_string(), v.is_markup());
        case Kind::kList: {
            const List& list = v.as_list();
            if (list.row == Row::kIterator) fail_unsupported(messages::printing_type(type_name(v)));
            const bool is_tuple = list.row == Row::kTuple;
            std::string out(list.row == Row::kList || is_tuple ? std::string_view() : name_of(list.row));
            if (list.row == Row::kRange) {
                const auto [begin, end, step] = list.range;
                out.append("(").append(std::to_string(begin)).append(", ").append(std::to_string(end));
                if (step != 1) out.append(", ").append(std::to_string(step));
                return out.append(")");
            }
            const bool is_view = !out.empty();
            if (is_view) out += '(';
            out += is_tuple ? '(' : '[';
            for (std::size_t i = 0; i < list.items.size(); ++i) {
                if (i > 0) out += ", ";
                out += to_repr(list.items[i]);
            }
            if (is_tuple && list.items.size() == 1) out += ',';
            out += is_tuple ? ')' : ']';
            if (is_view) out += ')';
            return out;
        }
        case Kind::kDict: {
            std::string out = "{";
            for (const auto& [key, value] : v.as_dict().items) {
                if (out.size() > 1) out += ", ";
                out += to_repr(key) + ": " + to_repr(value);
            }
            return out + "}";
        }
        default:
            fail_unsupported(messages::printing_type(type_name(v)));
    }
}

PromptText to_text(const Value& v) {
    if (v.is(Kind::kString)) return v.as_text();
    if (v.is(Kind::kUndefined)) return {};
    return v.has_data() ? PromptText::of_data(to_repr(v)) : PromptText(to_repr(v));
}

PromptText to_json(const Value& v, const JsonStyle& style) {
    std::string out;
    append_json(out, v, style, 0);
    return v.has_data() ? PromptText::of_data(std::move(out)) : PromptText(std::move(out));
}

}  // namespace offstage::engine::jinja
