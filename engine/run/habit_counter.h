#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/plan/dispatch_policy.h"
#include "engine/plan/popularity.h"

namespace offstage::engine {

// Counts RoutingHabits. A few microseconds per token of a large model. One
// thread.
class HabitCounter {
  public:
    HabitCounter(std::int64_t n_layers, std::int64_t n_experts);

    // For a step of any number of tokens.
    void count(std::int64_t layer, std::span<const ExpertLoad> called);
    // In addition for a step of one token, layer after layer. guesses: the guesses made
    // one layer before; empty: none.
    void follow(std::int64_t layer, std::span<const ExpertLoad> called, std::span<const std::int32_t> guesses);
    // Since the last take().
    std::int64_t n_tokens() const { return n_tokens_; }
    RoutingHabits take();

  private:
    std::int64_t n_experts_;
    std::int64_t n_tokens_ = 0;
    std::int32_t now_ = 0;                 // tokens ever
    std::vector<std::int32_t> last_used_;  // (n_layers, n_experts): the token; 0: never
    RoutingHabits counts_;
};

}  // namespace offstage::engine
