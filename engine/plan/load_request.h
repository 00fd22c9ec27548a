#pragma once
// A user's request to load a model, as plain values.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "engine/message.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/plan.h"
#include "engine/quant/weight_format.h"

namespace offstage::kernels {
enum class TrialProduct : std::uint8_t;
}

namespace offstage::engine {

class Backend;

enum class ComputeMode {
    kAuto,  // the faster form on this machine, measured once (engine/plan/product_choice.h)
    kF32,   // float32 products everywhere
    kBf16,  // bfloat16 products in batched multiplications
    kInt8,  // float32, but inputs in 8 bits where few tokens are multiplied by a file's blocks
};

// How a layer's experts are divided between accelerator and CPU.
struct DispatchSettings {
    PolicyKind prefill = PolicyKind::kBalanced;
    PolicyKind decode = PolicyKind::kBalanced;
    bool measured =
        true;  // decode compares its policy with the others on live tokens (engine/dispatch/live_comparison.h)
};

// "auto" (balanced, measured), a policy's name (that one, always), or
// "prefill=NAME,decode=NAME", each NAME a policy or "auto"; a side that is not named
// stays "auto". Throws Error (kInvalidInput).
DispatchSettings parse_dispatch(const std::string& text);
// For users: "balanced (measured)", "static", "prefill transfer, decode balanced
// (measured)".
std::string describe(const DispatchSettings& settings);

// Faults on purpose, for tests and drills: the n-th of each kind while a model is loaded;
// 0: none.
struct FaultDrill {
    int device_allocation = 0;
    int ram_allocation = 0;
    int copy = 0;
};

// What of a model's text is needed. A load without it ends before weights are read, in
// Error (kUnsupported).
enum class TextNeeds : std::uint8_t { kNothing, kTokenizer, kChatTemplate };

struct LoadRequest {
    std::string model;  // folder, file, or "synthetic:NAME?layers=N&seed=S"
    ComputeMode compute = ComputeMode::kAuto;
    int n_threads = 0;         // 0: one per core that this process may use
    std::int64_t context = 0;  // tokens; 0: the model's own, at most 32768, less where memory is short
    // A family's name or a file (engine/text/template_choice.h) in the place of the
    // model's own chat template; empty: that one.
    std::string chat_template;
    TextNeeds text_needs = TextNeeds::kNothing;

    std::string device = "cpu";    // "cpu", "cuda", "cuda:N", "emulated:PROFILE"
    std::uint64_t vram_bytes = 0;  // 0: all that the device has to give
    std::uint64_t ram_bytes = 0;   // 0: all that the machine has to give
    KvType kv = KvType::kBf16;     // the format of the conversation's keys and values
    // Tokens of other conversations that the KV cache has room for beside the context, in
    // RAM, so that going back to one does not read it again. 0: they stay in the unused
    // part of the context.
    std::int64_t kept_context = 0;
    DispatchSettings dispatch;
    std::string
        popularity_file;  // profile of expert use; empty: the model's own (expert_popularity.json beside it), if any
    QuantSettings quant;  // formats of all experts and of attention's matrices; unset: as in the checkpoint
    // Neurons of routed experts whose activation is nearer to zero than this are left out
    // (kernels::ExpertSpec::theta): less is read and computed, and results change. 0:
    // none. Session::set_theta() changes it while the model is loaded.
    double theta = 0;
    // Above 0: theta is 0, and each expert has the threshold chosen for it, for at most
    // this loss (nats per token, ChosenThresholds). Load throws Error (kInvalidInput) if
    // there are none.
    double theta_loss = 0;
    bool leaves_out() const { return theta > 0 || theta_loss > 0; }
    // These two, with neuron_guesses.
    ThetaChoice theta_choice() const { return {theta, theta_loss, neuron_guesses}; }
    SparseLoading sparse_loading = SparseLoading::kAuto;
    NeuronGuesses neuron_guesses = NeuronGuesses::kCorrect;
    // Device memory for neurons of experts without a place there that were copied once
    // (NeuronCache). 0: none.
    std::uint64_t neuron_cache_bytes = 0;
    // With a theta: the share of a token's neurons that forecasts, the dispatcher until
    // it has measured, and dry runs assume to be active, (0, 1]. 0: unknown
    // (kUnknownActiveShare).
    double active_share = 0;
    QualityFloor quality;  // lets the planner choose each expert's format; quant.experts must be unset then
    CacheKind cache = CacheKind::kSlru;  // which experts copied on demand stay on the device
    PrefetchMode prefetch = PrefetchMode::kAuto;
    PromptLoading prompt_loading = PromptLoading::kLend;
    DiskReads disk_reads = DiskReads::kAuto;
    DraftMode drafts = DraftMode::kOff;
    std::string draft_model;            // drafts on the CPU, with the same tokens; empty: none
    bool cuda_graphs = true;            // Backend::begin_repeated(); off for comparisons
    bool paced = false;                 // an emulated device answers no faster than the device would
    bool learn_placement = true;        // exchanges experts by live counts if no popularity profile was given
    std::string quant_cache_directory;  // for quantized experts; empty: cache_directory() / "quantized"
    std::string cache_directory;        // for calibrations; empty: cache_directory() / "calibration"
    bool checks_costs = true;           // kept costs are timed again, and measured anew where they do not hold
    // A synthetic model on an emulated device with an accounted host: computes nothing,
    // accounts the time (see EmulatedAccelerator). Its text is worthless.
    bool dry = false;
    double dry_repeat = 0;  // see PositionRouting::Habits
    double dry_guess_recall = 1;
    FaultDrill drill;
    // Tests: opens the device in the place of open_device().
    std::function<std::unique_ptr<Backend>(std::uint64_t vram_bytes)> opens_device;
    // Tests: drafts in the place of prompt lookup, or of what the model's layer drafted:
    // writes up to draft.size() tokens that may follow, and returns how many.
    std::function<std::size_t(std::span<const std::int32_t> tokens, std::span<std::int32_t> draft)> writes_draft;
    // Tests: a ProductTimer in the place of this machine, for ComputeMode::kAuto
    // (engine/plan/product_choice.h).
    std::function<double(kernels::TrialProduct)> times_product;
};

struct LoadProgress {
    Message stage;  // for the user, e.g. "Packing experts"
    std::uint64_t bytes_done = 0;
    std::uint64_t bytes_total = 0;
    bool counts_bytes = true;  // false: only the ratio of the two has a meaning
    Message note{};            // a sentence to show to the user now; ModelSummary::notes has it too
};

using LoadProgressFn = std::function<void(const LoadProgress&)>;

}  // namespace offstage::engine
