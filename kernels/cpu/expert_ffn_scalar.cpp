#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void expert_ffn(const ExpertView& expert, const float* x, const float* scale, int n_tokens, std::int64_t neuron_begin,
                std::int64_t neuron_end, float* out) {
    const std::int64_t n = expert.hidden_dim;
    with_weights(expert.data, expert.type, [&](const auto* weights) {
        for (std::int64_t j = neuron_begin; j < neuron_end; ++j) {
            const auto* w1 = weights + j * 3 * n;
            const auto* w3 = w1 + n;
            const auto* w2 = w3 + n;
            for (int t = 0; t < n_tokens; ++t) {
                const float* x_t = x + t * n;
                float* out_t = out + t * n;
                const float activation = scale[t] * silu(dot(w1, x_t, n)) * dot(w3, x_t, n);
                for (std::int64_t i = 0; i < n; ++i) out_t[i] += activation * to_float(w2[i]);
            }
        }
    });
}

}  // namespace offstage::kernels::scalar
