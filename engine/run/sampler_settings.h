#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/indices.h"

namespace offstage::engine {

// The settings that choose the next token. Applied in this order: bias, repetition
// penalty, presence and frequency penalty, then (temperature > 0) top-k, top-p, min-p on
// the softmax at the given temperature.
struct SamplerSettings {
    float temperature = 0.7f;  // 0: greedy
    int top_k = 40;            // 0: off
    float top_p = 0.95f;       // 1: off
    float min_p = 0.0f;        // 0: off; share of the most probable token's probability
    float repeat_penalty =
        1.0f;                // 1: off (Keskar et al. 2019: logits of seen tokens divided if positive, else multiplied)
    int repeat_window = 64;  // tokens looked back for the penalty; 0: all, prompt included
    // OpenAI's penalties, on the tokens of the answer so far: a token that it has n times
    // loses presence_penalty + n * frequency_penalty of its logit. 0: off.
    float presence_penalty = 0.0f, frequency_penalty = 0.0f;
    std::vector<std::pair<TokenId, float>> logit_bias = {};  // added to logits; other ids are ignored
    std::uint64_t seed = 0;  // same seed, same answer; 0: a new random seed for each answer

    bool operator==(const SamplerSettings&) const = default;
};

}  // namespace offstage::engine
