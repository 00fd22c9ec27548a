#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {

void route_softmax_top_k(std::span<const float> logits, int n_active, bool renormalise, std::span<std::int32_t> experts,
                         std::span<float> weights) {
    const auto n_experts = static_cast<std::int32_t>(logits.size());
    assert(n_active >= 1 && n_active <= n_experts);
    assert(experts.size() >= static_cast<std::size_t>(n_active) &&
           weights.size() >= static_cast<std::size_t>(n_active));

    // The best so far, sorted by insertion: a later expert moves ahead of an equal one never, so ties keep the lower
    // index. NaN compares as smaller than everything, so that no logit can send an index out of range.
    const auto logit = [&](std::int32_t expert) {
        const float value = logits[static_cast<std::size_t>(expert)];
        return std::isnan(value) ? -INFINITY : value;
    };
    int n_chosen = 0;
    for (std::int32_t expert = 0; expert < n_experts; ++expert) {
        int place = n_chosen;
        while (place > 0 && logit(expert) > logit(experts[static_cast<std::size_t>(place - 1)])) --place;
        if (place == n_active) continue;
        if (n_chosen < n_active) ++n_chosen;
        for (int i = n_chosen - 1; i > place; --i) {
            experts[static_cast<std::size_t>(i)] = experts[static_cast<std::size_t>(i - 1)];
        }
        experts[static_cast<std::size_t>(place)] = expert;
    }

    // softmax = e^(logit - largest) / sum over all experts; renormalised: over the chosen alone.
    const float largest = logit(experts[0]);
    const auto numerator = [&](std::int32_t expert) {
        return logit(expert) == largest ? 1.0f : std::exp(logit(expert) - largest);  // also where both are infinite
    };
    float sum = 0.0f;
    if (renormalise) {
        for (int i = 0; i < n_active; ++i) sum += numerator(experts[static_cast<std::size_t>(i)]);
    } else {
        for (std::int32_t expert = 0; expert < n_experts; ++expert) sum += numerator(expert);
    }
    for (int i = 0; i < n_active; ++i) {
        weights[static_cast<std::size_t>(i)] = numerator(experts[static_cast<std::size_t>(i)]) / sum;
    }
}

}  // namespace offstage::kernels
