#include "engine/run/token_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

namespace offstage::engine {
namespace {

// The best `n` of a stream of logits, best first. A logit that is not better than the
// worst of them costs one comparison.
class BestLogits {
  public:
    explicit BestLogits(std::size_t n) : n_(n) {}

    // Tokens come in ascending order, so an equal one goes after those already here.
    void add(float logit, TokenId token) {
        if (size_ == n_ && (n_ == 0 || !(logit > entries_[size_ - 1].logit))) return;
        std::size_t at = size_ < n_ ? size_++ : size_ - 1;
        for (; at > 0 && logit > entries_[at - 1].logit; --at) entries_[at] = entries_[at - 1];
        entries_[at] = {logit, token};
    }

    struct Entry {
        float logit = 0;
        TokenId token = -1;
    };
    std::span<const Entry> entries() const { return {entries_.data(), size_}; }

  private:
    std::array<Entry, kMostAlternatives> entries_;
    std::size_t n_;
    std::size_t size_ = 0;
};

// Log probabilities of one row of logits.
class LogSoftmax {
  public:
    LogSoftmax(std::span<const float> logits, float largest) : largest_(largest) {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        double sum = 0;
        if (largest == kInfinity) {
            sum = static_cast<double>(std::count(logits.begin(), logits.end(), kInfinity));
        } else {
            for (const float logit : logits) {
                const double weight = std::exp(static_cast<double>(logit) - static_cast<double>(largest));
                if (weight > 0) sum += weight;  // false for NaN
            }
        }
        log_sum_ = sum > 0 ? std::log(sum) : std::numeric_limits<double>::infinity();
    }

    double operator()(float logit) const {
        constexpr double kImpossible = -std::numeric_limits<double>::infinity();
        if (logit == largest_) return -log_sum_;  // infinities have no difference
        const double value = static_cast<double>(logit) - static_cast<double>(largest_) - log_sum_;
        return std::isnan(value) ? kImpossible : value;
    }

  private:
    float largest_;
    double log_sum_ = 0;
};

}  // namespace

double log_probability(std::span<const float> logits, TokenId token) {
    return choice_of(logits, token, 0).chosen.log_probability;
}

TokenChoice choice_of(std::span<const float> logits, TokenId token, int n_alternatives) {
    BestLogits best(static_cast<std::size_t>(std::clamp(n_alternatives, 0, kMostAlternatives)));
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const float logit = logits[i];
        if (std::isnan(logit)) continue;
        largest = std::max(largest, logit);
        best.add(logit, static_cast<TokenId>(i));
    }
    const LogSoftmax log_softmax(logits, largest);
    TokenChoice choice;
    choice.chosen = {token, log_softmax(logits[static_cast<std::size_t>(token)])};
    for (const BestLogits::Entry& entry : best.entries()) {
        choice.alternatives.push_back({entry.token, log_softmax(entry.logit)});
    }
    return choice;
}

}  // namespace offstage::engine
