#include "engine/text/chat_template.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/files/text_file.h"
#include "engine/json.h"
#include "engine/text/template_evaluator.h"
#include "engine/text/template_parser.h"
#include "engine/text/template_survey.h"
#include "engine/text/text_messages.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

using jinja::Value;

constexpr std::size_t kMaxFileBytes = 1u << 20;
constexpr std::string_view kKey = "tokenizer.chat_template";
constexpr std::string_view kDefaultKey = "tokenizer.chat_template.default";
constexpr const char* kTools = "tools";  // a variable of templates
constexpr const char* kTemplateFile = "chat_template.jinja";
constexpr const char* kConfigFile = "tokenizer_config.json";
// The names that templates use for the thought of an assistant's message.
constexpr std::array<std::string_view, 3> kThoughtFields = {"reasoning_content", "thinking", "reasoning"};

std::tm local_time() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts = {};
    localtime_r(&seconds, &parts);
    return parts;
}

Value of_data(std::string text) {
    return Value::string(PromptText::of_data(std::move(text)));
}

Value json_as_value(const nlohmann::ordered_json& from) {
    switch (from.type()) {
        case nlohmann::json::value_t::object: {
            std::vector<std::pair<Value, Value>> items;
            for (const auto& [key, value] : from.items()) items.emplace_back(of_data(key), json_as_value(value));
            return Value::dict(std::move(items));
        }
        case nlohmann::json::value_t::array: {
            std::vector<Value> items;
            for (const auto& value : from) items.push_back(json_as_value(value));
            return Value::list(std::move(items));
        }
        case nlohmann::json::value_t::string:
            return of_data(from.get<std::string>());
        case nlohmann::json::value_t::boolean:
            return Value::boolean(from.get<bool>());
        case nlohmann::json::value_t::number_integer:
            return Value::integer(from.get<std::int64_t>());
        case nlohmann::json::value_t::number_unsigned:
            if (from.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) return Value::real(from.get<double>());
            return Value::integer(from.get<std::int64_t>());
        case nlohmann::json::value_t::number_float:
            return Value::real(from.get<double>());
        default:
            return Value::none();
    }
}

// In their written order; the text itself if it is no JSON.
Value arguments_of(const std::string& text) {
    if (text.empty()) return Value::dict({});
    try {
        static_cast<void>(parse_json(text, "arguments", {.max_depth = 32}));
        return json_as_value(nlohmann::ordered_json::parse(text));
    } catch (const Error&) {
        return of_data(text);
    }
}

// The form of an assistant's message with calls of tools. Templates differ: some need
// arguments in an object, some as text, and some recognize a message with only calls by a
// content of none.
struct CallForm {
    bool arguments_in_object;
    bool content_is_none;  // if it is empty
};
constexpr std::array<CallForm, 4> kCallForms = {CallForm{true, true}, {true, false}, {false, true}, {false, false}};

class JinjaTemplate final : public ChatTemplate {
  public:
    JinjaTemplate(std::string_view jinja, const std::string& source)
        : source_(source), block_(jinja::parse_template(jinja, source)), survey_(jinja::survey(block_)) {}

    bool has_variable(std::string_view name) const override { return survey_.variables.contains(name); }
    bool has_text(std::string_view text) const override {
        return std::any_of(survey_.texts.begin(), survey_.texts.end(),
                           [text](const std::string& one) { return one.find(text) != std::string::npos; });
    }

    PromptText render(const std::vector<ChatMessage>& messages, const Tokens& tokens, bool add_generation_prompt,
                      const std::vector<TemplateVariable>& choices) const override {
        const auto has_calls = [](const ChatMessage& message) { return !message.tool_calls.empty(); };
        const bool any_calls = std::any_of(messages.begin(), messages.end(), has_calls);
        const bool any_results = std::any_of(messages.begin(), messages.end(),
                                             [](const ChatMessage& message) { return message.role == Role::kTool; });
        std::call_once(is_probed_, [&] { probe_parts(tokens); });
        if (any_calls || any_results) {
            std::call_once(is_probed_for_tools_, [&] { probe_tools(tokens); });
            const auto refuse = [&](const char* what) {
                throw Error(ErrorKind::kInvalidInput, messages::template_without_tools(source_, what));
            };
            if (any_calls && !writes_calls_) refuse("\"tool_calls\"");
            if (any_results && !writes_results_) refuse("the role \"tool\"");
        }
        std::optional<Error> first;
        for (const CallForm& form : kCallForms) {
            try {
                return render_with(takes_parts_, form, messages, tokens, add_generation_prompt, choices);
            } catch (const Error& error) {
                if (!any_calls || error.kind() != ErrorKind::kInvalidInput) throw;
                if (!first) first = error;
            }
        }
        throw *first;
    }

  private:
    // By role: whether a message's content is a list of parts and no text.
    using TakesParts = std::array<bool, 4>;

