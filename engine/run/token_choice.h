#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/indices.h"

namespace offstage::engine {

constexpr int kMostAlternatives = 20;

// A token and its log probability: ln of the softmax over all logits as the model
// computed them, before temperature, penalties and filters.
struct TokenProbability {
    TokenId token = -1;
    double log_probability = 0;  // 0 or less; -infinity: never
    // The bytes that the token adds to a text already begun, which need not be whole
    // characters; of control tokens their name in the vocabulary ("</s>").
    std::string bytes = {};
    bool is_control = false;

    bool operator==(const TokenProbability&) const = default;
};

// One position of a text: its token and the most probable alternatives.
struct TokenChoice {
    TokenProbability chosen;
    std::vector<TokenProbability> alternatives;  // the most probable, best first; the chosen one may be among them

    bool operator==(const TokenChoice&) const = default;
};

// ln of the softmax's value for `token`, in double, with the largest logit subtracted.
// Logits that are not a number are ignored. If there are logits of +infinity, all others
// are ignored, and those share the probability.
double log_probability(std::span<const float> logits, TokenId token);

// The chosen token and the n_alternatives (0 .. kMostAlternatives, limited by the
// vocabulary) most probable ones, of equals the smaller id first, without their bytes.
// logits: (vocab_size). Reads the logits twice, sorts only what it returns.
TokenChoice choice_of(std::span<const float> logits, TokenId token, int n_alternatives);

}  // namespace offstage::engine
