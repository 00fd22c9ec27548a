#pragma once
// The places and formats of all parts of a model, as plain values.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/formats.h"
#include "engine/message.h"
#include "engine/plan/budget.h"
#include "engine/plan/kv_type.h"
#include "engine/plan/theta_choice.h"

namespace offstage::engine {

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

    std::int64_t n_resident() const;
    FormatId format(std::size_t expert, FormatId master) const { return formats.empty() ? master : formats[expert]; }
    std::uint64_t vram_bytes() const { return dense_bytes + kv_bytes + expert_bytes + staging_bytes + workspace_bytes; }
    Place place(std::int64_t layer, std::int64_t n_experts, std::int64_t expert) const {
        return places[static_cast<std::size_t>(layer * n_experts + expert)];
    }
};

}  // namespace offstage::engine
