#pragma once
// The limits of a plan, and the places and formats of all parts of a model, as plain
// values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/formats.h"
#include "engine/message.h"
#include "engine/plan/load_settings.h"

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
    // (engine/plan/placer.h). 0: not set.
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

}  // namespace offstage::engine
