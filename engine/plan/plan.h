#pragma once
// The limits of a plan, and the places and formats of all parts of a model, as plain
// values.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/formats.h"
#include "engine/message.h"
#include "engine/plan/load_settings.h"
#include "kernels/kv_cache.h"
#include "kernels/types.h"

namespace offstage::engine {

// How much quality a user gives up for speed. Nothing unless one of these is set: then
// every expert stays in its master's format.
struct QualityFloor {
    // Bits per expert weight, mean over all experts; 0: not set. A floor of bits is one
    // of quality as well: a plan then has no larger predicted loss than the plain mixture
    // of that mean (the two formats next to it, the least used experts in fewer bits), so
    // that no bits are moved from the popular experts to the others.
    double min_mean_bits = 0;
    double max_loss = 0;  // Sensitivity's predicted loss of the whole plan; 0: not set
    // Nats per token (mean KL divergence from the model as stored in its files), as
    // measured over a text: the sum for the formats and for the neurons that are left
    // out. Lets the planner choose both; it uses nothing without a measured loss
    // (engine/plan/planner.h). 0: not set.
    double max_kl = 0;
    bool allows_fewer_bits() const { return min_mean_bits > 0 || max_loss > 0 || max_kl > 0; }
    bool operator==(const QualityFloor&) const = default;
};

// A user's limits. 0: all there is; make_plan() treats it as no limit, so callers fill in
// the device's memory.
struct Budget {
    std::uint64_t vram_bytes = 0;
    std::uint64_t ram_bytes = 0;
    std::int64_t context = 0;  // tokens; 0: the planner's choice
    QualityFloor quality{};
    KvType kv = KvType::kBf16;                     // the format of keys and values
    std::optional<kernels::WeightType> uniform{};  // all experts in this format; `quality` must be unset then
    std::optional<std::int64_t> kept_context{};    // LoadRequest::kept_context; nothing: ModelDemand's
    // What every plan leaves out, with a floor of nats per token; nothing: the planner's
    // choice.
    std::optional<ThetaChoice> theta{};
    std::int64_t largest_step = 0;   // tokens; 0: as the context allows
    std::int64_t least_context = 0;  // tokens; a default context is no shorter than this, nor than kShortestContext
};

// While experts lack room, a default context is shortened, to no less than this number of
// tokens (or Budget::least_context).
inline constexpr std::int64_t kUsualContext = 16384;
// Where the memory does not hold that even without experts: to no less than this number
// of tokens (or Budget::least_context). Prompts of a default context are read in no
// longer steps.
inline constexpr std::int64_t kShortestContext = 2048;

enum class Place : std::uint8_t { kDevice, kRam, kDisk };

// A prompt of at most this many tokens is read in one step under any budget.
inline constexpr std::int64_t kSmallestStep = 64;

// A plan's staging slots for copies on demand: one is filled while the other is computed.
// Others are for guesses.
inline constexpr std::int64_t kDemandSlots = 2;

// The places and formats of all parts.
struct Plan {
    Budget budget;              // as requested: its context may be 0
    std::vector<Place> places;  // (n_layers, n_experts): the fastest place that holds a copy
    // (n_layers, n_experts): the format of each expert, for all its copies; empty: all in
    // the master's.
    std::vector<FormatId> formats;
    std::int64_t context = 0;
    KvType kv = KvType::kBf16;  // the format of keys and values
    std::int64_t kv_device_blocks = std::int64_t{1}
                                    << 40;  // of each KV group's context, at most; the others lie in RAM
    std::int64_t max_step = 512;            // prompt tokens per step
    std::int64_t staging_slots = 0;         // experts' room on the device for copies on demand, slot_bytes each
    std::int64_t host_staging_slots = 0;    // experts' room in RAM for those on disk, slot_bytes each
    std::uint64_t disk_buffer_bytes = 0;    // RAM for bytes on their way into those
    std::uint64_t slot_bytes = 0;           // of an expert in the largest format of the plan
    bool duplicates = true;                 // experts on the device keep a copy in RAM
    std::uint64_t dense_bytes = 0, kv_bytes = 0, expert_bytes = 0, staging_bytes = 0, workspace_bytes = 0;  // VRAM
    // RAM: blocks of the KV cache that VRAM has no room for, and those for other
    // conversations (LoadRequest::kept_context); part of ram_bytes.
    std::uint64_t kv_host_bytes = 0;
    // Room for other conversations in tokens, and its bytes (part of kv_host_bytes, or of
    // kv_bytes if the device shares the host's memory).
    std::int64_t kept_context = 0;
    std::uint64_t kept_bytes = 0;
    std::uint64_t ram_bytes = 0;
    double expected_hit_rate = 0;
    double mean_bits = 16;      // per expert weight
    double predicted_loss = 0;  // Sensitivity's, of these formats
    // With QualityFloor::max_kl: the chosen thresholds, and the measured nats per token
    // of formats and neurons, each alone. Nothing: not the planner's choice.
    std::optional<ThetaChoice> theta;
    double format_kl = 0, neuron_kl = 0;
    Message note;  // for the user, about reductions: a shorter context, no staging ...