    // Some templates read only the parts of a content, and ignore one that is a text: a
    // role gets parts if they bring its text into the prompt and the text itself does
    // not.
    void probe_parts(const Tokens& tokens) const {
        static constexpr std::string_view kProbe = "Probe7x";
        if (!survey_.fields.contains("text")) return;  // the name of a part's text
        for (const Role role : {Role::kUser, Role::kAssistant, Role::kSystem}) {
            std::vector<ChatMessage> messages = {{Role::kUser, "Hi"}};
            if (role == Role::kUser) messages.clear();
            messages.insert(role == Role::kSystem ? messages.begin() : messages.end(), {role, std::string(kProbe)});
            const auto shows = [&](bool parts) {
                TakesParts takes = takes_parts_;
                takes[static_cast<std::size_t>(role)] = parts;
                try {
                    return render_with(takes, kCallForms[0], messages, tokens, true, {}).bytes.find(kProbe) !=
                           std::string::npos;
                } catch (const Error&) {
                    return false;
                }
            };
            takes_parts_[static_cast<std::size_t>(role)] = !shows(false) && shows(true);
        }
    }

    // Whether the template writes calls and results. One that raises an error for the
    // messages of the probe is not known to leave them out, if it names what they have.
    void probe_tools(const Tokens& tokens) const {
        static constexpr std::string_view kCall = "probe_call_7x", kResult = "Probe9y";
        const ChatMessage user{Role::kUser, "Hi"};
        ChatMessage asks{Role::kAssistant, ""}, result{Role::kTool, std::string(kResult)};
        asks.tool_calls = {{"call12345", std::string(kCall), "{}"}};  // of the nine characters that some require
        result.tool_call_id = "call12345";
        result.name = kCall;
        const auto writes = [&](const std::vector<ChatMessage>& messages, std::string_view probe,
                                std::string_view field) {
            bool rendered = false;
            for (const CallForm& form : kCallForms) {
                try {
                    const PromptText prompt = render_with(takes_parts_, form, messages, tokens, true, {});
                    if (prompt.bytes.find(probe) != std::string::npos) return true;
                    rendered = true;
                } catch (const Error&) {
                    continue;
                }
            }
            return !rendered && survey_.fields.contains(field);
        };
        writes_calls_ = writes({user, asks, result}, kCall, "tool_calls") || writes({user, asks}, kCall, "tool_calls");
        writes_results_ = writes({user, asks, result}, kResult, "tool") ||
                          writes({user, {Role::kAssistant, "Yes"}, result}, kResult, "tool");
    }

    static Value content_of(const ChatMessage& message, bool in_parts) {
        Value text = Value::string(PromptText::of_data(message.content));
        if (!in_parts) return text;
        return Value::list(
            {Value::dict({{Value::string("type"), Value::string("text")}, {Value::string("text"), text}})});
    }

    PromptText render_with(const TakesParts& takes_parts, const CallForm& form,
                           const std::vector<ChatMessage>& messages, const Tokens& tokens, bool add_generation_prompt,
                           const std::vector<TemplateVariable>& choices) const {
        std::vector<Value> list;
        list.reserve(messages.size());
        for (const ChatMessage& message : messages) {
            list.push_back(value_of(message, form, takes_parts[static_cast<std::size_t>(message.role)]));
        }
        check(tokens.bos, messages::bos_not_utf8);
        check(tokens.eos, messages::eos_not_utf8);
        std::vector<std::pair<std::string, Value>> variables;
        variables.emplace_back("messages", make_list(std::move(list)));
        variables.emplace_back("bos_token", Value::string(tokens.bos));
        variables.emplace_back("eos_token", Value::string(tokens.eos));
        variables.emplace_back("add_generation_prompt", Value::boolean(add_generation_prompt));
        // Called like transformers calls templates without tools and documents.
        const auto is_tools = [](const TemplateVariable& choice) { return choice.name == kTools; };
        if (std::none_of(choices.begin(), choices.end(), is_tools)) variables.emplace_back(kTools, Value::none());
        variables.emplace_back("documents", Value::none());
        for (const TemplateVariable& choice : choices) variables.emplace_back(choice.name, value_of(choice));
        return jinja::Evaluator(source_, tokens.now.value_or(local_time())).run(block_, std::move(variables));
    }

    static Value value_of(const TemplateVariable& choice) {
        if (const bool* flag = std::get_if<bool>(&choice.value)) return Value::boolean(*flag);
        if (const std::string* text = std::get_if<std::string>(&choice.value)) return Value::string(*text);
        const std::string& object = std::get<TemplateVariable::Json>(choice.value).text;
        return bounded([&] { return json_as_value(nlohmann::ordered_json::parse(object)); });
    }

