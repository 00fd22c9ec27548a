#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/run/generation.h"

namespace offstage::engine {

// A request to one of the two endpoints that answer, read and checked.
struct ApiRequest {
    enum class Kind { kChat, kCompletion };

    Kind kind = Kind::kChat;
    std::string model;                       // as in the request; empty: left out
    std::vector<GenerationRequest> prompts;  // one for each choice
    std::size_t n_choices = 1;               // of each prompt, which lies in `prompts` so many times
    std::vector<std::string> stop;           // texts that end an answer and are not part of it
    bool stream = false;
    bool include_usage = false;  // for a stream: a last piece with the counts of tokens
    bool echo = false;           // completions: the prompt's text is the beginning of the answer's
    bool wants_log_probabilities() const { return prompts.front().n_alternatives >= 0; }
};

// The body of POST /v1/chat/completions and /v1/completions. Fields that would change the
// answer and are not supported are refused, unless they have a neutral value, and so are
// unknown ones (engine/serve/api_fields.h). Missing fields have the default of OpenAI's
// API, except seeds (a new one each time). Throws ApiError (400).
ApiRequest parse_chat_request(std::string_view body);
ApiRequest parse_completion_request(std::string_view body);

}  // namespace offstage::engine
