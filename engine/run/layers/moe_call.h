#pragma once

#include <cstdint>

#include "engine/run/layers/network.h"
#include "engine/run/layers/router.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// Router and experts of one layer in a step: the weights, the inputs and the places of
// the results. Addresses of the device's memory, except `routing`.
struct MoeCall {
    std::int64_t layer = 0;  // counts the layers with experts
    const RouterWeights& router;
    const RouterWeights* next;    // the next layer's, for guessing its experts; nullptr: there is none
    const NetworkModule& shared;  // the network that these tokens also pass
    const StepContext& step;
    // Makes step.normalised of step.x, which router and experts read; without a
    // dimension: it is there.
    NormWeights norm;
    // (n_tokens, ExpertGrid::hidden_dim) += the experts' outputs for the wanted tokens. It
    // is step.x, or step.latent_sum or step.further, which are cleared before. `shared` is
    // added to step.x too, with step.further by the caller.
    float* sum;
    // On the host: the experts of token t, best first, are written to
    // routing[t * routing_stride + 0 .. n_active).
    std::int32_t* routing;
    std::int64_t routing_stride;

    void normalise() const { step.normalise(norm); }
    // What the experts read, once make_inputs() was submitted.
    const float* expert_inputs() const { return router.weighs_inputs ? step.further : step.expert_inputs(); }
    // Behind the router, whose weights these are.
    void make_inputs(float* weights) const {
        router.make_latent(step);
        if (!router.weighs_inputs) return;
        step.device.submit(ops::WeighInputs{step.normalised, weights, step.n_tokens, step.hidden_dim, step.further});
    }
    // Whether one token's operations, if the device has all its experts, are those of
    // ops::DecodeExperts.
    bool is_plain() const {
        return (!shared || shared.is_plain()) && sum == step.x && router.norm.weight == nullptr && norm.dim > 0 &&
               !router.weighs_inputs;
    }
    void compute_shared() const {
        if (!shared) return;
        for (const TokenRange& tokens : step.wanted) {
            const StepContext wanted = step.only(tokens);
            shared.compute(wanted);
            if (sum != step.further) shared.add(wanted, wanted.x);
        }
    }
    void clear_sum() const {
        if (sum == step.x) return;
        const std::int64_t width = sum == step.latent_sum ? router.latent_down.n_rows : step.hidden_dim;
        for (const TokenRange& tokens : step.wanted) {
            step.device.submit(ops::Clear{tokens.n * width, sum + tokens.first * width});
        }
    }
};

}  // namespace offstage::engine
