#include "kernels/cpu/operations.h"

namespace offstage::kernels::scalar {

void delta_rule(const DeltaRule& rule, std::int64_t column_begin, std::int64_t column_end, float* state) {
    for (std::int64_t t = 0; t < rule.n_tokens; ++t) {
        const float* const q = rule.q + t * rule.stride;
        const float* const k = rule.k + t * rule.stride;
        const float decay = rule.decay[t * rule.gate_stride];
        const float beta = rule.beta[t * rule.gate_stride];
        for (std::int64_t c = column_begin; c < column_end; ++c) {
            float known = 0;
            for (std::int64_t i = 0; i < rule.key_dim; ++i) known += k[i] * state[i * rule.value_dim + c];
            const float change = beta * (rule.v[t * rule.stride + c] - decay * known);
            float out = 0;
            for (std::int64_t i = 0; i < rule.key_dim; ++i) {
                float& s = state[i * rule.value_dim + c];
                s = decay * s + k[i] * change;
                out += q[i] * s;
            }
            rule.out[t * rule.out_stride + c] = out;
        }
    }
}

}  // namespace offstage::kernels::scalar
