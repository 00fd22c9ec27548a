#include "engine/text/pattern_grammar.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/text/text_messages.h"
#include "engine/text/utf8.h"

namespace offstage::engine {
namespace {

using Ranges = std::vector<CharacterRange>;

constexpr int kDeepestPattern = 64;
constexpr int kMostPatternRepetitions = 5'000;

const Ranges kDigits = {{'0', '9'}};
const Ranges kWords = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Ranges kSpaces = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                        {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Ranges kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

class PatternParser {
  public:
    using Node = GrammarBuilder::Node;
    using Characters = std::function<Node(std::span<const CharacterRange>)>;

    PatternParser(GrammarBuilder& builder, std::string_view pattern, const Characters& characters, Node any)
        : builder_(builder), text_(pattern), characters_(characters), any_(any) {}

    Node parse() {
        const Node node = parse_alternatives(0);
        if (!at_end()) refuse();
        return node;
    }

  private:
    bool at_end() const { return at_ == text_.size(); }
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    [[noreturn]] void refuse() const {
        throw Error(
            ErrorKind::kInvalidInput,
            messages::pattern_unsupported(in_quotes(text_), in_quotes(text_.substr(std::min(at_, text_.size())))));
    }
    bool take(char c) {
        if (at_end() || peek() != c) return false;
        ++at_;
        return true;
    }

    Node parse_alternatives(int depth) {
        if (depth > kDeepestPattern) refuse();
        std::vector<Node> parts{parse_sequence(depth)};
        while (take('|')) parts.push_back(parse_sequence(depth));
        return builder_.choice(std::move(parts));
    }

    Node parse_sequence(int depth) {
        std::vector<Node> parts;
        const Node rest = builder_.repeat(any_, 0, GrammarBuilder::kNoLimit);
        if (depth == 0 && !take('^')) parts.push_back(rest);
        while (!at_end() && peek() != '|' && peek() != ')') {
            if (depth == 0 && peek() == '$') {
                ++at_;
                if (!at_end() && peek() != '|') refuse();
                return builder_.sequence(std::move(parts));
            }
            parts.push_back(parse_repeated(depth));
        }
        if (depth == 0) parts.push_back(rest);
        return builder_.sequence(std::move(parts));
    }

    Node parse_repeated(int depth) {
        Node part = parse_one(depth);
        int least = 0, most = GrammarBuilder::kNoLimit;
        if (take('{')) {
            least = most = parse_count();
            if (take(',')) most = peek() == '}' ? GrammarBuilder::kNoLimit : parse_count();
            if (!take('}') || (most != GrammarBuilder::kNoLimit && most < least)) refuse();
        } else if (take('+')) {
            least = 1;
        } else if (take('?')) {
            most = 1;
        } else if (!take('*')) {
            return part;
        }
        take('?');  // the same texts
        if (peek() == '*' || peek() == '+' || peek() == '?' || peek() == '{') refuse();
        return builder_.repeat(part, least, most);
    }
    int parse_count() {
        int count = -1;
        while (peek() >= '0' && peek() <= '9' && count <= kMostPatternRepetitions) {
            count = std::max(count, 0) * 10 + (text_[at_++] - '0');
        }
        if (count < 0 || count > kMostPatternRepetitions) refuse();
        return count;
    }

    Node parse_one(int depth) {
        switch (peek()) {
            case '(': {
                ++at_;
                if (take('?') && !take(':')) refuse();
                const Node group = parse_alternatives(depth + 1);
                if (!take(')')) refuse();
                return group;
            }
            case '[':
                return characters_of(parse_class());
            case '.':
                ++at_;
                return characters_of(other_characters(kLineEnds));
            case '\\':
                return characters_of(parse_escape());
            case '^':
            case '$':
            case '*':
            case '+':
            case '?':
            case '{':
            case '}':
            case ']':
                refuse();
            default: {
                const std::uint32_t c = next_character(text_, at_);
                return characters_of({{c, c}});
            }
        }
    }
    Node characters_of(const Ranges& ranges) {
        if (ranges.empty()) refuse();
        return characters_(ranges);
    }

    Ranges parse_class() {
        ++at_;
        const bool is_negated = take('^');
        Ranges ranges;
        while (!take(']')) {
            if (at_end()) refuse();
            Ranges low = parse_class_item();
            if (peek() == '-' && peek(1) != ']') {
                ++at_;
                const Ranges high = at_end() ? Ranges() : parse_class_item();
                const bool are_single = low.size() == 1 && low[0].first == low[0].second && high.size() == 1 &&
                                        high[0].first == high[0].second && low[0].first <= high[0].first;
                if (!are_single) refuse();
                low[0].second = high[0].second;
            }
            ranges.insert(ranges.end(), low.begin(), low.end());
        }
        return is_negated ? other_characters(std::move(ranges)) : ranges;
    }
    Ranges parse_class_item() {
        if (peek() == '\\') return parse_escape();
        const std::uint32_t c = next_character(text_, at_);
        return {{c, c}};
    }

    Ranges parse_hex(std::size_t digits) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < digits; ++i, ++at_) {
            const int digit = hex_digit(peek());
            if (digit < 0) refuse();
            value = value << 4 | static_cast<std::uint32_t>(digit);
        }
        if (value >= 0xD800 && value <= 0xDFFF) refuse();
        return {{value, value}};
    }

    Ranges parse_escape() {
        ++at_;
        const char c = peek();
        const auto one = [](char single) {
            return Ranges{{static_cast<unsigned char>(single), static_cast<unsigned char>(single)}};
        };
        ++at_;
        switch (c) {
            case 'd':
                return kDigits;
            case 'D':
                return other_characters(kDigits);
            case 'w':
                return kWords;
            case 'W':
                return other_characters(kWords);
            case 's':
                return kSpaces;
            case 'S':
                return other_characters(kSpaces);
            case 't':
                return one('\t');
            case 'n':
                return one('\n');
            case 'r':
                return one('\r');
            case 'f':
                return one('\f');
            case 'v':
                return one('\v');
            case 'x':
                return parse_hex(2);
            case 'u':
                return parse_hex(4);
            default:
                // Letters and digits have meanings: \b, \p{L}, \1.
                if (std::string_view("^$\\.*+?()[]{}|/-\"'!#%&,:;<=>@`~ _").find(c) != std::string_view::npos) {
                    return one(c);
                }
                at_ -= 2;
                refuse();
        }
    }

    GrammarBuilder& builder_;
    std::string_view text_;
    const Characters& characters_;
    Node any_;
    std::size_t at_ = 0;
};

}  // namespace

GrammarBuilder::Node add_pattern(GrammarBuilder& builder, std::string_view pattern,
                                 const std::function<GrammarBuilder::Node(std::span<const CharacterRange>)>& characters,
                                 GrammarBuilder::Node any) {
    return PatternParser(builder, pattern, characters, any).parse();
}

}  // namespace offstage::engine
