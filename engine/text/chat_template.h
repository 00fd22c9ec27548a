#pragma once

#include <cstddef>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/text/prompt_text.h"

namespace offstage::engine {

class GgufMetadata;

enum class Role { kSystem, kUser, kAssistant, kTool };
std::string_view name_of(Role role);  // "system", "user", "assistant", "tool"

// A call in an assistant's message; `arguments` is the model's own text: JSON, unless the
// model made a mistake.
struct ToolCall {
    std::string id, name, arguments;
};

// A piece of a call while it is written.
struct ToolCallDelta {
    std::size_t index = 0;       // of the call in the answer
    std::string name = {};       // not empty: the call begins
    std::string arguments = {};  // more of its JSON

    bool operator==(const ToolCallDelta&) const = default;
};

struct ChatMessage {
    Role role = Role::kUser;
    std::string content;
    // For an assistant's message: the model's thinking before its answer, without markers
    // (engine/text/thinking_format.h), and whether it was cut short within that.
    std::string thought = {};
    bool thought_is_open = false;
    std::vector<ToolCall> tool_calls = {};  // for an assistant's message
    std::string tool_call_id = {};          // for a tool's message: the call that it answers
    std::string name = {};                  // of the speaker, or of the tool; empty: none
};

// A variable of templates, e.g. "enable_thinking".
struct TemplateVariable {
    struct Json {
        std::string text;  // of a value
        bool operator==(const Json&) const = default;
    };

    std::string name;
    std::variant<bool, std::string, Json> value;

    bool operator==(const TemplateVariable&) const = default;
};

// A chat template that comes with a model (Jinja in tokenizer_config.json
// "chat_template", or chat_template.jinja): an interpreter for the subset that templates
// use. It has no side effects and can read only the given values. Template size, nesting
// depth, steps and output are limited. Immutable after parse; any thread.
class ChatTemplate {
  public:
    // Throws Error (kInvalidModel, or kUnsupported for a construct outside the subset)
    // naming `source` and the line.
    static std::unique_ptr<ChatTemplate> parse(std::string_view jinja, const std::string& source);
    // Reads DIR/chat_template.jinja or DIR/tokenizer_config.json; or a GGUF file (the
    // first one of a split model) in place of DIR. nullptr if there is none.
    static std::unique_ptr<ChatTemplate> read(const std::filesystem::path& directory);
    // "tokenizer.chat_template", or if there are several, the one named "default".
    static std::unique_ptr<ChatTemplate> read(const GgufMetadata& metadata);
    // Whether there is one that read() would return; it is not parsed.
    static bool is_in(const std::filesystem::path& directory);
    static bool is_in(const GgufMetadata& metadata);
    virtual ~ChatTemplate() = default;

    struct Tokens {
        std::string bos;
        std::string eos;
        std::optional<std::tm> now = {};  // for templates that write the date; nothing: this computer's local time
    };
    // Text from the messages is data, in whichever way the template handles it. Throws
    // Error (kInvalidInput) with the template's own words when it calls raise_exception,
    // and when a limit is exceeded, and for calls of tools and their results if the
    // template does not support them. A message's thought is given under every name that
    // the template reads ("reasoning_content", "thinking"); the template decides whether
    // it is written. The arguments of a call are given as an object, or in their original
    // text if the template supports only that.
    virtual PromptText render(const std::vector<ChatMessage>& messages, const Tokens& tokens,
                              bool add_generation_prompt,
                              const std::vector<TemplateVariable>& variables = {}) const = 0;

    // Facts from the template's own text, without comments. A name that it reads outside
    // of messages:
    virtual bool has_variable(std::string_view name) const = 0;
    // ... and text that it writes, or searches for, as one piece.
    virtual bool has_text(std::string_view text) const = 0;
};

}  // namespace offstage::engine
