#pragma once
// The form that a request wants its answer to have: a JSON schema's, or a grammar's.

#include <memory>
#include <nlohmann/json.hpp>

#include "engine/serve/request_fields.h"
#include "engine/text/grammar.h"

namespace offstage::engine {

// OpenAI's "response_format" and "text.format", llama.cpp's "json_schema" and "grammar",
// Ollama's "format", and Anthropic's "output_config.format" and "output_format"; nullptr:
// any text. Throw ApiError (400).
std::shared_ptr<const Grammar> openai_form(const RequestFields& fields);
std::shared_ptr<const Grammar> responses_form(const RequestFields& fields);
std::shared_ptr<const Grammar> ollama_form(const RequestFields& fields);
std::shared_ptr<const Grammar> anthropic_form(const RequestFields& fields);

}  // namespace offstage::engine
