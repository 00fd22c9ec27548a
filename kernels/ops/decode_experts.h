#pragma once

#include "kernels/expert_layout.h"
#include "kernels/norm_weights.h"
#include "kernels/ops/add.h"
#include "kernels/ops/add_gated.h"
#include "kernels/ops/chosen_experts.h"
#include "kernels/ops/combine.h"
#include "kernels/ops/experts.h"
#include "kernels/ops/norm.h"
#include "kernels/ops/route.h"

namespace offstage::kernels::ops {

// The second half of a layer for one token whose experts the device has all: norm,
// router, shared experts, experts, and their weighted sum added to x. The results are
// those of the operations of for_each(), bit by bit; a GPU computes them in fewer kernels
// where it can (kernels/ops/decode_experts.cu). Only where
// Backend::takes_chosen_experts().
struct DecodeExperts {
    NormWeights norm;
    float* x = nullptr;           // (hidden_dim): the residual stream
    float* normalised = nullptr;  // (hidden_dim): gets norm(x), which router and experts read
    RouterSpec router;
    RouterArrays arrays;
    ExpertLayout layout;
    const std::byte* const* blocks = nullptr;  // (n_experts): see ChosenExperts; none is nullptr
    const std::int32_t* row_token = nullptr;   // (n_active): all 0
    const std::int32_t* row_of = nullptr;      // (n_active): 0, 1, 2 ...
    std::int32_t* chosen = nullptr;            // (n_active): gets the choice, best first
    float* weights = nullptr;                  // (n_active)
    float* rows = nullptr;                     // (n_active, hidden_dim): for the experts' outputs; undefined behind it
    // The experts that every token passes; without data: none.
    ExpertView shared;
    const float* shared_gate = nullptr;  // (hidden_dim): ops::AddGated; nullptr: shared_factor instead
    float shared_factor = 1;
    float* shared_output = nullptr;  // (hidden_dim): undefined behind it

    // Calls body(op) for the operations, in their order.
    template <typename Body>
    void for_each(const Body& body) const {
        const std::int64_t hidden_dim = layout.hidden_dim;
        body(Norm{norm, x, 1, normalised});
        body(Route{router, arrays, normalised, 1, hidden_dim, chosen, weights});
        if (shared.data != nullptr) {
            const ExpertCall call{shared, 0, 1};
            body(Experts{{&call, 1}, normalised, row_token, shared_output});
            if (shared_gate != nullptr) {
                body(AddGated{shared_gate, normalised, shared_output, 1, hidden_dim, x});
            } else {
                body(Add{shared_output, hidden_dim, x, shared_factor});
            }
        }
        body(ChosenExperts{layout, blocks, chosen, router.n_active, normalised, row_token, rows});
        body(Combine{rows, row_of, weights, 1, router.n_active, hidden_dim, x});
    }
};
void compute(cuda::Worker& worker, const DecodeExperts& op);  // decode_experts.cu

}  // namespace offstage::kernels::ops
