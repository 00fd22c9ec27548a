#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/serve/request_fields.h"

namespace offstage::engine {

// The objects of a request that have fields, of all APIs.
enum class RequestObject : std::uint8_t {
    // OpenAI's
    kChat,
    kCompletion,
    kMessage,
    kPart,
    kStreamOptions,
    kToolCall,
    kFunction,
    kTool,
    kToolFunction,
    kToolChoice,
    kResponseFormat,
    kJsonSchema,
    // ... and of its Responses API
    kResponses,
    kResponseMessage,  // of "input"
    kResponseReasoning,
    kResponseCall,
    kResponseResult,
    kResponsePart,
    kReasoningPart,
    kResponseTool,
    kResponseToolChoice,
    kReasoning,
    kResponseText,
    kTextFormat,
    // llama.cpp's
    kTokenize,
    kDetokenize,
    // Ollama's
    kOllamaChat,
    kOllamaGenerate,
    kOllamaOptions,
    kOllamaMessage,
    kOllamaShow,
    // Anthropic's
    kAnthropic,
    kAnthropicMessage,
    kAnthropicPart,      // a text
    kAnthropicThought,   // another part
    kAnthropicRedacted,  // the same
    kAnthropicCall,      // a call of a tool
    kAnthropicResult,    // what it returned
    kAnthropicTool,
    kAnthropicChoice,
    kOutputConfig,
    kOutputFormat,
    kThinking,
};

constexpr std::uint64_t bit(RequestObject kind) {
    return std::uint64_t{1} << static_cast<unsigned>(kind);
}

// What happens to fields of these names.
struct FieldRule {
    // Fields that the API's reader reads.
    static constexpr std::string_view kRead = "read";
    // Fields that change no answer, with any value: the caller's identity, billing,
    // storing, caching, the order among requests, where a model runs and how long it
    // stays, and details of features that another field would have to switch on first.
    static constexpr std::string_view kHarmless = "harmless";

    std::string_view names;  // with blanks between
    std::uint64_t objects;   // bits
    // kRead, kHarmless, or a list in JSON of the values that change nothing: any other
    // value is refused.
    std::string_view treatment;
    // Of a refusal, as the end of a sentence; of kHarmless, why it changes no answer.
    std::string_view why = {};
};

// The reasons that several APIs share.
inline constexpr std::string_view kOtherForm = "\"response_format\" or \"grammar\" give an answer a form";
inline constexpr std::string_view kNoNetwork = "this server reaches no network";
inline constexpr std::string_view kNoPictures = "pictures are not read";
inline constexpr std::string_view kAboutCaller = "who asks, what is kept, hints";
inline constexpr std::string_view kReuse = "the server reuses what it can";
inline constexpr std::string_view kOneModel = "one model is loaded, and stays";
inline constexpr std::string_view kWhenLoaded = "where and how the model runs is chosen when it is loaded";
inline constexpr std::string_view kNeverCut = "a prompt that is too long is refused, never cut";
inline constexpr std::string_view kOldReply = "what an earlier reply said beside its text";
inline constexpr std::string_view kOwnSchema = "an answer always is of its schema";

std::span<const FieldRule> openai_fields();  // with those of other servers that have its API
std::span<const FieldRule> responses_fields();
std::span<const FieldRule> ollama_fields();
std::span<const FieldRule> anthropic_fields();

// Throws ApiError (400), with the field's name, for the first field of `object` that
// would change the answer and is not supported, and for the first unknown one. null
// counts as left out; so does a neutral value. `path`: before the field's name, such as
// "messages[3].".
void check_fields(const RequestJson& object, RequestObject kind, const std::string& path = {});

// The manual's page about all of them (resources/help/en/server-fields.md), in Markdown.
std::string fields_page();

}  // namespace offstage::engine
