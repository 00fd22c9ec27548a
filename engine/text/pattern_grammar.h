#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "engine/text/grammar.h"

namespace offstage::engine {

// Texts in which a regular expression of JSON schemas (ECMA 262) finds something: all of
// the text between ^ and $. `characters` makes one of these characters, as the text writes
// it; `any`: any one. Classes, groups, alternatives and repetition; throws Error
// (kInvalidInput) for the rest: assertions, references, properties of Unicode.
GrammarBuilder::Node add_pattern(GrammarBuilder& builder, std::string_view pattern,
                                 const std::function<GrammarBuilder::Node(std::span<const CharacterRange>)>& characters,
                                 GrammarBuilder::Node any);

}  // namespace offstage::engine
