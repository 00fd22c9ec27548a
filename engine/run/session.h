#pragma once
// The session façade: all that a user interface or a command line needs of the engine, as plain values.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/experts/cache_kind.h"
#include "engine/model/indices.h"
#include "engine/plan/compute_choice.h"
#include "engine/plan/dispatch_policy.h"
#include "engine/plan/planner.h"
#include "engine/quant/weight_format.h"
#include "engine/run/beam_search.h"
#include "engine/run/prefetch_settings.h"
#include "engine/run/replan.h"
#include "engine/run/sampler_settings.h"
#include "engine/telemetry/snapshot.h"
#include "engine/text/chat_template.h"

namespace offstage::engine {

class Backend;

enum class ComputeMode {
    kAuto,  // the faster way for batched products on this machine, measured once (engine/plan/compute_choice.h)
    kF32,   // float32 products everywhere
    kBf16,  // bfloat16 products in batched multiplications
};

// How a layer's experts are shared out between accelerator and CPU.
struct DispatchSettings {
    PolicyKind prefill = PolicyKind::kBalanced;
    PolicyKind decode = PolicyKind::kBalanced;
    bool measured = true;  // decode compares its policy with the others on live tokens (engine/plan/live_comparison.h)
};

// "auto" (balanced, measured), a policy's name (that one, always), or "prefill=NAME,decode=NAME", each NAME a policy or
// "auto"; a side that is not named stays "auto". Throws Error (kInvalidInput).
DispatchSettings parse_dispatch(const std::string& text);
// As people read it: "balanced (measured)", "static", "prefill transfer, decode balanced (measured)".
std::string describe(const DispatchSettings& settings);

// Faults on purpose, for tests and drills: the n-th of each kind while a model is loaded; 0: none.
struct FaultDrill {
    int device_allocation = 0;
    int ram_allocation = 0;
    int copy = 0;
};

struct LoadRequest {
    std::string model;  // folder, file, or "synthetic:NAME?layers=N&seed=S"
    ComputeMode compute = ComputeMode::kAuto;
    int n_threads = 0;         // 0: one per core
    std::int64_t context = 0;  // tokens; 0: the model's own, at most 32768, less where memory is short

    std::string device = "cpu";    // "cpu", "cuda", "cuda:N", "emulated:PROFILE"
    std::uint64_t vram_bytes = 0;  // 0: all that the device has to give
    std::uint64_t ram_bytes = 0;   // 0: all that the machine has to give
    DispatchSettings dispatch;
    std::string
        popularity_file;   // profile of expert use; empty: the model's own (expert_popularity.json beside it), if any
    QuantSettings quant;   // formats of all experts and of attention's matrices; unset: as in the checkpoint
    QualityFloor quality;  // lets the planner choose each expert's format; quant.experts must be unset then
    CacheKind cache = CacheKind::kSlru;  // which experts copied on demand stay on the device
    PrefetchMode prefetch = PrefetchMode::kAuto;
    PromptLoading prompt_loading = PromptLoading::kLend;
    bool paced = false;                 // an emulated device answers no faster than the device would
    bool learn_placement = true;        // exchanges experts by live counts where no popularity profile was given
    std::string quant_cache_directory;  // for quantized experts; empty: cache_directory() / "quantized"
    std::string cache_directory;        // for calibrations; empty: cache_directory() / "calibration"
    // A synthetic model on an emulated device with an accounted host: computes nothing, accounts the time (see
    // EmulatedAccelerator). What it says is worthless.
    bool dry = false;
    double dry_repeat = 0;  // see PositionRouting::Habits
    double dry_guess_recall = 1;
    FaultDrill drill;
    // Tests: opens the device in the place of open_device().
    std::function<std::unique_ptr<Backend>(std::uint64_t vram_bytes)> opens_device;
    ProductTimer times_product;  // in the place of this machine, for ComputeMode::kAuto
};

struct LoadProgress {
    std::string stage;  // for the person, e.g. "Packing experts"
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
    bool counts_bytes = true;  // false: the two only tell the share that is done
    std::string note{};        // a sentence that the person should see now; ModelSummary::notes has it too
};

struct ModelSummary {
    std::string name;    // folder name or synthetic name
    std::string source;  // what was asked for
    std::string architecture;
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t hidden_dim = 0;
    std::int64_t ffn_dim = 0;
    std::int64_t vocab_size = 0;
    std::int64_t n_heads = 0;
    std::int64_t n_kv_heads = 0;
    std::int64_t head_dim = 0;
    std::int64_t context = 0;      // tokens this session holds
    std::int64_t max_context = 0;  // tokens the model was made for
    std::int64_t total_weights = 0;
    std::int64_t active_weights = 0;  // per token
    std::uint64_t weight_bytes = 0;   // in memory
    std::uint64_t active_bytes = 0;   // of these, what a decoded token reads (engine/plan/weight_reads.h)
    std::string weight_type;          // "BF16"
    std::string compute;              // "bf16" or "f32": products of batched multiplications
    std::string compute_origin;       // where that choice is from, for the person (ComputeChoice)
    std::string instruction_set;      // "avx512_bf16"
    int n_threads = 0;
    bool has_tokenizer = false;
    bool has_chat_template = false;
    double load_s = 0;

