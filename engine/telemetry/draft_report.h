#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace offstage::engine {

// Where a draft is from.
enum class Drafter : std::uint8_t {
    kLookup,  // what the conversation said before (PromptLookup)
    kLayer,   // the model's layer that predicts further tokens (LayerDrafter)
    kModel,   // a small model with the same tokens (ModelDrafter)
};
inline constexpr std::size_t kDrafters = 3;
inline constexpr std::string_view name_of(Drafter drafter) {
    constexpr std::array<std::string_view, kDrafters> kNames = {"prompt lookup", "prediction layer", "draft model"};
    return kNames[static_cast<std::size_t>(drafter)];
}

// Steps of decode, and the tokens that were drafted for them (DraftMode).
struct DraftReport {
    std::int64_t steps = 0;
    std::int64_t tokens = 0;  // that they gave: 1 for a step, and 1 for each drafted one that was accepted
    std::int64_t drafted = 0;
    std::int64_t accepted = 0;
    std::int64_t expert_calls = 0;  // (layer, expert) pairs of all steps
    std::int64_t more_calls = 0;    // of these, what drafted tokens alone called
    // Of `drafted` and `accepted`, by Drafter.
    struct Share {
        std::int64_t drafted = 0;
        std::int64_t accepted = 0;
    };
    std::array<Share, kDrafters> shares{};

    Share& of(Drafter drafter) { return shares[static_cast<std::size_t>(drafter)]; }
    const Share& of(Drafter drafter) const { return shares[static_cast<std::size_t>(drafter)]; }
    void operator+=(const DraftReport& other) {
        steps += other.steps;
        tokens += other.tokens;
        drafted += other.drafted;
        accepted += other.accepted;
        expert_calls += other.expert_calls;
        more_calls += other.more_calls;
        for (std::size_t i = 0; i < kDrafters; ++i) {
            shares[i].drafted += other.shares[i].drafted;
            shares[i].accepted += other.shares[i].accepted;
        }
    }

    double accepted_share() const { return ratio(accepted, drafted); }
    double tokens_per_step() const { return ratio(tokens, steps); }
    double more_experts() const { return ratio(more_calls, expert_calls - more_calls); }  // 0.5: half as many more

  private:
    static double ratio(std::int64_t a, std::int64_t b) {
        return b > 0 ? static_cast<double>(a) / static_cast<double>(b) : 0;
    }
};

}  // namespace offstage::engine
