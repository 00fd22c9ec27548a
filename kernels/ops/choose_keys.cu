// An indexer's choice: a kernel for the scores, with a row's keys in the threads, then a
// block for each row that chooses.

#include <algorithm>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/ops/choose_keys.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kScoreThreads = 256;
constexpr int kScoreKeys = static_cast<int>(kLeastSplitKeys);  // of a block
constexpr int kHeadGroups = kScoreThreads / kScoreKeys;        // threads that share a key's heads
constexpr int kThreadHeads = 8;
constexpr int kScoreHeads = kHeadGroups * kThreadHeads;  // at once
constexpr int kScoreDims = 32;                           // in shared memory
constexpr std::int32_t kAnySplits = 1 << 24;             // set_keys() then has kScoreKeys keys in each

constexpr int kSelectThreads = 256;
constexpr int kSelectDigits = 256;
static_assert(kSelectThreads == kSelectDigits, "a thread clears a count");

struct IndexerJob {
    AttentionShape shape;
    KvPlaces places;
    const float* queries;
    const float* weights;
    float* scores;  // (items, n_choices, stride)
    std::int64_t stride;
    std::int32_t* chosen;
    DecodeItems list;  // at the end: KernelCall::pack()
};

// grid: (blocks of keys, items). The order of additions is that of ops::ChooseKeys.
__global__ void __launch_bounds__(kScoreThreads) score_keys(IndexerJob job) {
    const AttentionShape& shape = job.shape;
    const DecodeItem item = item_of(job.list, blockIdx.y, shape);
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kScoreKeys;
    if (first >= item.n_keys) return;                             // the whole block
    float* const keys = shared_memory<float>();                   // (kScoreDims, kScoreKeys + 1)
    float* const queries = keys + kScoreDims * (kScoreKeys + 1);  // (kScoreHeads, kScoreDims)
    float* const products = queries + kScoreHeads * kScoreDims;   // (kScoreHeads, kScoreKeys)
    const int thread = static_cast<int>(threadIdx.x);
    const int key = thread % kScoreKeys;
    const int group = thread / kScoreKeys;
    const float* const query_row = job.queries + item.row * shape.n_heads * shape.key_dim;
    const float* const weights = job.weights == nullptr ? nullptr : job.weights + item.row * shape.n_heads;
    float* const scores = job.scores + blockIdx.y * shape.n_choices * job.stride + first + key;
    const bool is_there = first + key < item.n_keys;
    float score = 0.0f;
    for (std::int64_t head = 0; head < shape.n_heads; head += kScoreHeads) {
        float sums[kThreadHeads] = {};
        for (std::int64_t dim = 0; dim < shape.key_dim; dim += kScoreDims) {
            const int n = static_cast<int>(shape.key_dim - dim < kScoreDims ? shape.key_dim - dim : kScoreDims);
            __syncthreads();  // before what the last turn read is overwritten
            for (int i = thread; i < kScoreKeys * kScoreDims; i += kScoreThreads) {
                const int k = i / kScoreDims, d = i % kScoreDims;
                const bool there = first + k < item.n_keys && d < n;
                keys[d * (kScoreKeys + 1) + k] =
                    there ? cached_value(job.places.type, pooled_row(job.places, item.blocks, first + k), shape.key_dim,
                                         dim + d)
                          : 0.0f;
            }
            for (int i = thread; i < kScoreHeads * kScoreDims; i += kScoreThreads) {
                const std::int64_t h = head + i / kScoreDims;
                const bool there = h < shape.n_heads && i % kScoreDims < n;
                queries[i] = there ? query_row[h * shape.key_dim + dim + i % kScoreDims] : 0.0f;
            }
            __syncthreads();
            for (int d = 0; d < n; ++d) {
                const float value = keys[d * (kScoreKeys + 1) + key];
#pragma unroll
                for (int h = 0; h < kThreadHeads; ++h) {
                    sums[h] = fmaf(queries[(group * kThreadHeads + h) * kScoreDims + d], value, sums[h]);
                }
            }
        }
        if (weights == nullptr) {
            for (int h = 0; h < kThreadHeads; ++h) {
                const std::int64_t of = head + group * kThreadHeads + h;
                if (is_there && of < shape.n_heads) scores[of * job.stride] = sums[h];
            }
            continue;
        }
#pragma unroll
        for (int h = 0; h < kThreadHeads; ++h) {
            products[(group * kThreadHeads + h) * kScoreKeys + key] = sums[h] > 0.0f ? sums[h] : 0.0f;
        }
        __syncthreads();
        for (int h = 0; group == 0 && h < kScoreHeads && head + h < shape.n_heads; ++h) {
            score = fmaf(weights[head + h], products[h * kScoreKeys + key], score);
        }
    }
    if (weights != nullptr && group == 0 && is_there) *scores = score;
}

