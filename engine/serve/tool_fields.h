#pragma once
// Tools in requests: their definitions, and whether one must be called.

#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/run/generation.h"
#include "engine/serve/request_fields.h"

namespace offstage::engine {

// OpenAI's and Ollama's "tools", with "tool_choice" and "parallel_tool_calls"; those of
// the Responses API, whose tools are functions themselves; Anthropic's "tools" and
// "tool_choice". `body`: of the request, in which schemas keep the order of their
// properties. Throw ApiError (400).
ToolUse openai_tools(const RequestFields& fields, std::string_view body);
ToolUse responses_tools(const RequestFields& fields, std::string_view body);
ToolUse anthropic_tools(const RequestFields& fields, std::string_view body);

// Refuses a form of the answer, given by this field, beside tools.
void check_form_and_tools(const GenerationRequest& answer, const char* field);

}  // namespace offstage::engine
