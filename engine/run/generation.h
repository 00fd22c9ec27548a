#pragma once
// One answer: its request and its result, as plain values.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/indices.h"
#include "engine/message.h"
#include "engine/run/beam_settings.h"
#include "engine/run/replan.h"
#include "engine/run/sampler_settings.h"
#include "engine/run/token_choice.h"
#include "engine/telemetry/draft_report.h"
#include "engine/telemetry/layer_event.h"
#include "engine/text/chat_template.h"

namespace offstage::engine {

struct Grammar;

// The tools that a model may call.
struct ToolUse {
    // A JSON list of {"type": "function", "function": {"name", "description", "parameters"}},
    // as chat templates take it; empty: there are none.
    std::string definitions;
    bool required = false;  // the answer is a call
    std::string only = {};  // with `required`: of this tool; empty: of any
    bool parallel = true;   // or several calls

    bool any() const { return !definitions.empty(); }
};

enum class FinishReason { kEndOfTurn, kMaxTokens, kStopped, kContextFull };
std::string_view name_of(FinishReason reason);  // "end_of_turn", "max_tokens", "stopped", "context_full"

struct GenerationRequest {
    std::vector<ChatMessage> messages;  // rendered with the model's chat template ...
    std::string raw_prompt;  // ... or, when `raw`, this text without a template, between the tokenizer's own tokens
    bool raw = false;
    // Special tokens written out in the raw prompt count as tokens, and those that the
    // tokenizer puts before a text are not added where the prompt begins with them.
    bool raw_special = false;
    // Only the first tokens of the raw prompt, including BOS and the like, at most so
    // many; 0: all. For prompts of an exact length.
    std::int64_t raw_tokens = 0;
    // The last message is the assistant's and incomplete: the answer continues at its
    // end, and the result's text and tokens are the added ones. Not with `raw`.
    bool continue_last = false;
    std::string thinking;  // one of ModelSummary::thinking_choices; empty: the template's default. Not with `raw`
    // The prompt in tokens, used unchanged instead of `messages` and `raw_prompt`; empty:
    // not given.
    std::vector<TokenId> prompt_ids;
    // The prompt in tokens as ModelText::prompt_in_context() made it of this request
    // before; empty: it was not called.
    std::vector<TokenId> made_prompt;
    // The beginning of the reply, in tokens that follow the prompt, for every kind of
    // prompt: the answer continues after them, and the result's text and tokens are the
    // added ones. A character that they leave incomplete is in that text, whole.
    std::vector<TokenId> reply_begin;
    ToolUse tools = {};  // not with `raw`
    SamplerSettings sampler;
    // The answer's text, thoughts apart, is one of this grammar (engine/text/grammar.h), as
    // far as it comes; a begun answer's beginning is part of it. nullptr: any text. Not with
    // beam search or ignore_end.
    std::shared_ptr<const Grammar> grammar;
    int max_tokens = 0;  // 0: until the end of the turn or of the context
    // 0: no bound. After so many tokens of a thought its end is written, and the answer
    // follows. With sampling of one answer.
    int max_thought_tokens = 0;
    // Never choose tokens that end a turn, with every strategy: the answer has max_tokens
    // tokens unless it is stopped or the context is full. Its text after its natural end
    // is worthless; for measurements. Has no drafts, unless these are always made.
    bool ignore_end = false;
    // The texts of ModelDefaults::stops end an answer and are no part of it. If false,
    // only those that are special tokens do so. Beam search cuts its answers there at the
    // end.
    bool stop_at_texts = true;
    // -1: no log probabilities. 0 .. kMostAlternatives: each token of the answer has its
    // own (TextDelta::choice, Answer::choices) and those of this many most probable
    // tokens. Beam search gives none.
    int n_alternatives = -1;
    // The same for the prompt's tokens (GenerationResult::prompt_choices), with as many
    // alternatives. The whole prompt is then computed, including tokens in the KV cache.
    bool score_prompt = false;
    bool prompt_only = false;  // reads the prompt, and ends there (FinishReason::kMaxTokens)
    BeamSettings beam;       // width above 1: beam search instead of sampling; streamed text is empty until it is done
    std::string trace_file;  // the routing of every token is written to it (see "replay"); empty: not written
    // A file's path without its suffix: what the prompt has in common with the
    // conversation kept there is not computed, and Session::advance() keeps the answer's
    // conversation there. NAME.kv must exist, empty at first; removing it ends that
    // (PrefixFile). Empty: nothing is read or kept. Not used while other machines
    // compute.
    std::string kept_in;
    std::uint64_t kept_bytes = 0;  // the most of all such files in the folder; 0: no bound
    int n_answers = 1;  // 1 .. 16 answers drawn side by side (beam.width must be 1), each with its answer_seed()
};

// One piece of a streamed answer: whole UTF-8 characters only; may be empty while a
// character is incomplete.
struct TextDelta {
    std::string text;
    TokenId token = -1;
    std::int64_t n_tokens = 0;               // generated so far
    double decode_tokens_per_s = 0;          // so far
    std::uint64_t step = 0;                  // the step that wrote it: LayerEvent::step
    std::optional<TokenChoice> choice = {};  // `token`'s, if GenerationRequest::n_alternatives requests it
    bool is_thinking = false;                // `text` belongs to the thought before the answer
    bool text_was_thought = false;           // it is the text of all deltas before, which was no answer
    std::vector<ToolCallDelta> calls = {};   // behind `text`
};

// The work of the accelerator and the dispatcher for one answer.
struct DeviceReport : CopyCounts {
    std::uint64_t vram_high_water_bytes = 0;
    std::uint64_t ram_high_water_bytes = 0;
    double hit_rate = 0;         // share of (token, expert) pairs whose expert was resident
    double neuron_hit_rate = 0;  // of the needed neurons, the share that was already on the device
    LoadingTimes loading;        // of all generated tokens
    // Shares of the steps' time by the device's clock, so that on an emulated device a
    // measured time is divided by an accounted one: recording layers and choosing which
    // copies stay, and deciding where experts run.
    double dispatch_overhead = 0, decision_overhead = 0;
    std::string decode_policy;       // the one in force at the end
    std::vector<Message> decisions;  // decisions of live comparisons, with reasons
    double median_step_s = 0;        // of one token in decode, by the device's clock
    double longest_step_s = 0;
    double mean_bits = 0;  // per expert weight, when the answer ended
    // By the device's clock, from one token to the next; those of a step share its time.
    std::vector<float> steps_s;
};

// One of several answers.
struct Answer {
    std::string text;
    std::string thought;
    std::vector<TokenId> tokens;
    double log_probability = 0;  // by the model itself, at temperature 1; the end token included when there is one
    double score = 0;            // beam search: log probability / length^penalty
    FinishReason finish = FinishReason::kEndOfTurn;
    std::uint64_t seed = 0;                      // drawn answers: the one used
    std::vector<TokenChoice> choices;            // one for each of `tokens`, if n_alternatives requests them
    std::optional<TokenChoice> end_choice = {};  // the same of the token that ended it (kEndOfTurn)
};

struct GenerationResult {
    std::string text;                  // the answer
    std::string thought;               // the model's thinking before the answer, without markers
    std::vector<ToolCall> tool_calls;  // behind the answer, in order
    bool thought_is_open = false;      // it was cut short within the thought
    std::int64_t thought_tokens = 0;
    std::vector<TokenId> tokens;            // of both, without the end-of-turn token
    std::vector<TokenChoice> choices;       // one for each of `tokens`, if n_alternatives requests them
    std::optional<TokenChoice> end_choice;  // the same of the token that ended the answer (kEndOfTurn)
    // If score_prompt requests them: one for each token of the prompt. The first token
    // has no probability (NaN) and no alternatives, because no token precedes it.
    std::vector<TokenChoice> prompt_choices;
    std::vector<Answer> answers;  // beam search and n_answers > 1: all, best first; the first is `text`
    DeviceReport device;
    DraftReport drafts;
    std::vector<ReplanReport> replans;  // those that ended or were under way meanwhile
    std::vector<Message> notes;         // for the user: for example, experts that were not stored on disk
    std::int64_t prompt_tokens = 0;
    std::int64_t reused_tokens = 0;  // of the prompt, found in the KV cache or read from GenerationRequest::kept_in
    std::int64_t traced_tokens = 0;  // tokens with routing in the request's trace_file
    // Times by the device's clock: accounted, not measured, where the device is emulated.
    double ttft_s = 0;               // from the request to the first token
    double decode_tokens_per_s = 0;  // after the first token
    std::uint64_t seed = 0;          // the one used
    FinishReason finish = FinishReason::kEndOfTurn;
};

using TextDeltaFn = std::function<void(const TextDelta&)>;

}  // namespace offstage::engine