    std::int64_t n_in(Place place) const;  // experts whose fastest copy is there
    std::int64_t n_resident() const { return n_in(Place::kDevice); }
    FormatId format(std::size_t expert, FormatId master) const { return formats.empty() ? master : formats[expert]; }
    std::uint64_t vram_bytes() const { return dense_bytes + kv_bytes + expert_bytes + staging_bytes + workspace_bytes; }
    Place place(std::int64_t layer, std::int64_t n_experts, std::int64_t expert) const {
        return places[static_cast<std::size_t>(layer * n_experts + expert)];
    }
};

// Blocks of a KV pool in each memory.
struct KvRoom {
    std::int64_t device_blocks = 0;
    std::int64_t host_blocks = 0;  // in RAM, page-locked: the device reads and writes them over the bus

    std::int64_t n_blocks() const { return device_blocks + host_blocks; }
    friend bool operator==(const KvRoom&, const KvRoom&) = default;
};

constexpr std::int64_t kv_blocks_for(std::int64_t n_tokens) {
    return n_tokens / kernels::kKvBlockTokens + (n_tokens % kernels::kKvBlockTokens != 0 ? 1 : 0);
}

// A pool's blocks beside the context: each of 16 beams may part from the others inside a
// block, and the context need not end with one.
inline constexpr std::int64_t kSpareKvBlocks = 17;

// Blocks of a group of recurrent layers: the state of one sequence, the new one of a step,
// and two checkpoints (KvSequence::checkpoint). Beams take more memory when they begin.
inline constexpr std::int64_t kStateBlocks = 4;

// Other conversations whose state or window is stored without a request: as many as RAM
// has room for, at most so many.
inline constexpr std::int64_t kMostOtherSequences = 32;

// For other conversations stored beside the running one: each counts as so many tokens,
// if its state does not grow with its tokens.
inline constexpr std::int64_t kKeptTokensEach = 2048;
inline constexpr std::int64_t kMostKeptSequences = 16;

constexpr std::int64_t kept_sequences(std::int64_t kept_tokens) {
    const std::int64_t n = kept_tokens / kKeptTokensEach + (kept_tokens % kKeptTokensEach != 0 ? 1 : 0);
    return std::min(n, kMostKeptSequences);
}

// A template may write so many tokens at the end of a prompt in another way once the
// answer follows: what a token there sees is kept.
inline constexpr std::int64_t kPromptEndTokens = 8;

// The blocks of a group of layers with equal KV cache (KvGroup), of kKvBlockTokens
// tokens.
struct KvGroupDemand {
    std::int64_t window = 0;                                     // tokens that are kept; 0: all
    std::array<std::uint64_t, kernels::kKvTypes> token_bytes{};  // by KvType
    bool is_state = false;                                       // KvGroup::is_state

    std::uint64_t bytes_per_token(KvType type) const { return token_bytes[static_cast<std::size_t>(type)]; }

    // For a context of so many tokens, at least 1. A window, with the kPromptEndTokens
    // before it, needs one block more than its tokens fill, because it need not begin at
    // a block, and it is stored twice: where the sequence ends, and where its last prompt
    // ended (KvSequence::checkpoint).
    std::int64_t n_blocks(std::int64_t context) const {
        if (is_state) return kStateBlocks;
        const std::int64_t all = kv_blocks_for(context);
        return window == 0 ? all : std::min(all, 2 * window_blocks());
    }
    // Further blocks: spare ones, and under a window those of a step's tokens, of which
    // the first still sees a whole window.
    std::int64_t n_other_blocks(std::int64_t max_step) const {
        if (is_state) return 0;
        return kSpareKvBlocks + (window == 0 ? 0 : kv_blocks_for(max_step));
    }
    // Besides all these, for this many tokens of other conversations. Each of these has
    // states and windows twice, like the running one.
    std::int64_t n_kept_blocks(std::int64_t kept_tokens) const {
        const std::int64_t n = kept_sequences(kept_tokens);
        if (is_state) return 2 * n;
        const std::int64_t all = kv_blocks_for(kept_tokens);
        return window == 0 ? all : std::min(all, n * 2 * window_blocks());
    }
    // Further blocks for n other conversations whose tokens lie in the unused part of the
    // context: the state or the window at the place where each continues.
    std::int64_t n_other_sequences_blocks(std::int64_t context, std::int64_t n) const {
        if (is_state) return n;
        if (window == 0) return 0;
        const std::int64_t all = kv_blocks_for(context);
        return std::min(all - std::min(all, n_blocks(context)), n * window_blocks());
    }

