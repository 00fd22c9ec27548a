#pragma once
// A block of one query's scores in an online softmax, over Vector. Include it after the
// header of an instruction set.

#include <cmath>
#include <cstdint>

namespace offstage::kernels {
namespace {

// Turns the scores of kVectors * kLanes keys into e^(scale * score - m) for the first
// n_seen, 0 beyond. m is the largest scaled score of the query so far, kept in `largest`;
// `sum` is the sum of all exponentials so far. keep(v, values) stores vector v of them,
// and returns the values to sum. Returns the factor for the earlier sums.
template <int kVectors, typename Keep>
__attribute__((always_inline)) inline float exponentiate_block(const float* scores, std::int64_t n_seen, float scale,
                                                               float& largest, float& sum, const Keep& keep) {
    Vector scaled[kVectors];
    Vector block_largest = broadcast(-INFINITY);
    for (int v = 0; v < kVectors; ++v) {
        const std::int64_t n_lanes = n_seen - v * kLanes;
        if (n_lanes <= 0) break;
        scaled[v] = multiply(load(scores + v * kLanes), broadcast(scale));
        if (n_lanes < kLanes) {
            float lanes[kLanes];
            store(lanes, scaled[v]);
            for (auto lane = static_cast<int>(n_lanes); lane < kLanes; ++lane) lanes[lane] = -INFINITY;
            scaled[v] = load(lanes);
        }
        block_largest = maximum(block_largest, scaled[v]);
    }
    const float before = largest;
    const float in_block = largest_lane(block_largest);
    if (in_block > before) largest = in_block;
    const Vector offset = broadcast(largest);
    Vector block_sum = zero();
    for (int v = 0; v < kVectors; ++v) {
        block_sum = add(block_sum, keep(v, n_seen > v * kLanes ? exponential(subtract(scaled[v], offset)) : zero()));
    }
    float factor = 1.0f;
    if (before != largest) {
        float lanes[kLanes];
        store(lanes, exponential(broadcast(before - largest)));
        factor = lanes[0];
    }
    sum = sum * factor + sum_of_lanes(block_sum);
    return factor;
}

}  // namespace
}  // namespace offstage::kernels
