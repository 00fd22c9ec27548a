#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/message.h"

namespace offstage::engine::jinja {

enum class TokenKind {
    kData,  // text between tags, white space control already applied
    kVariableBegin,
    kVariableEnd,
    kBlockBegin,
    kBlockEnd,
    kName,
    kString,  // `text` unescaped
    kInteger,
    kFloat,
    kOperator,
    kEnd,
};

struct Token {
    TokenKind kind = TokenKind::kEnd;
    std::string text;
    std::int64_t integer = 0;
    double real = 0;
    int line = 1;
};

// Splits a template like Jinja with trim_blocks and lstrip_blocks on. Line endings become
// "\n", and one at the very end is removed. Throws Error (kInvalidModel, kUnsupported)
// naming `source` and the line.
std::vector<Token> tokenize(std::string_view jinja, const std::string& source);

// Ends parsing: "SOURCE, line N: WHAT."
[[noreturn]] void refuse_syntax(const std::string& source, int line, const MessageArgument& what);
[[noreturn]] void refuse_unsupported(const std::string& source, int line, const MessageArgument& what);

}  // namespace offstage::engine::jinja
