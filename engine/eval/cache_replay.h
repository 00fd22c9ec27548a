#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/experts/cache_policy.h"
#include "engine/plan/popularity.h"
#include "engine/telemetry/routing_trace.h"

namespace offstage::engine {

// The routing of a trace as calls to a cache. A step that computes several tokens at once
// (a prompt's) calls each expert once, because a batch loads an expert once. The calls of
// a layer come in the order of the experts' numbers, as in the live store.
struct CacheCalls {
    struct Call {
        ExpertKey key;
        std::int64_t n_tokens = 0;
    };
    struct Layer {  // one layer of one step
        std::int32_t layer = 0;
        bool decode = false;    // no token of the step is a prompt's
        std::size_t first = 0;  // into calls
        std::size_t n_calls = 0;
        std::size_t token = 0;     // the step's first
        std::size_t n_tokens = 0;  // of the step
    };
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_tokens = 0;
    std::vector<Call> calls;
    std::vector<Layer> layers;  // in time; a step's layer 0 begins it
};
CacheCalls cache_calls(const RoutingTrace& trace);

// Throws Error (kInvalidInput) if the popularity belongs to another model.
void require_shapes(const Popularity& popularity, const TraceHeader& header);

// The experts that a cache of n_slots begins with. per_layer: each layer has its n_slots
// / n_layers most popular experts (the first layers one more if there is a remainder);
// otherwise the most popular of all layers. Without counts they are spread evenly over
// the layers, the lowest numbers first.
std::vector<ExpertKey> initial_residents(std::int64_t n_slots, bool per_layer, const Popularity& popularity);

struct HitCount {
    std::uint64_t calls = 0;
    std::uint64_t hits = 0;
    // 0 if there were no calls.
    double rate() const { return calls > 0 ? static_cast<double>(hits) / static_cast<double>(calls) : 0; }
};

struct ReplayResult {
    std::string policy;  // name_of(kind), or "oracle"
    std::int64_t n_slots = 0;
    HitCount all, prompt, decode;
    std::vector<HitCount> layers;
    std::uint64_t admissions = 0;
    std::uint64_t evictions = 0;
    // Speculative loading: copies for guesses, and those of them that the layer then
    // called. Such a call is no hit.
    std::uint64_t guessed_copies = 0;
    std::uint64_t guessed_used = 0;

    // Experts copied to the device: every miss, except those copied for a guess, and
    // every guess.
    std::uint64_t copies() const { return all.calls - all.hits - guessed_used + guessed_copies; }
};

struct Speculation {
    const RoutingTrace* trace = nullptr;  // with guesses of this distance; nullptr: no speculation
    std::int64_t distance = 1;
    std::int64_t n_guesses = 2;  // the number of best guesses whose missing experts are copied; limited by the trace's
};

// Called before each layer of each step, with the residents at that time: (n_layers,
// n_experts), below 0: not resident.
using ReplayWatch = std::function<void(const CacheCalls::Layer& layer, std::span<const std::int64_t> slots)>;

// Runs a policy over the calls, beginning with `residents` (no more than n_slots). A miss
// is admitted into a free slot, or else in the place that the policy gives; experts that
// the layer calls in this step keep their place. Guesses are used in steps of one token:
// a guessed expert lies in a staging buffer until its layer has run, evicts nothing, and
// when it was used it is admitted like any other miss (Mixtral-Offloading, 3.2).
ReplayResult replay(const CacheCalls& calls, CachePolicy& policy, std::int64_t n_slots,
                    std::vector<ExpertKey> residents, const Speculation& speculation = {},
                    const ReplayWatch& watch = {});

// The most hits that any policy without speculation can reach from the same start: after
// each layer it keeps the experts that are called soonest (Belady's minimum; it may
// refuse to admit an expert).
ReplayResult replay_oracle(const CacheCalls& calls, std::int64_t n_slots, std::span<const ExpertKey> residents);

}  // namespace offstage::engine
