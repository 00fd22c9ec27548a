#pragma once

#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
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
    std::vector<double> shares() const;  // (n_layers, n_experts)
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

// Draws the experts that a token chooses by their popularity: each is chosen with exactly
// its share as probability, none twice.
class ExpertDraw {
  public:
    explicit ExpertDraw(const Popularity& popularity)
        : n_experts_(popularity.n_experts),
          n_active_(popularity.n_active),
          shares_(popularity.shares()),
          order_(static_cast<std::size_t>(n_experts_)) {}

    const double* shares(std::int64_t layer) const { return shares_.data() + layer * n_experts_; }
    std::int64_t n_active() const { return n_active_; }

    // Calls chosen(expert) for each of the token's experts, at most n_active times. next:
    // 64 random bits at each call.
    //
    // Systematic sampling: the shuffled experts lie side by side on a line, each as long
    // as its share; n_active points at distance one choose them.
    template <typename Next, typename Chosen>
    void draw(std::int64_t layer, Next&& next, Chosen&& chosen) {
        std::iota(order_.begin(), order_.end(), 0);
        for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[next() % i]);
        const double* const share = shares(layer);
        double point = static_cast<double>(next() >> 11) * 0x1p-53;
        double end = 0;
        std::int64_t n = 0;
        for (const int expert : order_) {
            end += share[expert];
            if (point >= end || n == n_active_) continue;
            chosen(expert);
            ++n;
            point += 1;
        }
    }

  private:
    std::int64_t n_experts_, n_active_;
    std::vector<double> shares_;
    std::vector<int> order_;
};

// Draws each expert's number of tokens in a layer; one stream of random numbers, the same
// on every machine.
class RoutingDraw {
  public:
    RoutingDraw(const Popularity& popularity, std::uint64_t seed);

    // (n_experts); valid until the next call. For more than 64 tokens the counts come
    // from their normal approximation.
    const std::vector<std::int32_t>& draw(std::int64_t layer, std::int64_t n_tokens);

  private:
    double uniform();
    double normal();

    ExpertDraw experts_;
    std::mt19937_64 random_;
    std::vector<std::int32_t> counts_;
};

// The experts of a token as a function of layer, position and row alone: two runs over
// the same positions get the same routing, whatever they decide. For dry runs.
class PositionRouting {
  public:
    // Properties of a model's routing that popularity lacks.
    struct Habits {
        double repeat = 0;        // chance that a token's choice is the one of the token before, instead of a new one
        double guess_recall = 1;  // chance that speculative loading guesses one of the next layer's experts
    };
    PositionRouting(const Popularity& popularity, std::uint64_t seed) : PositionRouting(popularity, seed, Habits{}) {}
    PositionRouting(const Popularity& popularity, std::uint64_t seed, Habits habits)
        : draw_(popularity), n_experts_(popularity.n_experts), seed_(seed), habits_(habits) {}

    // experts: n_active long. guess: returns the guess for this layer, partly wrong.
    void operator()(std::int64_t layer, std::int64_t position, std::int64_t row, bool guess, std::int32_t* experts);

  private:
    void choose(std::int64_t layer, std::int64_t position, std::int64_t row, std::int32_t* experts);

    ExpertDraw draw_;
    std::int64_t n_experts_;
    std::uint64_t seed_;
    Habits habits_;
    std::vector<std::int32_t> before_;
};

}  // namespace offstage::engine
