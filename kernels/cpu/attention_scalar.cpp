#include <algorithm>
#include <cmath>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void attention(const float* q, std::int64_t q_stride, const float* keys, const float* values, std::int64_t n_queries,
               std::int64_t n_keys, std::int64_t head_dim, float scale, float* out, std::int64_t out_stride,
               float* scratch) {
    for (std::int64_t query = 0; query < n_queries; ++query) {
        const std::int64_t n_seen = n_keys - n_queries + query + 1;
        const float* q_row = q + query * q_stride;
        float* out_row = out + query * out_stride;
        for (std::int64_t k = 0; k < n_seen; ++k) scratch[k] = scale * dot(q_row, keys + k * head_dim, head_dim);
        const float largest = *std::max_element(scratch, scratch + n_seen);
        std::fill_n(out_row, head_dim, 0.0f);
        float sum = 0.0f;
        for (std::int64_t k = 0; k < n_seen; ++k) {
            const float probability = std::exp(scratch[k] - largest);
            sum += probability;
            for (std::int64_t i = 0; i < head_dim; ++i) out_row[i] += probability * values[k * head_dim + i];
        }
        for (std::int64_t i = 0; i < head_dim; ++i) out_row[i] /= sum;
    }
}

}  // namespace offstage::kernels::scalar
