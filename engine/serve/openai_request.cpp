#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/run/sampler.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/request_parts.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostPrompts = 1024;
constexpr std::int64_t kMostChoices = 16;

SamplerSettings openai_defaults() {
    return {.temperature = 1, .top_k = 0, .top_p = 1};
}

// The common part of both endpoints: everything except the prompt and log probabilities.
ApiRequest common_of(const nlohmann::json& object, const RequestFields& fields, ApiRequest::Kind kind) {
    check_fields(object, kind == ApiRequest::Kind::kChat ? RequestObject::kChat : RequestObject::kCompletion);
    ApiRequest request;
    request.kind = kind;
    request.model = fields.text("model");
    request.stream = fields.boolean("stream", false);
    const nlohmann::json& options = fields.object("stream_options");
    check_fields(options, RequestObject::kStreamOptions, "stream_options.");
    request.include_usage = RequestFields(options, "stream_options.").boolean("include_usage", false);
    request.stop = stops_of(fields, "stop");
    return request;
}

// Puts each prompt there once for each choice, with a seed for each.
void repeat_prompts(ApiRequest& request, const RequestFields& fields) {
    const std::int64_t n = fields.integer(fields.one_of({"n", "n_cmpl"}), 1, kMostChoices, 1);
    request.n_choices = static_cast<std::size_t>(n);
    std::vector<GenerationRequest> all;
    for (const GenerationRequest& prompt : request.prompts) {
        for (std::uint64_t i = 0; i < request.n_choices; ++i) {
            all.push_back(prompt);
            if (prompt.sampler.seed != 0) all.back().sampler.seed = answer_seed(prompt.sampler.seed, i);
        }
    }
    request.prompts = std::move(all);
}

// Whether the answer goes on where the last message ends. As in other servers of open
// models, an assistant's last message is a begun answer unless a field says otherwise.
bool continues_last(const RequestFields& fields, const ChatMessage& last) {
    constexpr const char* kContinue = "continue_final_message";
    constexpr const char* kBegin = "add_generation_prompt";
    const bool can = is_begun_answer(last);
    const bool continues = fields.boolean(kContinue, can && !fields.boolean(kBegin, false));
    if (continues && !can) refuse_field(kContinue, true, "false, since the last message is no text of the assistant's");
    if (fields.boolean(kBegin, !continues) == continues) {
        refuse_field(kBegin, continues, std::string("the reverse of \"") + kContinue + "\"");
    }
    return continues;
}

// A text, token ids, or a list of either.
std::vector<GenerationRequest> prompts_of(const RequestFields& fields) {
    const nlohmann::json* prompt = fields.find("prompt");
    constexpr const char* kExpected = "a text, a list of texts, token ids, or a list of lists of them";
    if (prompt == nullptr) {
        throw ApiError(400, std::string("\"prompt\" is missing; expected ") + kExpected + ".", "prompt");
    }
    const bool is_ids = prompt->is_array() && !prompt->empty() && prompt->front().is_number();
    const nlohmann::json list = prompt->is_string() || is_ids ? nlohmann::json::array({*prompt}) : *prompt;
    if (!list.is_array() || list.empty() || list.size() > kMostPrompts) {
        refuse_field("prompt", *prompt, std::string(kExpected) + ", at most " + std::to_string(kMostPrompts));
    }
    std::vector<GenerationRequest> prompts;
    for (const nlohmann::json& one : list) {
        GenerationRequest request;
        request.raw = true;
        if (one.is_string()) {
            request.raw_prompt = one.get<std::string>();
        } else if (one.is_array() && !one.empty()) {
            request.prompt_ids = token_ids_of(one, "prompt");
        } else {
            refuse_field("prompt", one, kExpected);
        }
        prompts.push_back(std::move(request));
    }
    return prompts;
}

