#include "engine/text/gbnf.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostGrammarBytes = 1u << 20;
constexpr int kDeepestGroup = 64;
constexpr int kMostRepetitions = 20'000;

bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class GbnfParser {
  public:
    using Node = GrammarBuilder::Node;

    explicit GbnfParser(std::string_view text) : text_(text) {}

    Grammar parse() {
        skip_space(true);
        while (!at_end()) parse_rule();
        return builder_.compile(builder_.rule("root"));
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

    [[noreturn]] void refuse(const char* expected) const {
        const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n') + 1;
        const std::string found = at_end() ? "its end" : in_quotes(text_.substr(at_, 12));
        throw Error(ErrorKind::kInvalidInput, messages::grammar_syntax(line, found, expected));
    }
    void expect(char c, const char* expected) {
        if (at_end() || peek() != c) refuse(expected);
        ++at_;
    }

    // Blanks and comments; `lines`: and line ends.
    void skip_space(bool lines) {
        while (!at_end()) {
            const char c = peek();
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
                ++at_;
            } else {
                return;
            }
        }
    }

    std::string parse_name() {
        const std::size_t begin = at_;
        while (is_name(peek())) ++at_;
        if (at_ == begin) refuse("a rule's name");
        return std::string(text_.substr(begin, at_ - begin));
    }

    void parse_rule() {
        const std::string name = parse_name();
        const GrammarBuilder::Rule rule = builder_.rule(name);
        if (builder_.is_defined(rule)) {
            throw Error(ErrorKind::kInvalidInput, messages::grammar_rule_twice(name));
        }
        skip_space(false);
        if (text_.substr(at_, 3) != "::=") refuse("::=");
        at_ += 3;
        skip_space(true);
        builder_.define(rule, parse_alternatives(0));
        if (!at_end() && peek() != '\n' && peek() != '\r') refuse("a line's end");
        skip_space(true);
    }

    Node parse_alternatives(int depth) {
        if (depth > kDeepestGroup) refuse("fewer groups inside one another");
        std::vector<Node> parts{parse_sequence(depth)};
        while (is_bar()) {
            skip_space(true);
            ++at_;
            skip_space(true);
            parts.push_back(parse_sequence(depth));
        }
        return builder_.choice(std::move(parts));
    }
    // Also on a line of its own.
    bool is_bar() {
        const std::size_t here = at_;
        skip_space(true);
        const bool bar = peek() == '|';
        at_ = here;
        return bar;
    }

    Node parse_sequence(int depth) {
        std::vector<Node> parts;
        while (true) {
            const char c = peek();
            if (c == '"') {
                parts.push_back(parse_literal());
            } else if (c == '[') {
                parts.push_back(parse_class());
            } else if (c == '.') {
                ++at_;
                parts.push_back(builder_.characters(std::vector<CharacterRange>{{0, kLastCharacter}}));
            } else if (c == '(') {
                ++at_;
                skip_space(true);
                parts.push_back(parse_alternatives(depth + 1));
                skip_space(true);
                expect(')', "\")\"");
            } else if (is_name(c)) {
                parts.push_back(builder_.call(builder_.rule(parse_name())));
            } else if (c == '<' || c == '!') {
                refuse("text alone: special tokens are never part of it");
            } else {
                return builder_.sequence(std::move(parts));
            }
            skip_space(depth > 0);
            while (parse_repetition(parts.back())) skip_space(depth > 0);
        }
    }

    bool parse_repetition(Node& part) {
        int least = 0, most = GrammarBuilder::kNoLimit;
        const char c = peek();
        if (c == '{') {
            ++at_;
            least = most = parse_count();
            if (peek() == ',') {
                ++at_;
                skip_space(true);
                most = peek() == '}' ? GrammarBuilder::kNoLimit : parse_count();
            }
            if (peek() != '}' || (most != GrammarBuilder::kNoLimit && most < least)) refuse("{m}, {m,} or {m,n}");
        } else if (c == '+') {
            least = 1;
        } else if (c == '?') {
            most = 1;
        } else if (c != '*') {
            return false;
        }
        ++at_;
        part = builder_.repeat(part, least, most);
        return true;
    }
    int parse_count() {
        skip_space(true);
        int count = -1;
        while (peek() >= '0' && peek() <= '9' && count <= kMostRepetitions) {
            count = std::max(count, 0) * 10 + (text_[at_++] - '0');
        }
        if (count < 0 || count > kMostRepetitions) refuse("a number up to 20000");
        skip_space(true);
        return count;
    }

    std::uint32_t parse_hex(std::size_t digits) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < digits; ++i, ++at_) {
            const int digit = hex_digit(peek());
            if (digit < 0) refuse("hexadecimal digits");
            value = value << 4 | static_cast<std::uint32_t>(digit);
        }
        if (value > kLastCharacter || (value >= 0xD800 && value <= 0xDFFF)) refuse("a character of Unicode before it");
        return value;
    }

    std::uint32_t parse_character() {
        if (at_end()) refuse("a character");
        if (peek() != '\\') return next_character(text_, at_);
        ++at_;
        const char c = peek();
        if (!at_end()) ++at_;
        switch (c) {
            case 'x':
                return parse_hex(2);
            case 'u':
                return parse_hex(4);
            case 'U':
                return parse_hex(8);
            case 't':
                return '\t';
            case 'n':
                return '\n';
            case 'r':
                return '\r';
            case '\\':
            case '"':
            case '[':
            case ']':
            case '-':
            case '^':
                return static_cast<unsigned char>(c);
            default:
                refuse("a known escape before it");
        }
    }

    Node parse_literal() {
        ++at_;
        std::string literal;
        while (peek() != '"') append_utf8(parse_character(), literal);
        ++at_;
        return builder_.text(literal);
    }

    Node parse_class() {
        ++at_;
        const bool is_negated = peek() == '^';
        if (is_negated) ++at_;
        std::vector<CharacterRange> ranges;
        while (peek() != ']') {
            const std::uint32_t low = parse_character();
            std::uint32_t high = low;
            if (peek() == '-' && peek(1) != ']') {
                ++at_;
                high = parse_character();
            }
            if (high < low) refuse("a range that rises before it");
            ranges.emplace_back(low, high);
        }
        ++at_;
        return builder_.characters(is_negated ? other_characters(std::move(ranges)) : ranges);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    GrammarBuilder builder_;
};

}  // namespace

Grammar parse_gbnf(std::string_view text) {
    if (text.size() > kMostGrammarBytes) {
        throw Error(ErrorKind::kInvalidInput, messages::grammar_too_long(kMostGrammarBytes >> 20));
    }
    const std::size_t bad = find_invalid_utf8(text);
    if (bad != std::string_view::npos) throw Error(ErrorKind::kInvalidInput, messages::text_not_utf8(bad));
    return GbnfParser(text).parse();
}

}  // namespace offstage::engine
