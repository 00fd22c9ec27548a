#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/plan/measurement_store.h"

namespace offstage::engine {

// A model's routing so far. Older tokens count less: when the counts (tokens times
// layers) exceed kMostCalled, all are halved.
struct RoutingHabits {
    static constexpr double kMostCalled = 1e6;

    // (n_layers, n_experts): tokens that called it, of prompts too. Empty: unknown.
    std::vector<double> calls;
    // The others: while tokens were decoded one at a time.

    double guessable = 0;  // called experts of layers that were guessed one layer before
    double guessed = 0;    // of these, the experts among the guesses
    // [d]: called experts whose last call was followed by calls of d others of their
    // layer; first calls are not counted. Empty: unknown.
    std::vector<double> reused;

    // Share of the called experts that are guessed, 0 .. 1; unknown: the demo model's
    // (`offstage-cli recall`).
    double guess_recall() const { return guessable > 0 ? guessed / guessable : 0.8; }
    // Share of the calls that hit in a cache of the n most recently used experts of each
    // layer; nothing if too little is known.
    std::optional<double> hit_rate(double n) const;
    void add(const RoutingHabits& more);
};

template <>
struct StoredAs<RoutingHabits> {
    static constexpr const char* kField = "habits";
    static void write(const RoutingHabits& habits, nlohmann::json& out);
    static RoutingHabits read(const JsonFields& fields);
};

// The popularity of each expert: tokens routed to (layer, expert), counted over some text
// (Fiddler, section 3.4 and appendix C). A plain value.
struct Popularity {
    std::int64_t n_layers = 0;
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;
    std::int64_t n_tokens = 0;   // tokens counted; 0: unknown, all are equal
    std::vector<double> counts;  // (n_layers, n_experts)
    std::string source;          // for the user: "demo-model calibration text", "this conversation"
    RoutingHabits habits;        // not of that text: of what has run on this machine

    static Popularity uniform(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active);
    double count(std::int64_t layer, std::int64_t expert) const {
        return counts[static_cast<std::size_t>(layer * n_experts + expert)];
    }
    // Chance that a token of this layer chooses the expert: n_active * count / sum over
    // the layer's experts; n_active / n_experts where the layer has no counts.
    double share(std::int64_t layer, std::int64_t expert) const;
    // The counts that forecasts draw from: these, or if these are empty those of the
    // habits.
    Popularity expected() const;
    // experts: (n_tokens, n_layers, n_active).
    void add(std::span<const std::int32_t> experts, std::int64_t tokens);
};

// Expected share of expert calls that find their expert resident; resident: (n_layers,
// n_experts), 0 or 1. Layers count alike; within a layer by share().
double expected_hit_rate(const Popularity& popularity, std::span<const std::uint8_t> resident);

// JSON: {"format": "offstage-popularity", "version": 1, "model": "...", "source": "...",
// "n_layers": L, "n_experts": E, "n_active": A, "n_tokens": T, "counts": [[E numbers] x
// L]}. At most 16 MiB. Reading throws Error with file, key and expected value; writing is
// atomic (a temporary file, then a rename).
Popularity parse_popularity(std::string_view json, const std::string& source);
Popularity read_popularity(const std::filesystem::path& file);
void write_popularity(const Popularity& popularity, const std::string& model, const std::filesystem::path& file);

}  // namespace offstage::engine
