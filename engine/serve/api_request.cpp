#include "engine/serve/api_request.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/run/sampler.h"
#include "engine/serve/api_error.h"
#include "engine/serve/api_fields.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

constexpr std::size_t kMostPrompts = 1024;
constexpr std::int64_t kMostChoices = 16;
constexpr std::size_t kMostStops = 16;
constexpr std::size_t kLongestStop = 1024;  // bytes
constexpr std::size_t kMostValues = 2'000'000;

[[noreturn]] void refuse_field(const std::string& field, const json& value, const std::string& expected) {
    throw ApiError(400, "\"" + field + "\" is " + describe(value).english() + "; expected " + expected + ".", field);
}

// The fields of a request, null counting as left out.
class Fields {
  public:
    // `path`: before the names, in messages.
    explicit Fields(const json& object, std::string path = {}) : object_(object), path_(std::move(path)) {}

    const json* find(const char* name) const {
        const auto it = object_.find(name);
        return it == object_.end() || it->is_null() ? nullptr : &*it;
    }
    // Of the names for one thing, the one that the request contains; the last name if it
    // contains none.
    const char* one_of(std::initializer_list<const char*> names) const {
        const char* given = nullptr;
        for (const char* name : names) {
            if (find(name) == nullptr) continue;
            if (given == nullptr) given = name;
            check_same(given, *this, name);
        }
        return given != nullptr ? given : *(names.end() - 1);
    }
    // Refuses two fields for one thing that contradict each other.
    void check_same(const char* name, const Fields& other, const char* other_name) const {
        const json *value = find(name), *other_value = other.find(other_name);
        if (value == nullptr || other_value == nullptr || *value == *other_value) return;
        const std::string field = other.path_ + other_name;
        refuse_field(field, *other_value,
                     "what \"" + path_ + name + "\" says, " + describe(*value).english() + ": both name the same");
    }
    // also: a value that the caller takes besides these, for the message.
    std::int64_t integer(const char* name, std::int64_t low, std::int64_t high, std::int64_t fallback,
                         const char* also = nullptr) const {
        const json* value = find(name);
        if (value == nullptr) return fallback;
        // Larger than int64 is out of every range here.
        const bool fits =
            value->is_number_integer() &&
            (!value->is_number_unsigned() || value->get<std::uint64_t>() <= static_cast<std::uint64_t>(high));
        if (!fits || value->get<std::int64_t>() < low || value->get<std::int64_t>() > high) {
            refuse_field(path_ + name, *value,
                         (also == nullptr ? std::string() : std::string(also) + " or ") + "an integer from " +
                             std::to_string(low) + " to " + std::to_string(high));
        }
        return value->get<std::int64_t>();
    }
    float number(const char* name, double low, double high, float fallback) const {
        const json* value = find(name);
        if (value == nullptr) return fallback;
        const double given = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
        if (!(given >= low && given <= high)) {
            const auto shown = [](double bound) { return json(bound).dump(); };
            refuse_field(path_ + name, *value, "a number from " + shown(low) + " to " + shown(high));
        }
        return static_cast<float>(given);
    }
    bool boolean(const char* name, bool fallback) const {
        const json* value = find(name);
        if (value == nullptr) return fallback;
        if (!value->is_boolean()) refuse_field(path_ + name, *value, "true or false");
        return value->get<bool>();
    }
    std::string text(const char* name) const {
        const json* value = find(name);
        if (value == nullptr) return {};
        if (!value->is_string()) refuse_field(path_ + name, *value, "a text");
        return value->get<std::string>();
    }

  private:
    const json& object_;
    std::string path_;
};

json parse_body(std::string_view body) {
    json object;
    try {
        object = parse_json(body, "The request's body", {.max_depth = 32, .max_values = kMostValues});
    } catch (const Error& error) {
        throw api_error_of(400, error);
    }
    if (!object.is_object())
        throw ApiError(400, "The request's body is " + describe(object).english() + "; expected an object.");
    return object;
}

