#include "engine/serve/request_parts.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "engine/run/sampler.h"
#include "engine/serve/api_error.h"

namespace offstage::engine {
namespace {

constexpr std::size_t kMostStops = 16;
constexpr std::size_t kMostBiases = 1024;
constexpr std::size_t kLongestStop = 1024;  // bytes

// Of tokens, by their ids: {"15043": -100}.
std::vector<std::pair<TokenId, float>> bias_of(const RequestFields& fields) {
    constexpr const char* kName = "logit_bias";
    std::vector<std::pair<TokenId, float>> biases;
    const RequestJson* given = fields.find(kName);
    if (given == nullptr || *given == RequestJson(false) || *given == RequestJson::array()) return biases;
    if (!given->is_object() || given->size() > kMostBiases) {
        refuse_field(kName, *given, "an object of token ids and numbers, at most " + std::to_string(kMostBiases));
    }
    for (const auto& [name, value] : given->items()) {
        TokenId id = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
        // Without leading zeros no id is there twice, since no name is.
        if (error != std::errc() || end != name.data() + name.size() || name != std::to_string(id) || id < 0) {
            refuse_field(kName, name, "token ids as names");
        }
        biases.emplace_back(id, RequestFields(*given, "logit_bias.").number(name.c_str(), -100, 100, 0));
    }
    return biases;
}

std::vector<ToolCall> tool_calls_of(const RequestFields& message, const std::string& at) {
    std::vector<ToolCall> calls;
    const RequestJson* list = message.find("tool_calls");
    if (list == nullptr) return calls;
    if (!list->is_array()) refuse_field(at + ".tool_calls", *list, "a list of calls");
    for (const RequestJson& call : *list) {
        const std::string here = at + ".tool_calls[" + std::to_string(calls.size()) + "]";
        const RequestFields fields(call, here + ".");
        const RequestJson* function = call.is_object() ? fields.find("function") : nullptr;
        if (function == nullptr || !function->is_object()) {
            refuse_field(here, call, "an object with \"function\", an object");
        }
        check_fields(call, RequestObject::kToolCall, here + ".");
        check_fields(*function, RequestObject::kFunction, here + ".function.");
        const RequestFields named(*function, here + ".function.");
        // Some clients send the parsed arguments.
        const RequestJson* arguments = named.find("arguments");
        const bool is_object = arguments != nullptr && arguments->is_object();
        calls.push_back(
            {fields.text("id"), named.text("name"), is_object ? arguments->dump() : named.text("arguments")});
    }
    return calls;
}

// Why parts of this type are not taken, as the end of a sentence.
std::string_view why_not(const RequestJson& type) {
    const std::string name = type.is_string() ? type.get<std::string>() : std::string();
    const auto is_about = [&](std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(),
                           [&](const char* word) { return name.find(word) != std::string::npos; });
    };
    if (is_about({"tool"})) return "calls belong to the assistant, and results to the user";
    if (is_about({"document", "file", "search_result"})) return "documents are not read";
    if (is_about({"audio"})) return "sound is not read";
    if (is_about({"thinking"})) return "thoughts are not read there";
    return is_about({"image", "video"}) ? kNoPictures : "there are no other parts";
}

// Of parts that are texts.
std::vector<std::string> text_types(RequestObject part) {
    if (part == RequestObject::kResponsePart) return {"input_text", "output_text"};
    if (part == RequestObject::kReasoningPart) return {"reasoning_text", "summary_text"};
    return {"text"};
}

// Appends it, behind the results of tools that are its parts.
void add_message(std::vector<ChatMessage>& messages, const RequestJson& message, const std::string& at,
                 RequestObject kind) {
    if (!message.is_object()) refuse_field(at, message, "an object with \"role\" and \"content\"");
    check_fields(message, kind, at + ".");
    const RequestFields given(message, at + ".");
    const bool is_anthropic = kind == RequestObject::kAnthropicMessage;
    ChatMessage turn;
    turn.role = role_of(message, at);
    if (is_anthropic && turn.role == Role::kTool) refuse_field(at + ".role", "tool", "user, assistant or system");
    const bool is_assistant = turn.role == Role::kAssistant;
    if (is_assistant) turn.thought = given.text(given.one_of({"thinking", "reasoning_content", "reasoning"}));
    const auto content = message.find("content");
    OtherParts others;
    others.is_assistant = is_assistant;
    const bool may_have_others = is_anthropic && turn.role != Role::kSystem;
    if (content != message.end()) {
        turn.content =
            content_of(*content, at + ".content", is_anthropic ? RequestObject::kAnthropicPart : RequestObject::kPart,
                       may_have_others ? &others : nullptr);
    } else if (!is_assistant) {  // an assistant may have called a tool without any text
        throw ApiError(400, "\"" + at + ".content\" is missing; expected a text.", "messages");
    }
    turn.name = given.text(given.one_of({"tool_name", "name"}));
    if (is_assistant) turn.tool_calls = tool_calls_of(given, at);
    if (turn.role == Role::kTool) turn.tool_call_id = given.text("tool_call_id");
    turn.thought += others.thought;
    turn.tool_calls.insert(turn.tool_calls.end(), others.calls.begin(), others.calls.end());
    messages.insert(messages.end(), others.results.begin(), others.results.end());
    if (others.results.empty() || !turn.content.empty()) messages.push_back(std::move(turn));
}

}  // namespace

