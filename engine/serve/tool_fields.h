#pragma once
// Tools in requests: their definitions, and whether one must be called.

#include <nlohmann/json.hpp>

#include "engine/run/generation.h"
#include "engine/serve/request_fields.h"

namespace offstage::engine {

// OpenAI's and Ollama's "tools", with "tool_choice" and "parallel_tool_calls"; those of
// the Responses API, whose tools are functions themselves; Anthropic's "tools" and
// "tool_choice". Throw ApiError (400).
ToolUse openai_tools(const RequestFields& fields);
ToolUse responses_tools(const RequestFields& fields);
ToolUse anthropic_tools(const RequestFields& fields);

}  // namespace offstage::engine
