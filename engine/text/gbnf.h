#pragma once

#include <string_view>

#include "engine/text/grammar.h"

namespace offstage::engine {

// A grammar as llama.cpp's programs take it: rules NAME ::= ..., of which "root" is the
// text. Literals, classes of characters, any character (.), groups, alternatives,
// repetition (* + ? {m} {m,} {m,n}) and comments; terminals that are tokens (<think>) are
// refused. Throws Error (kInvalidInput) with the line, and as GrammarBuilder::compile().
Grammar parse_gbnf(std::string_view text);

}  // namespace offstage::engine
