#include "kernels/router.h"

#include <algorithm>
#include <cassert>
#include <cfloat>
#include <cmath>

#include "kernels/cpu_kernels.h"

namespace offstage::kernels {
namespace {

// best[0 .. n_best): which of 0 .. n-1 have the largest value, sorted by insertion: a
// later one never moves ahead of an equal one, so ties keep the lower index. `skips` are
// left out; at least n_best are not. No value is NaN.
template <typename Value, typename Skip>
void find_best(std::int32_t n, std::int32_t n_best, const Value& value, const Skip& skips, std::int32_t* best) {
    std::int32_t n_found = 0;
    for (std::int32_t i = 0; i < n; ++i) {
        if (skips(i)) continue;
        std::int32_t place = n_found;
        while (place > 0 && value(i) > value(best[place - 1])) --place;
        if (place == n_best) continue;
        if (n_found < n_best) ++n_found;
        for (std::int32_t k = n_found - 1; k > place; --k) best[k] = best[k - 1];
        best[place] = i;
    }
    assert(n_found == n_best);
}

float without_nan(float value) {
    return std::isnan(value) ? -INFINITY : value;
}

// e^(logit - largest), of logits up to the largest; also where both are infinite.
float exponential_below(float logit, float largest) {
    return logit == largest ? 1.0f : std::exp(logit - largest);
}

float sigmoid(float logit) {
    return 1.0f / (1.0f + std::exp(-logit));
}

// An infinite logit counts as the largest number: its share of a sum is then a number.
float sqrt_softplus(float logit) {
    return std::sqrt(std::min(std::max(logit, 0.0f) + std::log1p(std::exp(-std::fabs(logit))), FLT_MAX));
}

// scores[e] of every expert; softmax over all of them.
void fill_scores(RouterScoring scoring, std::span<const float> logits, float* scores) {
    const std::size_t n = logits.size();
    switch (scoring) {
        case RouterScoring::kSoftmax: {
            float largest = -INFINITY;
            for (const float logit : logits) largest = std::max(largest, without_nan(logit));
            float sum = 0.0f;
            for (std::size_t e = 0; e < n; ++e) sum += scores[e] = exponential_below(without_nan(logits[e]), largest);
            for (std::size_t e = 0; e < n; ++e) scores[e] /= sum;
            return;
        }
        case RouterScoring::kSigmoid:
            for (std::size_t e = 0; e < n; ++e) scores[e] = sigmoid(without_nan(logits[e]));
            return;
        case RouterScoring::kSoftmaxOfChosen:
        case RouterScoring::kSparseMixer:
            for (std::size_t e = 0; e < n; ++e) scores[e] = without_nan(logits[e]);
            return;
        case RouterScoring::kSqrtSoftplus:
            for (std::size_t e = 0; e < n; ++e) scores[e] = sqrt_softplus(without_nan(logits[e]));
            return;
    }
}

// weights = their share of e^logit among the chosen.
void softmax_of_chosen(std::span<const float> logits, std::span<const std::int32_t> experts, std::span<float> weights) {
    const auto logit = [&](std::size_t i) { return without_nan(logits[static_cast<std::size_t>(experts[i])]); };
    float largest = -INFINITY;
    for (std::size_t i = 0; i < experts.size(); ++i) largest = std::max(largest, logit(i));
    float sum = 0.0f;
    for (std::size_t i = 0; i < experts.size(); ++i) sum += weights[i] = exponential_below(logit(i), largest);
    for (std::size_t i = 0; i < experts.size(); ++i) weights[i] /= sum;
}

void sparse_mixer(std::span<const float> logits, float jitter, std::span<const std::int32_t> experts,
                  std::span<float> weights) {
    for (std::size_t i = 0; i < experts.size(); ++i) {
        const float best = logits[static_cast<std::size_t>(experts[i])];
        float sum = 0.0f;
        for (std::size_t e = 0; e < logits.size(); ++e) {
            const auto before = experts.first(i);
            if (std::find(before.begin(), before.end(), static_cast<std::int32_t>(e)) != before.end()) continue;
            const bool is_far = (best - logits[e]) / std::max(std::fabs(logits[e]), best) > jitter;  // not for 0 / 0
            if (!is_far) sum += exponential_below(logits[e], best);
        }
        weights[i] = 1.0f / sum;
    }
}

}  // namespace

void route(const RouterSpec& spec, std::span<const float> logits, const float* selection_bias,
           std::span<std::int32_t> experts, std::span<float> weights, std::span<float> scratch,
           const float* expert_scale, std::span<const float> by_token) {
    const std::int32_t n_experts = spec.n_experts;
    const auto n_active = static_cast<std::size_t>(spec.n_active);
    assert(logits.size() == static_cast<std::size_t>(n_experts) && scratch.size() >= 2 * logits.size());
    assert(spec.n_active >= 1 && spec.n_active <= n_experts && experts.size() >= n_active &&
           weights.size() >= n_active);
    assert(spec.n_groups >= 1 && spec.n_groups <= kMostExpertGroups && n_experts % spec.n_groups == 0);
    experts = experts.first(n_active);
    weights = weights.first(n_active);
    const RouterRules rules = rules_of(spec, selection_bias != nullptr);
    float* const values = scratch.data();  // the values that are compared
    float* const scores = scratch.data() + n_experts;
    if (rules.by_score || !rules.softmax_of_chosen) fill_scores(spec.scoring, logits, scores);
    for (std::int32_t e = 0; e < n_experts; ++e) {
        const float logit = logits[static_cast<std::size_t>(e)];
        const float bias = selection_bias == nullptr ? 0.0f : selection_bias[e];
        values[e] = !rules.by_score     ? without_nan(logit + bias)
                    : std::isnan(logit) ? -INFINITY
                                        : without_nan(scores[e] + bias);
    }
    for (const float expert : by_token) values[static_cast<std::size_t>(expert)] = INFINITY;
    const auto value = [&](std::int32_t expert) { return values[expert]; };

    std::uint64_t used = ~std::uint64_t{0};
    const std::int32_t group_size = n_experts / spec.n_groups;
    const auto is_unused = [&](std::int32_t expert) { return ((used >> (expert / group_size)) & 1) == 0; };
    if (rules.n_groups_used >= spec.n_groups) {
        find_best(
            n_experts, spec.n_active, value, [](std::int32_t) { return false; }, experts.data());
    } else {
        float group_values[kMostExpertGroups];
        std::int32_t groups[kMostExpertGroups];
        for (std::int32_t g = 0; g < spec.n_groups; ++g) {
            float best = -INFINITY;
            float second = -INFINITY;
            for (std::int32_t e = g * group_size; e < (g + 1) * group_size; ++e) {
                second = std::max(second, std::min(best, values[e]));
                best = std::max(best, values[e]);
            }
            const bool both = spec.group_score == GroupScore::kSumOfTwoBest && group_size > 1;
            group_values[g] = both ? without_nan(best + second) : best;
        }
        find_best(
            spec.n_groups, rules.n_groups_used, [&](std::int32_t g) { return group_values[g]; },
            [](std::int32_t) { return false; }, groups);
        used = 0;
        for (std::int32_t g = 0; g < rules.n_groups_used; ++g) used |= std::uint64_t{1} << groups[g];
        find_best(n_experts, spec.n_active, value, is_unused, experts.data());
    }

    const std::span<const float> compared(values, logits.size());
    if (spec.scoring == RouterScoring::kSparseMixer) {
        sparse_mixer(compared, spec.jitter, experts, weights);
    } else if (rules.softmax_of_chosen) {
        softmax_of_chosen(rules.bias_in_logits ? compared : logits, experts, weights);
    } else {
        float sum = 0.0f;
        for (std::size_t i = 0; i < n_active; ++i) sum += weights[i] = scores[experts[i]];
        sum += spec.denominator_floor;
        for (std::size_t i = 0; spec.renormalise && sum > 0.0f && i < n_active; ++i) weights[i] /= sum;
    }
    for (std::size_t i = 0; i < n_active; ++i) {
        weights[i] *= spec.scale;
        if (expert_scale != nullptr) weights[i] *= expert_scale[experts[i]];
    }
}

}  // namespace offstage::kernels
