#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace offstage::engine {

// Exchanges one expert's copy for another's: (layer, expert) of the admitted one and of
// the evicted one, in any layers.
struct Exchange {
    std::int64_t admit_layer = 0, admit_expert = 0;
    std::int64_t evict_layer = 0, evict_expert = 0;
};

// Learns from live routing which experts should be on the device: counts that halve every
// `half_life` tokens, and one exchange at a time if the counts clearly favour it. One
// thread.
class PlacementLearner {
  public:
    // An expert is admitted if its count exceeds kMargin times the evicted expert's plus
    // kConstant: counts of a few hundred tokens are noisy, and an exchange costs a weight
    // copy. Between layers the margin is squared, because evening out one layer's
    // placement helps every token.
    static constexpr double kMargin = 1.5;
    static constexpr double kConstant = 4;

    PlacementLearner(std::int64_t n_layers, std::int64_t n_experts, std::int64_t n_active,
                     std::int64_t half_life = 1024);

    // experts: (n_tokens, n_layers, n_active), in the order of the text. Ids out of range
    // are ignored.
    void observe(std::span<const std::int32_t> experts, std::int64_t n_tokens);

    // The exchange that gains most, if any pays. resident: (n_layers, n_experts), 0 or 1.
    // The caller carries it out and calls again with the new map, at its own pace.
    std::optional<Exchange> propose(std::span<const std::uint8_t> resident) const;

    // Decayed tokens of an expert, as of the last observed token.
    double count(std::int64_t layer, std::int64_t expert) const;

  private:
    std::int64_t n_layers_, n_experts_, n_active_;
    double growth_;      // ratio of a token's weight to the one before: new weights grow, so older counts lose value
    double weight_ = 1;  // of the next token
    std::vector<double> counts_;
};

}  // namespace offstage::engine