// Of tokens, by their ids: {"15043": -100}.
std::vector<std::pair<TokenId, float>> bias_of(const Fields& fields) {
    constexpr const char* kName = "logit_bias";
    std::vector<std::pair<TokenId, float>> biases;
    const json* given = fields.find(kName);
    if (given == nullptr || *given == json(false) || *given == json::array()) return biases;
    if (!given->is_object()) refuse_field(kName, *given, "an object of token ids and numbers");
    for (const auto& [name, value] : given->items()) {
        TokenId id = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
        if (error != std::errc() || end != name.data() + name.size() || id < 0) {
            refuse_field(kName, name, "token ids as names");
        }
        biases.emplace_back(id, Fields(*given, "logit_bias.").number(name.c_str(), -100, 100, 0));
    }
    return biases;
}

SamplerSettings sampler_of(const Fields& fields) {
    SamplerSettings sampler;
    sampler.temperature = fields.number("temperature", 0, 100, 1);
    sampler.top_p = fields.number("top_p", 0, 1, 1);
    sampler.top_k = static_cast<int>(fields.integer("top_k", -1, 1'000'000, 0));
    sampler.top_k = std::max(0, sampler.top_k);  // -1 also means off
    sampler.min_p = fields.number("min_p", 0, 1, 0);
    sampler.repeat_penalty = fields.number(fields.one_of({"repetition_penalty", "repeat_penalty"}), 0.01, 100, 1);
    sampler.presence_penalty = fields.number("presence_penalty", -2, 2, 0);
    sampler.frequency_penalty = fields.number("frequency_penalty", -2, 2, 0);
    sampler.logit_bias = bias_of(fields);
    // As in llama.cpp: 0 means none of the tokens so far, -1 all of them.
    const std::int64_t window =
        fields.integer("repeat_last_n", -1, std::numeric_limits<int>::max(), sampler.repeat_window);
    if (window == 0) sampler.repeat_penalty = 1;
    sampler.repeat_window = static_cast<int>(std::max<std::int64_t>(0, window));
    // The engine draws a seed if it is 0; here 0 is a normal seed.
    constexpr std::uint64_t kSeedZero = 0x9E3779B97F4A7C15;
    constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
    // -1 also means a new seed each time, as for llama.cpp's clients.
    const std::int64_t seed = fields.integer("seed", kLowest, std::numeric_limits<std::int64_t>::max(), -1);
    if (seed != -1) {
        sampler.seed = seed == 0 ? kSeedZero : static_cast<std::uint64_t>(seed);
    }
    if (sampler.top_p == 0) sampler.top_p = std::numeric_limits<float>::min();  // the best token only
    try {
        validate(sampler);
    } catch (const Error& error) {
        throw api_error_of(400, error);
    }
    return sampler;
}

std::vector<std::string> stops_of(const Fields& fields) {
    const json* value = fields.find("stop");
    if (value == nullptr) return {};
    std::vector<std::string> stops;
    const json list = value->is_string() ? json::array({*value}) : *value;
    if (!list.is_array() || list.size() > kMostStops) {
        refuse_field("stop", *value, "a text or a list of at most " + std::to_string(kMostStops));
    }
    for (const json& text : list) {
        if (!text.is_string() || text.get_ref<const std::string&>().size() > kLongestStop) {
            refuse_field("stop", text, "texts of at most " + std::to_string(kLongestStop) + " bytes");
        }
        if (text != "") stops.push_back(text.get<std::string>());  // programs send an empty one for none
    }
    return stops;
}

// The common part of both endpoints: everything except the prompt and log probabilities.
ApiRequest common_of(const json& object, const Fields& fields, ApiRequest::Kind kind) {
    check_fields(object, kind == ApiRequest::Kind::kChat ? RequestObject::kChat : RequestObject::kCompletion);
    ApiRequest request;
    request.kind = kind;
    request.model = fields.text("model");
    request.stream = fields.boolean("stream", false);
    if (const json* options = fields.find("stream_options")) {
        if (!options->is_object()) refuse_field("stream_options", *options, "an object");
        check_fields(*options, RequestObject::kStreamOptions, "stream_options.");
        request.include_usage = Fields(*options, "stream_options.").boolean("include_usage", false);
    }
    request.stop = stops_of(fields);
    return request;
}

