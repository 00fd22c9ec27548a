#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/formats.h"
#include "engine/message.h"
#include "engine/telemetry/draft_report.h"
#include "engine/telemetry/layer_event.h"
#include "engine/telemetry/machine_figures.h"

namespace offstage::engine {

// Every expert as of now, each vector (n_layers, n_experts) row-major.
struct ExpertStates {
    std::vector<std::uint8_t> place;   // plan/plan.h: Place, the fastest that holds a copy
    std::vector<std::uint8_t> format;  // FormatId
    std::vector<std::uint8_t> pinned;  // 1: may not lose its place on the device
    std::vector<ExpertUse> uses;       // since the model was loaded
    std::uint64_t step = 0;            // the last one, for ExpertUse::last_step
};

// The uses of one memory, in bytes.
struct MemoryLedger {
    std::uint64_t total = 0;   // of the memory; 0: no separate memory (the device is the CPU)
    std::uint64_t budget = 0;  // Offstage's limit
    std::uint64_t dense = 0, kv_cache = 0, staging = 0, workspace = 0;
    std::vector<std::uint64_t> experts;  // by FormatId; formats behind its end: none
    std::uint64_t experts_spare = 0;     // taken for experts and empty at the moment
    std::uint64_t others = 0;            // other programs, the driver

    void add_experts(FormatId format, std::uint64_t bytes) {
        const auto at = static_cast<std::size_t>(format);
        if (experts.size() <= at) experts.resize(at + 1);
        experts[at] += bytes;
    }
    std::uint64_t used() const {
        std::uint64_t sum = dense + kv_cache + staging + workspace + experts_spare;
        for (const std::uint64_t bytes : experts) sum += bytes;
        return sum;
    }
};

// The engine's state for display, at one moment: a plain value.
struct Snapshot {
    std::uint64_t revision = 0;  // grows with each change: equal revisions, equal content
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;

    // Tokens routed to each expert, (n_layers, n_experts) row-major.
    std::vector<std::uint32_t> window_counts;        // over the last window_tokens tokens (prompt and answer)
    std::vector<std::uint64_t> conversation_counts;  // since the conversation began
    std::int64_t window_tokens = 0;                  // <= kRoutingWindow
    std::int64_t conversation_tokens = 0;

    std::int64_t context_used = 0;  // tokens in the KV cache
    std::int64_t context_size = 0;
    // Besides it: sequences of other conversations that stay in the KV cache while there
    // is room, and their tokens in total (a common beginning counts for each).
    std::int64_t kept_prefixes = 0;
    std::int64_t kept_tokens = 0;
    // The room for them, besides the context, in the plan in force; and its bytes.
    std::int64_t kept_context = 0;
    std::uint64_t kept_context_bytes = 0;

    // The rest is gathered while a reader is active (Session::snapshot() was called
    // within kLookedAt) and whenever the engine becomes idle.
    std::span<const FormatRow> formats = format_rows();  // what FormatIds mean
    ExpertStates experts;
    DispatchTotals totals;  // since the model was loaded
    DraftReport drafts;     // the same
    // With a theta, (n_layers): the share of neurons that were not left out, among those
    // counted in each layer's last steps; below 0: none were counted. Empty: no layer has
    // a theta.
    std::vector<float> active_shares;
    double telemetry_us = 0;     // spent on writing events down, of the running or last answer,
    double answer_us = 0;        // and all its steps: the panels' own cost
    std::uint64_t n_events = 0;  // recorded since the model was loaded (Session::layer_events)
    MemoryLedger vram, ram;
    std::string decode_policy;       // in force
    std::vector<Message> decisions;  // of live comparisons, newest last: the last 64
    std::uint64_t n_decisions = 0;   // since the model was loaded
    double mean_bits = 0;            // per expert weight
    // The measured time of a decoded token beyond the forecast, in the last answers under
    // the present plan; 0: not known, or the device is the CPU. As of the last answer's
    // end.
    double decode_overhead_us = 0;

    // Other machines that compute experts (Session::join), at the time of the call;
    // empty: none has joined.
    std::vector<MachineFigures> machines;
    // (n_layers, n_experts): bit i is set if machines[i] is up and has the expert. Empty
    // without machines.
    std::vector<std::uint16_t> elsewhere;
    MachineShape machine_shape;
    // (n_layers, n_experts), if every machine makes each step: the machine that computes
    // the expert; 0: this machine, i + 1: machines[i]. Otherwise empty.
    std::vector<std::uint8_t> expert_owners;
    std::int64_t machine_tokens = 0;  // decoded lately with the machines that are up now
    double machine_token_us = 0;      // and what each took, mean
};

inline constexpr std::int64_t kRoutingWindow = 64;
inline constexpr std::chrono::seconds kLookedAt{1};

}  // namespace offstage::engine