    Value value_of(const ChatMessage& message, const CallForm& form, bool in_parts) const {
        std::vector<std::pair<Value, Value>> fields;
        const auto add = [&](std::string_view name, Value value) {
            fields.emplace_back(Value::string(std::string(name)), std::move(value));
        };
        const auto text = [](const std::string& value) {
            check(value, messages::chat_message_not_utf8);
            return of_data(value);
        };
        check(message.content, messages::chat_message_not_utf8);
        const bool is_call_alone = message.content.empty() && !message.tool_calls.empty();
        add("role", Value::string(std::string(name_of(message.role))));
        add("content", is_call_alone && form.content_is_none ? Value::none()
                                                             : bounded([&] { return content_of(message, in_parts); }));
        if (message.role == Role::kAssistant && !message.thought.empty()) {
            check(message.thought, messages::thought_not_utf8);
            for (const std::string_view name : kThoughtFields) {
                if (survey_.fields.contains(name)) add(name, of_data(message.thought));
            }
        }
        if (!message.name.empty()) add("name", text(message.name));
        if (!message.tool_call_id.empty()) add("tool_call_id", text(message.tool_call_id));
        if (!message.tool_calls.empty()) {
            std::vector<Value> calls;
            for (const ToolCall& call : message.tool_calls) {
                Value arguments = text(call.arguments);
                calls.push_back(bounded([&] {
                    if (form.arguments_in_object) arguments = arguments_of(call.arguments);
                    Value function = Value::dict(
                        {{Value::string("name"), text(call.name)}, {Value::string("arguments"), std::move(arguments)}});
                    return Value::dict({{Value::string("id"), text(call.id)},
                                        {Value::string("type"), Value::string("function")},
                                        {Value::string("function"), std::move(function)}});
                }));
            }
            add("tool_calls", make_list(std::move(calls)));
        }
        return make_message(std::move(fields));
    }
    static void check(const std::string& text, const MessageCode<1>& what) {
        const std::size_t bad = find_invalid_utf8(text);
        if (bad != std::string_view::npos) {
            throw Error(ErrorKind::kInvalidInput, what(bad));
        }
    }

    static Value make_message(std::vector<std::pair<Value, Value>> fields) {
        return bounded([&] { return Value::dict(std::move(fields)); });
    }
    static Value make_list(std::vector<Value> list) {
        return bounded([&] { return Value::list(std::move(list)); });
    }
    template <typename Make>
    static Value bounded(const Make& make) {
        try {
            return make();
        } catch (const jinja::Failure&) {
            throw Error(ErrorKind::kInvalidInput, messages::conversation_too_long);
        }
    }

    std::string source_;
    jinja::Block block_;
    jinja::Survey survey_;
    mutable std::once_flag is_probed_, is_probed_for_tools_;
    mutable TakesParts takes_parts_ = {};
    mutable bool writes_calls_ = false, writes_results_ = false;
};

// "chat_template" of a configuration; nothing: it has none.
std::optional<nlohmann::json> template_field(const std::filesystem::path& config) {
    const auto object = read_json_object(config);
    if (!object || !object->contains("chat_template") || (*object)["chat_template"].is_null()) return {};
    return (*object)["chat_template"];
}

// A string, or a list of {"name": ..., "template": ...} of which "default" is taken.
std::string template_of(const nlohmann::json& value, const std::string& file) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_array()) {
        for (const auto& entry : value) {
            if (!entry.is_object() || !entry.contains("name") || !entry.contains("template")) continue;
            if (entry["name"] == "default" && entry["template"].is_string())
                return entry["template"].get<std::string>();
        }
    }
    throw Error(ErrorKind::kInvalidModel, messages::template_field_no_string(file));
}

}  // namespace

std::string_view name_of(Role role) {
    constexpr std::string_view kNames[] = {"system", "user", "assistant", "tool"};
    return kNames[static_cast<std::size_t>(role)];
}

std::unique_ptr<ChatTemplate> ChatTemplate::parse(std::string_view jinja, const std::string& source) {
    const std::size_t bad = find_invalid_utf8(jinja);
    if (bad != std::string_view::npos) {
        throw Error(ErrorKind::kInvalidModel, messages::template_not_utf8(source, bad));
    }
    return std::make_unique<JinjaTemplate>(jinja, source);
}

std::unique_ptr<ChatTemplate> ChatTemplate::read(const GgufMetadata& metadata) {
    const std::string_view key = metadata.has(kKey) || !metadata.has(kDefaultKey) ? kKey : kDefaultKey;
    if (!metadata.has(key)) return nullptr;
    return parse(metadata.text(key), metadata.source() + " (" + std::string(key) + ")");
}

std::unique_ptr<ChatTemplate> ChatTemplate::read(const std::filesystem::path& directory) {
    if (is_gguf_path(directory)) {
        const GgufFile file(directory);
        std::unique_ptr<ChatTemplate> made = read(file.metadata());
        file.require_nothing_lost();
        return made;
    }
    const std::filesystem::path own = directory / kTemplateFile;
    if (const auto text = read_small_file(own, kMaxFileBytes)) return parse(*text, shown_path(own));
    const std::filesystem::path config = directory / kConfigFile;
    const auto field = template_field(config);
    return field ? parse(template_of(*field, shown_path(config)), shown_path(config) + " (chat_template)") : nullptr;
}

bool ChatTemplate::is_in(const GgufMetadata& metadata) {
    return metadata.has(kKey) || metadata.has(kDefaultKey);
}

bool ChatTemplate::is_in(const std::filesystem::path& directory) {
    if (is_gguf_path(directory)) return is_in(GgufFile(directory).metadata());
    std::error_code ignored;
    return std::filesystem::exists(directory / kTemplateFile, ignored) || template_field(directory / kConfigFile);
}

}  // namespace offstage::engine
