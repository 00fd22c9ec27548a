#pragma once
// Answers a request with the engine: generated text, cut at stop texts, in pieces.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/run/session.h"
#include "engine/serve/api_request.h"

namespace offstage::engine {

// A piece of one of the request's answers, in order.
struct AnswerPiece {
    std::size_t choice = 0;                 // which of ApiRequest::n_answers() it is part of
    std::string text;                       // whole characters; may be empty
    std::string thought;                    // the same for the model's thinking before the answer
    std::vector<ToolCallDelta> calls = {};  // of tools, behind the text
    // If log probabilities are requested: the tokens whose text begins in the output up
    // to here and not in earlier pieces. Text that a stop text cut off has none, nor has
    // a thought. A completion's last piece also has the token that ended it, which has no
    // text: clients that score a prompt with max_tokens 1 expect one token after it.
    std::vector<TokenChoice> tokens;
    // The text begins without the leading space of the first token's bytes.
    bool dropped_space = false;
    // The thought of the pieces before turned out to be the answer, and is its text now.
    bool thought_was_answer = false;
    bool text_was_thought = false;  // the reverse: it is this piece's thought
    // In the last piece of an answer: "stop" (its own end, or a stop text), "tool_calls"
    // (its own end, with calls) or "length" (max_tokens, or the context is full).
    std::string finish_reason = {};
    std::string stop_text = {};  // the one of ApiRequest::stop that ended it; empty: none did
};

struct AnswerTotals {
    std::int64_t prompt_tokens = 0;
    std::int64_t reused_tokens = 0;  // of these, found in the KV cache
    std::int64_t answer_tokens = 0;
    std::int64_t thought_tokens = 0;                       // of these
    std::int64_t drafted_tokens = 0, accepted_tokens = 0;  // DraftReport
    // By the device's clock: until the first token of each answer, and after it.
    double prompt_s = 0, answer_s = 0;
    bool stopped = false;  // by `stop`: the answers are not whole
};

// Answers the prompts one after another. The engine's thread; `emit` is called on it. A
// prompt whose tokens are scored is emitted together with its whole answer. Throws the
// errors of Session::generate().
AnswerTotals answer_request(const ApiRequest& request, Session& session, const std::stop_token& stop,
                            const std::function<void(AnswerPiece)>& emit);

}  // namespace offstage::engine
