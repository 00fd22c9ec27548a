// The router: a product for the logits, then a warp per token that chooses.
// kernels::route() defines the result. Of one token in decode the last block of the
// product chooses, and the product's blocks make their input from the residual stream
// (decode_kernels.cuh).

#include <cfloat>
#include <cmath>

#include "kernels/cuda/decode_kernels.cuh"
#include "kernels/cuda/input_rounding.cuh"
#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"
#include "kernels/cuda/row_norm.cuh"
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

// Floats of shared memory for choose_experts().
__host__ __device__ inline std::int64_t choice_floats(const RouterSpec& spec) {
    return 2 * std::int64_t{spec.n_experts} + spec.n_groups + 2 * std::int64_t{spec.n_active};
}

// One token's choice, by the warp of threads 0 .. 31. shared: choice_floats().
__device__ inline void choose_experts(const RouterSpec& spec, const RouterRules& rules, const RouterArrays& arrays,
                                      const float* by_token, const float* logits_of_blocks, float* shared,
                                      std::int32_t* chosen, float* chosen_weights) {
    const int n = spec.n_experts;
    float* values = shared;                   // (n_experts): the values that are compared
    float* scores = values + n;               // (n_experts)
    float* groups = scores + n;               // (n_groups)
    float* weights = groups + spec.n_groups;  // (n_active)
    auto* experts = reinterpret_cast<std::int32_t*>(weights + spec.n_active);  // (n_active)
    const int lane = static_cast<int>(threadIdx.x);
    const WrittenByOthers logits{logits_of_blocks};

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
    for (int i = lane; by_token != nullptr && i < arrays.n_by_token; i += kWarp) {
        values[static_cast<int>(by_token[i])] = INFINITY;
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
    if (lane == 0 && spec.scoring == RouterScoring::kSparseMixer) {
        mix(spec, values, experts, weights);
    } else if (lane == 0) {
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
    __syncwarp();
    for (int a = lane; a < spec.n_active; a += kWarp) {
        const std::int32_t expert = experts[a];
        chosen[a] = expert;
        chosen_weights[a] = arrays.expert_scale == nullptr ? weights[a] : weights[a] * arrays.expert_scale[expert];
    }
}

// One warp per token.
__global__ void __launch_bounds__(kWarp) choose(RouterSpec spec, RouterRules rules, RouterArrays arrays,
                                                const float* logits, std::int32_t* experts, float* weights) {
    const std::int64_t token = blockIdx.x;
    choose_experts(spec, rules, arrays, arrays.table_row(token), logits + token * spec.n_experts,
                   shared_memory<float>(), experts + token * spec.n_active, weights + token * spec.n_active);
}

constexpr int kDecodeThreads = 128;
constexpr int kDecodeWarps = kDecodeThreads / kWarp;
constexpr std::int64_t kLeastDecodeBlocks = 8;
constexpr std::int64_t kMostDecodeBlocks = 32;

struct DecodeRouter {
    NormWeights norm;
    const float* x;
    float* normalised;
    unsigned char* prepared;
    RouterSpec spec;
    RouterRules rules;
    RouterArrays arrays;
    float* logits;
    std::int32_t* experts;
    float* weights;
    unsigned* arrived;
};

// Each block norms the whole row for itself; together they write it and what `kForm`
// makes of it. kType: of split inputs.
template <DecodeInputs kForm, WeightType kType>
__global__ void __launch_bounds__(kDecodeThreads, 8) route_token(DecodeRouter job) {
    const std::int64_t dim = job.norm.dim;
    float* const h = shared_memory<float>();  // (dim), then what the choice needs
    float* const sums = h + dim;              // (kRowWarps)
    const int lane = static_cast<int>(threadIdx.x) % kWarp;
    const std::int64_t first_warp = std::int64_t{blockIdx.x} * kDecodeWarps + threadIdx.x / kWarp;
    const std::int64_t n_warps = std::int64_t{gridDim.x} * kDecodeWarps;
    let_next_begin();
    for (std::int64_t expert = first_warp; expert < job.spec.n_experts; expert += n_warps) {
        prefetch_row(reinterpret_cast<const unsigned char*>(job.arrays.gate + expert * dim),
                     dim * std::int64_t{sizeof(float)}, lane);
    }
    wait_for_previous();
    const float factor = rms_factor(job.x, dim, job.norm.eps, sums);
    for (std::int64_t i = threadIdx.x; i < dim; i += kDecodeThreads) {
        h[i] = normed(job.x[i], factor, job.norm.weight, i);
    }
    __syncthreads();
    for (std::int64_t part = first_warp; part * kWarp < dim; part += n_warps) {
        const std::int64_t column = part * kWarp + lane;
        if (column < dim) job.normalised[column] = h[column];
        if constexpr (kForm == DecodeInputs::kRounded) store_rounded(h[column], column, dim, job.prepared);
        if constexpr (kForm == DecodeInputs::kSplit) {
            if (part % 2 == 0) split_block<kType>(h, part / 2, dim, lane, job.prepared);
        }
    }
    for (std::int64_t expert = first_warp; expert < job.spec.n_experts; expert += n_warps) {
        const float* const rows[1] = {job.arrays.gate + expert * dim};
        const float* const inputs[1] = {h};
        float sum[1][1] = {};
        add_products<float, 1, 1, true>(rows, inputs, dim, lane, sum);
        const float logit = warp_sum(sum[0][0]);
        if (lane == 0) job.logits[expert] = logit;
    }
    if (!is_last_block(job.arrived, gridDim.x, reinterpret_cast<int*>(sums)) || threadIdx.x >= kWarp) return;
    choose_experts(job.spec, job.rules, job.arrays, job.arrays.table_row(0), job.logits, h, job.experts, job.weights);
}

// The row and a sum of each warp, or the choice.
std::int64_t decode_router_floats(const ops::DecodeExperts& op) {
    const std::int64_t row = op.norm.dim + kRowWarps;
    const std::int64_t choice = choice_floats(op.router);
    return row > choice ? row : choice;
}

}  // namespace

std::uint64_t router_scratch_bytes(const CudaStep& step) {
    return Scratch::rounded(static_cast<std::size_t>(step.n_tokens * step.n_experts) * sizeof(float));
}

bool routes_in_one_kernel(const ops::DecodeExperts& op) {
    const RouterSpec& spec = op.router;
    const std::int64_t dim = op.norm.dim;
    return op.norm.kind == NormKind::kRms && dim % kPackedBlock == 0 && is_aligned(op.arrays.gate) &&
           spec.n_active <= spec.n_experts && spec.n_groups <= kMostExpertGroups &&
           decode_router_floats(op) * 4 <= 48 * 1024;
}

void route_in_one_kernel(Worker& worker, const ops::DecodeExperts& op, DecodeInputs form, float* logits,
                         unsigned char* prepared) {
    const DecodeRouter job{op.norm,    op.x,           op.normalised,
                           prepared,   op.router,      rules_of(op.router, op.arrays.selection_bias != nullptr),
                           op.arrays,  logits,         op.chosen,
                           op.weights, worker.arrivals};
    const std::int64_t wanted = blocks_for(op.router.n_experts, kDecodeWarps);
    const auto n_blocks = static_cast<unsigned>(wanted < kLeastDecodeBlocks  ? kLeastDecodeBlocks
                                                : wanted > kMostDecodeBlocks ? kMostDecodeBlocks
                                                                             : wanted);
    const auto start = [&](auto* kernel) {
        worker.start_dependent(kernel, n_blocks, kDecodeThreads,
                               static_cast<std::size_t>(decode_router_floats(op)) * sizeof(float), job);
    };
    switch (form) {
        case DecodeInputs::kFloat:
            start(route_token<DecodeInputs::kFloat, WeightType::kF32>);
            return;
        case DecodeInputs::kRounded:
            start(route_token<DecodeInputs::kRounded, WeightType::kF32>);
            return;
        case DecodeInputs::kSplit:
            with_packed_type(op.layout.gate,
                             [&](auto packed) { start(route_token<DecodeInputs::kSplit, decltype(packed)::value>); });
            return;
    }
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
    worker.start(choose, blocks_for(op.n, 1), kWarp, static_cast<std::size_t>(choice_floats(spec)) * sizeof(float),
                 spec, rules_of(spec, op.arrays.selection_bias != nullptr), op.arrays, logits, op.experts, op.weights);
}

}  // namespace offstage::kernels::ops
