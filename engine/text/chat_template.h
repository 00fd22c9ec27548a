#pragma once

#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace offstage::engine {

class GgufMetadata;

enum class Role { kSystem, kUser, kAssistant };
std::string_view name_of(Role role);  // "system", "user", "assistant"

struct ChatMessage {
    Role role = Role::kUser;
    std::string content;
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
    virtual ~ChatTemplate() = default;

    struct Tokens {
        std::string bos;
        std::string eos;
        std::optional<std::tm> now = {};  // for templates that write the date; nothing: this computer's local time
    };
    // Throws Error (kInvalidInput) with the template's own words when it calls raise_exception, and when a bound is
    // passed.
    virtual std::string render(const std::vector<ChatMessage>& messages, const Tokens& tokens,
                               bool add_generation_prompt) const = 0;
};

}  // namespace offstage::engine
