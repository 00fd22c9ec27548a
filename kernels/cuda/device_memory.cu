#include "kernels/cuda/device_memory.cuh"

namespace offstage::kernels::cuda {
namespace {

bool succeeds(cudaError_t status) {
    if (status == cudaSuccess) return true;
    (void)cudaGetLastError();
    return false;
}

bool create_pool(MemoryPool& pool, int ordinal) {
    int supported = 0;
    if (!succeeds(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, ordinal)) || supported == 0) {
        return false;
    }
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;  // the only kind: memory that stays at its address
    properties.handleTypes = cudaMemHandleTypeNone;
    properties.location.type = cudaMemLocationTypeDevice;
    properties.location.id = ordinal;
    if (!succeeds(cudaMemPoolCreate(pool.out(), &properties))) return false;
    // With the default threshold the pool would return all memory at each
    // synchronization.
    std::uint64_t threshold = ~std::uint64_t{0};
    return succeeds(cudaMemPoolSetAttribute(pool.get(), cudaMemPoolAttrReleaseThreshold, &threshold));
}

}  // namespace

DeviceMemory::~DeviceMemory() {
    wait_until_usable();
}

void DeviceMemory::open(int ordinal, cudaStream_t first_user, cudaStream_t second_user) {
    users_[0] = first_user;
    users_[1] = second_user;
    if (!succeeds(create_stream(stream_, true)) ||
        !succeeds(cudaEventCreateWithFlags(event_.out(), cudaEventDisableTiming)) || !create_pool(pool_, ordinal)) {
        pool_.reset();
    }
}

void* DeviceMemory::allocate(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (pool_.get() != nullptr) return allocate_from_pool(bytes);
    void* block = nullptr;
    return succeeds(cudaMalloc(&block, bytes)) ? block : nullptr;
}

void* DeviceMemory::allocate_from_pool(std::size_t bytes) noexcept {
    void* block = nullptr;
    if (!succeeds(cudaMallocFromPoolAsync(&block, bytes, pool_.get(), stream_.get()))) {
        // Memory is short: wait for blocks that are being released, and return the blocks
        // of other sizes that the pool keeps.
        block = nullptr;
        (void)succeeds(cudaStreamSynchronize(stream_.get()));
        (void)succeeds(cudaMemPoolTrimTo(pool_.get(), 0));
        if (!succeeds(cudaMallocFromPoolAsync(&block, bytes, pool_.get(), stream_.get()))) return nullptr;
    }
    if (!users_wait_for_stream() && !succeeds(cudaStreamSynchronize(stream_.get()))) {
        (void)succeeds(cudaFreeAsync(block, stream_.get()));
        return nullptr;
    }
    if (held_bytes() > limit_) trim();
    return block;
}

bool DeviceMemory::users_wait_for_stream() noexcept {
    if (!succeeds(cudaEventRecord(event_.get(), stream_.get()))) return false;
    for (const cudaStream_t user : users_) {
        if (!succeeds(cudaStreamWaitEvent(user, event_.get(), 0))) return false;
    }
    return true;
}

void DeviceMemory::release(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    if (pool_.get() == nullptr) {
        (void)succeeds(cudaFree(block));
        return;
    }
    for (const cudaStream_t user : users_) {
        // An event may be recorded anew once a stream waits for it.
        if (succeeds(cudaEventRecord(event_.get(), user)) &&
            succeeds(cudaStreamWaitEvent(stream_.get(), event_.get(), 0))) {
            continue;
        }
        (void)succeeds(cudaStreamSynchronize(user));
    }
    (void)succeeds(cudaFreeAsync(block, stream_.get()));
}

void DeviceMemory::wait_until_usable() noexcept {
    if (stream_.get() != nullptr) (void)succeeds(cudaStreamSynchronize(stream_.get()));
}

void DeviceMemory::set_limit(std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    limit_ = bytes;
    if (pool_.get() == nullptr) return;
    if (held_bytes() <= limit_) return;
    // Includes blocks that were released just now. Budgets change between two steps, when
    // there is little to wait for.
    (void)succeeds(cudaStreamSynchronize(stream_.get()));
    trim();
}

void DeviceMemory::trim() noexcept {
    (void)succeeds(cudaMemPoolTrimTo(pool_.get(), limit_));
}

std::size_t DeviceMemory::held_bytes() const noexcept {
    std::uint64_t held = 0;
    if (pool_.get() == nullptr ||
        !succeeds(cudaMemPoolGetAttribute(pool_.get(), cudaMemPoolAttrReservedMemCurrent, &held))) {
        return 0;
    }
    return held;
}

}  // namespace offstage::kernels::cuda
