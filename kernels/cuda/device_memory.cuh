#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "kernels/cuda/handles.cuh"

namespace offstage::kernels::cuda {

// A GPU's memory, taken and given back without waiting for the GPU: cudaMalloc and
// cudaFree wait for all of its work.
//
// Blocks come from a memory pool of the driver, in the order of a stream that does
// nothing else. A block that is given back becomes free there once both users have come
// to where they were at that moment, and the users wait for the stream before they go on
// after an allocation; so a block is never used by two at once, and the host waits for
// neither. (Other streams may use a block that was allocated before wait_until_usable(),
// and must be idle when it is given back.)
//
// The pool keeps what is given back for the next blocks, as far as all that it has taken
// stays within a limit. Where the GPU has no pools, cudaMalloc and cudaFree serve.
//
// Any thread, after open(); the device must be the calling thread's.
class DeviceMemory {
  public:
    DeviceMemory() = default;
    ~DeviceMemory();  // every block must have been given back, the users be idle
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    // users: the two streams that work with the memory; they must outlive this object.
    void open(int ordinal, cudaStream_t first_user, cudaStream_t second_user);

    // 256-byte aligned; nullptr when there is none left.
    void* allocate(std::size_t bytes) noexcept;
    void release(void* block) noexcept;
    void wait_until_usable() noexcept;

    // Whatever is kept for later and lies beyond the limit goes back to the driver, now
    // and after every allocation.
    void set_limit(std::size_t bytes) noexcept;
    // Taken from the driver: the blocks, what its pages round them up by, and what is
    // kept. 0: it does not say.
    std::size_t held_bytes() const noexcept;

  private:
    void* allocate_from_pool(std::size_t bytes) noexcept;
    bool users_wait_for_stream() noexcept;
    void trim() noexcept;

    mutable std::mutex mutex_;
    cudaStream_t users_[2] = {};
    Stream stream_;  // before the pool: it is idle when the pool goes
    Event event_;
    MemoryPool pool_;  // empty: there are none
    std::size_t limit_ = ~std::size_t{0};
};

}  // namespace offstage::kernels::cuda
