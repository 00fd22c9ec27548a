#pragma once
// The parts that requests of several APIs have in common. All throw ApiError (400).

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/run/generation.h"
#include "engine/run/model_summary.h"
#include "engine/run/sampler_settings.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/request_fields.h"

namespace offstage::engine {

// OpenAI's and Anthropic's defaults: nothing is cut off.
inline const SamplerSettings kPlainSampling{.temperature = 1, .top_k = 0, .top_p = 1};

// left_out: the values of fields that are not there.
SamplerSettings sampler_of(const RequestFields& fields, const SamplerSettings& left_out);

// "model" and "stream".
void read_common(ApiRequest& request, const RequestFields& fields, bool streams_unless_told);

// A text, or a list of them; empty ones, which programs send for none, do not count.
std::vector<std::string> stops_of(const RequestFields& fields, const char* name);

Role role_of(const RequestJson& message, const std::string& at);

// A text, or a list of parts. The parts of Anthropic's messages that are no text are left in
// `others`; nullptr: there must be none.
struct OtherParts {
    std::string thought;
    std::vector<ToolCall> calls;       // of the assistant's
    std::vector<ChatMessage> results;  // of the user's, as messages of tools
    bool is_assistant = false;
};
std::string content_of(const RequestJson& content, const std::string& at, RequestObject part, OtherParts* others);

// "messages", each checked as an object of this kind.
std::vector<ChatMessage> messages_of(const RequestFields& fields, RequestObject kind);

// Neighbouring messages of one role are one message, as in Anthropic's API; results of
// tools are not.
void append_joined(std::vector<ChatMessage>& messages, ChatMessage message);

// Whether an assistant's answer can go on where the message ends.
inline bool is_begun_answer(const ChatMessage& last) {
    return last.role == Role::kAssistant && last.tool_calls.empty();
}

// Replaces what the APIs call levels of thinking, and ApiRequest::think, by one of the
// model's choices: where it has no such level, the nearest one that it has. "none" is
// "off", which is left out where the model does not think.
void choose_thinking(ApiRequest& request, const ModelSummary& model);

std::vector<TokenId> token_ids_of(const RequestJson& list, const char* field);

}  // namespace offstage::engine
