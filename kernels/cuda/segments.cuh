#pragma once
// The segments of a step as kernel parameters: few enough to fit (4 KiB on every GPU), so that nothing needs uploading.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda_context.h"

namespace offstage::kernels::cuda {

constexpr int kSegmentsPerLaunch = 32;

struct SegmentList {
    CudaSegment segments[kSegmentsPerLaunch];
    std::int64_t first_unit[kSegmentsPerLaunch + 1];  // rows or tiles of the segments before
    int n = 0;
};

// Which segment a unit belongs to.
__device__ inline int segment_of(const SegmentList& list, std::int64_t unit) {
    int index = 0;
    while (index + 1 < list.n && unit >= list.first_unit[index + 1]) ++index;
    return index;
}

// KvShape::part_offset() for device code.
__device__ inline std::int64_t part_offset(const KvShape& kv, std::int64_t layer, std::int64_t part,
                                           std::int64_t kv_head) {
    return ((layer * 2 + part) * kv.n_kv_heads + kv_head) * kKvBlockTokens * kv.head_dim;
}

// A key's row in the first part of its block: its key and its value of a layer and head are part_offset() further.
__device__ inline float* row_of(float* const* blocks, std::int64_t key, std::int64_t head_dim) {
    return blocks[key / kKvBlockTokens] + key % kKvBlockTokens * head_dim;
}

// Calls body(list) for up to kSegmentsPerLaunch segments at a time; units(segment) says how many each has, 0: skip it.
template <typename Units, typename Body>
void for_segment_lists(const CudaSegment* segments, std::size_t n_segments, const Units& units, const Body& body) {
    SegmentList list;
    list.first_unit[0] = 0;
    for (std::size_t s = 0; s < n_segments; ++s) {
        const std::int64_t n_units = units(segments[s]);
        if (n_units > 0) {
            list.segments[list.n] = segments[s];
            list.first_unit[list.n + 1] = list.first_unit[list.n] + n_units;
            ++list.n;
        }
        if (list.n == kSegmentsPerLaunch || (s + 1 == n_segments && list.n > 0)) {
            body(list);
            list.n = 0;
        }
    }
}

}  // namespace offstage::kernels::cuda
