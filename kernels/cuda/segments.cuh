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

// Where one layer's keys and values lie in a block, by KvShape, for device code; in floats.
struct KvPlaces {
    std::int64_t keys = 0;  // of the first head
    std::int64_t values = 0;
    std::int64_t key_head = 0;  // from one head to the next
    std::int64_t value_head = 0;
    std::int64_t key_stride = 0;  // from one token to the next
    std::int64_t value_stride = 0;
};

inline KvPlaces places_in(const KvShape& kv, std::int64_t layer) {
    KvPlaces places;
    places.keys = kv.keys_offset(layer, 0);
    places.values = kv.values_offset(layer, 0);
    places.key_head = kv.keys_offset(layer, 1) - places.keys;
    places.value_head = kv.values_offset(layer, 1) - places.values;
    places.key_stride = kv.key_dim;
    places.value_stride = kv.value_stride();
    return places;
}

// A token's row at the beginning of its block: a layer's and head's is its place further.
__device__ inline float* row_of(float* const* blocks, std::int64_t token, std::int64_t stride) {
    return blocks[token / kKvBlockTokens] + token % kKvBlockTokens * stride;
}
__device__ inline float* key_row(const KvPlaces& places, float* const* blocks, std::int64_t token,
                                 std::int64_t kv_head) {
    return row_of(blocks, token, places.key_stride) + places.keys + kv_head * places.key_head;
}
__device__ inline float* value_row(const KvPlaces& places, float* const* blocks, std::int64_t token,
                                   std::int64_t kv_head) {
    return row_of(blocks, token, places.value_stride) + places.values + kv_head * places.value_head;
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
