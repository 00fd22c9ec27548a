#pragma once
// The router's choice in double precision, written directly from the rules of the models
// that use it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "kernels/router.h"

namespace offstage::kernels::test {

struct Routing {
    std::vector<std::int32_t> experts;  // best first
    std::vector<double> weights;
};

inline std::vector<double> router_scores(RouterScoring scoring, const std::vector<double>& logits) {
    std::vector<double> scores = logits;
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit);
    for (double& score : scores) {
        if (scoring == RouterScoring::kSoftmax) score = std::exp(score) / sum;
        if (scoring == RouterScoring::kSigmoid) score = 1 / (1 + std::exp(-score));
        if (scoring == RouterScoring::kSqrtSoftplus) score = std::sqrt(std::log1p(std::exp(score)));
    }
    return scores;
}

// The indices of the n largest values, the lower index first where they are equal.
inline std::vector<std::int32_t> largest(const std::vector<double>& values, std::int32_t n) {
    std::vector<std::int32_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
        return values[static_cast<std::size_t>(a)] > values[static_cast<std::size_t>(b)];
    });
    order.resize(static_cast<std::size_t>(n));
    return order;
}

// bias: empty, or one for each expert.
inline Routing expected_routing(const RouterSpec& spec, const std::vector<double>& logits,
                                const std::vector<float>& bias) {
    std::vector<double> scores = router_scores(spec.scoring, logits);
    std::vector<double> choice = scores;
    for (std::size_t e = 0; e < bias.size(); ++e) choice[e] += double{bias[e]};
    if (adds_bias_to_logits(spec.scoring)) scores = choice;
    const std::vector<double> all = scores;

    const std::size_t group_size = scores.size() / static_cast<std::size_t>(spec.n_groups);
    std::vector<double> groups;
    for (auto first = choice.begin(); first != choice.end(); first += static_cast<std::ptrdiff_t>(group_size)) {
        std::vector<double> group(first, first + static_cast<std::ptrdiff_t>(group_size));
        std::sort(group.rbegin(), group.rend());
        const bool both = spec.group_score == GroupScore::kSumOfTwoBest && group_size > 1;
        groups.push_back(both ? group[0] + group[1] : group[0]);
    }
    const std::vector<std::int32_t> used = largest(groups, spec.n_groups_used);
    for (std::size_t e = 0; e < choice.size(); ++e) {
        const auto group = static_cast<std::int32_t>(e / group_size);
        if (std::find(used.begin(), used.end(), group) == used.end()) choice[e] = -INFINITY;
    }

    Routing routing{largest(choice, spec.n_active), {}};
    if (spec.scoring == RouterScoring::kSparseMixer) {
        std::vector<double> left = all;
        for (const std::int32_t expert : routing.experts) {
            const double best = left[static_cast<std::size_t>(expert)];
            double sum = 0;
            for (const double logit : left) {
                if (logit != -INFINITY && (best - logit) / std::max(std::abs(logit), best) <= double{spec.jitter})
                    sum += std::exp(logit - best);
            }
            routing.weights.push_back(double{spec.scale} / sum);
            left[static_cast<std::size_t>(expert)] = -INFINITY;
        }
        return routing;
    }
    for (const std::int32_t expert : routing.experts) {
        const double score = scores[static_cast<std::size_t>(expert)];
        routing.weights.push_back(spec.scoring == RouterScoring::kSoftmaxOfChosen ? std::exp(score) : score);
    }
    const bool renormalise = spec.renormalise || spec.scoring == RouterScoring::kSoftmaxOfChosen;
    const double sum = std::accumulate(routing.weights.begin(), routing.weights.end(), 0.0);
    const double floor = spec.scoring == RouterScoring::kSoftmaxOfChosen ? 0.0 : double{spec.denominator_floor};
    for (double& weight : routing.weights) {
        weight *= double{spec.scale};
        if (renormalise) weight /= sum + floor;
    }
    return routing;
}

inline constexpr RouterScoring kScorings[] = {RouterScoring::kSoftmax, RouterScoring::kSigmoid,
                                              RouterScoring::kSoftmaxOfChosen, RouterScoring::kSqrtSoftplus,
                                              RouterScoring::kSparseMixer};

inline const char* name_of(RouterScoring scoring) {
    switch (scoring) {
        case RouterScoring::kSoftmax:
            return "softmax";
        case RouterScoring::kSigmoid:
            return "sigmoid";
        case RouterScoring::kSoftmaxOfChosen:
            return "softmax of the chosen";
        case RouterScoring::kSqrtSoftplus:
            return "sqrt softplus";
        case RouterScoring::kSparseMixer:
            return "sparse mixer";
    }
    return "?";
}

// Every scoring with every way to group, with weights as the models scale them.
inline std::vector<RouterSpec> router_specs() {
    std::vector<RouterSpec> specs;
    for (const RouterScoring scoring : kScorings) {
        for (const bool renormalise : {true, false}) {
            for (const float floor : {0.0f, 0.25f}) {
                RouterSpec spec;
                spec.scoring = scoring;
                spec.renormalise = renormalise;
                spec.denominator_floor = floor;
                spec.scale = renormalise ? 1.0f : 2.5f;
                spec.jitter = 0.3f;
                spec.n_experts = 8;
                spec.n_active = 2;
                specs.push_back(spec);
                spec.n_experts = 64;
                spec.n_active = 6;
                spec.n_groups = 8;
                for (const std::int32_t used : {1, 3, 8}) {
                    spec.n_groups_used = used;
                    for (const GroupScore score : {GroupScore::kLargest, GroupScore::kSumOfTwoBest}) {
                        spec.group_score = score;
                        specs.push_back(spec);
                    }
                }
            }
        }
    }
    return specs;
}

}  // namespace offstage::kernels::test