Role role_of(const RequestJson& message, const std::string& at) {
    const auto role = message.find("role");
    if (role == message.end()) throw ApiError(400, "\"" + at + ".role\" is missing.", "messages");
    if (*role == "developer") return Role::kSystem;
    for (const Role known : {Role::kSystem, Role::kUser, Role::kAssistant, Role::kTool}) {
        if (*role == name_of(known)) return known;
    }
    refuse_field(at + ".role", *role, "system, developer, user, assistant or tool");
}

void read_common(ApiRequest& request, const RequestFields& fields, bool streams_unless_told) {
    request.model = fields.text("model");
    request.stream = fields.boolean("stream", streams_unless_told);
}

SamplerSettings sampler_of(const RequestFields& fields, const SamplerSettings& left_out) {
    SamplerSettings sampler = left_out;
    sampler.temperature = fields.number("temperature", 0, 100, left_out.temperature);
    sampler.top_p = fields.number("top_p", 0, 1, left_out.top_p);
    sampler.top_k = static_cast<int>(fields.integer("top_k", -1, 1'000'000, left_out.top_k));
    sampler.top_k = std::max(0, sampler.top_k);  // -1 also means off
    sampler.min_p = fields.number("min_p", 0, 1, left_out.min_p);
    sampler.repeat_penalty =
        fields.number(fields.one_of({"repetition_penalty", "repeat_penalty"}), 0.01, 100, left_out.repeat_penalty);
    sampler.presence_penalty = fields.number("presence_penalty", -2, 2, left_out.presence_penalty);
    sampler.frequency_penalty = fields.number("frequency_penalty", -2, 2, left_out.frequency_penalty);
    sampler.logit_bias = bias_of(fields);
    // As in llama.cpp: 0 means none of the tokens so far, -1 all of them.
    const std::int64_t window =
        fields.integer("repeat_last_n", -1, std::numeric_limits<int>::max(), left_out.repeat_window);
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

std::vector<std::string> stops_of(const RequestFields& fields, const char* name) {
    const RequestJson* value = fields.find(name);
    if (value == nullptr) return {};
    std::vector<std::string> stops;
    const RequestJson list = value->is_string() ? RequestJson::array({*value}) : *value;
    if (!list.is_array() || list.size() > kMostStops) {
        refuse_field(name, *value, "a text or a list of at most " + std::to_string(kMostStops));
    }
    for (const RequestJson& text : list) {
        if (!text.is_string() || text.get_ref<const std::string&>().size() > kLongestStop) {
            refuse_field(name, text, "texts of at most " + std::to_string(kLongestStop) + " bytes");
        }
        if (text != "") stops.push_back(text.get<std::string>());  // programs send an empty one for none
    }
    return stops;
}

std::string content_of(const RequestJson& content, const std::string& at, RequestObject part, OtherParts* others) {
    if (content.is_null()) return {};
    if (content.is_string()) return content.get<std::string>();
    if (!content.is_array()) refuse_field(at, content, "a text or a list of parts");
    const std::vector<std::string> texts = text_types(part);
    std::string text;
    for (const RequestJson& one : content) {
        const RequestJson type = one.is_object() ? one.value("type", RequestJson()) : RequestJson();
        if (type.is_null()) refuse_field(at, one, "parts with a \"type\"");
        const RequestFields fields(one, at + ".");
        const bool of_assistant = others != nullptr && others->is_assistant;
        const bool of_user = others != nullptr && !others->is_assistant;
        if (of_assistant && type == "thinking") {
            check_fields(one, RequestObject::kAnthropicThought, at + ".");
            others->thought += fields.text("thinking");
        } else if (of_assistant && type == "redacted_thinking") {  // which only its writer can read
            check_fields(one, RequestObject::kAnthropicRedacted, at + ".");
        } else if (of_assistant && type == "tool_use") {
            check_fields(one, RequestObject::kAnthropicCall, at + ".");
            others->calls.push_back({fields.text("id"), fields.text("name"), fields.object("input").dump()});
        } else if (of_user && type == "tool_result") {
            check_fields(one, RequestObject::kAnthropicResult, at + ".");
            ChatMessage result{Role::kTool, content_of(one.value("content", RequestJson()), at + ".content",
                                                       RequestObject::kAnthropicPart, nullptr)};
            result.tool_call_id = fields.text("tool_use_id");
            others->results.push_back(std::move(result));
        } else if (std::ranges::any_of(texts, [&](const std::string& text_type) { return type == text_type; })) {
            check_fields(one, part, at + ".");
            text += fields.text("text");
        } else {
            std::string expected;
            for (const std::string& one_of : texts) expected += (expected.empty() ? "\"" : " or \"") + one_of + "\"";
            refuse_field(at, type, "parts of type " + expected + ": " + std::string(why_not(type)));
        }
    }
    return text;
}

std::vector<ChatMessage> messages_of(const RequestFields& fields, RequestObject kind) {
    const RequestJson* list = fields.find("messages");
    if (list == nullptr) throw ApiError(400, "\"messages\" is missing; expected a list of messages.", "messages");
    if (!list->is_array() || list->empty()) refuse_field("messages", *list, "a list of at least one message");
    std::vector<ChatMessage> messages;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const RequestJson& message = (*list)[i];
        const std::string at = "messages[" + std::to_string(i) + "]";
        add_message(messages, message, at, kind);
        for (const char* name : {"prefix", "partial"}) {
            if (!RequestFields(message, at + ".").boolean(name, false)) continue;
            if (is_begun_answer(messages.back()) && i + 1 == list->size()) continue;
            refuse_field(at + "." + name, true, "it in the last message, the assistant's, alone");
        }
    }
    return messages;
}

