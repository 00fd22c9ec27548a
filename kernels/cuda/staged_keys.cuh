#pragma once
// Keys and values of a prompt that lie in host memory. Each tile of queries reads every key that it sees, which would
// come over the bus as often as there are tiles: they are copied to the device's memory first, each once, as many at a
// time as the scratch memory takes.

#include <cstdint>
#include <functional>

#include "kernels/cuda/attention.cuh"

namespace offstage::kernels::cuda {

// Whether the segment's rows are computed so.
inline bool has_staged_keys(const CudaSegment& segment) {
    return segment.n_tokens > kFewTokens && segment.in_host != nullptr;
}

// Of a step whose layers may have this attention: besides the copies of at least a few blocks.
std::uint64_t staged_keys_bytes(const CudaStep& step);

// Where a layer lies in a block, in bytes.
struct LayerPlace {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
};

// Calls attend(segment, range) for one range of keys after the other: the segment's table then has copies in the
// device's memory for what its tiles read. Precondition: has_staged_keys().
void for_staged_keys(const Attention& attention, const CudaSegment& segment, const LayerPlace& layer,
                     const std::function<void(const CudaSegment& segment, const KeyRange& range)>& attend);

}  // namespace offstage::kernels::cuda
