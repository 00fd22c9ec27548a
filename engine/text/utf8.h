#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace offstage::engine {

// Byte offset of the first byte that is no valid UTF-8 (overlong forms, surrogates and >
// U+10FFFF are invalid), or npos.
std::size_t find_invalid_utf8(std::string_view text);

// Both need valid UTF-8: the bytes of the character at `at`; and the character itself,
// moving `at` after it.
std::size_t character_bytes(std::string_view text, std::size_t at);
std::uint32_t next_character(std::string_view text, std::size_t& at);
void append_utf8(std::uint32_t character, std::string& text);

// Length of the white space character that begins `text`, or 0: Unicode's White_Space,
// and what Python's strip() takes (U+001C to U+001F as well).
std::size_t white_space_at(std::string_view text);
std::size_t python_space_at(std::string_view text);
// Bytes of the white space at the end of a text, as Python's rstrip() takes it.
std::size_t trailing_space(std::string_view text);

// Any bytes as UTF-8: invalid bytes become U+FFFD, one for each longest part that begins
// a character (Unicode 15, section 3.9, "maximal subpart"), as in Rust and Python.
std::string to_valid_utf8(std::string_view bytes);

// Turns token bytes into UTF-8 that never splits a character: holds back an incomplete
// tail, replaces each invalid byte by U+FFFD. push() returns the text that may be shown
// now; finish() the rest.
class Utf8Stream {
  public:
    std::string push(std::string_view bytes);
    std::string finish();

  private:
    std::string pending_;
};

}  // namespace offstage::engine
