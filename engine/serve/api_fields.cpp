#include "engine/serve/api_fields.h"

#include <algorithm>
#include <string_view>

#include "engine/json.h"
#include "engine/serve/api_error.h"

namespace offstage::engine {
namespace {

constexpr unsigned bit(RequestObject kind) {
    return 1U << static_cast<unsigned>(kind);
}
constexpr unsigned kInChat = bit(RequestObject::kChat), kInCompletion = bit(RequestObject::kCompletion),
                   kInBody = kInChat | kInCompletion, kInMessage = bit(RequestObject::kMessage),
                   kInPart = bit(RequestObject::kPart), kInStream = bit(RequestObject::kStreamOptions),
                   kInCall = bit(RequestObject::kToolCall), kInFunction = bit(RequestObject::kFunction);

// Fields that api_request.cpp reads.
constexpr std::string_view kRead = "read";
// Fields that change no answer, with any value: the caller's identity, billing, storing,
// caching, and details of features that another field would have to switch on first.
constexpr std::string_view kHarmless = "harmless";

struct FieldRule {
    std::string_view name;
    unsigned objects;
    // kRead, kHarmless, or a list in JSON of the values that change nothing: any other
    // value is refused.
    std::string_view treatment;
    std::string_view why = {};  // of a refusal, as the end of a sentence
};

constexpr std::string_view kOneAnswer = "this server gives one answer to a request";
constexpr std::string_view kPenalty = "this server has repetition_penalty instead";
constexpr std::string_view kNoTools = "this server calls no tools";
constexpr std::string_view kNoForm = "answers are not held to a form";
constexpr std::string_view kOwnThoughts = "thoughts come as reasoning_content";
constexpr std::string_view kOrder = "the order is repetition penalty, temperature, top_k, top_p, min_p";

constexpr FieldRule kRules[] = {
    // ---- what both endpoints or one of them read
    {"model", kInBody, kRead},
    {"messages", kInChat, kRead},
    {"prompt", kInCompletion, kRead},
    {"parse_special", kInCompletion, kRead},
    {"parse_special", kInChat, "[false]", "special tokens in messages are text"},
    {"echo", kInCompletion, kRead},
    {"echo", kInChat, "[false]"},
    {"stream", kInBody, kRead},
    {"stream_options", kInBody, kRead},
    {"stop", kInBody, kRead},
    {"temperature", kInBody, kRead},
    {"top_p", kInBody, kRead},
    {"top_k", kInBody, kRead},
    {"min_p", kInBody, kRead},
    {"repetition_penalty", kInBody, kRead},
    {"repeat_penalty", kInBody, kRead},
    {"repeat_last_n", kInBody, kRead},
    {"seed", kInBody, kRead},
    {"max_completion_tokens", kInBody, kRead},
    {"max_tokens", kInBody, kRead},
    {"n_predict", kInBody, kRead},
    {"ignore_eos", kInBody, kRead},
    {"logprobs", kInBody, kRead},
    {"top_logprobs", kInChat, kRead},
    {"top_logprobs", kInCompletion, "[0]", "\"logprobs\" says how many are wanted"},
    {"reasoning_effort", kInChat, kRead},
    {"enable_thinking", kInChat, kRead},
    {"chat_template_kwargs", kInChat, kRead},
    // ---- OpenAI's API
    {"user", kInBody, kHarmless},
    {"metadata", kInBody, kHarmless},
    {"store", kInBody, kHarmless},
    {"service_tier", kInBody, kHarmless},
    {"safety_identifier", kInBody, kHarmless},
    {"prompt_cache_key", kInBody, kHarmless},
    {"prompt_cache_retention", kInBody, kHarmless},
    {"prediction", kInBody, kHarmless},
    {"parallel_tool_calls", kInBody, kHarmless},
    {"n", kInBody, "[1]", kOneAnswer},
    {"best_of", kInBody, "[1]", kOneAnswer},
    {"suffix", kInBody, R"([""])", "this server only goes on where a text ends"},
    {"frequency_penalty", kInBody, "[0]", kPenalty},
    {"presence_penalty", kInBody, "[0]", kPenalty},
    {"logit_bias", kInBody, "[{}, [], false]", "this server changes no token's probability"},
    {"tools", kInBody, "[[]]", kNoTools},
    {"tool_choice", kInBody, R"(["none", "auto"])", kNoTools},
    {"functions", kInBody, "[[]]", kNoTools},
    {"function_call", kInBody, R"(["none", "auto"])", kNoTools},
    {"response_format", kInBody, R"([{"type": "text"}])", kNoForm},
    {"modalities", kInBody, R"([["text"]])"},
    {"audio", kInBody, "[]"},
    {"verbosity", kInBody, R"(["medium"])"},
    {"web_search_options", kInBody, "[]", "this server reaches no network"},
    {"include", kInBody, "[[]]"},
    // ---- llama.cpp's server
    {"cache_prompt", kInBody, kHarmless},
    {"id_slot", kInBody, kHarmless},
    {"n_keep", kInBody, kHarmless},
    {"n_discard", kInBody, kHarmless},
    {"timings_per_token", kInBody, kHarmless},
    {"return_progress", kInBody, kHarmless},
    {"backend_sampling", kInBody, kHarmless},
    {"parse_tool_calls", kInBody, kHarmless},
    {"grammar", kInBody, R"([""])", kNoForm},
    {"grammar_lazy", kInBody, "[false]", kNoForm},
    {"grammar_triggers", kInBody, "[[]]", kNoForm},
    {"preserved_tokens", kInBody, "[[]]"},
    {"json_schema", kInBody, "[]", kNoForm},
    {"samplers", kInBody, R"([[], ""])", kOrder},
    {"min_keep", kInBody, "[0, 1]"},
    {"typical_p", kInBody, "[1]"},
    {"typ_p", kInBody, "[1]"},
    {"tfs_z", kInBody, "[1]"},
    {"top_n_sigma", kInBody, "[-1, 0]"},
    {"xtc_probability", kInBody, "[0]"},
    {"xtc_threshold", kInBody, kHarmless},
    {"dynatemp_range", kInBody, "[0]"},
    {"dynatemp_exponent", kInBody, kHarmless},
    {"dry_multiplier", kInBody, "[0]"},
    {"dry_base", kInBody, kHarmless},
    {"dry_allowed_length", kInBody, kHarmless},
    {"dry_penalty_last_n", kInBody, kHarmless},
    {"dry_sequence_breakers", kInBody, kHarmless},
    {"mirostat", kInBody, "[0]"},
    {"mirostat_tau", kInBody, kHarmless},
    {"mirostat_eta", kInBody, kHarmless},
    {"adaptive_target", kInBody, "[-1]"},
    {"adaptive_decay", kInBody, kHarmless},
    {"penalize_nl", kInBody, "[false]", kPenalty},
    {"n_probs", kInBody, "[0]", "this server has logprobs instead"},
    {"post_sampling_probs", kInBody, "[false]", "probabilities are the model's own, before temperature and filters"},
    {"n_indent", kInBody, "[0]"},
    {"t_max_prompt_ms", kInBody, "[-1, 0]"},
    {"t_max_predict_ms", kInBody, "[-1, 0]"},
    {"return_tokens", kInBody, "[false]"},
    {"response_fields", kInBody, "[[]]"},
    {"lora", kInBody, "[[]]"},
    {"image_data", kInBody, "[[]]", "pictures are not read"},
    {"chat_template", kInBody, R"([""])", "the model's own is used"},
    {"reasoning_format", kInBody, R"(["auto", "deepseek"])", kOwnThoughts},
    {"reasoning_budget", kInBody, "[-1]"},
    {"thinking_forced_open", kInBody, "[false]"},
    // ---- other servers of open models
    {"priority", kInBody, kHarmless},
    {"request_id", kInBody, kHarmless},
    {"cache_salt", kInBody, kHarmless},
    {"keep_alive", kInBody, kHarmless},
    {"usage", kInBody, kHarmless},
    {"smoothing_curve", kInBody, kHarmless},
    {"length_penalty", kInBody, kHarmless},
    {"extra_body", kInBody, "[{}]", "its fields belong beside the others"},
    {"options", kInBody, "[{}]", "its fields belong beside the others"},
    {"min_tokens", kInBody, "[0]"},
    {"stop_token_ids", kInBody, "[[]]", "this server has stop instead"},
    {"bad_words", kInBody, "[[]]"},
    {"allowed_token_ids", kInBody, "[]"},
    {"logits_processors", kInBody, "[[]]"},
    {"include_stop_str_in_output", kInBody, "[false]"},
    {"no_stop_trim", kInBody, "[false]"},
    {"skip_special_tokens", kInBody, "[true]"},
    {"spaces_between_special_tokens", kInBody, "[true]"},
    {"add_special_tokens", kInChat, "[false]"},
    {"add_special_tokens", kInCompletion, "[true]"},
    {"add_generation_prompt", kInBody, "[true]"},
    {"continue_final_message", kInBody, "[false]"},
    {"documents", kInBody, "[[]]"},
    {"prompt_logprobs", kInBody, "[]"},
    {"truncate_prompt_tokens", kInBody, "[]"},
    {"return_token_ids", kInBody, "[false]"},
    {"return_tokens_as_token_ids", kInBody, "[false]"},
    {"use_beam_search", kInBody, "[false]"},
    {"num_beams", kInBody, "[1]"},
    {"early_stopping", kInBody, "[false]"},
    {"do_sample", kInBody, "[true]", "temperature 0 always chooses the best token"},
    {"top_a", kInBody, "[0]"},
    {"tfs", kInBody, "[1]"},
    {"epsilon_cutoff", kInBody, "[0]"},
    {"eta_cutoff", kInBody, "[0]"},
    {"smoothing_factor", kInBody, "[0]"},
    {"dynamic_temperature", kInBody, "[false]"},
    {"temperature_last", kInBody, "[false]", kOrder},
    {"guided_json", kInBody, "[]", kNoForm},
    {"guided_regex", kInBody, R"([""])", kNoForm},
    {"guided_choice", kInBody, "[[]]", kNoForm},
    {"guided_grammar", kInBody, R"([""])", kNoForm},
    {"structured_outputs", kInBody, "[]", kNoForm},
    {"regex", kInBody, R"([""])", kNoForm},
    {"ebnf", kInBody, R"([""])", kNoForm},
    {"format", kInBody, R"([""])", kNoForm},
    {"include_reasoning", kInBody, "[true]", kOwnThoughts},
    {"separate_reasoning", kInBody, "[true]", kOwnThoughts},
    // ---- a message
    {"role", kInMessage, kRead},
    {"content", kInMessage, kRead},
    {"name", kInMessage, kRead},
    {"reasoning_content", kInMessage, kRead},
    {"reasoning", kInMessage, kRead},
    {"tool_calls", kInMessage, kRead},
    {"tool_call_id", kInMessage, kRead},
    {"id", kInMessage, kHarmless},
    {"annotations", kInMessage, kHarmless},
    {"cache_control", kInMessage | kInPart, kHarmless},
    {"metadata", kInMessage, kHarmless},
    {"parsed", kInMessage, kHarmless},
    {"provider_specific_fields", kInMessage | kInCall, kHarmless},
    {"reasoning_details", kInMessage, kHarmless},
    {"thinking_blocks", kInMessage, kHarmless},
    {"type", kInMessage, R"(["text", "message"])"},
    {"refusal", kInMessage, R"([""])", "it belongs into \"content\""},
    {"audio", kInMessage, "[]", "sound is not read"},
    {"images", kInMessage, "[[]]", "pictures are not read"},
    {"function_call", kInMessage, "[]", "calls are read from \"tool_calls\""},
    {"prefix", kInMessage, "[false]"},
    {"partial", kInMessage, "[false]"},
    // ---- what messages consist of
    {"type", kInPart, kRead},
    {"text", kInPart, kRead},
    {"annotations", kInPart, kHarmless},
    {"id", kInCall, kRead},
    {"type", kInCall, R"(["function"])", "there are no other calls"},
    {"function", kInCall, kRead},
    {"index", kInCall, kHarmless},
    {"extra_content", kInCall, kHarmless},
    {"name", kInFunction, kRead},
    {"arguments", kInFunction, kRead},
    {"parsed_arguments", kInFunction, kHarmless},
    // ---- stream_options
    {"include_usage", kInStream, kRead},
    {"include_obfuscation", kInStream, kHarmless},
    {"continuous_usage_stats", kInStream, "[false]"},
};

// The first of the neutral values, for users.
std::string neutral_text(const nlohmann::json& neutral) {
    const bool is_none = neutral.empty() || neutral[0].empty() || neutral[0] == "";
    return is_none ? "none" : neutral[0].dump();
}

void check_field(const std::string& name, const nlohmann::json& value, RequestObject kind, const std::string& path) {
    const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const FieldRule& one) {
        return (one.objects & bit(kind)) != 0 && one.name == name;
    });
    if (rule == std::end(kRules)) {
        throw ApiError(400, in_quotes(path + name) + " is no field that this server knows there; leave it out.",
                       path + name);
    }
    if (rule->treatment == kRead || rule->treatment == kHarmless) return;
    const nlohmann::json neutral = nlohmann::json::parse(rule->treatment);
    if (std::find(neutral.begin(), neutral.end(), value) != neutral.end()) return;
    throw ApiError(400,
                   "\"" + path + name + "\" is " + describe(value).english() + "; expected " + neutral_text(neutral) +
                       ": " + std::string(rule->why.empty() ? "this server does not do that" : rule->why) + ".",
                   path + name);
}

}  // namespace

void check_fields(const nlohmann::json& object, RequestObject kind, const std::string& path) {
    for (const auto& [name, value] : object.items()) {
        if (!value.is_null()) check_field(name, value, kind, path);
    }
}

}  // namespace offstage::engine
