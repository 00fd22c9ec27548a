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

constexpr std::uint64_t kInResponses = bit(RequestObject::kResponses),
                        kInItemMessage = bit(RequestObject::kResponseMessage),
                        kInReasoningItem = bit(RequestObject::kResponseReasoning),
                        kInItemCall = bit(RequestObject::kResponseCall),
                        kInItemResult = bit(RequestObject::kResponseResult),
                        kInItemPart = bit(RequestObject::kResponsePart),
                        kInReasoningPart = bit(RequestObject::kReasoningPart),
                        kInFlatTool = bit(RequestObject::kResponseTool), kInReasoning = bit(RequestObject::kReasoning),
                        kInText = bit(RequestObject::kResponseText), kInTextFormat = bit(RequestObject::kTextFormat);

constexpr std::string_view kStateless = "this server keeps no answers; send the conversation in \"input\"";

constexpr FieldRule kResponsesRules[] = {
    {"model input instructions stream stream_options max_output_tokens temperature top_p top_k min_p "
     "repetition_penalty repeat_penalty repeat_last_n presence_penalty frequency_penalty logit_bias seed tools "
     "tool_choice parallel_tool_calls text reasoning include",
     kInResponses, FieldRule::kRead},
    // A reply says that it is not stored.
    {"store metadata user safety_identifier service_tier client_metadata", kInResponses, FieldRule::kHarmless,
     kAboutCaller},
    {"prompt_cache_key prompt_cache_retention prompt_cache_options", kInResponses, FieldRule::kHarmless, kReuse},
    {"truncation", kInResponses, FieldRule::kHarmless, kNeverCut},
    {"max_tool_calls background_options", kInResponses, FieldRule::kHarmless,
     "the server calls no tools, and answers at once"},
    {"previous_response_id conversation", kInResponses, "[]", kStateless},
    {"prompt", kInResponses, "[]", "this server keeps no prompts; send it in \"instructions\" and \"input\""},
    {"background", kInResponses, "[false]", "an answer belongs to its connection"},
    {"context_management", kInResponses, "[[]]", "nothing is taken out of a conversation"},
    {"moderation", kInResponses, "[]", kNoNetwork},
    {"top_logprobs", kInResponses, "[0]", "/v1/chat/completions gives log probabilities"},
    // ---- items of "input"
    {"type role content", kInItemMessage, FieldRule::kRead},
    {"type content summary", kInReasoningItem, FieldRule::kRead},
    {"type call_id name arguments", kInItemCall, FieldRule::kRead},
    {"type call_id output", kInItemResult, FieldRule::kRead},
    {"id status", kInItemMessage | kInReasoningItem | kInItemCall | kInItemResult, FieldRule::kHarmless, kOldReply},
    {"phase", kInItemMessage, FieldRule::kHarmless, "which of a turn's texts it is"},
    {"encrypted_content", kInReasoningItem, FieldRule::kHarmless, "only its writer can read it"},
    {"caller name", kInItemResult, FieldRule::kHarmless, "the call says them"},
    {"caller", kInItemCall, FieldRule::kHarmless, kOldReply},
    {"namespace", kInItemCall | kInItemResult, R"([""])", "tools have no groups here"},
    {"async", kInItemCall | kInFlatTool, "[false]", "an answer ends with its calls"},
    // ---- what items consist of
    {"type text", kInItemPart | kInReasoningPart, FieldRule::kRead},
    {"annotations logprobs prompt_cache_breakpoint", kInItemPart, FieldRule::kHarmless, kOldReply},
    // ---- tools
    {"name description parameters strict", kInFlatTool, FieldRule::kRead},
    {"type", kInFlatTool, R"(["function"])", "this server has no tools of its own"},
    {"defer_loading", kInFlatTool, "[false]", "all tools are shown to the model"},
    {"allowed_callers", kInFlatTool, R"([["direct"]])", "this server runs no programs"},
    {"output_schema", kInFlatTool, "[]", "results are not looked at"},
    {"type", bit(RequestObject::kResponseToolChoice), R"(["function"])", "this server has no tools of its own"},
    {"name", bit(RequestObject::kResponseToolChoice), FieldRule::kRead},
    // ---- reasoning
    {"effort", kInReasoning, FieldRule::kRead},
    {"summary generate_summary", kInReasoning, FieldRule::kHarmless, "thoughts are shown as they are"},
    {"context", kInReasoning, R"(["auto"])", "the model's template says which thoughts are kept"},
    {"mode", kInReasoning, R"(["standard"])"},
    // ---- text
    {"format", kInText, FieldRule::kRead},
    {"verbosity", kInText, R"(["medium"])"},
    {"type schema", kInTextFormat, FieldRule::kRead},
    {"name description strict", kInTextFormat, FieldRule::kHarmless, kOwnSchema},
};

std::string parts_of(const RequestJson& item, const char* name, const std::string& at, RequestObject part) {
    return content_of(item.value(name, RequestJson()), at + "." + name, part, nullptr);
}