    // Where it runs.
    std::string device;       // "cpu", "cuda:0", "emulated:rtx-3060"
    std::string device_name;  // "NVIDIA H200"
    bool emulated = false;
    bool emulated_host = false;
    std::string policy;                 // "balanced (measured)", "static", "prefill transfer, decode static"
    std::int64_t resident_experts = 0;  // on the accelerator; on "cpu" all that are in RAM
    std::int64_t ram_experts = 0;       // with a copy in RAM
    std::int64_t total_experts = 0;
    std::uint64_t vram_budget_bytes = 0;
    std::uint64_t ram_budget_bytes = 0;
    std::uint64_t pinned_bytes = 0;
    double expected_hit_rate = 0;
    std::string popularity;          // where the placement's counts are from; empty: none
    std::vector<std::string> notes;  // what a person should know: a shorter context, memory that could not be pinned
    std::size_t n_early_notes = 0;   // so many of these, the first, came as a LoadProgress::note already
};

enum class FinishReason { kEndOfTurn, kMaxTokens, kStopped, kContextFull };
std::string_view name_of(FinishReason reason);  // "end_of_turn", "max_tokens", "stopped", "context_full"

struct GenerationRequest {
    std::vector<ChatMessage> messages;  // rendered with the model's chat template ...
    std::string raw_prompt;             // ... or, when `raw`, this text as it is (with BOS, as the tokenizer asks)
    bool raw = false;
    // Of the raw prompt its first tokens, BOS included, at most so many; 0: all. For prompts of an exact length.
    std::int64_t raw_tokens = 0;
    // The last message is the assistant's, cut short: the answer goes on where it ends, and the result's text and
    // tokens are what was added. Not with `raw`.
    bool continue_last = false;
    SamplerSettings sampler;
    int max_tokens = 0;  // 0: until the end of the turn or of the context
    // Tokens that end a turn are never chosen, by whatever way of choosing: the answer has max_tokens tokens unless it
    // is stopped or the context is full. What it says past its own end is worthless; for measurements.
    bool ignore_end = false;
    BeamSettings beam;       // width above 1: beam search instead of sampling; streamed text is empty until it is done
    std::string trace_file;  // where the routing of every token is written to (see "replay"); empty: nowhere
    int n_answers = 1;       // 1 .. 16 answers drawn side by side (beam.width must be 1), each with its answer_seed()
};

// One piece of a streamed answer: whole UTF-8 characters only; may be empty while a character is incomplete.
struct TextDelta {
    std::string text;
    TokenId token = -1;
    std::int64_t n_tokens = 0;       // generated so far
    double decode_tokens_per_s = 0;  // so far
    std::uint64_t step = 0;          // that wrote it: LayerEvent::step
};

// What the accelerator and the dispatcher did for one answer.
struct DeviceReport {
    std::uint64_t vram_high_water_bytes = 0;
    std::uint64_t ram_high_water_bytes = 0;
    double hit_rate = 0;             // (token, expert) pairs whose expert was resident
    std::uint64_t bytes_copied = 0;  // weights
    // Of the steps' time by the device's clock, so that on an emulated device a measured time is divided by an
    // accounted one: recording what layers did and choosing which copies stay, and deciding what experts do.
    double dispatch_overhead = 0, decision_overhead = 0;
    std::string decode_policy;           // the one in force at the end
    std::vector<std::string> decisions;  // what live comparisons decided, and why
    std::uint64_t guessed_copies = 0;    // speculative loading: copies begun unasked,
    std::uint64_t used_guesses = 0;      // and of these, there when their expert was called
    std::uint64_t admissions = 0;        // copies on demand that stayed on the device
    double median_step_s = 0;            // of one token's step in decode, by the device's clock
    double longest_step_s = 0;
    double mean_bits = 0;        // per expert weight, when the answer ended
    std::vector<float> steps_s;  // of each decode step, by the device's clock: the times from one token to the next
};

// One of several answers.
struct Answer {
    std::string text;
    std::vector<TokenId> tokens;
    double log_probability = 0;  // by the model itself, at temperature 1; the end token included when there is one
    double score = 0;            // beam search: log probability / length^penalty
    FinishReason finish = FinishReason::kEndOfTurn;
    std::uint64_t seed = 0;  // drawn answers: the one used
};

struct GenerationResult {
    std::string text;
    std::vector<TokenId> tokens;  // without the end-of-turn token
    std::vector<Answer> answers;  // beam search and n_answers > 1: all, best first; the first is `text`
    DeviceReport device;
    std::vector<ReplanReport> replans;  // those that ended or were under way while this was made
    std::vector<std::string> notes;     // what a person should know besides: experts that were not kept on disk
    std::int64_t prompt_tokens = 0;
    std::int64_t reused_tokens = 0;  // of the prompt, found in the KV cache
    std::int64_t traced_tokens = 0;  // whose routing is in the request's trace_file
    // Times by the device's clock: accounted, not measured, where the device is emulated.
    double ttft_s = 0;               // from the request to the first token
    double decode_tokens_per_s = 0;  // after the first token
    std::uint64_t seed = 0;          // the one used
    FinishReason finish = FinishReason::kEndOfTurn;
};

using LoadProgressFn = std::function<void(const LoadProgress&)>;
using TextDeltaFn = std::function<void(const TextDelta&)>;
// A preview, or a sentence that says why there is none.
using PreviewFn = std::function<void(const std::optional<ReplanPreview>& preview, const std::string& problem)>;

// One loaded model and one conversation's KV cache. All calls but snapshot() come from one thread at a time (the
// engine's worker); snapshot() from any thread. Errors are thrown as engine::Error and leave the session usable: after
// a failed load no model is loaded, after a failed generate the next one works.
class Session {
  public:
    static std::unique_ptr<Session> create();  // the engine on this machine
    virtual ~Session() = default;

