#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
constexpr std::int64_t kMostExperts = 4096;

// The router's order: larger first, the lower index on a tie; NaN below everything (kernels::route_softmax_top_k).
__device__ inline bool is_better(float value, int index, float other, int other_index) {
    return value > other || (value == other && index < other_index);
}

// One block per token: its logits, one expert per warp at a time; then the first warp chooses.
__global__ void __launch_bounds__(kThreads)
    route_tokens(const float* gate, const float* x, std::int64_t hidden_dim, int n_experts, int n_active,
                 std::int32_t* experts, float* weights) {
    float* logits = shared_memory<float>();  // (n_experts), then (n_active) of the chosen
    float* chosen = logits + n_experts;
    const std::int64_t token = blockIdx.x;
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    for (int expert = warp; expert < n_experts; expert += kWarps) {
        const float* row = gate + expert * hidden_dim;
        float sum = 0.0f;
        for (std::int64_t i = lane; i < hidden_dim; i += kWarp) sum = fmaf(row[i], x[token * hidden_dim + i], sum);
        sum = warp_sum(sum);
        if (lane == 0) logits[expert] = sum == sum ? sum : -INFINITY;
    }
    __syncthreads();
    if (warp != 0) return;

    // Each choice is the best of those worse than the last one, so nothing has to be marked as taken.
    float last = INFINITY;
    int last_index = -1;
    for (int a = 0; a < n_active; ++a) {
        float best = 0.0f;
        int best_index = -1;
        for (int expert = lane; expert < n_experts; expert += kWarp) {
            const float logit = logits[expert];
            if (!is_better(last, last_index, logit, expert)) continue;
            if (best_index < 0 || is_better(logit, expert, best, best_index)) {
                best = logit;
                best_index = expert;
            }
        }
#pragma unroll
        for (int distance = kWarp / 2; distance > 0; distance /= 2) {
            const float other = __shfl_xor_sync(kAllLanes, best, distance);
            const int other_index = __shfl_xor_sync(kAllLanes, best_index, distance);
            if (other_index >= 0 && (best_index < 0 || is_better(other, other_index, best, best_index))) {
                best = other;
                best_index = other_index;
            }
        }
        last = best;
        last_index = best_index;
        if (lane == 0) {
            experts[token * n_active + a] = best_index;
            chosen[a] = best;
        }
    }
    if (lane != 0) return;
    const float largest = chosen[0];
    float sum = 0.0f;
    for (int a = 0; a < n_active; ++a) {
        chosen[a] = chosen[a] == largest ? 1.0f : expf(chosen[a] - largest);  // also where both are infinite
        sum += chosen[a];
    }
    for (int a = 0; a < n_active; ++a) weights[token * n_active + a] = chosen[a] / sum;
}

}  // namespace

void route(Worker& worker, const float* gate, const float* x, std::int64_t n, std::int64_t hidden_dim,
           std::int64_t n_experts, std::int64_t n_active, std::int32_t* experts, float* weights) {
    if (n_experts > kMostExperts || n_active > n_experts) {
        worker.failure.set("The router's kernel serves up to 4096 experts, all different.");
        return;
    }
    worker.start(route_tokens, blocks_for(n, 1), kThreads,
                 static_cast<std::size_t>(n_experts + n_active) * sizeof(float), gate, x, hidden_dim, n_experts,
                 n_active, experts, weights);
}

}  // namespace offstage::kernels::cuda
