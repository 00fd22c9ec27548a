#include "engine/run/habit_counter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/as_size.h"

namespace offstage::engine {

HabitCounter::HabitCounter(std::int64_t n_layers, std::int64_t n_experts)
    : n_experts_(n_experts), last_used_(as_size(n_layers * n_experts), 0) {}

void HabitCounter::count(std::int64_t layer, std::span<const ExpertLoad> called) {
    counts_.calls.resize(last_used_.size());
    for (const ExpertLoad& load : called) {
        counts_.calls[as_size(layer * n_experts_ + load.expert)] += static_cast<double>(load.n_tokens);
    }
}

void HabitCounter::follow(std::int64_t layer, std::span<const ExpertLoad> called,
                          std::span<const std::int32_t> guesses) {
    if (layer == 0) {
        if (now_ == std::numeric_limits<std::int32_t>::max()) {
            std::fill(last_used_.begin(), last_used_.end(), 0);
            now_ = 0;
        }
        ++now_;
        ++n_tokens_;
    }
    const auto used = std::span(last_used_).subspan(as_size(layer * n_experts_), as_size(n_experts_));
    counts_.reused.resize(as_size(n_experts_));
    for (const ExpertLoad& load : called) {
        if (!guesses.empty()) {
            counts_.guessable += 1;
            counts_.guessed += std::find(guesses.begin(), guesses.end(), load.expert) != guesses.end();
        }
        const std::int32_t last = used[as_size(load.expert)];
        if (last == 0) continue;
        // All experts called by the same token count: a cache must have room for them
        // together.
        const auto n_since = std::count_if(used.begin(), used.end(), [&](std::int32_t other) { return other >= last; });
        counts_.reused[as_size(n_since - 1)] += 1;
    }
    for (const ExpertLoad& load : called) used[as_size(load.expert)] = now_;
}

RoutingHabits HabitCounter::take() {
    n_tokens_ = 0;
    return std::exchange(counts_, {});
}

}  // namespace offstage::engine
