// ops::GroupedAttention of one token in three kernels: the product of queries, keys and
// values with the norm before it (decode_products.cu), attention with head norms,
// rotation and the cache's new row, and the output's product with what is added to x.
// Each of the three that there is no kernel for is computed by its operations.

#include "kernels/cuda/cached_rows.cuh"
#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/few_keys.cuh"
#include "kernels/cuda/row_norm.cuh"
#include "kernels/ops/grouped_attention.h"

namespace offstage::kernels::cuda {
namespace {

constexpr std::int64_t kMostHeadDim = 128;

struct TokenAttention {
    AttentionShape shape;
    KvPlaces places;
    DecodeItem item;
    std::int64_t most_splits;
    const float* qkv;
    const float* query_norm;  // (key_dim), if norms
    const float* key_norm;
    float eps;
    bool norms;
    const float* cos;
    const float* sin;
    float* partials;
    float* out;
    unsigned* arrived;  // a word for each group of heads: see is_last_block()
};

std::int64_t key_bytes(const KvPlaces& places) {
    return (places.key_stride + 15) / 16 * 16;
}

// A head of qkv to `to`, normed and rotated, by a whole warp.
__device__ inline void prepare_head(const TokenAttention& job, const float* from, const float* weight, int lane,
                                    float* to) {
    const std::int64_t d = job.shape.key_dim;
    const float factor = job.norms ? rms_factor_of_warp(from, d, job.eps, lane) : 1.0f;
    for (std::int64_t i = lane; i < d; i += kWarp) to[i] = job.norms ? normed(from[i], factor, weight, i) : from[i];
    __syncwarp();
    const std::int64_t half = job.shape.rotary_dim / 2;
    float* const rotated = to + job.shape.rotary_first;
    rotate(rotated, job.cos + job.item.row * half, job.sin + job.item.row * half, half, rotated, lane, kWarp);
}

// grid: (splits, kv heads * groups of kHeads query heads). The block with the newest key
// makes it, stores it and uses what it stored; the last block of a group joins the
// splits.
template <int kDims, int kHeads>
__global__ void __launch_bounds__(kDecodeThreads, 4) attend_token(TokenAttention job) {
    let_next_begin();
    wait_for_previous();
    const AttentionShape& shape = job.shape;
    DecodeItem item = job.item;
    if (item.device_past != nullptr) set_keys(item, *item.device_past + 1, shape.window, kMostSplits);
    const KeySplit split{blockIdx.x, job.most_splits, job.partials, 0};
    if (split.index >= item.n_splits) return;  // the whole block
    const QueryHeads heads = QueryHeads::of<kHeads>(shape, blockIdx.y);
    const int thread = static_cast<int>(threadIdx.x);
    const int lane = thread % kWarp;
    const int warp = thread / kWarp;
    const std::int64_t d = shape.key_dim;

    float* const work = shared_memory<float>();                   // for attend_split(), then for the sum of splits
    float* const queries = work + kSplitFloats<kDims, kHeads>;    // (kHeads, d)
    float* const key = queries + kHeads * d;                      // (d): the newest
    auto* const new_key = reinterpret_cast<std::byte*>(key + d);  // these two: as rows of the cache
    std::byte* const new_value = new_key + (job.places.key_stride + 15) / 16 * 16;
    const std::int64_t newest = item.n_keys - 1;
    const bool has_newest = split.index == item.n_splits - 1;
    const float* const row = job.qkv + item.row * (shape.n_heads + 2 * shape.n_kv_heads) * d;
    for (int h = warp; h < heads.n + (has_newest ? 1 : 0); h += kDecodeWarps) {
        if (h < heads.n) {
            prepare_head(job, row + (heads.first + h) * d, job.query_norm, lane, queries + h * d);
        } else {
            prepare_head(job, row + (shape.n_heads + heads.kv_head) * d, job.key_norm, lane, key);
        }
    }
    __syncthreads();
    if (has_newest) {
        const float* const value = row + (shape.n_heads + shape.n_kv_heads + heads.kv_head) * d;
        const KvType type = job.places.type;
        store_row([&](std::int64_t i) { return key[i]; }, d, type, new_key, thread, kDecodeThreads);
        store_row([&](std::int64_t i) { return value[i]; }, d, type, new_value, thread, kDecodeThreads);
        __syncthreads();
        if (heads.first % (shape.n_heads / shape.n_kv_heads) == 0) {  // once for each head of the cache
            const auto copy = [&](const std::byte* from, std::int64_t bytes, std::byte* to) {
                for (std::int64_t i = thread; i < bytes / 4; i += kDecodeThreads) {
                    reinterpret_cast<unsigned*>(to)[i] = reinterpret_cast<const unsigned*>(from)[i];
                }
            };
            copy(new_key, job.places.key_stride, key_row(job.places, item.blocks, newest, heads.kv_head));
            copy(new_value, job.places.value_stride, value_row(job.places, item.blocks, newest, heads.kv_head));
        }
    }
    attend_split<kDims, kHeads>(
        item, shape, job.places.type, heads, split, [&](int h) { return queries + h * d; },
        [&](std::int64_t k) -> const std::byte* {
            return k == newest ? new_key : key_row(job.places, item.blocks, k, heads.kv_head);
        },
        [&](std::int64_t k) -> const std::byte* {
            return k == newest ? new_value : value_row(job.places, item.blocks, k, heads.kv_head);
        },
        work, job.out);
    if (item.n_splits == 1) return;  // is there already
    if (!is_last_block(job.arrived + blockIdx.y, static_cast<unsigned>(item.n_splits),
                       reinterpret_cast<int*>(queries))) {
        return;
    }
    const auto partials_of = [&](std::int64_t head) {
        return WrittenByOthers{partial_of(job.partials, 0, shape.n_heads, head, job.most_splits, 0, d)};
    };
    const int n_weights = item.n_splits + 1;
    for (int h = warp; h < heads.n; h += kDecodeWarps) {
        weigh_splits(partials_of(heads.first + h), item.n_splits, shape, heads.first + h, work + h * n_weights);
    }
    __syncthreads();
    for (std::int64_t i = thread; i < heads.n * d; i += kDecodeThreads) {
        const std::int64_t h = i / d;
        job.out[(item.row * shape.n_heads + heads.first + h) * d + i % d] =
            joined_value(partials_of(heads.first + h), item.n_splits, d, work + h * n_weights, i % d);
    }
}

template <int kDims>
void start_attention(Worker& worker, const TokenAttention& job) {
    const AttentionShape& shape = job.shape;
    const std::int64_t group = shape.n_heads / shape.n_kv_heads;
    with_heads(group, [&](auto heads) {
        constexpr int kHeads = decltype(heads)::value;
        static_assert(kSplitFloats<kDims, kHeads> >= kHeads * (kMostSplits + 1), "the splits' weights lie there");
        const dim3 grid(static_cast<unsigned>(job.most_splits),
                        static_cast<unsigned>(shape.n_kv_heads * blocks_for(group, kHeads)));
        const std::size_t bytes =
            (kSplitFloats<kDims, kHeads> + static_cast<std::size_t>((kHeads + 1) * shape.key_dim)) * sizeof(float) +
            static_cast<std::size_t>(key_bytes(job.places) + job.places.value_stride);
        worker.start_dependent(attend_token<kDims, kHeads>, grid, kDecodeThreads, bytes, job);
    });
}

// These three compute a part of the op. False: there is no kernel for it, and nothing was
// done.
bool project_in_one_kernel(Worker& worker, const ops::GroupedAttention& op) {
    if (op.n != 1 || op.output_gate.data != nullptr) return false;  // the gate reads `normalised`
    TokenProduct product;
    product.x = op.norm.dim > 0 ? op.x : op.normalised;
    product.norm = op.norm;
    product.n_parts = static_cast<int>(op.n_projections());
    for (int p = 0; p < product.n_parts; ++p) product.parts[p] = op.projections[p];
    product.bias = op.bias;
    product.y = op.qkv;
    return multiply_token(worker, product);
}

bool attend_in_one_kernel(Worker& worker, const ops::GroupedAttention& op) {
    const AttentionShape& shape = op.shape;
    const auto of_heads = [&](const NormWeights& norm) {
        return norm.dim == shape.key_dim && norm.kind == NormKind::kRms && norm.eps == op.query_norm.eps;
    };
    const bool norms = op.query_norm.dim > 0;
    if (op.n != 1 || op.segments.size() != 1 || ops::any_row_chooses(op.segments, shape.top_k) ||
        shape.values_in_keys || shape.key_dim != shape.value_dim || shape.key_dim > kMostHeadDim ||
        shape.key_dim % 4 != 0 || shape.n_heads % shape.n_kv_heads != 0 || shape.n_heads > kArrivals ||
        worker.arrivals == nullptr || op.value_norm.dim > 0 || op.clip > 0 ||
        (norms && (!of_heads(op.query_norm) || !of_heads(op.key_norm))) || (!norms && op.key_norm.dim > 0)) {
        return false;
    }
    // The next token's launches are others.
    if (worker.kept != nullptr && op.segments[0].past + 1 == shape.top_k) worker.kept->set_last_of_its_kind();
    TokenAttention job{};
    job.shape = shape;
    job.places = places_in(op.kv, op.layer);
    job.most_splits =
        set_item(worker, job.item, device_segments(worker, op.segments).front(), 0, shape.window, kMostSplits);
    job.qkv = op.qkv;
    job.query_norm = op.query_norm.weight;
    job.key_norm = op.key_norm.weight;
    job.eps = op.query_norm.eps;
    job.norms = norms;
    job.cos = op.cos;
    job.sin = op.sin;
    job.out = op.attended;
    job.arrived = worker.arrivals;
    worker.scratch.restart();
    if (job.most_splits > 1) {
        job.partials = worker.scratch.take<float>(shape.n_heads * job.most_splits * (shape.value_dim + 2));
        if (job.partials == nullptr) {
            worker.lacks_scratch();
            return true;
        }
    }
    if (shape.key_dim <= 2 * kWarp) {
        start_attention<2>(worker, job);
    } else {
        start_attention<4>(worker, job);
    }
    return true;
}

bool add_output_in_one_kernel(Worker& worker, const ops::GroupedAttention& op) {
    if (op.n != 1 || op.output_gate.data != nullptr || op.output_norm.dim > 0) return false;
    TokenProduct product;
    product.x = op.attended;
    product.parts[0] = op.output;
    product.bias = op.output_bias;
    product.y = op.x;
    product.adds = true;
    product.factor = op.factor;
    return multiply_token(worker, product);
}

}  // namespace
}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

void compute(cuda::Worker& worker, const GroupedAttention& op) {
    const auto compute_part = [&](const auto& part) {
        if (worker.failure.none()) compute(worker, part);
    };
    if (!cuda::project_in_one_kernel(worker, op)) op.for_each_projection(compute_part);
    if (!worker.failure.none()) return;
    if (!cuda::attend_in_one_kernel(worker, op)) op.for_each_attention(compute_part);
    if (!worker.failure.none()) return;
    if (!cuda::add_output_in_one_kernel(worker, op)) op.for_each_output(compute_part);
}

}  // namespace offstage::kernels::ops
