// The router: a product for the logits, then a warp per token that chooses.
// kernels::route() defines the result.

#include <cfloat>
#include <cmath>

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/ops/route.h"

namespace offstage::kernels::cuda {
namespace {

constexpr std::int64_t kMostExperts = 4096;

// The router's order: larger first, the lower index on a tie. No value is NaN.
__device__ inline bool is_better(float value, int index, float other, int other_index) {
    return value > other || (value == other && index < other_index);
}

__device__ inline float without_nan(float value) {
    return value == value ? value : -INFINITY;
}

// A choice made: its value and its index.
struct Best {
    float value;
    int index;
};

// The best of 0 .. n-1 that is worse than `last`, so that no entry need be marked as
// taken; `counts(i)`: whether i is considered. Every lane gets it.
template <typename Counts>
__device__ inline Best next_best(const float* values, int n, const Best& last, const Counts& counts) {
    Best best = {0.0f, -1};
    for (int i = static_cast<int>(threadIdx.x); i < n; i += kWarp) {
        if (!counts(i) || !is_better(last.value, last.index, values[i], i)) continue;
        if (best.index < 0 || is_better(values[i], i, best.value, best.index)) best = {values[i], i};
    }
#pragma unroll
    for (int distance = kWarp / 2; distance > 0; distance /= 2) {
        const float value = __shfl_xor_sync(kAllLanes, best.value, distance);
        const int index = __shfl_xor_sync(kAllLanes, best.index, distance);
        if (index >= 0 && (best.index < 0 || is_better(value, index, best.value, best.index))) best = {value, index};
    }
    return best;
}

__device__ inline float exponential_below(float logit, float largest) {
    return logit == largest ? 1.0f : expf(logit - largest);  // also where both are infinite
}

__device__ inline float score_of(RouterScoring scoring, float logit) {
    if (scoring == RouterScoring::kSigmoid) return 1.0f / (1.0f + expf(-logit));
    if (scoring == RouterScoring::kSqrtSoftplus) {
        return sqrtf(fminf(fmaxf(logit, 0.0f) + log1pf(expf(-fabsf(logit))), FLT_MAX));
    }
    return logit;
}

__device__ inline void mix(const RouterSpec& spec, const float* logits, const std::int32_t* experts, float* weights) {
    for (int a = 0; a < spec.n_active; ++a) {
        const float best = logits[experts[a]];
        float sum = 0.0f;
        for (int e = 0; e < spec.n_experts; ++e) {
            bool counts = !((best - logits[e]) / fmaxf(fabsf(logits[e]), best) > spec.jitter);
            for (int before = 0; before < a; ++before) counts = counts && experts[before] != e;
            if (counts) sum += exponential_below(logits[e], best);
        }
        weights[a] = spec.scale / sum;
    }
}

// One warp per token.
__global__ void __launch_bounds__(kWarp) choose(RouterSpec spec, RouterRules rules, RouterArrays arrays,
                                                const float* logits, std::int32_t* experts, float* weights) {
    const int n = spec.n_experts;
    float* values = shared_memory<float>();  // (n_experts): the values that are compared
    float* scores = values + n;              // (n_experts)
    float* groups = scores + n;              // (n_groups)
    const int lane = static_cast<int>(threadIdx.x);
    logits += static_cast<std::int64_t>(blockIdx.x) * n;
    experts += static_cast<std::int64_t>(blockIdx.x) * spec.n_active;
    weights += static_cast<std::int64_t>(blockIdx.x) * spec.n_active;

    float largest = -INFINITY;
    for (int e = lane; e < n; e += kWarp) largest = fmaxf(largest, without_nan(logits[e]));
    largest = warp_max(largest);
    float sum = 0.0f;
    for (int e = lane; e < n; e += kWarp) {
        const float logit = without_nan(logits[e]);
        scores[e] =
            spec.scoring == RouterScoring::kSoftmax ? exponential_below(logit, largest) : score_of(spec.scoring, logit);
        sum += scores[e];
    }
    sum = warp_sum(sum);
    for (int e = lane; e < n; e += kWarp) {
        if (spec.scoring == RouterScoring::kSoftmax) scores[e] /= sum;
        const float bias = arrays.selection_bias == nullptr ? 0.0f : arrays.selection_bias[e];
        values[e] = !rules.by_score          ? without_nan(logits[e] + bias)
                    : logits[e] == logits[e] ? without_nan(scores[e] + bias)
                                             : -INFINITY;
    }
    __syncwarp();

    // The groups that count, a bit each.
    const int group_size = n / spec.n_groups;
    std::uint64_t used = ~std::uint64_t{0};
    if (rules.n_groups_used < spec.n_groups) {
        for (int g = lane; g < spec.n_groups; g += kWarp) {
            float best = -INFINITY;
            float second = -INFINITY;
            for (int e = g * group_size; e < (g + 1) * group_size; ++e) {
                second = fmaxf(second, fminf(best, values[e]));
                best = fmaxf(best, values[e]);
            }
            const bool both = spec.group_score == GroupScore::kSumOfTwoBest && group_size > 1;
            groups[g] = both ? without_nan(best + second) : best;
        }
        __syncwarp();
        used = 0;
        Best last = {INFINITY, -1};
        for (int i = 0; i < rules.n_groups_used; ++i) {
            last = next_best(groups, spec.n_groups, last, [](int) { return true; });
            used |= std::uint64_t{1} << last.index;
        }
    }

    Best last = {INFINITY, -1};
    float chosen_largest = -INFINITY;
    for (int a = 0; a < spec.n_active; ++a) {
        last = next_best(values, n, last, [&](int e) { return ((used >> (e / group_size)) & 1) != 0; });
        const float logit = rules.bias_in_logits ? last.value : without_nan(logits[last.index]);
        chosen_largest = fmaxf(chosen_largest, logit);
        if (lane == 0) {
            experts[a] = last.index;
            weights[a] = logit;
        }
    }
    if (lane != 0) return;
    if (spec.scoring == RouterScoring::kSparseMixer) {
        mix(spec, values, experts, weights);
    } else {
        float total = 0.0f;
        for (int a = 0; a < spec.n_active; ++a) {
            const float weight =
                rules.softmax_of_chosen ? exponential_below(weights[a], chosen_largest) : scores[experts[a]];
            weights[a] = weight;
            total += weight;
        }
        if (!rules.softmax_of_chosen) total += spec.denominator_floor;
        const bool divide = rules.softmax_of_chosen || (spec.renormalise && total > 0.0f);
        for (int a = 0; a < spec.n_active; ++a) weights[a] = (divide ? weights[a] / total : weights[a]) * spec.scale;
    }
    if (arrays.expert_scale == nullptr) return;
    for (int a = 0; a < spec.n_active; ++a) weights[a] *= arrays.expert_scale[experts[a]];
}

}  // namespace

std::uint64_t router_scratch_bytes(const CudaStep& step) {
    return Scratch::rounded(static_cast<std::size_t>(step.n_tokens * step.n_experts) * sizeof(float));
}

}  // namespace offstage::kernels::cuda

namespace offstage::kernels::ops {

using namespace cuda;

void compute(Worker& worker, const Route& op) {
    const RouterSpec& spec = op.spec;
    if (spec.n_experts > kMostExperts || spec.n_active > spec.n_experts || spec.n_groups > kMostExpertGroups) {
        worker.failure.set("The router's kernel serves up to 4096 experts, all different, in up to 64 groups.");
        return;
    }
    if (op.n <= 0) return;
    worker.scratch.restart();
    auto* logits = worker.scratch.take<float>(op.n * spec.n_experts);
    if (logits == nullptr) {
        worker.lacks_scratch();
        return;
    }
    const WeightView view{op.arrays.gate, WeightType::kF32, spec.n_experts, op.hidden_dim};
    multiply_heads(worker, view, 1, {op.x, op.hidden_dim, 0}, op.n, {logits, spec.n_experts, 0});
    const std::size_t floats = static_cast<std::size_t>(2 * spec.n_experts + spec.n_groups);
    worker.start(choose, blocks_for(op.n, 1), kWarp, floats * sizeof(float), spec,
                 rules_of(spec, op.arrays.selection_bias != nullptr), op.arrays, logits, op.experts, op.weights);
}

}  // namespace offstage::kernels::ops
