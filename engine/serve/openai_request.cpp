#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/run/sampler.h"
#include "engine/serve/answer_form.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/request_parts.h"
#include "engine/serve/tool_fields.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostPrompts = 1024;  // times the choices of each
constexpr std::int64_t kMostChoices = 16;

// The common part of both endpoints: everything except the prompt and log probabilities.
ApiRequest common_of(const RequestJson& object, const RequestFields& fields, ApiRequest::Kind kind) {
    check_fields(object, kind == ApiRequest::Kind::kChat ? RequestObject::kChat : RequestObject::kCompletion);
    ApiRequest request;
    request.kind = kind;
    read_common(request, fields, false);
    const RequestJson& options = fields.object("stream_options");
    check_fields(options, RequestObject::kStreamOptions, "stream_options.");
    request.include_usage = RequestFields(options, "stream_options.").boolean("include_usage", false);
    request.stop = stops_of(fields, "stop");
    return request;
}

void read_choices(ApiRequest& request, const RequestFields& fields) {
    const char* const name = fields.one_of({"n", "n_cmpl"});
    const std::int64_t n = fields.integer(name, 1, kMostChoices, 1);
    if (fields.integer("best_of", 1, kMostChoices, n) != n) {
        refuse_field("best_of", *fields.find("best_of"),
                     std::to_string(n) + ", as many as \"n\": this server gives every answer that it writes");
    }
    request.n_choices = static_cast<std::size_t>(n);
    if (request.n_answers() > kMostPrompts) {
        refuse_field(name, n, "at most " + std::to_string(kMostPrompts) + " answers to all prompts together");
    }
}

// Whether the answer goes on where the last message ends: only where a field says so.
bool continues_last(const RequestFields& fields, const ChatMessage& last) {
    const RequestJson& messages = *fields.find("messages");
    const std::string at = "messages[" + std::to_string(messages.size() - 1) + "].";
    std::string said_by;
    bool continues = false;
    const auto say = [&](const std::string& name, bool value, bool says) {
        if (!said_by.empty() && says != continues) {
            refuse_field(name, value, std::string(value ? "false" : "true") + ", to agree with \"" + said_by + "\"");
        }
        if (says && !is_begun_answer(last)) {
            refuse_field(
                name, value,
                std::string(value ? "false" : "true") + ", since the last message is no text of the assistant's");
        }
        said_by = name;
        continues = says;
    };
    for (const char* name : {"prefix", "partial"}) {
        if (RequestFields(messages.back(), at).boolean(name, false)) say(at + name, true, true);
    }
    for (const auto& [name, meaning] :
         {std::pair("continue_final_message", true), std::pair("add_generation_prompt", false)}) {
        if (fields.find(name) == nullptr) continue;
        const bool value = fields.boolean(name, false);
        say(name, value, value == meaning);
    }
    return continues;
}

// A text, token ids, or a list of either.
std::vector<GenerationRequest> prompts_of(const RequestFields& fields) {
    const RequestJson* prompt = fields.find("prompt");
    constexpr const char* kExpected = "a text, a list of texts, token ids, or a list of lists of them";
    if (prompt == nullptr) {
        throw ApiError(400, std::string("\"prompt\" is missing; expected ") + kExpected + ".", "prompt");
    }
    const bool is_ids = prompt->is_array() && !prompt->empty() && prompt->front().is_number();
    const bool is_one = prompt->is_string() || is_ids;
    if (!is_one && (!prompt->is_array() || prompt->empty() || prompt->size() > kMostPrompts)) {
        refuse_field("prompt", *prompt, std::string(kExpected) + ", at most " + std::to_string(kMostPrompts));
    }
    std::vector<GenerationRequest> prompts;
    const auto add = [&](const RequestJson& one) {
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
    };
    if (is_one) {
        add(*prompt);
    } else {
        for (const RequestJson& one : *prompt) add(one);
    }
    return prompts;
}

// Of choose_thinking().
std::string thinking_of(const RequestFields& fields) {
    constexpr const char* kName = "chat_template_kwargs";
    const RequestJson& variables = fields.object(kName);
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
    if (const RequestJson* given = fields.find(name);
        given != nullptr && !given->is_number_unsigned() && *given == -1) {
        return -1;
    }
    return static_cast<int>(fields.integer(name, least, kMostAnswerTokens, fallback, "-1"));
}

}  // namespace

GenerationRequest ApiRequest::prompt_of(std::size_t answer) const {
    GenerationRequest prompt = prompts[answer / n_choices];
    std::uint64_t& seed = prompt.sampler.seed;  // 0: the engine draws one
    if (seed != 0) seed = answer_seed(seed, answer % n_choices);
    return prompt;
}

ApiRequest parse_chat_request(std::string_view body) {
    const RequestJson object = parse_body(body);
    const RequestFields fields(object);
    ApiRequest request = common_of(object, fields, ApiRequest::Kind::kChat);
    GenerationRequest answer;
    answer.messages = messages_of(fields, RequestObject::kMessage);
    answer.continue_last = continues_last(fields, answer.messages.back());
    answer.sampler = sampler_of(fields, kPlainSampling);
    answer.thinking = thinking_of(fields);
    answer.ignore_end = fields.boolean("ignore_eos", false);
    answer.grammar = openai_form(fields);
    answer.tools = openai_tools(fields);
    answer.max_tokens = std::max(0, limit_of(fields, 1, -1));
    const bool wanted = fields.boolean("logprobs", false);
    const std::int64_t alternatives = fields.integer("top_logprobs", 0, kMostAlternatives, 0);
    if (alternatives > 0 && !wanted) {
        throw ApiError(400, "\"top_logprobs\" is given without \"logprobs\": true.", "top_logprobs");
    }
    if (wanted) answer.n_alternatives = static_cast<int>(alternatives);
    request.prompts.push_back(std::move(answer));
    read_choices(request, fields);
    return request;
}

ApiRequest parse_completion_request(std::string_view body) {
    const RequestJson object = parse_body(body);
    const RequestFields fields(object);
    ApiRequest request = common_of(object, fields, ApiRequest::Kind::kCompletion);
    request.echo = fields.boolean("echo", false);
    request.prompts = prompts_of(fields);
    // As other servers do it: a client that renders a chat template itself, or asks for
    // what belongs between two texts, writes special tokens into the prompt.
    const bool parse_special = fields.boolean("parse_special", true);
    const SamplerSettings sampler = sampler_of(fields, kPlainSampling);
    const int limit = limit_of(fields, 0, 16);
    const bool ignore_end = fields.boolean("ignore_eos", false);
    const std::shared_ptr<const Grammar> grammar = openai_form(fields);
    const bool wanted = fields.find("logprobs") != nullptr;
    const auto alternatives = static_cast<int>(fields.integer("logprobs", 0, kMostAlternatives, 0));
    for (GenerationRequest& prompt : request.prompts) {
        prompt.raw_special = parse_special;
        prompt.sampler = sampler;
        prompt.max_tokens = std::max(0, limit);
        prompt.prompt_only = limit == 0;
        prompt.ignore_end = ignore_end;
        prompt.grammar = grammar;
        if (wanted) prompt.n_alternatives = alternatives;
        prompt.score_prompt = wanted && request.echo;
    }
    read_choices(request, fields);
    return request;
}

}  // namespace offstage::engine
