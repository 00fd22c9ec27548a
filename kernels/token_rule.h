#pragma once
// The choice of the next token from the logits of one position by temperature, top-k,
// top-p and min-p, as CPUs and GPUs make it with the same bits: files that compute with
// it are compiled without fused multiplications (-ffp-contract=off, --fmad=false), and
// exponentials are formed here, not by a library. C++17: device code includes it.

#include <cstdint>
#include <cstring>

#include "kernels/host_device.h"

namespace offstage::kernels {

// What ops::ChooseToken chooses by. Without padding: rules are compared by their bytes.
struct TokenRule {
    static constexpr int kMostBest = 64;
    static constexpr int kMostListed = 191;

    std::uint64_t random = 0;  // 64 random bits, of which 53 draw the token
    std::int32_t top_k = 1;    // 1 .. kMostBest, and at most the vocabulary; greedy: 1
    float temperature = 0;     // 0: greedy
    float top_p = 1;           // 1: off
    float min_p = 0;           // 0: off
    float repeat_penalty = 1;  // 1: off
    std::int32_t n_never = 0;  // the first of `listed`: tokens that are not chosen
    std::int32_t n_seen = 0;   // the next of `listed`: tokens that the penalty is for
    std::int32_t listed[kMostListed] = {};
};
static_assert(sizeof(TokenRule) == 8 + 7 * 4 + 4 * TokenRule::kMostListed, "no padding");

struct TokenCandidate {
    float logit;
    std::int32_t token;
    double weight;  // weight_of()
};

namespace {

inline constexpr float kLargestLogit = 3.402823466e+38f;  // of float32

// The logit of a token that the penalty is for; not of one that is never chosen.
OFFSTAGE_HOST_DEVICE inline float penalised(float logit, float penalty) {
    const float changed = logit > 0.0f ? logit / penalty : logit * penalty;
    return changed > kLargestLogit ? kLargestLogit : changed < -kLargestLogit ? -kLargestLogit : changed;
}

// e^x for x <= 0, to the last bit or two: 2^k times a polynomial of what remains, which
// is at most ln(2) / 2.
OFFSTAGE_HOST_DEVICE inline double exp_of(double x) {
    constexpr double kPerLn2 = 1.4426950408889634, kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
    constexpr double kSmallest = -745.0;  // below it is 0
    if (!(x >= kSmallest)) return 0.0;
    const auto k = static_cast<std::int64_t>(x * kPerLn2 - 0.5);
    const auto whole = static_cast<double>(k);
    const double rest = (x - whole * kLn2High) - whole * kLn2Low;
    double sum = 1.0 / 6227020800.0;  // Taylor's series: 1 / n! downwards from n = 13
    sum = sum * rest + 1.0 / 479001600.0;
    sum = sum * rest + 1.0 / 39916800.0;
    sum = sum * rest + 1.0 / 3628800.0;
    sum = sum * rest + 1.0 / 362880.0;
    sum = sum * rest + 1.0 / 40320.0;
    sum = sum * rest + 1.0 / 5040.0;
    sum = sum * rest + 1.0 / 720.0;
    sum = sum * rest + 1.0 / 120.0;
    sum = sum * rest + 1.0 / 24.0;
    sum = sum * rest + 1.0 / 6.0;
    sum = sum * rest + 0.5;
    sum = sum * rest + 1.0;
    sum = sum * rest + 1.0;
    const auto power = [](std::int64_t exponent) {
        const std::uint64_t bits = static_cast<std::uint64_t>(exponent + 1023) << 52u;
        double value = 0.0;
        memcpy(&value, &bits, sizeof value);
        return value;
    };
    return k < -1000 ? sum * power(k + 100) * power(-100) : sum * power(k);
}

OFFSTAGE_HOST_DEVICE inline double weight_of(float logit, float best, float temperature) {
    return exp_of((static_cast<double>(logit) - static_cast<double>(best)) * (1.0 / static_cast<double>(temperature)));
}

// Of n candidates, best first, as many as reach the share top_p of all weights.
OFFSTAGE_HOST_DEVICE inline int kept_by_top_p(const TokenCandidate* best, int n, float top_p) {
    if (top_p >= 1.0f) return n;
    double total = 0.0;
    for (int i = 0; i < n; ++i) total += best[i].weight;
    const double wanted = static_cast<double>(top_p) * total;
    double kept = 0.0;
    for (int i = 0; i < n; ++i) {
        kept += best[i].weight;
        if (kept >= wanted) return i + 1;
    }
    return n;
}

// Draws one of n candidates, in any order, by its weight, and not one below min_p unless
// it is the best. -1: there is none.
OFFSTAGE_HOST_DEVICE inline std::int32_t draw_token(const TokenCandidate* candidates, std::int64_t n, float min_p,
                                                    float best_logit, std::uint64_t random) {
    const auto counts = [&](const TokenCandidate& c) {
        return c.weight > 0.0 && (c.weight >= static_cast<double>(min_p) || c.logit == best_logit);
    };
    double total = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
        if (counts(candidates[i])) total += candidates[i].weight;
    }
    // 53 random bits as a number in [0, 1).
    const double u = static_cast<double>(random >> 11u) * 0x1.0p-53 * total;
    double sum = 0.0;
    std::int32_t last = -1;
    for (std::int64_t i = 0; i < n; ++i) {
        if (!counts(candidates[i])) continue;
        sum += candidates[i].weight;
        last = candidates[i].token;
        if (u < sum) return last;
    }
    return last;  // rounding: the sum of the walk may end a hair below the total
}

}  // namespace
}  // namespace offstage::kernels
