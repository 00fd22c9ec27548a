// ops::ChooseToken. Each block finds the best tokens of a piece of the vocabulary, the
// last one to end the best of these, and draws.

#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/ops/choose_token.h"

namespace offstage::kernels::cuda {
namespace {

constexpr int kChoiceThreads = 256;
constexpr int kPieceTokens = 2048;
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;
constexpr int kBest = TokenRule::kMostBest;

// Larger for a better token, different for each, 0 for one that is never chosen: the
// logit in an order of unsigned numbers, then the token from the largest down.
using TokenKey = unsigned long long;

struct ChoiceRoom {
    TokenCandidate candidates[kBest];
    TokenKey best[kBest];
    TokenKey found;   // the digits of the worst key that is wanted, as far as they are known
    unsigned wanted;  // of the keys with these digits
    unsigned same;    // keys with these digits
    unsigned n_best;
    int flag;
    unsigned counts[kDigits];
    unsigned sums[kWarp];
    unsigned never[kPieceTokens / 32];  // these two: a bit for each token of the piece
    unsigned seen[kPieceTokens / 32];
};

struct ChoiceJob {
    const float* logits;
    std::int64_t vocab_size;
    const TokenRule* rule;
    const std::int32_t* last;
    TokenKey* keys;  // (blocks, kBest)
    unsigned* arrived;
    std::int32_t* chosen;
};

__device__ inline TokenKey key_of(float logit, std::int64_t token) {
    const unsigned bits = __float_as_uint(logit + 0.0f);  // -0 is 0
    const unsigned ordered = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return static_cast<TokenKey>(ordered) << 32u | ~static_cast<unsigned>(token);
}
__device__ inline float logit_of(TokenKey key) {
    const auto ordered = static_cast<unsigned>(key >> 32u);
    return __uint_as_float((ordered & 0x80000000u) != 0 ? ordered & 0x7fffffffu : ~ordered);
}

// By one warp: the digit of the worst wanted key, from how many keys have which digit
// (room.counts). A lane has the eight digits from the largest down.
__device__ inline void find_digit(ChoiceRoom& room, int shift, int lane) {
    constexpr int kLaneDigits = kDigits / kWarp;
    const int first = kDigits - 1 - lane * kLaneDigits;
    unsigned sum = 0;
    for (int i = 0; i < kLaneDigits; ++i) sum += room.counts[first - i];
    room.sums[lane] = sum;
    __syncwarp();
    unsigned above = 0;
    for (int l = 0; l < lane; ++l) above += room.sums[l];
    const unsigned wanted = room.wanted;
    __syncwarp();
    for (int i = 0; i < kLaneDigits; ++i) {
        const unsigned count = room.counts[first - i];
        if (above < wanted && above + count >= wanted) {
            room.found |= static_cast<TokenKey>(first - i) << shift;
            room.wanted = wanted - above;
            room.same = count;
        }
        above += count;
    }
}

// room.best, in any order, = the best of n keys, at most `most` of them; 0 does not
// count. By the whole block.
template <typename KeyAt>
__device__ inline void select_best(ChoiceRoom& room, std::int64_t n, int most, const KeyAt& key_at) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread == 0) {
        room.found = 0;
        room.wanted = static_cast<unsigned>(most);
        room.n_best = room.same = 0;
    }
    TokenKey known = 0;  // the digits that have been found
    for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
        room.counts[thread] = 0;
        __syncthreads();
        const TokenKey found = room.found;
        for (std::int64_t i = thread; i < n; i += kChoiceThreads) {
            const TokenKey key = key_at(i);
            if (key != 0 && (key & known) == found) atomicAdd(&room.counts[key >> shift & (kDigits - 1)], 1u);
        }
        __syncthreads();
        if (thread < kWarp) find_digit(room, shift, thread);
        known |= static_cast<TokenKey>(kDigits - 1) << shift;
        __syncthreads();
        if (room.same == room.wanted) break;  // all of them
        if (room.same == 0) known = 0;        // fewer keys than wanted
        if (room.same == 0) break;
    }
    const TokenKey found = room.found;
    for (std::int64_t i = thread; i < n; i += kChoiceThreads) {
        const TokenKey key = key_at(i);
        if (key != 0 && (key & known) >= found) room.best[atomicAdd(&room.n_best, 1u)] = key;
    }
    __syncthreads();
}

