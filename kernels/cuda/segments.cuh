#pragma once
// The segments of a step as kernel parameters: few enough to fit (4 KiB on every GPU), so
// that nothing needs uploading.

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/numbers.cuh"
#include "kernels/cuda/operations.cuh"

namespace offstage::kernels::cuda {

constexpr int kSegmentsPerLaunch = 32;

struct SegmentList {
    CudaSegment segments[kSegmentsPerLaunch];
    std::int64_t first_unit[kSegmentsPerLaunch + 1] = {};  // rows or tiles of the segments before
    int n = 0;
};

// Tokens of the sequence before the segment's.
__device__ inline std::int64_t past_of(const CudaSegment& segment) {
    return segment.device_past == nullptr ? segment.past : *segment.device_past;
}

// The segment of a unit.
__device__ inline int segment_of(const SegmentList& list, std::int64_t unit) {
    int index = 0;
    while (index + 1 < list.n && unit >= list.first_unit[index + 1]) ++index;
    return index;
}

// The places of one layer's keys and values in a block, from KvShape, for device code; in
// bytes.
struct KvPlaces {
    KvType type = KvType::kF32;
    std::int64_t key_dim = 0;
    std::int64_t value_dim = 0;  // of a row in the block
    std::int64_t keys = 0;       // of the first head
    std::int64_t values = 0;
    std::int64_t key_head = 0;  // from one head to the next
    std::int64_t value_head = 0;
    std::int64_t key_stride = 0;  // from one token to the next
    std::int64_t value_stride = 0;
    std::int64_t key_tokens = 1;  // KvShape's
};

inline KvPlaces places_in(const KvShape& kv, std::int64_t layer) {
    KvPlaces places;
    places.type = kv.type;
    places.key_dim = kv.key_dim;
    places.value_dim = kv.values_in_keys ? kv.key_dim : kv.value_dim;
    places.keys = kv.keys_offset(layer, 0);
    places.values = kv.values_offset(layer, 0);
    places.key_head = kv.keys_offset(layer, 1) - places.keys;
    places.value_head = kv.values_offset(layer, 1) - places.values;
    places.key_stride = kv.key_stride();
    places.value_stride = kv.value_stride();
    places.key_tokens = kv.key_tokens;
    return places;
}

__device__ inline std::byte* cached_row(std::byte* const* blocks, std::int64_t token, std::int64_t stride) {
    return blocks[token / kKvBlockTokens] + token % kKvBlockTokens * stride;
}
__device__ inline std::byte* key_row(const KvPlaces& places, std::byte* const* blocks, std::int64_t token,
                                     std::int64_t kv_head) {
    return cached_row(blocks, token, places.key_stride) + places.keys + kv_head * places.key_head;
}
// The same for any key_tokens, of the one head.
__device__ inline std::byte* pooled_row(const KvPlaces& places, std::byte* const* blocks, std::int64_t key) {
    if (places.key_tokens == 1) return key_row(places, blocks, key, 0);
    const std::int64_t last = (key + 1) * places.key_tokens - 1;
    return blocks[last / kKvBlockTokens] + last % kKvBlockTokens / places.key_tokens * places.key_stride + places.keys;
}
__device__ inline std::byte* value_row(const KvPlaces& places, std::byte* const* blocks, std::int64_t token,
                                       std::int64_t kv_head) {
    return cached_row(blocks, token, places.value_stride) + places.values + kv_head * places.value_head;
}

// The scales of an int8 row of n values: see kv_scales_offset().
__device__ inline std::int64_t device_scales_offset(std::int64_t n) {
    return (n + 3) / 4 * 4;
}

// Value i of a cached row of n values.
__device__ inline float cached_value(KvType type, const std::byte* row, std::int64_t n, std::int64_t i) {
    if (type == KvType::kF32) return reinterpret_cast<const float*>(row)[i];
    if (type == KvType::kBf16) return widen(reinterpret_cast<const Bf16*>(row)[i]);
    const float scale = reinterpret_cast<const float*>(row + device_scales_offset(n))[i / kKvScaleGroup];
    return scale * static_cast<float>(reinterpret_cast<const std::int8_t*>(row)[i]);
}

// Values i .. i + 3; 4 divides i and n.
__device__ inline float4 four_cached_values(KvType type, const std::byte* row, std::int64_t n, std::int64_t i) {
    if (type == KvType::kF32) return *reinterpret_cast<const float4*>(row + 4 * i);
    if (type == KvType::kBf16) {
        const uint2 bits = *reinterpret_cast<const uint2*>(row + 2 * i);
        return make_float4(__uint_as_float(bits.x << 16), __uint_as_float(bits.x & 0xffff0000u),
                           __uint_as_float(bits.y << 16), __uint_as_float(bits.y & 0xffff0000u));
    }
    const float scale = reinterpret_cast<const float*>(row + device_scales_offset(n))[i / kKvScaleGroup];
    const unsigned codes = *reinterpret_cast<const unsigned*>(row + i);
    const auto value = [&](int at) { return scale * static_cast<float>(static_cast<std::int8_t>(codes >> 8 * at)); };
    return make_float4(value(0), value(1), value(2), value(3));
}

inline bool has_keys_in_host(const AttentionSegment& segment) {
    for (const std::uint8_t in_host : segment.in_host) {
        if (in_host == 1) return true;
    }
    return false;
}

// The segments for kernels, in worker.segments.
inline const std::vector<CudaSegment>& device_segments(Worker& worker, Span<AttentionSegment> segments) {
    worker.segments.clear();
    // So that one token's launches equal those of the next token: see
    // CudaContext::begin_repeated().
    const bool one = worker.graphs && segments.size() == 1 && segments[0].n_tokens == 1;
    for (const AttentionSegment& segment : segments) {
        const bool in_host = segment.n_tokens > 1 && has_keys_in_host(segment);
        worker.segments.push_back({segment.first_row, segment.n_tokens, segment.past, segment.device_blocks,
                                   one ? segment.device_past : nullptr, in_host ? segment.in_host.data() : nullptr,
                                   in_host ? segment.blocks.data() : nullptr});
    }
    return worker.segments;
}

inline CudaSegment segment_for_kernel(CudaSegment segment) {
    segment.in_host = nullptr;  // these two: the host's
    segment.host_table = nullptr;
    if (segment.device_past != nullptr) segment.past = 0;  // the same for each token
    return segment;
}

// Calls body(list) for up to kSegmentsPerLaunch segments at a time. units(segment): their
// number for each, 0: skip it.
template <typename Units, typename Body>
void for_segment_lists(const CudaSegment* segments, std::size_t n_segments, const Units& units, const Body& body) {
    SegmentList list;
    list.first_unit[0] = 0;
    for (std::size_t s = 0; s < n_segments; ++s) {
        const std::int64_t n_units = units(segments[s]);
        if (n_units > 0) {
            list.segments[list.n] = segment_for_kernel(segments[s]);
            list.first_unit[list.n + 1] = list.first_unit[list.n] + n_units;
            ++list.n;
        }
        if (list.n == kSegmentsPerLaunch || (s + 1 == n_segments && list.n > 0)) {
            body(list);
            list.n = 0;
        }
    }
}

template <typename Units, typename Body>
void for_segment_lists(const std::vector<CudaSegment>& segments, const Units& units, const Body& body) {
    for_segment_lists(segments.data(), segments.size(), units, body);
}

}  // namespace offstage::kernels::cuda
