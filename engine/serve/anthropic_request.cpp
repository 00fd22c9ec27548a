#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/serve/answer_form.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/request_parts.h"
#include "engine/serve/tool_fields.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kInAnthropic = bit(RequestObject::kAnthropic),
                        kInAnthropicMessage = bit(RequestObject::kAnthropicMessage),
                        kInAnthropicPart = bit(RequestObject::kAnthropicPart),
                        kInThought = bit(RequestObject::kAnthropicThought),
                        kInRedacted = bit(RequestObject::kAnthropicRedacted),
                        kInThinking = bit(RequestObject::kThinking), kInOutput = bit(RequestObject::kOutputConfig),
                        kInAnthropicTool = bit(RequestObject::kAnthropicTool),
                        kInAnthropicCall = bit(RequestObject::kAnthropicCall),
                        kInAnthropicResult = bit(RequestObject::kAnthropicResult);

constexpr FieldRule kAnthropicRules[] = {
    {"model messages max_tokens system stop_sequences stream temperature top_p top_k thinking output_config "
     "output_format "
     "tools tool_choice",
     kInAnthropic, FieldRule::kRead},
    {"metadata service_tier inference_geo diagnostics", kInAnthropic, FieldRule::kHarmless, kAboutCaller},
    {"cache_control", kInAnthropic | kInAnthropicPart | kInAnthropicTool | kInAnthropicCall | kInAnthropicResult,
     FieldRule::kHarmless, kReuse},
    {"mcp_servers", kInAnthropic, "[[]]", kNoNetwork},
    {"container", kInAnthropic, "[]", "this server runs no programs"},
    {"context_management", kInAnthropic, R"([{}, {"edits": []}])", "nothing is taken out of a conversation"},
    {"speed", kInAnthropic, R"(["standard"])"},
    // ---- thinking
    {"type budget_tokens", kInThinking, FieldRule::kRead},
    {"display", kInThinking, R"(["summarized"])", "thoughts are shown as they are"},
    // ---- a message and its parts
    {"role content", kInAnthropicMessage, FieldRule::kRead},
    {"type text", kInAnthropicPart, FieldRule::kRead},
    {"citations", kInAnthropicPart, R"([[], {"enabled": false}])"},
    {"type thinking", kInThought, FieldRule::kRead},
    {"signature", kInThought, FieldRule::kHarmless, "thoughts are taken back with any"},
    {"type data", kInRedacted, FieldRule::kHarmless, "only its writer can read it"},
    // ---- tools, their calls and results
    {"name description input_schema strict", kInAnthropicTool, FieldRule::kRead},
    {"type", kInAnthropicTool, R"(["custom"])", "this server has no tools of its own"},
    {"eager_input_streaming", kInAnthropicTool, FieldRule::kHarmless, "arguments always come in pieces"},
    {"type name disable_parallel_tool_use", bit(RequestObject::kAnthropicChoice), FieldRule::kRead},
    {"type id name input", kInAnthropicCall, FieldRule::kRead},
    {"caller", kInAnthropicCall, FieldRule::kHarmless, kOldReply},
    {"type tool_use_id content", kInAnthropicResult, FieldRule::kRead},
    {"is_error", kInAnthropicResult, FieldRule::kHarmless, "what went wrong stands in the result"},
    // ---- output_config
    {"effort format", kInOutput, FieldRule::kRead},
    {"type schema", bit(RequestObject::kOutputFormat), FieldRule::kRead},
};

// Without "thinking" Anthropic's models do not think.
bool read_thinking(const RequestFields& fields, GenerationRequest& answer) {
    const RequestJson& thinking = fields.object("thinking");
    if (thinking.empty()) return false;
    check_fields(thinking, RequestObject::kThinking, "thinking.");
    const RequestFields of_thinking(thinking, "thinking.");
    const std::string type = of_thinking.text("type");
    answer.max_thought_tokens =
        static_cast<int>(of_thinking.integer("budget_tokens", 1, std::numeric_limits<int>::max(), 0));
    if (type != "enabled" && type != "adaptive" && type != "disabled") {
        refuse_field("thinking.type", type, "enabled, adaptive or disabled");
    }
    return type != "disabled";
}

// Empty: left out.
std::string effort_of(const RequestFields& fields) {
    const RequestJson& config = fields.object("output_config");
    check_fields(config, RequestObject::kOutputConfig, "output_config.");
    std::string effort = RequestFields(config, "output_config.").text("effort");
    const auto efforts = {"", "low", "medium", "high", "xhigh", "max"};
    if (std::find(efforts.begin(), efforts.end(), effort) == efforts.end()) {
        refuse_field("output_config.effort", effort, "low, medium, high, xhigh or max");
    }
    return effort;
}

ApiRequest parse_anthropic(std::string_view body, bool is_count) {
    const RequestJson object = parse_body(body);
    check_fields(object, RequestObject::kAnthropic);
    const RequestFields fields(object);
    ApiRequest request;
    read_common(request, fields, false);
    request.stop = stops_of(fields, "stop_sequences");
    GenerationRequest answer;
    request.think = read_thinking(fields, answer);
    answer.sampler = sampler_of(fields, kPlainSampling);
    answer.thinking = effort_of(fields);
    answer.grammar = anthropic_form(fields);
    answer.tools = anthropic_tools(fields);
    if (fields.find("max_tokens") == nullptr && !is_count) {
        throw ApiError(400, "\"max_tokens\" is missing; expected the most tokens of the answer.", "max_tokens");
    }
    answer.max_tokens = static_cast<int>(fields.integer("max_tokens", 1, std::numeric_limits<int>::max(), 1));
    if (const RequestJson* system = fields.find("system")) {
        std::string text = content_of(*system, "system", RequestObject::kAnthropicPart, nullptr);
        if (!text.empty()) answer.messages.push_back({Role::kSystem, std::move(text)});
    }
    for (ChatMessage& message : messages_of(fields, RequestObject::kAnthropicMessage)) {
        append_joined(answer.messages, std::move(message));
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