    // Replaces the model. Progress comes from the calling thread, at most about 30 times a second. A stop request ends
    // in Error (kCancelled), with the memory given back.
    virtual ModelSummary load(const LoadRequest& request, const LoadProgressFn& progress, std::stop_token stop) = 0;
    virtual void unload() = 0;
    virtual bool is_loaded() const = 0;

    // Tokens that the messages would take, with the template and the generation prompt.
    virtual std::int64_t count_tokens(const std::vector<ChatMessage>& messages) const = 0;

    // Streams an answer. The prompt's longest prefix already in the KV cache is not computed again. A stop request is
    // obeyed within one layer's time and is no error: the result holds what was generated.
    virtual GenerationResult generate(const GenerationRequest& request, const TextDeltaFn& on_delta,
                                      std::stop_token stop) = 0;

    // Forgets the conversation: KV cache and the conversation's routing counts.
    virtual void reset_conversation() = 0;

    // A copied value; any thread.
    virtual Snapshot snapshot() const = 0;
    // Any thread: what layers did, from the i-th event since the model was loaded on; at most
    // Recorder::kCopiedAtOnce events at a time, none where there are no more. Numbers begin again with each load.
    virtual LayerEvents layer_events(std::uint64_t i) const;
    // How popular experts were when the plan was made, (n_layers, n_experts) shares of their layer; empty: not known.
    // Any thread.
    virtual std::vector<float> planned_popularity() const;

    // ---- budgets that move. Any thread, also while an answer is being made, unless said otherwise.
    // What a request would lead to: an answer of the moment, by the thread that calls generate(). Throws Error where no
    // plan can be made.
    virtual ReplanPreview preview(const ReplanRequest& request);
    // The same for any thread, planned beside the steps from the end of the running one on: `done` is called once, at
    // the end of a later step or in advance(), on the thread that calls generate(); or never, when the model goes
    // first.
    virtual void request_preview(const ReplanRequest& request, PreviewFn done);
    // Plans and carries the request out in the background, from the end of the running step on; while no answer is
    // made, advance() does. A request that is under way is superseded. Returns its number; reports go by it.
    virtual std::uint64_t replan(const ReplanRequest& request);
    virtual void cancel_replan();  // goes back to the plan before
    // One expert: keeps it on the device whatever the cache says, or lets it go; gives it a format of its own.
    virtual std::uint64_t pin_expert(std::int64_t layer, std::int64_t expert, bool pinned);
    virtual std::uint64_t evict_expert(std::int64_t layer, std::int64_t expert);
    virtual std::uint64_t set_expert_format(std::int64_t layer, std::int64_t expert, kernels::WeightType format);
    // The newest report of each request since the model was loaded, the last 256.
    virtual std::vector<ReplanReport> replans() const;
    // The thread that calls generate(), between two answers: goes on moving experts until all is done or a stop is
    // requested. Returns at once when there is nothing to do.
    virtual void advance(std::stop_token stop);
};

}  // namespace offstage::engine
