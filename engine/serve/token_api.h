#pragma once
// The endpoints about the model's text alone, which need no place in the queue: those of
// llama.cpp's server, and Anthropic's count of tokens.

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/run/model_summary.h"

namespace offstage::engine {

// GET /props; n_together: requests that are answered at a time.
std::string model_props(const ModelSummary& model, std::size_t n_together);

// The bodies of POST requests, and the body of the reply. Precondition: the model has a
// text. Throw ApiError and Error. Long texts take their time: call them under an
// EncodingWatch.
std::string tokenize(const ModelSummary& model, std::string_view body);      // /tokenize
std::string detokenize(const ModelSummary& model, std::string_view body);    // /detokenize
std::string count_tokens(const ModelSummary& model, std::string_view body);  // /v1/messages/count_tokens

}  // namespace offstage::engine