  private:
    std::int64_t window_blocks() const { return kv_blocks_for(window + kPromptEndTokens) + 1; }
};

// A model's needs on one device, in bytes. Filled by code that knows both.
struct ModelDemand {
    // One format that experts may be kept in.
    struct Format {
        kernels::WeightType format = kernels::WeightType::kBf16;
        std::uint64_t expert_bytes = 0;  // rounded up as arenas do
        double bits_per_weight = 16;
    };

    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t hidden_dim = 0;     // 0: not known
    std::uint64_t expert_bytes = 0;  // in the master's format
    std::vector<Format> formats;     // allowed formats of experts, the master's first
    // If the file has experts in several formats: those, and each layer's index into them
    // (n_layers). formats.front() then has the largest one's bytes and the mean bits.
    // Otherwise empty.
    std::vector<Format> file_formats;
    std::vector<std::uint8_t> layer_format;
    // The block formats of the file's experts, "Q4_K, Q6_K": another format is a second
    // quantization of the same values, and the note of a plan with such experts says so.
    std::string file_blocks;
    std::uint64_t dense_bytes = 0;         // on the device
    std::uint64_t dense_read_bytes = 0;    // of these, the bytes that one decoded token reads
    std::uint64_t dense_file_bytes = 0;    // the dense weights as a load reads them
    std::uint64_t dense_peak_bytes = 0;    // RAM that they take at once, before the device has its copy
    std::vector<KvGroupDemand> kv_groups;  // of the KV cache, in the order of KvLayout
    kernels::KvType kv = kernels::KvType::kBf16;
    std::uint64_t host_fixed_bytes = 0;  // RAM that is not experts: dense weights kept there, buffers
    std::int64_t max_context = 0;        // of the model
    std::int64_t short_context = 0;      // RopeSpec::original_context; 0: positions are the same in every context
    // Workspace on the device for steps of up to n tokens: fixed + per_token * n. With
    // the blocks that KV groups have beside the context's.
    std::uint64_t workspace_fixed_bytes = 0;
    std::uint64_t workspace_bytes_per_token = 0;
    std::int64_t staging_slots = 2;  // wished for: one is filled while the other is computed with, more for guesses
    // Experts on disk are in files that are read directly (ExpertReader). That needs
    // buffers and, if possible, more slots than a token's experts, for guesses.
    bool reads_directly = false;
    std::int64_t disk_guess_slots = 0;
    bool shares_host_memory = false;  // the device is the CPU: one memory, nothing is copied
    bool residents_change = false;    // experts copied on demand may stay on the device, in others' place
    bool ends_with_experts = false;   // only a prompt's last token passes the experts of the last layer
    bool loads_ahead = false;         // a prompt's experts are copied before their layer's router has run
    bool kv_may_lie_in_ram = false;   // the runtime can keep blocks of the KV cache in RAM
    std::int64_t kept_context = 0;    // LoadRequest::kept_context

    // The format of an expert that is assigned formats[f].
    const Format& format_of(std::size_t f, std::size_t expert) const {
        if (f > 0 || layer_format.empty()) return formats[f];
        return file_formats[layer_format[expert / static_cast<std::size_t>(n_experts)]];
    }
    // nullptr: not of this model.
    const Format* find(kernels::WeightType format) const;
    // Of an expert, as arenas count; of another model's formats: of the master's.
    std::uint64_t bytes_of(kernels::WeightType format) const;
    std::uint64_t kv_bytes(std::int64_t context) const;
    // For kept_context: in RAM, or on the device if the two share their memory.
    std::uint64_t kept_bytes() const;
    // Bytes of the states and windows of n other conversations.
    std::uint64_t sequences_bytes(std::int64_t context, std::int64_t n) const;
    // The number of them that fit; 0 also if no layer has any.
    std::int64_t sequences_in(std::int64_t context, std::uint64_t bytes) const;
    // The KV groups' part of the workspace: a line over the tokens of a step.
    std::uint64_t kv_workspace_bytes(std::int64_t max_step) const;
    // The same with keys and values kept otherwise.
    ModelDemand with_kv(kernels::KvType type) const;
    // The pools of a plan, a group's each.
    std::vector<KvRoom> kv_rooms(const Plan& plan) const;
};

}  // namespace offstage::engine
