#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/request_parts.h"

namespace offstage::engine {
namespace {

constexpr unsigned kInAnthropic = bit(RequestObject::kAnthropic),
                   kInAnthropicMessage = bit(RequestObject::kAnthropicMessage),
                   kInAnthropicPart = bit(RequestObject::kAnthropicPart), kInThinking = bit(RequestObject::kThinking);

constexpr FieldRule kAnthropicRules[] = {
    {"model messages max_tokens system stop_sequences stream temperature top_p top_k thinking", kInAnthropic,
     FieldRule::kRead},
    {"metadata service_tier inference_geo cache_control diagnostics", kInAnthropic, FieldRule::kHarmless},
    {"tools mcp_servers", kInAnthropic, "[[]]", kNoTools},
    {"tool_choice", kInAnthropic, R"([{"type": "auto"}, {"type": "none"}])", kNoTools},
    {"container", kInAnthropic, "[]", "this server runs no programs"},
    {"context_management", kInAnthropic, R"([{}, {"edits": []}])", "nothing is taken out of a conversation"},
    {"output_config", kInAnthropic, "[{}]", kNoForm},
    {"output_format", kInAnthropic, "[]", kNoForm},
    {"speed", kInAnthropic, R"(["standard"])"},
    // ---- thinking. The model alone ends its thoughts: a budget is a wish, max_tokens
    // the limit of both.
    {"type", kInThinking, FieldRule::kRead},
    {"budget_tokens", kInThinking, FieldRule::kHarmless},
    {"display", kInThinking, R"(["summarized"])", "thoughts are shown as they are"},
    // ---- a message and its parts
    {"role content", kInAnthropicMessage, FieldRule::kRead},
    {"type text thinking", kInAnthropicPart, FieldRule::kRead},
    {"signature cache_control", kInAnthropicPart, FieldRule::kHarmless},
    {"citations", kInAnthropicPart, R"([[], {"enabled": false}])"},
};

// Without "thinking" Anthropic's models do not think.
bool thinks(const RequestFields& fields) {
    const nlohmann::json& thinking = fields.object("thinking");
    if (thinking.empty()) return false;
    check_fields(thinking, RequestObject::kThinking, "thinking.");
    const std::string type = RequestFields(thinking, "thinking.").text("type");
    if (type != "enabled" && type != "adaptive" && type != "disabled") {
        refuse_field("thinking.type", type, "enabled, adaptive or disabled");
    }
    return type != "disabled";
}

ApiRequest parse_anthropic(std::string_view body, bool is_count) {
    const nlohmann::json object = parse_body(body);
    check_fields(object, RequestObject::kAnthropic);
    const RequestFields fields(object);
    ApiRequest request;
    request.model = fields.text("model");
    request.stream = fields.boolean("stream", false);
    request.stop = stops_of(fields, "stop_sequences");
    request.think = thinks(fields);
    GenerationRequest answer;
    answer.sampler = sampler_of(fields, {.temperature = 1, .top_k = 0, .top_p = 1});
    if (fields.find("max_tokens") == nullptr && !is_count) {
        throw ApiError(400, "\"max_tokens\" is missing; expected the most tokens of the answer.", "max_tokens");
    }
    answer.max_tokens = static_cast<int>(fields.integer("max_tokens", 1, std::numeric_limits<int>::max(), 1));
    if (const nlohmann::json* system = fields.find("system")) {
        std::string thought;
        answer.messages.push_back({Role::kSystem, content_of(*system, "system", RequestObject::kPart, thought)});
    }
    for (ChatMessage& message : messages_of(fields, RequestObject::kAnthropicMessage)) {
        answer.messages.push_back(std::move(message));
    }
    answer.continue_last = is_begun_answer(answer.messages.back());
    request.prompts.push_back(std::move(answer));
    return request;
}

}  // namespace

std::span<const FieldRule> anthropic_fields() {
    return kAnthropicRules;
}

ApiRequest parse_anthropic_request(std::string_view body) {
    return parse_anthropic(body, false);
}

ApiRequest parse_anthropic_count(std::string_view body) {
    return parse_anthropic(body, true);
}

}  // namespace offstage::engine