void append_joined(std::vector<ChatMessage>& messages, ChatMessage message) {
    if (messages.empty() || messages.back().role != message.role || message.role == Role::kTool) {
        messages.push_back(std::move(message));
        return;
    }
    const auto join = [](std::string& text, const std::string& more) {
        if (!text.empty() && !more.empty()) text += "\n\n";
        text += more;
    };
    join(messages.back().thought, message.thought);
    join(messages.back().content, message.content);
    std::vector<ToolCall>& calls = messages.back().tool_calls;
    calls.insert(calls.end(), message.tool_calls.begin(), message.tool_calls.end());
}

void choose_thinking(ApiRequest& request, const ModelSummary& model) {
    const std::vector<std::string>& choices = model.thinking_choices;
    const auto offers = [&](const std::string& name) {
        return std::find(choices.begin(), choices.end(), name) != choices.end();
    };
    for (GenerationRequest& prompt : request.prompts) {
        std::string& choice = prompt.thinking;
        if (choice == "none") choice = "off";
        if (!model.thinks && choice == "off") choice.clear();
        const bool is_least = choice == "minimal", is_most = choice == "xhigh" || choice == "max";
        if (const char* const near = is_least ? "low" : "high"; (is_least || is_most) && !offers(choice)) {
            if (offers(near)) choice = near;  // otherwise the engine refuses what was asked for
        }
    }
    if (!request.think.has_value()) return;
    for (GenerationRequest& prompt : request.prompts) {
        std::string& choice = prompt.thinking;
        if (!*request.think && offers("off")) {
            choice = "off";
        } else if (!offers(choice)) {
            if (!*request.think || (choices.empty() && model.thinks)) {
                choice.clear();  // nothing where there is no choice
            } else if (choice.empty() || offers("on")) {
                choice = !offers("on") && offers("medium") ? "medium" : "on";
            }
        }
    }
}

std::vector<TokenId> token_ids_of(const RequestJson& list, const char* field) {
    std::vector<TokenId> ids;
    ids.reserve(list.size());
    for (const RequestJson& id : list) {
        if (!id.is_number_integer() || id.get<std::int64_t>() < 0 ||
            id.get<std::int64_t>() > std::numeric_limits<TokenId>::max()) {
            refuse_field(field, id, "token ids");
        }
        ids.push_back(id.get<TokenId>());
    }
    return ids;
}

}  // namespace offstage::engine
