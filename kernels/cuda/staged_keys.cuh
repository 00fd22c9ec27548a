#pragma once
// Keys and values of a prompt that lie in host memory. Each tile of queries reads every
// key that it sees; read in place, keys would cross the bus once for each tile. So they
// are copied to the device's memory first, each once, one range of keys after the other.
// There is room for two ranges: one is copied while attention reads the other, and the
// first two of a layer may be fetched while the layer before computes its products. The
// copies have their own queue, since they wait for attention, and the copies of experts
// need not.

#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/cuda/attention.cuh"
#include "kernels/cuda/handles.cuh"

namespace offstage::kernels::cuda {

// Whether the segment's rows are computed with staged keys.
inline bool has_staged_keys(const CudaSegment& segment) {
    return segment.n_tokens > kFewTokens && segment.in_host != nullptr;
}

// Scratch memory for a step whose layers may have this attention, in addition to that of
// StagedKeys.
std::uint64_t staged_keys_scratch_bytes(const CudaStep& step);

// A layer's place in a block, in bytes.
struct LayerPlace {
    std::int64_t offset = 0;
    std::int64_t bytes = 0;
};
inline LayerPlace layer_place(const KvShape& kv, std::int64_t layer) {
    return {kv.keys_offset(layer, 0), kv.layer_token_bytes() * kKvBlockTokens};
}

// The two copies of a layer's blocks. One thread; the device must be the calling
// thread's. Failures are the worker's.
class StagedKeys {
  public:
    cudaError_t open();
    // Bytes of device memory for such steps; 0: they stage nothing.
    static std::uint64_t bytes_for(const CudaStep& step);
    // Until the next call; nothing may still be copied.
    void set_memory(void* data, std::size_t bytes);

    // Begins to copy the first blocks of a segment with has_staged_keys(), as far as they
    // hold only keys before `past`. The blocks must not change until for_staged_keys()
    // with the same segment, or forget().
    void fetch(Worker& worker, std::int64_t window, const CudaSegment& segment, const LayerPlace& layer);
    // Fetched keys will not be used. Later work on the compute queue runs after their
    // copies.
    void forget(Worker& worker);
    bool has_fetched() const { return !halves_[0].sources.empty() || !halves_[1].sources.empty(); }

  private:
    friend void for_staged_keys(const Attention& attention, const CudaSegment& segment, const LayerPlace& layer,
                                const std::function<void(const CudaSegment& segment, const KeyRange& range)>& attend);
    struct Half {
        std::byte* data = nullptr;
        std::vector<const std::byte*> sources;  // the copied blocks, one after the other
        Event copied;
    };

    std::int64_t n_slots(const LayerPlace& layer) const { return static_cast<std::int64_t>(half_bytes_) / layer.bytes; }
    // Fills the half with copies of these blocks; blocks that it has already are not
    // copied again. The copies run after all work that the compute queue has by now.
    void copy(Worker& worker, Half& half, const std::vector<const std::byte*>& sources, std::int64_t bytes);
    void await(Worker& worker, Half& half);  // the compute queue does

    Event computed_;
    Half halves_[2];
    std::size_t half_bytes_ = 0;
    std::vector<const std::byte*> sources_;  // kept, so that a step allocates nothing
    Stream copies_;
};

// Calls attend(segment, range) for one range of keys after the other: the segment's table
// then has copies in the device's memory for what its tiles read. Precondition:
// has_staged_keys().
void for_staged_keys(const Attention& attention, const CudaSegment& segment, const LayerPlace& layer,
                     const std::function<void(const CudaSegment& segment, const KeyRange& range)>& attend);

}  // namespace offstage::kernels::cuda
