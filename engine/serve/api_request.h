#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run/generation.h"

namespace offstage::engine {

// A request to one of the endpoints that answer, of any API, read and checked.
struct ApiRequest {
    enum class Kind : std::uint8_t { kChat, kCompletion };

    Kind kind = Kind::kChat;
    std::string model;                       // as in the request; empty: left out
    std::vector<GenerationRequest> prompts;  // none: nothing is asked (Ollama)
    std::size_t n_choices = 1;               // answers to each prompt, one after another
    std::vector<std::string> stop;           // texts that end an answer and are not part of it
    std::vector<std::string> model_stop;     // the same, of the model itself
    // To think or not, by whichever of the model's choices, GenerationRequest::thinking
    // first where the model has that one; nullopt: as GenerationRequest::thinking says.
    std::optional<bool> think;
    bool stream = false;
    bool include_usage = false;       // for a stream: a last piece with the counts of tokens
    bool echo = false;                // completions: the prompt's text is the beginning of the answer's
    nlohmann::ordered_json repeated;  // of the request, in its reply (Responses API)
    std::size_t n_answers() const { return prompts.size() * n_choices; }
    // A copy of the prompt of this answer, with the seed of its choice.
    GenerationRequest prompt_of(std::size_t answer) const;
    bool wants_log_probabilities() const { return !prompts.empty() && prompts.front().n_alternatives >= 0; }
};

// The bodies of the endpoints that answer. Fields that would change the answer and are
// not supported are refused, unless they have a neutral value, and so are unknown ones
// (engine/serve/api_fields.h). Missing fields have the default of each API, except seeds
// (a new one each time). Throw ApiError (400).
ApiRequest parse_chat_request(std::string_view body);        // POST /v1/chat/completions
ApiRequest parse_completion_request(std::string_view body);  // POST /v1/completions
ApiRequest parse_responses_request(std::string_view body);   // POST /v1/responses
ApiRequest parse_ollama_chat(std::string_view body);         // POST /api/chat
ApiRequest parse_ollama_generate(std::string_view body);     // POST /api/generate
ApiRequest parse_anthropic_request(std::string_view body);   // POST /v1/messages
// POST /v1/messages/count_tokens: the same without a limit.
ApiRequest parse_anthropic_count(std::string_view body);

}  // namespace offstage::engine
