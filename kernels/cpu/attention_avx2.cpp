#include "kernels/cpu/simd_avx2.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/attention_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx2 {

void attention(const float* q, std::int64_t q_stride, const float* keys, const float* values, std::int64_t n_queries,
               std::int64_t n_keys, std::int64_t head_dim, float scale, float* out, std::int64_t out_stride,
               float* scratch) {
    attention_blocks(q, q_stride, keys, values, nullptr, 0, n_queries, n_keys, head_dim, scale, out, out_stride,
                     scratch);
}

void attention_blocks(const float* q, std::int64_t q_stride, const float* keys, const float* values,
                      const std::int32_t* blocks, std::int64_t first_key, std::int64_t n_queries, std::int64_t n_keys,
                      std::int64_t head_dim, float scale, float* out, std::int64_t out_stride, float* scratch) {
    AttentionCall call{};
    call.q = q;
    call.q_stride = q_stride;
    call.keys = keys;
    call.values = values;
    call.blocks = blocks;
    call.first_key = first_key;
    call.n_queries = n_queries;
    call.n_keys = n_keys;
    call.head_dim = head_dim;
    call.scale = scale;
    call.out = out;
    call.out_stride = out_stride;
    attend(call, scratch);
}

}  // namespace offstage::kernels::avx2