// Puts each prompt there once for each choice, with a seed for each.
void repeat_prompts(ApiRequest& request, const Fields& fields) {
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

// A text, or a list of parts; null, which programs send for a message without text, is an
// empty text.
std::string content_of(const json& message, const std::string& at, Role role) {
    const auto it = message.find("content");
    if (it == message.end()) {  // an assistant may have called a tool without any text
        if (role == Role::kAssistant) return {};
        throw ApiError(400, "\"" + at + ".content\" is missing; expected a text.", "messages");
    }
    if (it->is_null()) return {};
    if (it->is_string()) return it->get<std::string>();
    if (!it->is_array()) refuse_field(at + ".content", *it, "a text or a list of parts");
    std::string text;
    for (const json& part : *it) {
        const auto type = part.is_object() ? part.find("type") : part.end();
        if (!part.is_object() || type == part.end() || *type != "text") {
            refuse_field(at + ".content", part, "parts of type \"text\"; pictures and sound are not read");
        }
        check_fields(part, RequestObject::kPart, at + ".content.");
        text += Fields(part, at + ".content.").text("text");
    }
    return text;
}

std::vector<ToolCall> tool_calls_of(const Fields& message, const std::string& at) {
    std::vector<ToolCall> calls;
    const json* list = message.find("tool_calls");
    if (list == nullptr) return calls;
    if (!list->is_array()) refuse_field(at + ".tool_calls", *list, "a list of calls");
    for (const json& call : *list) {
        const std::string here = at + ".tool_calls[" + std::to_string(calls.size()) + "]";
        const Fields fields(call, here + ".");
        const json* function = call.is_object() ? fields.find("function") : nullptr;
        if (function == nullptr || !function->is_object()) {
            refuse_field(here, call, "an object with \"function\", an object");
        }
        check_fields(call, RequestObject::kToolCall, here + ".");
        check_fields(*function, RequestObject::kFunction, here + ".function.");
        const Fields named(*function, here + ".function.");
        // Some clients send the parsed arguments.
        const json* arguments = named.find("arguments");
        const bool is_object = arguments != nullptr && arguments->is_object();
        calls.push_back(
            {fields.text("id"), named.text("name"), is_object ? arguments->dump() : named.text("arguments")});
    }
    return calls;
}

Role role_of(const json& message, const std::string& at) {
    const auto role = message.find("role");
    if (role == message.end()) throw ApiError(400, "\"" + at + ".role\" is missing.", "messages");
    if (*role == "developer") return Role::kSystem;
    for (const Role known : {Role::kSystem, Role::kUser, Role::kAssistant, Role::kTool}) {
        if (*role == name_of(known)) return known;
    }
    refuse_field(at + ".role", *role, "system, developer, user, assistant or tool");
}

std::vector<ChatMessage> messages_of(const Fields& fields) {
    const json* list = fields.find("messages");
    if (list == nullptr) throw ApiError(400, "\"messages\" is missing; expected a list of messages.", "messages");
    if (!list->is_array() || list->empty()) refuse_field("messages", *list, "a list of at least one message");
    std::vector<ChatMessage> messages;
    for (const json& message : *list) {
        const std::string at = "messages[" + std::to_string(messages.size()) + "]";
        if (!message.is_object()) refuse_field(at, message, "an object with \"role\" and \"content\"");
        check_fields(message, RequestObject::kMessage, at + ".");
        const Fields given(message, at + ".");
        ChatMessage turn;
        turn.role = role_of(message, at);
        turn.content = content_of(message, at, turn.role);
        turn.name = given.text("name");
        if (turn.role == Role::kAssistant) {
            turn.thought = given.text(given.one_of({"reasoning_content", "reasoning"}));
            turn.tool_calls = tool_calls_of(given, at);
        }
        if (turn.role == Role::kTool) turn.tool_call_id = given.text("tool_call_id");
        for (const char* name : {"prefix", "partial"}) {
            if (!given.boolean(name, false)) continue;
            if (turn.role == Role::kAssistant && messages.size() + 1 == list->size()) continue;
            refuse_field(at + "." + name, true, "it in the last message, the assistant's, alone");
        }
        messages.push_back(std::move(turn));
    }
    return messages;
}

// Whether the answer goes on where the last message ends. As in other servers of open
// models, an assistant's last message is a begun answer unless a field says otherwise.
bool continues_last(const Fields& fields, const ChatMessage& last) {
    constexpr const char* kContinue = "continue_final_message";
    constexpr const char* kBegin = "add_generation_prompt";
    const bool can = last.role == Role::kAssistant && last.tool_calls.empty();
    const bool continues = fields.boolean(kContinue, can && !fields.boolean(kBegin, false));
    if (continues && !can) refuse_field(kContinue, true, "false, since the last message is no text of the assistant's");
    if (fields.boolean(kBegin, !continues) == continues) {
        refuse_field(kBegin, continues, std::string("the reverse of \"") + kContinue + "\"");
    }
    return continues;
}

std::vector<TokenId> ids_of(const json& list) {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const json& id : list) {
        if (!id.is_number_integer() || id.get<std::int64_t>() < 0 ||
            id.get<std::int64_t>() > std::numeric_limits<TokenId>::max()) {
            refuse_field("prompt", id, "token ids");
        }
        ids.push_back(id.get<TokenId>());
    }
    return ids;
}

