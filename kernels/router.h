#pragma once
// The experts that a token calls, and their weights. C++17: device code includes this.

#include <cstdint>

#include "kernels/host_device.h"

namespace offstage::kernels {

// How a router's logits become a choice of experts and their weights.
enum class RouterScoring : std::uint8_t {
    kSoftmax,          // over all experts; renormalised over the chosen ones if the spec says so
    kSigmoid,          // of each logit
    kSoftmaxOfChosen,  // the largest logits are chosen, then softmax over them alone
    kSqrtSoftplus,     // sqrt(log(1 + e^logit))
    // The largest logits are chosen, one after the other. The weight of each is its
    // softmax among the logits not chosen before it whose distance from it is at most
    // `jitter` times the larger magnitude of the two (SparseMixer, as Phi-3.5-MoE
    // computes it outside training).
    kSparseMixer,
};

// Experts come in n_groups groups of equal size, side by side; a token chooses among
// those of the best n_groups_used.
enum class GroupScore : std::uint8_t {
    kLargest,       // a group is as good as its best expert (DeepSeek-V2)
    kSumOfTwoBest,  // (DeepSeek-V3)
};

// A bias is added to what is compared; with these scorings it is a part of the logit, and
// so of the weight as well.
constexpr bool adds_bias_to_logits(RouterScoring scoring) {
    return scoring == RouterScoring::kSoftmaxOfChosen || scoring == RouterScoring::kSparseMixer;
}

struct RouterSpec {
    std::int32_t n_experts = 0;
    std::int32_t n_active = 0;  // at most n_experts
    RouterScoring scoring = RouterScoring::kSoftmax;
    std::int32_t n_groups = 1;  // divides n_experts
    std::int32_t n_groups_used = 1;
    GroupScore group_score = GroupScore::kLargest;
    bool renormalise = true;  // the weights of the chosen sum to 1 (before scale); kSoftmaxOfChosen does in any case
    float denominator_floor = 0;  // added to that sum: 1e-20 in DeepSeek-V3
    float scale = 1;              // for the weights
    float jitter = 0;             // kSparseMixer: twice the noise of its training
};

// The router's arrays, float32, in the device's memory.
struct RouterArrays {
    const float* gate = nullptr;            // (n_experts, hidden_dim)
    const float* selection_bias = nullptr;  // (n_experts), or nullptr
    const float* expert_scale = nullptr;    // (n_experts): factors of the weights; nullptr: all 1
    // (vocab_size, n_by_token): numbers of experts, all different, that a token is sent to
    // before any other; nullptr: none. tokens: the rows' ids; nullptr: unknown, and the
    // table counts for nothing.
    const float* by_token = nullptr;
    std::int32_t n_by_token = 0;
    const std::int32_t* tokens = nullptr;

    OFFSTAGE_HOST_DEVICE const float* table_row(std::int64_t row) const {
        if (by_token == nullptr || tokens == nullptr) return nullptr;
        return by_token + std::int64_t{tokens[row]} * n_by_token;
    }
};

constexpr int kMostActiveExperts = 64;  // of one token
constexpr int kMostExpertGroups = 64;

// Derived from a spec once for all tokens; every implementation follows these rules.
struct RouterRules {
    // Scores are compared, with the bias; otherwise logits (with a bias that belongs to
    // them), whose order is the same and which rounding never makes equal.
    bool by_score = false;
    bool softmax_of_chosen = false;  // the weights, before scale, are a softmax of the chosen logits
    bool bias_in_logits = false;     // adds_bias_to_logits()
    // A choice of more experts than the spec's groups hold (a guess for prefetching) uses
    // more groups.
    std::int32_t n_groups_used = 1;
};

constexpr RouterRules rules_of(const RouterSpec& spec, bool has_bias) {
    RouterRules rules;
    const std::int32_t group_size = spec.n_experts / spec.n_groups;
    const std::int32_t least_groups = (spec.n_active + group_size - 1) / group_size;
    rules.n_groups_used = least_groups > spec.n_groups_used ? least_groups : spec.n_groups_used;
    const bool adds_up = rules.n_groups_used < spec.n_groups && spec.group_score == GroupScore::kSumOfTwoBest;
    rules.bias_in_logits = adds_bias_to_logits(spec.scoring);
    rules.by_score = adds_up || (has_bias && !rules.bias_in_logits);
    rules.softmax_of_chosen =
        spec.scoring == RouterScoring::kSoftmaxOfChosen ||
        (spec.scoring == RouterScoring::kSoftmax && spec.renormalise && spec.denominator_floor == 0.0f);
    return rules;
}

}  // namespace offstage::kernels
