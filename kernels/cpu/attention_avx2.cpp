#include "kernels/cpu/simd_avx2.h"
// The names above are what the templates below are written in.
#include "kernels/cpu/attention_simd.h"
#include "kernels/cpu/operations.h"

namespace offstage::kernels::avx2 {

void attention(const float* q, std::int64_t q_stride, const KvHead& kv, std::int64_t first_key, std::int64_t n_queries,
               std::int64_t n_keys, float scale, const float* sinks, float* out, std::int64_t out_stride,
               QueryRows rows, QueryOrder order, float* scratch) {
    AttentionCall call{};
    call.q = q;
    call.q_stride = q_stride;
    call.kv = kv;
    call.first_key = first_key;
    call.n_queries = n_queries;
    call.n_keys = n_keys;
    call.scale = scale;
    call.sinks = sinks;
    call.out = out;
    call.out_stride = out_stride;
    call.rows = rows;
    attend(call, order, scratch);
}

}  // namespace offstage::kernels::avx2