constexpr std::size_t kScoreBytes =
    sizeof(float) * (kScoreDims * (kScoreKeys + 1) + kScoreHeads * kScoreDims + kScoreHeads * kScoreKeys);

// Larger for a larger score, 0 for none that is a number.
__device__ inline unsigned order_of(float score) {
    if (score != score) return 0;
    const unsigned bits = __float_as_uint(score + 0.0f);  // -0 is 0
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}

struct SelectRoom {
    unsigned counts[kSelectDigits];
    std::int64_t larger[kSelectThreads];  // of a thread's blocks; then of those of all threads before it
    std::int64_t same[kSelectThreads];
    unsigned smallest;    // the order of the smallest score that is chosen, as far as its digits are known
    std::int64_t wanted;  // of the blocks with these digits
};

// grid: (choices, items). Finds the smallest chosen score digit by digit; then each
// thread writes what is chosen of a stretch of blocks.
__global__ void __launch_bounds__(kSelectThreads) choose_keys(IndexerJob job) {
    SelectRoom& room = *shared_memory<SelectRoom>();
    const AttentionShape& shape = job.shape;
    const DecodeItem item = item_of(job.list, blockIdx.y, shape);
    const float* const scores = job.scores + (blockIdx.y * shape.n_choices + blockIdx.x) * job.stride;
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t n_blocks = (item.n_keys + shape.choice_block - 1) / shape.choice_block;
    const auto end_of = [&](std::int64_t block) {
        const std::int64_t end = (block + 1) * shape.choice_block;
        return end < item.n_keys ? end : item.n_keys;
    };
    const auto order_at = [&](std::int64_t block) {
        if (block >= n_blocks - shape.n_local_blocks) return 0xffffffffu;
        unsigned largest = 0;
        for (std::int64_t k = block * shape.choice_block; k < end_of(block); ++k) {
            const unsigned order = order_of(scores[k]);
            largest = order > largest ? order : largest;
        }
        return largest;
    };
    if (thread == 0) {
        room.smallest = 0;
        room.wanted = shape.top_k / shape.choice_block;
    }
    unsigned known = 0;  // the digits that have been found
    for (int shift = 24; shift >= 0; shift -= 8) {
        room.counts[thread] = 0;
        __syncthreads();
        const unsigned found = room.smallest;
        for (std::int64_t block = thread; block < n_blocks; block += kSelectThreads) {
            const unsigned order = order_at(block);
            if ((order & known) == found) atomicAdd(&room.counts[order >> shift & (kSelectDigits - 1)], 1u);
        }
        __syncthreads();
        if (thread == 0) {
            int digit = kSelectDigits - 1;
            for (; digit > 0 && room.counts[digit] < room.wanted; --digit) room.wanted -= room.counts[digit];
            room.smallest |= static_cast<unsigned>(digit) << shift;
        }
        known |= static_cast<unsigned>(kSelectDigits - 1) << shift;
        __syncthreads();
    }
    const unsigned smallest = room.smallest;
    const std::int64_t stretch = (n_blocks + kSelectThreads - 1) / kSelectThreads;
    const std::int64_t begin = thread * stretch;
    const std::int64_t end = begin + stretch < n_blocks ? begin + stretch : n_blocks;
    std::int64_t larger = 0, same = 0;
    for (std::int64_t block = begin; block < end; ++block) {
        const unsigned order = order_at(block);
        larger += order > smallest ? 1 : 0;
        same += order == smallest ? 1 : 0;
    }
    room.larger[thread] = larger;
    room.same[thread] = same;
    __syncthreads();
    if (thread == 0) {
        larger = same = 0;
        for (int t = 0; t < kSelectThreads; ++t) {
            const std::int64_t of_thread = room.larger[t], same_of_thread = room.same[t];
            room.larger[t] = larger;
            room.same[t] = same;
            larger += of_thread;
            same += same_of_thread;
        }
    }
    __syncthreads();
    same = room.same[thread];
    // Only the last block may have fewer keys.
    const std::int64_t before = room.larger[thread] + (same < room.wanted ? same : room.wanted);
    std::int32_t* to =
        job.chosen + (item.row * shape.n_choices + blockIdx.x) * shape.top_k + before * shape.choice_block;
    for (std::int64_t block = begin; block < end; ++block) {
        const unsigned order = order_at(block);
        if (order < smallest || (order == smallest && same++ >= room.wanted)) continue;
        for (std::int64_t k = block * shape.choice_block; k < end_of(block); ++k) *to++ = static_cast<std::int32_t>(k);
    }
}

}  // namespace

