#include "engine/serve/api_fields.h"

#include <algorithm>
#include <string_view>

#include "engine/json.h"
#include "engine/serve/api_error.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kInChat = bit(RequestObject::kChat), kInCompletion = bit(RequestObject::kCompletion),
                        kInBody = kInChat | kInCompletion, kInMessage = bit(RequestObject::kMessage),
                        kInPart = bit(RequestObject::kPart), kInStream = bit(RequestObject::kStreamOptions),
                        kInCall = bit(RequestObject::kToolCall), kInFunction = bit(RequestObject::kFunction),
                        kInTool = bit(RequestObject::kTool), kInToolChoice = bit(RequestObject::kToolChoice),
                        kInFormat = bit(RequestObject::kResponseFormat), kInSchema = bit(RequestObject::kJsonSchema);

constexpr std::string_view kRead = FieldRule::kRead, kHarmless = FieldRule::kHarmless;

constexpr std::string_view kOwnThoughts = "thoughts come as reasoning_content";
constexpr std::string_view kInConversations = "tools belong to /v1/chat/completions";
constexpr std::string_view kOrder = "the order is penalties, temperature, top_k, top_p, min_p";

constexpr FieldRule kOpenAiRules[] = {
    // ---- what both endpoints or one of them read
    {"model stream stream_options stop temperature top_p top_k min_p repetition_penalty repeat_penalty "
     "repeat_last_n presence_penalty frequency_penalty logit_bias n n_cmpl best_of seed max_completion_tokens "
     "max_tokens n_predict ignore_eos logprobs response_format json_schema grammar",
     kInBody, kRead},
    {"messages tools tool_choice parallel_tool_calls top_logprobs reasoning_effort enable_thinking "
     "chat_template_kwargs continue_final_message "
     "add_generation_prompt",
     kInChat, kRead},
    {"prompt parse_special echo", kInCompletion, kRead},
    {"parse_special", kInChat, "[false]", "special tokens in messages are text"},
    {"echo", kInChat, "[false]"},
    {"top_logprobs", kInCompletion, "[0]", "\"logprobs\" says how many are wanted"},
    // ---- OpenAI's API
    {"user metadata store service_tier safety_identifier prediction", kInBody, kHarmless, kAboutCaller},
    {"prompt_cache_key prompt_cache_retention", kInBody, kHarmless, kReuse},
    {"parallel_tool_calls", kInCompletion, "[true, false]", kInConversations},
    {"suffix", kInBody, R"([""])", "this server only goes on where a text ends"},
    {"tools", kInCompletion, "[[]]", kInConversations},
    {"tool_choice", kInCompletion, R"(["none", "auto"])", kInConversations},
    {"functions", kInBody, "[[]]", "functions are read from \"tools\""},
    {"function_call", kInBody, R"(["none", "auto"])", "functions are read from \"tools\""},
    {"modalities", kInBody, R"([["text"]])"},
    {"audio", kInBody, "[]"},
    {"verbosity", kInBody, R"(["medium"])"},
    {"web_search_options", kInBody, "[]", kNoNetwork},
    {"include", kInBody, "[[]]"},
    // ---- llama.cpp's server
    {"cache_prompt n_cache_reuse id_slot", kInBody, kHarmless, kReuse},
    {"timings_per_token return_progress backend_sampling parse_tool_calls", kInBody, kHarmless,
     "what is reported, and how; a reply has none of it"},
    {"speculative.n_max speculative.n_min speculative.p_min xtc_threshold dynatemp_exponent dry_base "
     "dry_allowed_length dry_penalty_last_n dry_sequence_breakers mirostat_tau mirostat_eta adaptive_decay "
     "smoothing_curve length_penalty",
     kInBody, kHarmless, "details of what another field would switch on"},
    {"n_keep n_discard", kInBody, kHarmless, "an answer ends where the context is full; nothing is dropped from it"},
    {"grammar_lazy", kInBody, "[false]", kOtherForm},
    {"grammar_triggers", kInBody, "[[]]", kOtherForm},
    {"preserved_tokens response_fields lora", kInBody, "[[]]"},
    {"samplers", kInBody, R"([[], ""])", kOrder},
    {"min_keep", kInBody, "[0, 1]"},
    {"typical_p typ_p tfs_z", kInBody, "[1]"},
    {"top_n_sigma t_max_prompt_ms t_max_predict_ms", kInBody, "[-1, 0]"},
    {"xtc_probability dynatemp_range dry_multiplier mirostat n_indent", kInBody, "[0]"},
    {"adaptive_target reasoning_budget", kInBody, "[-1]"},
    {"penalize_nl", kInBody, "[false]"},
    {"n_probs", kInBody, "[0]", "this server has logprobs instead"},
    {"post_sampling_probs", kInBody, "[false]", "probabilities are the model's own, before temperature and filters"},
    {"return_tokens thinking_forced_open", kInBody, "[false]"},
    {"image_data", kInBody, "[[]]", kNoPictures},
    {"chat_template", kInBody, R"([""])", "the model's own is used"},
    {"reasoning_format", kInBody, R"(["auto", "deepseek"])", kOwnThoughts},
    // ---- other servers of open models
    {"priority request_id rid usage session_id trace", kInBody, kHarmless, "requests are taken in their order"},
    {"cache_salt", kInBody, kHarmless, kReuse},
    {"keep_alive ttl draft_model models provider route", kInBody, kHarmless, kOneModel},
    {"transforms plugins", kInBody, "[[]]"},
    {"extra_body options", kInBody, "[{}]", "its fields belong beside the others"},
    {"min_tokens top_a epsilon_cutoff eta_cutoff smoothing_factor", kInBody, "[0]"},
    {"stop_token_ids", kInBody, "[[]]", "this server has stop instead"},
    {"bad_words logits_processors documents", kInBody, "[[]]"},
    {"allowed_token_ids prompt_logprobs truncate_prompt_tokens", kInBody, "[]"},
    {"include_stop_str_in_output no_stop_trim return_token_ids "
     "return_tokens_as_token_ids use_beam_search early_stopping dynamic_temperature",
     kInBody, "[false]"},
    {"skip_special_tokens spaces_between_special_tokens", kInBody, "[true]"},
    {"continue_final_message", kInCompletion, "[false]"},
    {"add_generation_prompt", kInCompletion, "[true]"},
    {"add_special_tokens", kInChat, "[false]"},
    {"add_special_tokens", kInCompletion, "[true]"},
    {"num_beams tfs", kInBody, "[1]"},
    {"do_sample", kInBody, "[true]", "temperature 0 always chooses the best token"},
    {"temperature_last", kInBody, "[false]", kOrder},
    {"guided_json structured_outputs", kInBody, "[]", kOtherForm},
    {"guided_regex guided_grammar regex ebnf format", kInBody, R"([""])", kOtherForm},
    {"guided_choice", kInBody, "[[]]", kOtherForm},
    {"include_reasoning separate_reasoning", kInBody, "[true]", kOwnThoughts},
    // ---- a message
    {"role content name reasoning_content reasoning tool_calls tool_call_id prefix partial", kInMessage, kRead},
    {"id annotations metadata parsed reasoning_details thinking_blocks", kInMessage, kHarmless, kOldReply},
    {"cache_control", kInMessage | kInPart, kHarmless, kReuse},
    {"provider_specific_fields", kInMessage | kInCall, kHarmless, kOldReply},
    {"type", kInMessage, R"(["text", "message"])"},
    {"refusal", kInMessage, R"([""])", "it belongs into \"content\""},
    {"audio", kInMessage, "[]", "sound is not read"},
    {"images", kInMessage, "[[]]", kNoPictures},
    {"function_call", kInMessage, "[]", "calls are read from \"tool_calls\""},
    // ---- what messages consist of
    {"type text", kInPart, kRead},
    {"annotations", kInPart, kHarmless, kOldReply},
    {"id function", kInCall, kRead},
    {"type", kInCall, R"(["function"])", "there are no other calls"},
    {"index extra_content", kInCall, kHarmless, kOldReply},
    {"name arguments", kInFunction, kRead},
    {"index parsed_arguments", kInFunction, kHarmless, kOldReply},
    // ---- tools
    {"type", kInTool | kInToolChoice, R"(["function"])", "there are no other tools"},
    {"function", kInTool | kInToolChoice, kRead},
    {"name", kInToolChoice, kRead},
    {"name description parameters strict", bit(RequestObject::kToolFunction), kRead},
    // ---- response_format
    {"type json_schema schema", kInFormat, kRead},
    {"schema", kInSchema, kRead},
    {"name description strict", kInSchema, kHarmless, kOwnSchema},
    // ---- stream_options
    {"include_usage", kInStream, kRead},
    {"include_obfuscation", kInStream, kHarmless, "pieces are as long as they are"},
    {"continuous_usage_stats", kInStream, "[false]"},
    // ---- /tokenize and /detokenize
    {"content add_special parse_special with_pieces", bit(RequestObject::kTokenize), kRead},
    {"tokens", bit(RequestObject::kDetokenize), kRead},
};

