#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "engine/serve/api_fields.h"

namespace offstage::engine {
namespace {

struct ObjectPlace {
    RequestObject object;
    std::string_view place;  // its path in a request, or the endpoint whose body it is
};

struct PageSection {
    std::string_view title;
    std::vector<ObjectPlace> objects;
};

const std::array<PageSection, 5>& page_sections() {
    using O = RequestObject;
    static const std::array<PageSection, 5> kSections = {
        PageSection{"OpenAI's chat completions and completions",
                    {{O::kChat, "/v1/chat/completions"},
                     {O::kCompletion, "/v1/completions"},
                     {O::kMessage, "messages[]"},
                     {O::kPart, "messages[].content[]"},
                     {O::kToolCall, "messages[].tool_calls[]"},
                     {O::kFunction, "messages[].tool_calls[].function"},
                     {O::kTool, "tools[]"},
                     {O::kToolFunction, "tools[].function"},
                     {O::kToolChoice, "tool_choice"},
                     {O::kResponseFormat, "response_format"},
                     {O::kJsonSchema, "response_format.json_schema"},
                     {O::kStreamOptions, "stream_options"}}},
        PageSection{"OpenAI's responses",
                    {{O::kResponses, "/v1/responses"},
                     {O::kResponseMessage, "input[] (message)"},
                     {O::kResponseReasoning, "input[] (reasoning)"},
                     {O::kResponseCall, "input[] (function_call)"},
                     {O::kResponseResult, "input[] (function_call_output)"},
                     {O::kResponsePart, "input[].content[]"},
                     {O::kReasoningPart, "input[].content[] (reasoning)"},
                     {O::kResponseTool, "tools[]"},
                     {O::kResponseToolChoice, "tool_choice"},
                     {O::kReasoning, "reasoning"},
                     {O::kResponseText, "text"},
                     {O::kTextFormat, "text.format"}}},
        PageSection{"Anthropic's messages",
                    {{O::kAnthropic, "/v1/messages"},
                     {O::kAnthropicMessage, "messages[]"},
                     {O::kAnthropicPart, "messages[].content[] (text)"},
                     {O::kAnthropicThought, "messages[].content[] (thinking)"},
                     {O::kAnthropicRedacted, "messages[].content[] (redacted_thinking)"},
                     {O::kAnthropicCall, "messages[].content[] (tool_use)"},
                     {O::kAnthropicResult, "messages[].content[] (tool_result)"},
                     {O::kAnthropicTool, "tools[]"},
                     {O::kAnthropicChoice, "tool_choice"},
                     {O::kThinking, "thinking"},
                     {O::kOutputConfig, "output_config"},
                     {O::kOutputFormat, "output_config.format"}}},
        PageSection{"Ollama's chat and generate",
                    {{O::kOllamaChat, "/api/chat"},
                     {O::kOllamaGenerate, "/api/generate"},
                     {O::kOllamaOptions, "options"},
                     {O::kOllamaMessage, "messages[]"},
                     {O::kOllamaShow, "/api/show"}}},
        PageSection{"llama.cpp's tokenizer", {{O::kTokenize, "/tokenize"}, {O::kDetokenize, "/detokenize"}}},
    };
    return kSections;
}

// Within a cell of a table.
std::string code(std::string_view text) {
    std::string literal;
    for (const char c : text) literal += c == '|' ? std::string("\\|") : std::string(1, c);
    return "`" + literal + "`";
}

std::string list_of(const std::vector<std::string>& items, std::string_view between) {
    std::string list;
    for (const std::string& item : items) {
        if (!list.empty()) list += between;
        list += item;
    }
    return list;
}

// Empty: none of the section's objects has these fields.
std::string places_of(const FieldRule& rule, const PageSection& section) {
    std::vector<std::string> places;
    for (const ObjectPlace& one : section.objects) {
        if ((rule.objects & bit(one.object)) != 0) places.push_back(code(one.place));
    }
    return list_of(places, ", ");
}

std::string names_cell(std::string_view names) {
    std::vector<std::string> all;
    while (!names.empty()) {
        const std::size_t end = std::min(names.find(' '), names.size());
        all.push_back(code(names.substr(0, end)));
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return list_of(all, " ");
}

std::string values_cell(std::string_view neutral) {
    std::vector<std::string> values;
    for (const auto& value : nlohmann::ordered_json::parse(neutral)) values.push_back(code(value.dump()));
    return values.empty() ? "none" : list_of(values, ", ");
}

std::string section_text(const PageSection& section) {
    std::string read, harmless, refused;
    for (const std::span<const FieldRule> rules :
         {openai_fields(), responses_fields(), anthropic_fields(), ollama_fields()}) {
        for (const FieldRule& rule : rules) {
            const std::string places = places_of(rule, section);
            if (places.empty()) continue;
            const std::string row = "| " + places + " | " + names_cell(rule.names) + " | ";
            if (rule.treatment == FieldRule::kRead) {
                read += "| " + places + " | " + names_cell(rule.names) + " |\n";
            } else if (rule.treatment == FieldRule::kHarmless) {
                harmless += row + std::string(rule.why) + " |\n";
            } else {
                refused += row + values_cell(rule.treatment) + " | " +
                           std::string(rule.why.empty() ? "this server does not do that" : rule.why) + " |\n";
            }
        }
    }
    std::string text = "\n## " + std::string(section.title) + "\n\n| in | fields that are read |\n|---|---|\n" + read;
    if (!harmless.empty()) {
        text += "\n| in | fields with any value | why they change no answer |\n|---|---|---|\n" + harmless;
    }
    if (!refused.empty()) {
        text += "\n| in | fields with these values alone | values | why no others |\n|---|---|---|---|\n" + refused;
    }
    return text;
}

}  // namespace

std::string fields_page() {
    std::string page =
        "# Fields of requests\n\n"
        "What requests to the [local server](server.md) may contain, as the program reads them: fields that\n"
        "are read, fields that are taken with any value since they change no answer, and fields that are\n"
        "refused (400) unless they have a value that changes nothing. `null` is such a value of all of them.\n"
        "Every other field is refused by its name.\n";
    for (const PageSection& section : page_sections()) page += section_text(section);
    return page;
}

}  // namespace offstage::engine