// One of ModelSummary::thinking_choices, which the engine checks.
std::string thinking_of(const RequestFields& fields) {
    constexpr const char* kName = "chat_template_kwargs";
    const nlohmann::json& variables = fields.object(kName);
    for (const auto& [name, value] : variables.items()) {
        if (name != "enable_thinking" && name != "reasoning_effort") {
            throw ApiError(400,
                           "\"chat_template_kwargs\" has \"" + name +
                               "\"; this server takes \"enable_thinking\" and \"reasoning_effort\".",
                           kName);
        }
    }
    const RequestFields given(variables, std::string(kName) + ".");
    for (const char* name : {"enable_thinking", "reasoning_effort"}) given.check_same(name, fields, name);
    for (const RequestFields* where : {&given, &fields}) {
        if (where->find("enable_thinking") != nullptr) return where->boolean("enable_thinking", true) ? "on" : "off";
    }
    const std::string effort = fields.text("reasoning_effort");
    return effort.empty() ? given.text("reasoning_effort") : effort;
}

// -1: until the end of the turn or of the context.
int limit_of(const RequestFields& fields, int least, int fallback) {
    constexpr std::int64_t kMostAnswerTokens = 100'000'000;
    const char* name = fields.one_of({"max_completion_tokens", "max_tokens", "n_predict"});
    if (const nlohmann::json* given = fields.find(name); given != nullptr && given->dump() == "-1") return -1;
    return static_cast<int>(fields.integer(name, least, kMostAnswerTokens, fallback, "-1"));
}

}  // namespace

ApiRequest parse_chat_request(std::string_view body) {
    const nlohmann::json object = parse_body(body);
    const RequestFields fields(object);
    ApiRequest request = common_of(object, fields, ApiRequest::Kind::kChat);
    GenerationRequest answer;
    answer.messages = messages_of(fields, RequestObject::kMessage);
    answer.continue_last = continues_last(fields, answer.messages.back());
    answer.sampler = sampler_of(fields, openai_defaults());
    answer.thinking = thinking_of(fields);
    answer.ignore_end = fields.boolean("ignore_eos", false);
    answer.max_tokens = std::max(0, limit_of(fields, 1, -1));
    const bool wanted = fields.boolean("logprobs", false);
    const std::int64_t alternatives = fields.integer("top_logprobs", 0, kMostAlternatives, 0);
    if (alternatives > 0 && !wanted) {
        throw ApiError(400, "\"top_logprobs\" is given without \"logprobs\": true.", "top_logprobs");
    }
    if (wanted) answer.n_alternatives = static_cast<int>(alternatives);
    request.prompts.push_back(std::move(answer));
    repeat_prompts(request, fields);
    return request;
}

ApiRequest parse_completion_request(std::string_view body) {
    const nlohmann::json object = parse_body(body);
    const RequestFields fields(object);
    ApiRequest request = common_of(object, fields, ApiRequest::Kind::kCompletion);
    request.echo = fields.boolean("echo", false);
    request.prompts = prompts_of(fields);
    // As other servers do it: a client that renders a chat template itself, or asks for
    // what belongs between two texts, writes special tokens into the prompt.
    const bool parse_special = fields.boolean("parse_special", true);
    const SamplerSettings sampler = sampler_of(fields, openai_defaults());
    const int limit = limit_of(fields, 0, 16);
    const bool ignore_end = fields.boolean("ignore_eos", false);
    const bool wanted = fields.find("logprobs") != nullptr;
    const auto alternatives = static_cast<int>(fields.integer("logprobs", 0, kMostAlternatives, 0));
    for (GenerationRequest& prompt : request.prompts) {
        prompt.raw_special = parse_special;
        prompt.sampler = sampler;
        prompt.max_tokens = std::max(0, limit);
        prompt.prompt_only = limit == 0;
        prompt.ignore_end = ignore_end;
        if (wanted) prompt.n_alternatives = alternatives;
        prompt.score_prompt = wanted && request.echo;
    }
    repeat_prompts(request, fields);
    return request;
}

}  // namespace offstage::engine