bool has_word(std::string_view words, const std::string& word) {
    return word.find(' ') == std::string::npos &&
           (" " + std::string(words) + " ").find(" " + word + " ") != std::string::npos;
}

// The first of the neutral values, for users.
std::string neutral_text(const RequestJson& neutral) {
    const bool is_none = neutral.empty() || neutral[0].empty() || neutral[0] == "";
    return is_none ? "none" : neutral[0].dump();
}

const FieldRule* find_rule(const std::string& name, RequestObject kind) {
    for (const std::span<const FieldRule> rules :
         {openai_fields(), responses_fields(), ollama_fields(), anthropic_fields()}) {
        for (const FieldRule& rule : rules) {
            if ((rule.objects & bit(kind)) != 0 && has_word(rule.names, name)) return &rule;
        }
    }
    return nullptr;
}

void check_field(const std::string& name, const RequestJson& value, RequestObject kind, const std::string& path) {
    const FieldRule* const rule = find_rule(name, kind);
    if (rule == nullptr) {
        throw ApiError(400, in_quotes(path + name) + " is no field that this server knows there; leave it out.",
                       path + name);
    }
    if (rule->treatment == kRead || rule->treatment == kHarmless) return;
    const RequestJson neutral = RequestJson::parse(rule->treatment);
    if (std::find(neutral.begin(), neutral.end(), value) != neutral.end()) return;
    throw ApiError(400,
                   "\"" + path + name + "\" is " + describe(value).english() + "; expected " + neutral_text(neutral) +
                       ": " + std::string(rule->why.empty() ? "this server does not do that" : rule->why) + ".",
                   path + name);
}

}  // namespace

std::span<const FieldRule> openai_fields() {
    return kOpenAiRules;
}

void check_fields(const RequestJson& object, RequestObject kind, const std::string& path) {
    for (const auto& [name, value] : object.items()) {
        if (!value.is_null()) check_field(name, value, kind, path);
    }
}

}  // namespace offstage::engine
