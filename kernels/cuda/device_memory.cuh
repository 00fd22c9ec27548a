#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "kernels/cuda/handles.cuh"

namespace offstage::kernels::cuda {

// Allocates and releases a GPU's memory without waiting for the GPU: cudaMalloc and
// cudaFree wait for all of its work.
//
// Blocks come from a memory pool of the driver, in the order of a stream that does
// nothing else. A released block becomes free there once both users have reached the
// point of its release, and the users wait for the stream before they go on after an
// allocation. So a block never has two users at once, and the host waits for neither.
// (Other streams may use a block that was allocated before wait_until_usable(), and must
// be idle when it is released.)
//
// The pool keeps released blocks for later allocations while its total size stays within
// a limit. On GPUs without pools, cudaMalloc and cudaFree serve.
//
// Any thread, after open(); the device must be the calling thread's.
class DeviceMemory {
  public:
    DeviceMemory() = default;
    ~DeviceMemory();  // all blocks must be freed, and the users idle
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;

    // users: the two streams that work with the memory; they must outlive this object.
    void open(int ordinal, cudaStream_t first_user, cudaStream_t second_user);

    // 256-byte aligned; nullptr if none is left.
    void* allocate(std::size_t bytes) noexcept;
    void release(void* block) noexcept;
    void wait_until_usable() noexcept;

    // Released memory that the pool keeps beyond the limit returns to the driver, now and
    // after every allocation.
    void set_limit(std::size_t bytes) noexcept;
    // Memory taken from the driver: the blocks, their rounding to pages, and the kept
    // blocks. 0: the driver does not report it.
    std::size_t held_bytes() const noexcept;

  private:
    void* allocate_from_pool(std::size_t bytes) noexcept;
    bool users_wait_for_stream() noexcept;
    void trim() noexcept;

    mutable std::mutex mutex_;
    cudaStream_t users_[2] = {};
    Stream stream_;  // before the pool: it is idle when the pool is destroyed
    Event event_;
    MemoryPool pool_;  // empty: there are none
    std::size_t limit_ = ~std::size_t{0};
};

}  // namespace offstage::kernels::cuda
