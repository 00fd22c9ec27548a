#pragma once

#include <string>

namespace offstage::engine {

// The regular expressions of known vocabularies whose files only name them. Each defines
// words; everything except the blanks between words is matched.

// GPT-2's (https://github.com/openai/gpt-2, src/encoder.py).
inline constexpr const char* kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// OpenAI's cl100k_base and those made after it.
struct Cl100kStyle {
    bool marks = false;  // marks belong to words, as letters do
    std::string digits = "\\p{N}{1,3}";
};
std::string cl100k_pattern(const Cl100kStyle& style = {});

// OpenAI's o200k_base and those made after it: words end where small letters go over to
// capital ones.
struct O200kStyle {
    bool han_apart = false;    // Chinese characters are separate runs
    bool contractions = true;  // 's and the like end a word
    std::string digits = "\\p{N}{1,3}";
    std::string after_signs = "/";  // characters that may follow a run of signs, besides ends of lines
};
std::string o200k_pattern(const O200kStyle& style = {});

}  // namespace offstage::engine