ChatMessage message_of_item(const RequestJson& item, const std::string& at) {
    if (!item.is_object()) refuse_field(at, item, "an object with \"type\"");
    const RequestFields fields(item, at + ".");
    std::string type = fields.text("type");
    if (type.empty() && item.contains("role")) type = "message";
    ChatMessage message;
    message.role = Role::kAssistant;
    if (type == "message") {
        check_fields(item, RequestObject::kResponseMessage, at + ".");
        message.role = role_of(item, at);
        if (message.role == Role::kTool) refuse_field(at + ".role", "tool", "user, assistant, system or developer");
        if (fields.find("content") == nullptr) {
            throw ApiError(400, "\"" + at + ".content\" is missing; expected a text.", "input");
        }
        message.content = parts_of(item, "content", at, RequestObject::kResponsePart);
    } else if (type == "reasoning") {
        check_fields(item, RequestObject::kResponseReasoning, at + ".");
        message.thought = parts_of(item, "content", at, RequestObject::kReasoningPart);
        const std::string summary = parts_of(item, "summary", at, RequestObject::kReasoningPart);
        if (message.thought.empty()) message.thought = summary;
    } else if (type == "function_call") {
        check_fields(item, RequestObject::kResponseCall, at + ".");
        message.tool_calls.push_back({fields.text("call_id"), fields.text("name"), fields.text("arguments")});
    } else if (type == "function_call_output") {
        check_fields(item, RequestObject::kResponseResult, at + ".");
        message.role = Role::kTool;
        message.content = parts_of(item, "output", at, RequestObject::kResponsePart);
        message.tool_call_id = fields.text("call_id");
    } else {
        refuse_field(at + ".type", item.value("type", RequestJson()),
                     "message, function_call, function_call_output or reasoning");
    }
    return message;
}

// "instructions" and "input".
std::vector<ChatMessage> messages_of_input(const RequestFields& fields) {
    std::vector<ChatMessage> messages;
    if (std::string text = fields.text("instructions"); !text.empty()) {
        messages.push_back({Role::kSystem, std::move(text)});
    }
    const RequestJson* input = fields.find("input");
    if (input == nullptr) throw ApiError(400, "\"input\" is missing; expected a text or a list of items.", "input");
    if (input->is_string()) {
        messages.push_back({Role::kUser, input->get<std::string>()});
        return messages;
    }
    if (!input->is_array() || input->empty()) refuse_field("input", *input, "a text or a list of items");
    for (std::size_t i = 0; i < input->size(); ++i) {
        append_joined(messages, message_of_item((*input)[i], "input[" + std::to_string(i) + "]"));
    }
    return messages;
}

void read_effort(GenerationRequest& answer, const RequestFields& fields) {
    const RequestJson& reasoning = fields.object("reasoning");
    check_fields(reasoning, RequestObject::kReasoning, "reasoning.");
    answer.thinking = RequestFields(reasoning, "reasoning.").text("effort");
}

void check_include(const RequestFields& fields) {
    const RequestJson* include = fields.find("include");
    if (include == nullptr) return;
    if (!include->is_array()) refuse_field("include", *include, "a list of texts");
    for (const RequestJson& one : *include) {
        if (one == "reasoning.encrypted_content") continue;  // thoughts are not encrypted
        refuse_field("include", one, "\"reasoning.encrypted_content\" alone");
    }
}

// What a reply repeats of its request.
RequestJson repeated_fields(const RequestJson& given) {
    RequestJson repeated = {{"instructions", nullptr},
                            {"max_output_tokens", nullptr},
                            {"metadata", RequestJson::object()},
                            {"parallel_tool_calls", true},
                            {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                            {"temperature", 1.0},
                            {"text", {{"format", {{"type", "text"}}}}},
                            {"tool_choice", "auto"},
                            {"tools", RequestJson::array()},
                            {"top_p", 1.0},
                            {"truncation", "disabled"},
                            {"user", nullptr}};
    for (auto& [name, value] : repeated.items()) {
        if (const auto found = given.find(name); found != given.end() && !found->is_null()) value = *found;
    }
    for (RequestJson& tool : repeated["tools"]) {
        if (tool.value("strict", RequestJson()).is_null()) tool["strict"] = false;
    }
    return repeated;
}

}  // namespace

std::span<const FieldRule> responses_fields() {
    return kResponsesRules;
}

ApiRequest parse_responses_request(std::string_view body) {
    const RequestJson object = parse_body(body);
    check_fields(object, RequestObject::kResponses);
    const RequestFields fields(object);
    ApiRequest request;
    read_common(request, fields, false);
    const RequestJson& options = fields.object("stream_options");
    check_fields(options, RequestObject::kStreamOptions, "stream_options.");
    static_cast<void>(RequestFields(options, "stream_options.").boolean("include_usage", true));  // it always comes
    check_include(fields);
    GenerationRequest answer;
    answer.sampler = sampler_of(fields, kPlainSampling);
    read_effort(answer, fields);
    answer.grammar = responses_form(fields);
    answer.tools = responses_tools(fields);
    answer.max_tokens = static_cast<int>(fields.integer("max_output_tokens", 1, std::numeric_limits<int>::max(), 0));
    answer.messages = messages_of_input(fields);
    request.repeated = repeated_fields(object);
    request.prompts.push_back(std::move(answer));
    return request;
}

}  // namespace offstage::engine
