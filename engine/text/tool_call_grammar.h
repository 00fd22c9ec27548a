#pragma once

#include <optional>
#include <string_view>

#include "engine/text/grammar.h"
#include "engine/text/tool_call_format.h"

namespace offstage::engine {

// Answers that are calls of these tools, with arguments of their schemas, as the format
// writes them. thinking: of the same model, for the headers of harmony's messages. only:
// this tool; empty: any. is_parallel: one call or several. or_text: or text, with calls
// behind it or none; form: text of this form, without calls. nullopt: the format has no
// such grammar. Throws Error (kInvalidInput) as JsonSchemaGrammar.
std::optional<Grammar> tool_call_grammar(const ToolCallFormat& format, const ThinkingFormat& thinking,
                                         const ToolDefinitions& tools, std::string_view only, bool is_parallel,
                                         bool or_text, const Grammar* form = nullptr);

}  // namespace offstage::engine