std::uint64_t indexer_scratch_bytes(const CudaStep& step) {
    if (step.attention.top_k == 0) return 0;
    const std::int64_t items = step.n_tokens < kItemsPerLaunch ? step.n_tokens : kItemsPerLaunch;
    const auto n_blocks = static_cast<std::int32_t>((step.context + kScoreKeys - 1) / kScoreKeys);
    return Scratch::rounded(
        static_cast<std::size_t>(items * step.attention.n_choices * bucket_of(n_blocks) * kScoreKeys) * sizeof(float));
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const ChooseKeys& op) {
    IndexerJob job{op.shape, places_in(op.kv, op.layer), op.queries, op.weights, nullptr, 0, op.chosen, {}};
    job.list.most_splits = kAnySplits;
    job.list.key_tokens = op.kv.key_tokens;
    std::int64_t n_blocks = 1;
    const auto flush = [&] {
        if (job.list.n == 0) return;
        worker.scratch.restart();
        job.stride = n_blocks * kScoreKeys;
        job.scores = worker.scratch.take<float>(job.list.n * op.shape.n_choices * job.stride);
        if (job.scores == nullptr) {
            worker.lacks_scratch();
        } else {
            const auto n = static_cast<unsigned>(job.list.n);
            worker.start(score_keys, dim3(static_cast<unsigned>(n_blocks), n), kScoreThreads, kScoreBytes, job);
            worker.start(choose_keys, dim3(static_cast<unsigned>(op.shape.n_choices), n), kSelectThreads,
                         sizeof(SelectRoom), job);
        }
        job.list.n = 0;
        n_blocks = 1;
    };
    const std::vector<CudaSegment>& segments = device_segments(worker, op.segments);
    for (std::size_t s = 0; s < segments.size(); ++s) {
        const std::int64_t n_choosing = rows_that_choose(op.segments[s], op.shape.top_k, op.kv.key_tokens);
        for (std::int64_t token = segments[s].n_tokens - n_choosing; token < segments[s].n_tokens; ++token) {
            n_blocks = std::max(n_blocks, set_item(worker, job.list.items[job.list.n], segments[s], token, 0,
                                                   job.list.most_splits, op.kv.key_tokens));
            if (++job.list.n == kItemsPerLaunch) flush();
        }
    }
    flush();
}

}  // namespace offstage::kernels::ops
