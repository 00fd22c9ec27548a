#pragma once

#include <cstdint>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "engine/plan/popularity.h"

namespace offstage::engine {

// Draws the experts that a token chooses by their popularity: each is chosen with exactly
// its share as probability, none twice.
class ExpertDraw {
  public:
    explicit ExpertDraw(const Popularity& popularity)
        : n_experts_(popularity.n_experts), n_active_(popularity.n_active) {
        shares_.reserve(popularity.counts.size());
        for (std::int64_t layer = 0; layer < popularity.n_layers; ++layer) {
            for (std::int64_t e = 0; e < n_experts_; ++e) shares_.push_back(popularity.share(layer, e));
        }
        order_.resize(static_cast<std::size_t>(n_experts_));
    }

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
