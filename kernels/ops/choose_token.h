#pragma once

#include "kernels/ops/cost.h"
#include "kernels/token_rule.h"

namespace offstage::kernels::ops {

// chosen[0] = the token that the rule chooses from logits (vocab_size), as the engine's
// Sampler does: a logit that is NaN or -infinity is never chosen, +infinity beats every
// number, ties prefer the smaller token; -1 where no token can be chosen. chosen[1] = the
// same, but 0 for -1: an input for the next step. last: the token before, which the
// penalty is for, too.
struct ChooseToken {
    const float* logits = nullptr;
    std::int64_t vocab_size = 0;
    const TokenRule* rule = nullptr;
    const std::int32_t* last = nullptr;
    std::int32_t* chosen = nullptr;  // (2)

    Cost cost() const { return {as_double(vocab_size) * 4}; }
};
void compute(CpuWorker& worker, const ChooseToken& op);     // choose_token.cpp
void compute(cuda::Worker& worker, const ChooseToken& op);  // choose_token.cu

}  // namespace offstage::kernels::ops
