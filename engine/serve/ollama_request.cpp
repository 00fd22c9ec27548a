#include <algorithm>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/serve/answer_form.h"
#include "engine/serve/api_fields.h"
#include "engine/serve/api_request.h"
#include "engine/serve/request_parts.h"
#include "engine/serve/tool_fields.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kInOllamaChat = bit(RequestObject::kOllamaChat),
                        kInGenerate = bit(RequestObject::kOllamaGenerate), kInOllama = kInOllamaChat | kInGenerate,
                        kInOptions = bit(RequestObject::kOllamaOptions),
                        kInOllamaMessage = bit(RequestObject::kOllamaMessage),
                        kInShow = bit(RequestObject::kOllamaShow);

constexpr FieldRule kOllamaRules[] = {
    {"model stream options think format", kInOllama, FieldRule::kRead},
    {"messages tools", kInOllamaChat, FieldRule::kRead},
    {"prompt system raw", kInGenerate, FieldRule::kRead},
    {"keep_alive", kInOllama, FieldRule::kHarmless, kOneModel},
    {"truncate shift", kInOllama, FieldRule::kHarmless, kNeverCut},
    {"logprobs", kInOllama, "[false]", "/v1/chat/completions gives log probabilities"},
    {"top_logprobs", kInOllama, "[0]", "/v1/chat/completions gives log probabilities"},
    {"suffix", kInGenerate, R"([""])", "this server only goes on where a text ends"},
    {"template", kInGenerate, R"([""])", "the model's own is used"},
    {"images", kInGenerate | kInOllamaMessage, "[[]]", kNoPictures},
    {"context", kInGenerate, "[[]]", "conversations go to /api/chat"},
    {"width height steps", kInGenerate, "[0]", "this server draws no pictures"},
    // ---- options
    {"temperature top_k top_p min_p repeat_penalty repeat_last_n presence_penalty frequency_penalty seed num_predict "
     "stop",
     kInOptions, FieldRule::kRead},
    {"num_ctx num_batch num_gpu main_gpu num_thread use_mmap use_mlock low_vram numa f16_kv vocab_only "
     "logits_all draft_num_predict",
     kInOptions, FieldRule::kHarmless, kWhenLoaded},
    {"num_keep", kInOptions, FieldRule::kHarmless, kNeverCut},
    {"mirostat_eta mirostat_tau", kInOptions, FieldRule::kHarmless, "details of what another field would switch on"},
    {"typical_p tfs_z", kInOptions, "[1]"},
    {"mirostat", kInOptions, "[0]"},
    {"penalize_newline", kInOptions, "[true]"},
    // ---- a message
    {"role content thinking tool_calls tool_name tool_call_id", kInOllamaMessage, FieldRule::kRead},
    // ---- /api/show
    {"model name", kInShow, FieldRule::kRead},
    {"verbose", kInShow, FieldRule::kHarmless, "the reply is the same"},
};

// The parts that both endpoints read.
GenerationRequest ollama_answer(const RequestFields& fields, ApiRequest& request) {
    read_common(request, fields, true);
    const RequestJson& given = fields.object("options");
    check_fields(given, RequestObject::kOllamaOptions, "options.");
    const RequestFields options(given, "options.");
    GenerationRequest answer;
    answer.sampler = sampler_of(
        options, {.temperature = 0.8F, .top_k = 40, .top_p = 0.9F, .repeat_penalty = 1.1F, .repeat_window = 64});
    answer.grammar = ollama_form(fields);
    request.stop = stops_of(options, "stop");
    // 0 and below: until the end of the turn or of the context.
    const std::int64_t limit = options.integer("num_predict", -2, std::numeric_limits<int>::max(), -1);
    answer.max_tokens = static_cast<int>(std::max<std::int64_t>(0, limit));
    if (const RequestJson* think = fields.find("think"); think != nullptr && think->is_string()) {
        request.think = true;
        answer.thinking = think->get<std::string>();
        if (answer.thinking != "high" && answer.thinking != "medium" && answer.thinking != "low") {
            refuse_field("think", *think, "true, false, \"high\", \"medium\" or \"low\"");
        }
    } else if (think != nullptr) {
        request.think = fields.boolean("think", true);
    }
    return answer;
}

}  // namespace

std::span<const FieldRule> ollama_fields() {
    return kOllamaRules;
}

ApiRequest parse_ollama_chat(std::string_view body) {
    const RequestJson object = parse_body(body);
    check_fields(object, RequestObject::kOllamaChat);
    const RequestFields fields(object);
    ApiRequest request;
    GenerationRequest answer = ollama_answer(fields, request);
    const RequestJson* messages = fields.find("messages");
    if (messages == nullptr || messages->empty()) return request;  // it asks for the model alone
    answer.messages = messages_of(fields, RequestObject::kOllamaMessage);
    answer.continue_last = is_begun_answer(answer.messages.back());
    answer.tools = openai_tools(fields);
    request.prompts.push_back(std::move(answer));
    return request;
}

ApiRequest parse_ollama_generate(std::string_view body) {
    const RequestJson object = parse_body(body);
    check_fields(object, RequestObject::kOllamaGenerate);
    const RequestFields fields(object);
    ApiRequest request;
    request.kind = ApiRequest::Kind::kCompletion;
    GenerationRequest answer = ollama_answer(fields, request);
    const std::string prompt = fields.text("prompt"), system = fields.text("system");
    answer.raw = answer.raw_special = fields.boolean("raw", false);
    if (answer.raw && !system.empty()) {
        refuse_field("system", system, "none with \"raw\": true, which takes the prompt as it is");
    }
    if (prompt.empty()) return request;  // it asks for the model alone
    if (answer.raw) {
        answer.raw_prompt = prompt;
    } else {
        if (!system.empty()) answer.messages.push_back({Role::kSystem, system});
        answer.messages.push_back({Role::kUser, prompt});
    }
    request.prompts.push_back(std::move(answer));
    return request;
}

}  // namespace offstage::engine
