#pragma once

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

// A call that an assistant's message made; `arguments` is what the model wrote: JSON, if
// it wrote it well.
struct ToolCall {
    std::string id, name, arguments;
};

struct ChatMessage {
    Role role = Role::kUser;
    std::string content;
    // Of an assistant's message: what the model thought before it answered, without the markers around it
    // (engine/text/thinking_format.h), and whether it was cut short within that.
    std::string thought = {};
    bool thought_is_open = false;
    std::vector<ToolCall> tool_calls = {};  // of an assistant's message
    std::string tool_call_id = {};          // of a tool's: the call that it answers
    std::string name = {};                  // of the speaker, or of the tool; empty: not said
};

// A value that templates ask for by name, e.g. "enable_thinking".
struct TemplateVariable {
    std::string name;
    std::variant<bool, std::string> value;

    bool operator==(const TemplateVariable&) const = default;
};

// A chat template as models ship it (Jinja in tokenizer_config.json "chat_template", or chat_template.jinja): an
// interpreter for the subset that templates use. It has no side effects, reaches nothing but the values given, and is
// bounded: template size, nesting depth, steps and output are limited. Immutable after parse; any thread.
class ChatTemplate {
  public:
    // Throws Error (kInvalidModel, or kUnsupported for a construct outside the subset) naming `source` and the line.
    static std::unique_ptr<ChatTemplate> parse(std::string_view jinja, const std::string& source);
    // From DIR/chat_template.jinja or DIR/tokenizer_config.json, or from a GGUF file, or
    // the first one of a model that is split, in DIR's place; nullptr when there is none.
    static std::unique_ptr<ChatTemplate> read(const std::filesystem::path& directory);
    // "tokenizer.chat_template", or of several the one named "default".
    static std::unique_ptr<ChatTemplate> read(const GgufMetadata& metadata);
    // Whether there is one that read() would give; it is not parsed.
    static bool is_in(const std::filesystem::path& directory);
    static bool is_in(const GgufMetadata& metadata);
    virtual ~ChatTemplate() = default;

    struct Tokens {
        std::string bos;
        std::string eos;
        std::optional<std::tm> now = {};  // for templates that write the date; nothing: this computer's local time
    };
    // What comes from the messages' texts is data, however the template handles them.
    // Throws Error (kInvalidInput) with the template's own words when it calls raise_exception, and when a bound is
    // passed, and for calls of tools and their results where the template knows none. A message's thought is given by
    // every name that the template asks for one by ("reasoning_content", "thinking"); whether it is written is the
    // template's to decide. The arguments of a call are given as an object, or as the text that they came as where the
    // template can only do with that.
    virtual PromptText render(const std::vector<ChatMessage>& messages, const Tokens& tokens,
                              bool add_generation_prompt,
                              const std::vector<TemplateVariable>& variables = {}) const = 0;

    // What the template's own text tells, comments apart. A name that it reads outside of messages:
    virtual bool has_variable(std::string_view name) const = 0;
    // ... and text that it writes, or that it looks for, as one piece.
    virtual bool has_text(std::string_view text) const = 0;
};

}  // namespace offstage::engine
