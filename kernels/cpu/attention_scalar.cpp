#include <algorithm>
#include <cmath>

#include "kernels/cpu/operations.h"
#include "kernels/cpu/scalar_math.h"

namespace offstage::kernels::scalar {

void attention(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key, std::int64_t n_queries,
               std::int64_t n_keys, float scale, const float* sinks, float* out, std::int64_t out_stride,
               QueryRows rows, QueryOrder /*order*/, float* scratch) {
    float* const row = scratch + n_keys - first_key;
    const auto load = [&](std::int64_t part, std::int64_t stride, std::int64_t n, std::int64_t k) {
        load_kv_row(kv.blocks[k / kKvBlockTokens] + part + k % kKvBlockTokens * stride, n, kv.type, row);
    };
    for (std::int64_t query = 0; query < n_queries; ++query) {
        const std::int64_t end = rows == QueryRows::kHeads ? n_keys : n_keys - n_queries + query + 1;
        const float* q_row = q + query * q_stride;
        float* out_row = out + query * out_stride;
        for (std::int64_t k = first_key; k < end; ++k) {
            load(kv.keys, kv.key_stride, kv.key_dim, k);
            scratch[k - first_key] = scale * dot(q_row, row, kv.key_dim);
        }
        float largest = *std::max_element(scratch, scratch + (end - first_key));
        std::fill_n(out_row, kv.value_dim, 0.0f);
        float sum = 0.0f;
        if (sinks != nullptr) {
            const float sink = sinks[rows == QueryRows::kHeads ? query : 0];
            largest = std::max(largest, sink);
            sum = std::exp(sink - largest);
        }
        for (std::int64_t k = first_key; k < end; ++k) {
            const float probability = std::exp(scratch[k - first_key] - largest);
            load(kv.values, kv.value_stride, kv.values_in_keys() ? kv.key_dim : kv.value_dim, k);
            sum += probability;
            for (std::int64_t i = 0; i < kv.value_dim; ++i) out_row[i] += probability * row[i];
        }
        for (std::int64_t i = 0; i < kv.value_dim; ++i) out_row[i] /= sum;
    }
}

}  // namespace offstage::kernels::scalar
