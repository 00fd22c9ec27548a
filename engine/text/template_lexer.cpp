#include "engine/text/template_lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/error.h"
#include "engine/text/template_value.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine::jinja {
namespace {

std::string with_unix_lines(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\r') {
            out += '\n';
            if (i + 1 < text.size() && text[i + 1] == '\n') ++i;
        } else {
            out += text[i];
        }
    }
    if (!out.empty() && out.back() == '\n') out.pop_back();
    return out;
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_name_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class Lexer {
  public:
    Lexer(std::string_view jinja, const std::string& source) : text_(with_unix_lines(jinja)), source_(source) {}

    std::vector<Token> run() {
        while (at_ < text_.size()) {
            const std::size_t open = find_open();
            const std::string_view data = std::string_view(text_).substr(at_, open - at_);
            if (open == text_.size()) {
                add_data(data, line_);
                at_ = open;
                break;
            }
            const char kind = text_[open + 1];
            const char sign = sign_of_tag(open);
            add_data(data_before(data, kind, sign, at_line_start_), line_);
            move_to(open + (sign != '\0' ? 3 : 2));
            if (kind == '#') {
                skip_comment();
            } else if (kind == '%' && take_tag("raw", "-")) {
                add_raw();
            } else {
                const bool is_block = kind == '%';
                add(is_block ? TokenKind::kBlockBegin : TokenKind::kVariableBegin);
                read_tag(is_block);
            }
        }
        add(TokenKind::kEnd);
        return std::move(tokens_);
    }

  private:
    std::size_t find_open() const {
        for (std::size_t i = text_.find('{', at_); i != std::string::npos; i = text_.find('{', i + 1)) {
            if (i + 1 >= text_.size()) break;
            const char c = text_[i + 1];
            if (c == '{' || c == '%' || c == '#') return i;
        }
        return text_.size();
    }

    // The - or + after the {% or {{ at `open`; '\0': none.
    char sign_of_tag(std::size_t open) const {
        const char sign = open + 2 < text_.size() ? text_[open + 2] : '\0';
        return sign == '-' || sign == '+' ? sign : '\0';
    }

    // The text before a tag without the removed white space. lstrip_blocks: removes white
    // space between the beginning of a line and a block tag or comment.
    static std::string_view data_before(std::string_view data, char kind, char sign, bool at_line_start) {
        if (sign == '-') return strip_right(data);
        if (sign == '+' || kind == '{') return data;
        const std::size_t newline = data.rfind('\n');
        const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
        if (line == 0 && !at_line_start) return data;
        return strip_left(data.substr(line)).empty() ? data.substr(0, line) : data;
    }

    void move_to(std::size_t to) {
        line_ += static_cast<int>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                             text_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
        at_ = to;
    }

    void add(TokenKind kind, std::string text = {}) { tokens_.push_back({kind, std::move(text), 0, 0, line_}); }
    void add_data(std::string_view data, int line) {
        if (!data.empty()) tokens_.push_back({TokenKind::kData, std::string(data), 0, 0, line});
    }
    std::string_view rest() const { return std::string_view(text_).substr(at_); }

    // After the end of a tag: "-" removes all white space; the end of a block or comment
    // removes one newline unless "+" is there.
    void after_tag(char sign, bool trims_newline) {
        const std::size_t begin = at_;
        if (sign == '-') {
            while (at_ < text_.size()) {
                const std::size_t n = python_space_at(rest());
                if (n == 0) break;
                move_to(at_ + n);
            }
        } else if (trims_newline && sign != '+' && at_ < text_.size() && text_[at_] == '\n') {
            move_to(at_ + 1);
        }
        at_line_start_ = at_ > begin && text_[at_ - 1] == '\n';
    }

    // After {%: reads the rest of the tag `name`, whose end may have one of `signs`.
    // False: it is not there.
    bool take_tag(std::string_view name, std::string_view signs) {
        std::string_view text = strip_left(rest());
        if (!text.starts_with(name)) return false;
        text = strip_left(text.substr(name.size()));
        const char sign = !text.empty() && signs.find(text[0]) != std::string_view::npos ? text[0] : '\0';
        if (sign != '\0') text.remove_prefix(1);
        if (!text.starts_with("%}")) return false;
        move_to(text_.size() - text.size() + 2);
        after_tag(sign, name == "endraw");  // the newline behind {% raw %} is text
        return true;
    }

    // After {% raw %}: everything up to {% endraw %} is text.
    void add_raw() {
        const std::size_t begin = at_;
        const int line = line_;
        const bool at_line_start = at_line_start_;
        for (std::size_t open = begin; (open = text_.find("{%", open)) != std::string::npos; ++open) {
            const char sign = sign_of_tag(open);
            move_to(open + (sign != '\0' ? 3 : 2));
            if (!take_tag("endraw", "-+")) continue;
            const std::string_view data = std::string_view(text_).substr(begin, open - begin);
            add_data(data_before(data, '%', sign, at_line_start), line);
            return;
        }
        refuse_syntax(source_, line, messages::no_such_tag("endraw"));
    }

    void skip_comment() {
        const std::size_t end = text_.find("#}", at_);
        if (end == std::string::npos) refuse_syntax(source_, line_, messages::comment_without_end);
        const char sign = end > at_ ? text_[end - 1] : '\0';
        move_to(end + 2);
        after_tag(sign == '-' || sign == '+' ? sign : '\0', true);
    }

    void read_tag(bool is_block) {
        std::string brackets;
        while (true) {
            if (at_ >= text_.size()) refuse_syntax(source_, line_, messages::tag_without_end);
            if (brackets.empty()) {
                const char c = text_[at_];
                const bool has_sign = c == '-' || (c == '+' && is_block);
                const std::size_t n = has_sign ? 1 : 0;
                if (std::string_view(text_).substr(at_ + n).starts_with(is_block ? "%}" : "}}")) {
                    add(is_block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd);
                    move_to(at_ + n + 2);
                    after_tag(has_sign ? c : '\0', is_block);
                    return;
                }
            }
            const std::size_t space = python_space_at(rest());
            if (space > 0) {
                move_to(at_ + space);
                continue;
            }
            const char c = text_[at_];
            if (is_name_start(c)) {
                read_name();
            } else if (is_digit(c)) {
                read_number();
            } else if (c == '\'' || c == '"') {
                read_string();
            } else {
                read_operator(brackets);
            }
        }
    }

    void read_name() {
        std::size_t end = at_;
        while (end < text_.size() && (is_name_start(text_[end]) || is_digit(text_[end]))) ++end;
        add(TokenKind::kName, text_.substr(at_, end - at_));
        at_ = end;
    }

    void read_number() {
        std::string digits;
        std::size_t end = at_;
        const auto take_digits = [&] {
            while (end < text_.size() && (is_digit(text_[end]) ||
                                          (text_[end] == '_' && end + 1 < text_.size() && is_digit(text_[end + 1])))) {
                if (text_[end] != '_') digits += text_[end];
                ++end;
            }
        };
        const auto digit_at = [&](std::size_t i) { return i < text_.size() && is_digit(text_[i]); };
        take_digits();
        bool is_float = false;
        const bool after_dot = at_ > 0 && text_[at_ - 1] == '.';  // the 0 of "a.0.1" is no float
        if (!after_dot && end < text_.size() && text_[end] == '.' && digit_at(end + 1)) {
            is_float = true;
            digits += '.';
            ++end;
            take_digits();
        }
        if (!after_dot && end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
            const bool has_sign = end + 1 < text_.size() && (text_[end + 1] == '-' || text_[end + 1] == '+');
            if (digit_at(end + (has_sign ? 2 : 1))) {
                is_float = true;
                digits += 'e';
                if (has_sign && text_[end + 1] == '-') digits += '-';
                end += has_sign ? 2 : 1;
                take_digits();
            }
        }
        add(is_float ? TokenKind::kFloat : TokenKind::kInteger, digits);
        Token& token = tokens_.back();
        const char* first = digits.data();
        const char* last = first + digits.size();
        const auto result =
            is_float ? std::from_chars(first, last, token.real) : std::from_chars(first, last, token.integer);
        const bool has_leading_zero = !is_float && digits[0] == '0' && token.integer != 0;  // in Jinja no number
        if (result.ec != std::errc() || result.ptr != last || has_leading_zero)
            refuse_unsupported(source_, line_, messages::the_number(digits));
        if (end < text_.size() && is_name_start(text_[end]))
            refuse_unsupported(source_, line_, messages::number_before_a_letter);
        at_ = end;
    }

    // Python's escapes.
    void read_string() {
        const char quote = text_[at_];
        const int line = line_;
        std::string out;
        std::size_t i = at_ + 1;
        while (true) {
            if (i >= text_.size()) refuse_syntax(source_, line, messages::string_without_end);
            const char c = text_[i++];
            if (c == quote) break;
            if (c != '\\') {
                out += c;
                continue;
            }
            if (i >= text_.size()) refuse_syntax(source_, line, messages::string_without_end);
            i = read_escape(i, out);
        }
        add(TokenKind::kString, std::move(out));
        tokens_.back().line = line;
        move_to(i);
    }

    std::size_t read_escape(std::size_t i, std::string& out) {
        const char c = text_[i++];
        static constexpr std::string_view kFrom = "abfnrtv\\'\"";
        static constexpr std::string_view kTo = "\a\b\f\n\r\t\v\\'\"";
        if (const std::size_t n = kFrom.find(c); n != std::string_view::npos) {
            out += kTo[n];
        } else if (c == '\n') {
            // a line that goes on
        } else if (c == 'x' || c == 'u' || c == 'U') {
            const std::size_t n_digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
            std::uint32_t value = 0;
            const char* first = text_.data() + i;
            const char* last = first + std::min(n_digits, text_.size() - i);
            const auto result = std::from_chars(first, last, value, 16);
            if (result.ec != std::errc() || result.ptr != first + n_digits)
                refuse_syntax(source_, line_, messages::broken_escape(std::string(1, c)));
            if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
                refuse_syntax(source_, line_, messages::escape_of_no_character);
            }
            append_utf8(value, out);
            i += n_digits;
        } else if (c >= '0' && c <= '7') {
            std::uint32_t value = static_cast<std::uint32_t>(c - '0');
            for (int digit = 1; digit < 3 && i < text_.size() && text_[i] >= '0' && text_[i] <= '7'; ++digit) {
                value = value * 8 + static_cast<std::uint32_t>(text_[i++] - '0');
            }
            append_utf8(value, out);
        } else if (c == 'N') {
            refuse_unsupported(source_, line_, messages::unknown_named_escape);
        } else {
            out += '\\';
            out += c;
        }
        return i;
    }

    void read_operator(std::string& brackets) {
        static constexpr std::array<std::string_view, 25> kOperators = {
            "**", "//", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", ">",
            "<",  "=",  ".",  ":",  "|",  ",",  "(", ")", "[", "]", "{", "}"};
        const std::string_view rest = this->rest();
        const auto it = std::find_if(kOperators.begin(), kOperators.end(),
                                     [&](std::string_view op) { return rest.starts_with(op); });
        if (it == kOperators.end()) {
            refuse_syntax(source_, line_, messages::unexpected_character(rest.substr(0, character_bytes(rest, 0))));
        }
        const char c = it->front();
        if (c == '(' || c == '[' || c == '{') brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
        if (c == ')' || c == ']' || c == '}') {
            if (brackets.empty() || brackets.back() != c) {
                refuse_syntax(source_, line_, messages::unexpected(std::string(1, c)));
            }
            brackets.pop_back();
        }
        add(TokenKind::kOperator, std::string(*it));
        at_ += it->size();
    }

    std::string text_;
    const std::string& source_;
    std::size_t at_ = 0;
    int line_ = 1;
    bool at_line_start_ = true;
    std::vector<Token> tokens_;
};

}  // namespace

void refuse_syntax(const std::string& source, int line, const MessageArgument& what) {
    throw Error(ErrorKind::kInvalidModel, messages::template_has(source, line, what));
}

void refuse_unsupported(const std::string& source, int line, const MessageArgument& what) {
    throw Error(ErrorKind::kUnsupported, messages::template_uses(source, line, what));
}

std::vector<Token> tokenize(std::string_view jinja, const std::string& source) {
    return Lexer(jinja, source).run();
}

}  // namespace offstage::engine::jinja