// The bits of the piece's tokens among n listed ones.
__device__ inline void mark(unsigned* bits, const std::int32_t* listed, int n, std::int64_t begin) {
    for (int i = static_cast<int>(threadIdx.x); i < n; i += kChoiceThreads) {
        const std::int64_t place = listed[i] - begin;
        if (place >= 0 && place < kPieceTokens) atomicOr(bits + place / 32, 1u << (place % 32));
    }
}

__global__ void __launch_bounds__(kChoiceThreads) choose_token(ChoiceJob job) {
    static_assert(kChoiceThreads == kDigits, "a thread clears a count");
    let_next_begin();
    wait_for_previous();
    ChoiceRoom& room = *shared_memory<ChoiceRoom>();
    const TokenRule& rule = *job.rule;
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPieceTokens;
    if (thread < kPieceTokens / 32) room.never[thread] = room.seen[thread] = 0;
    __syncthreads();
    mark(room.never, rule.listed, rule.n_never, begin);
    const bool penalises = rule.repeat_penalty != 1.0f;
    if (penalises) {
        mark(room.seen, rule.listed + rule.n_never, rule.n_seen, begin);
        mark(room.seen, job.last, 1, begin);
    }
    __syncthreads();
    const std::int64_t left = job.vocab_size - begin;
    select_best(room, left < kPieceTokens ? left : kPieceTokens, rule.top_k, [&](std::int64_t i) -> TokenKey {
        float logit = job.logits[begin + i];
        const unsigned bit = 1u << (i % 32);
        if (!(logit >= -kLargestLogit) || (room.never[i / 32] & bit) != 0) return 0;
        if (logit > kLargestLogit) logit = kLargestLogit;
        if (penalises && (room.seen[i / 32] & bit) != 0) logit = penalised(logit, rule.repeat_penalty);
        return key_of(logit, begin + i);
    });
    if (gridDim.x > 1) {
        TokenKey* const keys = job.keys + static_cast<std::int64_t>(blockIdx.x) * kBest;
        if (thread < kBest) keys[thread] = thread < static_cast<int>(room.n_best) ? room.best[thread] : 0;
        if (!is_last_block(job.arrived, gridDim.x, &room.flag)) return;
        select_best(room, static_cast<std::int64_t>(gridDim.x) * kBest, rule.top_k,
                    [&](std::int64_t i) { return __ldcg(job.keys + i); });
    }
    const auto n = static_cast<int>(room.n_best);
    if (thread < n) {
        const TokenKey mine = room.best[thread];
        TokenKey best = mine;
        int rank = 0;
        for (int i = 0; i < n; ++i) {
            rank += room.best[i] > mine ? 1 : 0;
            if (room.best[i] > best) best = room.best[i];
        }
        const double weight =
            rule.temperature > 0.0f ? weight_of(logit_of(mine), logit_of(best), rule.temperature) : 1.0;
        room.candidates[rank] = {logit_of(mine), static_cast<std::int32_t>(~static_cast<unsigned>(mine)), weight};
    }
    __syncthreads();
    if (thread != 0) return;
    std::int32_t token = n > 0 ? room.candidates[0].token : -1;
    if (n > 0 && rule.temperature > 0.0f) {
        token = draw_token(room.candidates, kept_by_top_p(room.candidates, n, rule.top_p), rule.min_p,
                           room.candidates[0].logit, rule.random);
    }
    job.chosen[0] = token;
    job.chosen[1] = token > 0 ? token : 0;
}

}  // namespace

std::uint64_t choice_scratch_bytes(const CudaStep& step) {
    return Scratch::rounded(blocks_for(step.vocab_size, kPieceTokens) * kBest * sizeof(TokenKey));
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

void compute(cuda::Worker& worker, const ChooseToken& op) {
    using namespace cuda;
    const unsigned blocks = blocks_for(op.vocab_size, kPieceTokens);
    worker.scratch.restart();
    auto* const keys = worker.scratch.take<TokenKey>(static_cast<std::int64_t>(blocks) * kBest);
    if (keys == nullptr || worker.arrivals == nullptr) return worker.lacks_scratch();
    worker.start_dependent(choose_token, blocks, kChoiceThreads, sizeof(ChoiceRoom),
                           ChoiceJob{op.logits, op.vocab_size, op.rule, op.last, keys, worker.arrivals, op.chosen});
}

}  // namespace offstage::kernels::ops
