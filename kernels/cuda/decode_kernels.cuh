#pragma once
// One layer of one token in few kernels (ops::GroupedAttention, ops::DecodeExperts): the
// parts of operations that are computed in the kernel before or behind them. Sums are
// formed in the order of the operations' own kernels, so that the bits are the same.

#include <cstdint>

#include "kernels/cuda/operations.cuh"
#include "kernels/ops/decode_experts.h"

namespace offstage::kernels::cuda {

// Where a result needs all blocks, the last one to arrive does the rest: each block
// writes its part and then calls this with the same word, which is 0 before the kernel
// and after it. True for the last of n_blocks: it then sees what the others wrote, by
// WrittenByOthers. Which block it is changes no bit. flag: a word of shared memory that
// is not in use, free again afterwards.
__device__ inline bool is_last_block(unsigned* arrived, unsigned n_blocks, int* flag) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        const bool last = atomicAdd(arrived, 1u) + 1u == n_blocks;
        if (last) *arrived = 0;
        *flag = last ? 1 : 0;
    }
    __syncthreads();
    const bool last = *flag != 0;
    __syncthreads();
    if (last) __threadfence();
    return last;
}

// Numbers that other blocks of the kernel wrote: past the L1 cache.
struct WrittenByOthers {
    const float* from;
    __device__ float operator[](std::int64_t i) const { return __ldcg(from + i); }
};

// decode_products.cu: the product of a token's row with matrices of its width, and what
// is done to the row before it and to the sums behind it. y = sums + bias, or
// y += factor (sums + bias).
struct TokenProduct {
    const float* x = nullptr;
    NormWeights norm;     // of x; without a dimension: none
    WeightView parts[3];  // their rows one after the other
    int n_parts = 1;
    const float* bias = nullptr;
    float* y = nullptr;
    bool adds = false;
    float factor = 1;
};
// In one kernel. False: there is none, and nothing was done.
bool multiply_token(Worker& worker, const TokenProduct& product);

// What the products that follow read.
enum class DecodeInputs : std::uint8_t { kFloat, kRounded, kSplit };

// kernels/ops/route.cu: norm, router and the choice. `normalised` and, in its form,
// `prepared` (rounded_bytes() or split_bytes()) are written beside. logits: (n_experts).
bool routes_in_one_kernel(const ops::DecodeExperts& op);
void route_in_one_kernel(Worker& worker, const ops::DecodeExperts& op, DecodeInputs form, float* logits,
                         unsigned char* prepared);

// experts.cu: the op's chosen experts from `normalised`, or from what is prepared of it
// in split form; their weighted sum is added to x. The first: scratch memory for it.
std::size_t chosen_experts_bytes(const ExpertLayout& layout, std::int64_t n_active);
void add_chosen_experts(Worker& worker, const ops::DecodeExperts& op, unsigned char* prepared);

}  // namespace offstage::kernels::cuda
