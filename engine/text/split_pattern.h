#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/json_part.h"

namespace offstage::engine {

// A stretch of a text: bytes [begin, end).
struct TextSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_match = false;
};

// The syntax of a regular expression. PCRE2 runs it; constructs with another meaning
// there are rewritten first (see translate_pattern).
enum class PatternSyntax {
    kOniguruma,  // tokenizer.json: Ruby's
    kRust,       // tiktoken: the crates regex and fancy-regex
};

// The pattern in PCRE2's syntax, for PCRE2_UTF and PCRE2_UCP:
//   \s, \S           Unicode's White_Space (PCRE2 counts U+180E in)
//   \w, \W, \h, \H   Oniguruma's word characters and hexadecimal digits
//   \p{Han}          the script itself, without the characters that it shares
//   [a&&[^b]]        an intersection, which PCRE2 before 10.45 does not have
//   a{1,3}+          Oniguruma only: a repetition of a repetition, not a possessive one
//   \uHHHH           \x{HHHH}
std::string translate_pattern(std::string_view pattern, PatternSyntax syntax);

// A pattern that a text is cut with, compiled. Immutable; any thread.
class SplitPattern {
  public:
    // Throws Error naming the file and the field when PCRE2 refuses the pattern.
    static SplitPattern regex(const std::string& pattern, PatternSyntax syntax, const JsonPart& where);
    static SplitPattern literal(const std::string& text, const JsonPart& where);  // not empty
    // {"Regex": pattern} or {"String": text}, as tokenizer.json has it.
    static SplitPattern read(const JsonPart& part);
    SplitPattern(SplitPattern&&) noexcept;
    SplitPattern& operator=(SplitPattern&&) noexcept;
    ~SplitPattern();

    // Divides `text` (valid UTF-8) into matches and the text between them, in order; no
    // span is empty, but a match may be. Throws Error (kInvalidInput) if the pattern
    // takes more steps than any text of this length should need.
    std::vector<TextSpan> find(std::string_view text) const;

  private:
    struct Code;
    explicit SplitPattern(std::unique_ptr<Code> code);

    std::unique_ptr<Code> code_;
};

}  // namespace offstage::engine
