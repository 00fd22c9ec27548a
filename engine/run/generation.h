#pragma once
// One answer: what is asked for and what comes back, as plain values.

#include <cstddef>
#include <cstdint>
#include <functional>
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
#include "engine/text/chat_template.h"

namespace offstage::engine {

enum class FinishReason { kEndOfTurn, kMaxTokens, kStopped, kContextFull };
std::string_view name_of(FinishReason reason);  // "end_of_turn", "max_tokens", "stopped", "context_full"

struct GenerationRequest {
    std::vector<ChatMessage> messages;  // rendered with the model's chat template ...
    std::string raw_prompt;  // ... or, when `raw`, this text as it is, within what the tokenizer puts around a text
    bool raw = false;
    // Of the raw prompt its first tokens, BOS and the like included, at most so many; 0:
    // all. For prompts of an exact length.
    std::int64_t raw_tokens = 0;
    // The last message is the assistant's, cut short: the answer goes on where it ends,
    // and the result's text and tokens are what was added. Not with `raw`.
    bool continue_last = false;
    std::string
        thinking;  // one of ModelSummary::thinking_choices; empty: as the template does by itself. Not with `raw`
    // The prompt in tokens, used as they are in the place of `messages` and `raw_prompt`;
    // empty: not given.
    std::vector<TokenId> prompt_ids;
    // The prompt in tokens as ModelText::prompt_in_context() made it of this request
    // before; empty: it was not called.
    std::vector<TokenId> made_prompt;
    // What the reply begins with, in tokens that follow the prompt, whichever way that is
    // given: the answer goes on after them, and the result's text and tokens are what was
    // added. A character that they leave incomplete is in that text, whole.
    std::vector<TokenId> reply_begin;
    SamplerSettings sampler;
    int max_tokens = 0;  // 0: until the end of the turn or of the context
    // Tokens that end a turn are never chosen, by whatever way of choosing: the answer
    // has max_tokens tokens unless it is stopped or the context is full. What it says
    // past its own end is worthless; for measurements.
    bool ignore_end = false;
    // -1: no log probabilities. 0 .. kMostAlternatives: each token of the answer comes with
    // its own (TextDelta::choice, Answer::choices) and those of so many most probable ones.
    // Beam search gives none.
    int n_alternatives = -1;
    // The same of the prompt's tokens (GenerationResult::prompt_choices), with as many
    // alternatives. All of the prompt is then computed, also what the KV cache holds.
    bool score_prompt = false;
    bool prompt_only = false;  // reads the prompt, and ends there (FinishReason::kMaxTokens)
    BeamSettings beam;       // width above 1: beam search instead of sampling; streamed text is empty until it is done
    std::string trace_file;  // where the routing of every token is written to (see "replay"); empty: nowhere
    int n_answers = 1;       // 1 .. 16 answers drawn side by side (beam.width must be 1), each with its answer_seed()
};

// One piece of a streamed answer: whole UTF-8 characters only; may be empty while a
// character is incomplete.
struct TextDelta {
    std::string text;
    TokenId token = -1;
    std::int64_t n_tokens = 0;               // generated so far
    double decode_tokens_per_s = 0;          // so far
    std::uint64_t step = 0;                  // that wrote it: LayerEvent::step
    std::optional<TokenChoice> choice = {};  // of `token`, where GenerationRequest::n_alternatives asks for it
    bool is_thinking = false;                // `text` belongs to the thought before the answer
};

// What the accelerator and the dispatcher did for one answer.
struct DeviceReport {
    std::uint64_t vram_high_water_bytes = 0;
    std::uint64_t ram_high_water_bytes = 0;
    double hit_rate = 0;             // (token, expert) pairs whose expert was resident
    std::uint64_t bytes_copied = 0;  // weights
    // Experts that were copied without the neurons that a theta leaves out, and the bytes that this spared the bus.
    std::uint64_t sparse_copies = 0, copy_bytes_saved = 0;
    double neuron_hit_rate = 0;  // of the neurons that these needed, on the device already
    // Of the steps' time by the device's clock, so that on an emulated device a measured
    // time is divided by an accounted one: recording what layers did and choosing which
    // copies stay, and deciding what experts do.
    double dispatch_overhead = 0, decision_overhead = 0;
    std::string decode_policy;         // the one in force at the end
    std::vector<Message> decisions;    // what live comparisons decided, and why
    std::uint64_t guessed_copies = 0;  // speculative loading: copies begun unasked,
    std::uint64_t used_guesses = 0;    // and of these, there when their expert was called
    std::uint64_t admissions = 0;      // copies on demand that stayed on the device
    double median_step_s = 0;          // of one token's step in decode, by the device's clock
    double longest_step_s = 0;
    double mean_bits = 0;        // per expert weight, when the answer ended
    std::vector<float> steps_s;  // of each decode step, by the device's clock: the times from one token to the next
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
    std::vector<TokenChoice> choices;            // one for each of `tokens`, where n_alternatives asks for them
    std::optional<TokenChoice> end_choice = {};  // the same of the token that ended it (kEndOfTurn)
};

struct GenerationResult {
    std::string text;              // the answer
    std::string thought;           // what the model thought before it, without the markers around
    bool thought_is_open = false;  // it was cut short within the thought
    std::int64_t thought_tokens = 0;
    std::vector<TokenId> tokens;            // of both, without the end-of-turn token
    std::vector<TokenChoice> choices;       // one for each of `tokens`, where n_alternatives asks for them
    std::optional<TokenChoice> end_choice;  // the same of the token that ended the answer (kEndOfTurn)
    // Where score_prompt asks for them: one for each token of the prompt. The first token
    // has no probability (NaN) and no alternatives: nothing stands before it.
    std::vector<TokenChoice> prompt_choices;
    std::vector<Answer> answers;  // beam search and n_answers > 1: all, best first; the first is `text`
    DeviceReport device;
    std::vector<ReplanReport> replans;  // those that ended or were under way while this was made
    std::vector<Message> notes;         // what a person should know besides: experts that were not kept on disk
    std::int64_t prompt_tokens = 0;
    std::int64_t reused_tokens = 0;  // of the prompt, found in the KV cache
    std::int64_t traced_tokens = 0;  // whose routing is in the request's trace_file
    // Times by the device's clock: accounted, not measured, where the device is emulated.
    double ttft_s = 0;               // from the request to the first token
    double decode_tokens_per_s = 0;  // after the first token
    std::uint64_t seed = 0;          // the one used
    FinishReason finish = FinishReason::kEndOfTurn;
};

using TextDeltaFn = std::function<void(const TextDelta&)>;

}  // namespace offstage::engine