// A text, token ids, or a list of either.
std::vector<GenerationRequest> prompts_of(const Fields& fields) {
    const json* prompt = fields.find("prompt");
    constexpr const char* kExpected = "a text, a list of texts, token ids, or a list of lists of them";
    if (prompt == nullptr) {
        throw ApiError(400, std::string("\"prompt\" is missing; expected ") + kExpected + ".", "prompt");
    }
    const bool is_ids = prompt->is_array() && !prompt->empty() && prompt->front().is_number();
    const json list = prompt->is_string() || is_ids ? json::array({*prompt}) : *prompt;
    if (!list.is_array() || list.empty() || list.size() > kMostPrompts) {
        refuse_field("prompt", *prompt, std::string(kExpected) + ", at most " + std::to_string(kMostPrompts));
    }
    std::vector<GenerationRequest> prompts;
    for (const json& one : list) {
        GenerationRequest request;
        request.raw = true;
        if (one.is_string()) {
            request.raw_prompt = one.get<std::string>();
        } else if (one.is_array() && !one.empty()) {
            request.prompt_ids = ids_of(one);
        } else {
            refuse_field("prompt", one, kExpected);
        }
        prompts.push_back(std::move(request));
    }
    return prompts;
}

// One of ModelSummary::thinking_choices, which the engine checks.
std::string thinking_of(const Fields& fields) {
    constexpr const char* kName = "chat_template_kwargs";
    static const json kNone = json::object();
    const json* variables = fields.find(kName);
    if (variables == nullptr) variables = &kNone;
    if (!variables->is_object()) refuse_field(kName, *variables, "an object");
    for (const auto& [name, value] : variables->items()) {
        if (name != "enable_thinking" && name != "reasoning_effort") {
            throw ApiError(400,
                           "\"chat_template_kwargs\" has \"" + name +
                               "\"; this server takes \"enable_thinking\" and \"reasoning_effort\".",
                           kName);
        }
    }
    const Fields given(*variables, std::string(kName) + ".");
    for (const char* name : {"enable_thinking", "reasoning_effort"}) given.check_same(name, fields, name);
    for (const Fields* where : {&given, &fields}) {
        if (where->find("enable_thinking") != nullptr) return where->boolean("enable_thinking", true) ? "on" : "off";
    }
    const std::string effort = fields.text("reasoning_effort");
    return effort.empty() ? given.text("reasoning_effort") : effort;
}

// -1: until the end of the turn or of the context.
int limit_of(const Fields& fields, int least, int fallback) {
    constexpr std::int64_t kMostAnswerTokens = 100'000'000;
    const char* name = fields.one_of({"max_completion_tokens", "max_tokens", "n_predict"});
    if (const json* given = fields.find(name); given != nullptr && given->dump() == "-1") return -1;
    return static_cast<int>(fields.integer(name, least, kMostAnswerTokens, fallback, "-1"));
}

}  // namespace

ApiRequest parse_chat_request(std::string_view body) {
    const json object = parse_body(body);
    const Fields fields(object);
    ApiRequest request = common_of(object, fields, ApiRequest::Kind::kChat);
    GenerationRequest answer;
    answer.messages = messages_of(fields);
    answer.continue_last = continues_last(fields, answer.messages.back());
    answer.sampler = sampler_of(fields);
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
    const json object = parse_body(body);
    const Fields fields(object);
    ApiRequest request = common_of(object, fields, ApiRequest::Kind::kCompletion);
    request.echo = fields.boolean("echo", false);
    request.prompts = prompts_of(fields);
    // As other servers do it: a client that renders a chat template itself, or asks for
    // what belongs between two texts, writes special tokens into the prompt.
    const bool parse_special = fields.boolean("parse_special", true);
    const SamplerSettings sampler = sampler_of(fields);
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
