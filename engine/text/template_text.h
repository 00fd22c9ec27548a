#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/prompt_text.h"

namespace offstage::engine::jinja {

// Python's string methods on UTF-8. Letters that become several in another case do so,
// but Greek ones with an iota below.
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string to_title(std::string_view text);        // str.title(): a capital behind every non-letter
std::string to_title_words(std::string_view text);  // Jinja's title filter: behind white space and - ( { [ <
std::string to_capitalized(std::string_view text);
bool has_case(std::string_view text, bool upper);  // str.isupper(), str.islower()
bool is_decimal_digit(std::uint32_t c);            // of any script

// Without the leading and trailing characters that occur in `characters`.
std::string_view strip_characters(std::string_view text, std::string_view characters, bool left, bool right);

// At most `count` times; a negative count: all.
PromptText replace_text(const PromptText& text, std::string_view from, const PromptText& to, std::int64_t count);
std::size_t count_text(std::string_view text, std::string_view what);  // not overlapping; characters + 1 for ""

// str.split(separator, limit); an empty separator: at white space. A negative limit:
// none.
std::vector<std::string_view> split_text(std::string_view text, std::string_view separator, std::int64_t limit);
std::vector<std::string_view> split_text_from_right(std::string_view text, std::string_view separator,
                                                    std::int64_t limit);           // str.rsplit()
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);  // str.splitlines()

}  // namespace offstage::engine::jinja
