// The runtime's memory: the GPU's with guards around each piece, memory pools, host
// memory that is page-locked, and copies.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

#include "tests/cuda_host/host_state.h"

using cuda_host::all_idle;
using cuda_host::answer;
using cuda_host::begin;
using cuda_host::enqueue_locked;
using cuda_host::guards_intact;
using cuda_host::Host;
using cuda_host::host;

namespace {

constexpr std::size_t kGuardBytes = 256;
constexpr unsigned char kGuard = 0xa5;
constexpr unsigned char kUninitialised = 0xff;  // a NaN as float, bf16 and f16

void set_guards(std::byte* data, std::size_t bytes) {
    std::memset(data - kGuardBytes, kGuard, kGuardBytes);
    std::memset(data + bytes, kGuard, kGuardBytes);
#if defined(__SANITIZE_ADDRESS__)
    __asan_poison_memory_region(data - kGuardBytes, kGuardBytes);
    __asan_poison_memory_region(data + bytes, kGuardBytes);
#endif
}

// Memory of the GPU with room for guards; nullptr: none is left.
std::byte* take_memory(std::size_t bytes) {
    auto* const all =
        static_cast<std::byte*>(::operator new (bytes + 2 * kGuardBytes, std::align_val_t{kGuardBytes}, std::nothrow));
    return all == nullptr ? nullptr : all + kGuardBytes;
}

void give_memory_back(std::byte* place, [[maybe_unused]] std::size_t bytes) {
    std::byte* const all = place - kGuardBytes;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(all, bytes + 2 * kGuardBytes);
#endif
    ::operator delete (all, std::align_val_t{kGuardBytes});
}

// Whether [data, data + bytes) lies in one allocation.
bool is_device_memory(const void* data, std::size_t bytes) {
    auto* begin_of = static_cast<std::byte*>(const_cast<void*>(data));
    const auto& all = host().allocations;
    auto next = all.upper_bound(begin_of);
    if (next == all.begin()) return false;
    --next;
    return begin_of + bytes <= next->first + next->second.bytes;
}

// Whether all of [data, data + bytes) is page-locked, in one piece.
bool is_registered(const void* data, std::size_t bytes) {
    auto* const begins = static_cast<std::byte*>(const_cast<void*>(data));
    const auto& all = host().registered;
    const auto next = all.upper_bound(begins);
    if (next == all.begin()) return false;
    const auto& [first, memory] = *std::prev(next);
    return begins + bytes <= first + memory.bytes;
}

}  // namespace

namespace cuda_host {

bool guards_intact([[maybe_unused]] std::byte* data, [[maybe_unused]] std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    return true;  // a write there would have ended the program
#else
    const auto is_guard = [](std::byte value) { return value == std::byte{kGuard}; };
    return std::all_of(data - kGuardBytes, data, is_guard) &&
           std::all_of(data + bytes, data + bytes + kGuardBytes, is_guard);
#endif
}

}  // namespace cuda_host

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
    const std::lock_guard lock(host().mutex);
    *total_bytes = host().settings.memory_bytes;
    *free_bytes = host().settings.memory_bytes - host().allocated_bytes;
    return begin("cudaMemGetInfo");
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    *data = nullptr;
    const cudaError_t status = begin("cudaMalloc", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (bytes > h.settings.memory_bytes - h.allocated_bytes) return answer(cudaErrorMemoryAllocation);
    std::byte* const place = take_memory(bytes);
    if (place == nullptr) return answer(cudaErrorMemoryAllocation);
    std::memset(place, kUninitialised, bytes);
    set_guards(place, bytes);
    h.allocations[place] = {bytes};
    h.allocated_bytes += bytes;
    *data = place;
    return cudaSuccess;
}

// Waits for the device first, as the real one does.
cudaError_t cudaFree(void* data) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaFree");
    h.changed.wait(lock, [&] { return all_idle(); });
    const auto found = h.allocations.find(static_cast<std::byte*>(data));
    if (found == h.allocations.end()) {
        h.problems.push_back("an address that was not allocated was freed");
        return answer(cudaErrorInvalidValue);
    }
    if (!guards_intact(found->first, found->second.bytes)) {
        h.problems.push_back("something wrote beside an allocation of " + std::to_string(found->second.bytes) +
                             " bytes");
    }
    h.allocated_bytes -= found->second.bytes;
    give_memory_back(found->first, found->second.bytes);
    h.allocations.erase(found);
    return status;
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaMemPoolCreate");
    if (status != cudaSuccess) return status;
    if (!h.settings.memory_pools || properties->allocType != cudaMemAllocationTypePinned ||
        properties->location.type != cudaMemLocationTypeDevice || properties->location.id >= h.settings.n_devices) {
        return answer(cudaErrorInvalidValue);
    }
    *pool = new HostPool;
    h.pools.insert(*pool);
    return cudaSuccess;
}

namespace {

void trim(HostPool& pool, std::size_t bytes_to_keep) {
    while (pool.reserved_bytes > bytes_to_keep && !pool.kept.empty()) {
        const auto largest = std::prev(pool.kept.end());
        pool.reserved_bytes -= largest->first;
        host().allocated_bytes -= largest->first;
        give_memory_back(largest->second, largest->first);
        pool.kept.erase(largest);
    }
}

}  // namespace

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    (void)begin("cudaMemPoolDestroy");
    if (h.pools.erase(pool) == 0) return answer(cudaErrorInvalidValue);
    h.changed.wait(lock, [&] { return all_idle(); });
    trim(*pool, 0);
    if (pool->reserved_bytes > 0) h.problems.push_back("a memory pool was destroyed with blocks in use");
    delete pool;
    return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void*) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemPoolSetAttribute");
    if (status != cudaSuccess) return status;
    return attribute == cudaMemPoolAttrReleaseThreshold ? cudaSuccess : answer(cudaErrorInvalidValue);
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemPoolGetAttribute");
    if (status != cudaSuccess) return status;
    if (attribute != cudaMemPoolAttrReservedMemCurrent) return answer(cudaErrorInvalidValue);
    const std::uint64_t reserved = pool->reserved_bytes;
    std::memcpy(value, &reserved, sizeof reserved);
    return cudaSuccess;
}

// As the real one: blocks that a stream has yet to free stay.
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes_to_keep) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemPoolTrimTo");
    if (status != cudaSuccess) return status;
    trim(*pool, bytes_to_keep);
    return cudaSuccess;
}

// Waits for nothing. The block is usable once the stream has come so far, and no sooner:
// it is filled with NaNs then.
cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    *data = nullptr;
    const cudaError_t status = begin("cudaMallocFromPoolAsync", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (h.pools.count(pool) == 0 || h.streams.count(stream) == 0) return answer(cudaErrorInvalidValue);
    const std::size_t page = h.settings.pool_page_bytes;
    const std::size_t taken = (bytes + page - 1) / page * page;
    std::byte* place = nullptr;
    if (const auto kept = pool->kept.find(taken); kept != pool->kept.end() && h.settings.pools_reuse) {
        place = kept->second;
        pool->kept.erase(kept);
    } else {
        // When memory is short it releases its kept blocks.
        if (taken > h.settings.memory_bytes - h.allocated_bytes) trim(*pool, 0);
        if (taken > h.settings.memory_bytes - h.allocated_bytes) return answer(cudaErrorMemoryAllocation);
        place = take_memory(taken);
        if (place == nullptr) return answer(cudaErrorMemoryAllocation);
        pool->reserved_bytes += taken;
        h.allocated_bytes += taken;
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(place, taken);
#endif
    }
    h.allocations[place] = {taken, pool};
    enqueue_locked(stream, [place, taken] {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(place - kGuardBytes, taken + 2 * kGuardBytes);
#endif
        std::memset(place, kUninitialised, taken);
        set_guards(place, taken);
    });
    *data = place;
    return cudaSuccess;
}

// Waits for nothing. After that point of the stream the block must not be used.
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
    Host& h = host();
    std::unique_lock lock(h.mutex);
    const cudaError_t status = begin("cudaFreeAsync");
    // A real lost GPU runs nothing any more; here started work runs to its end.
    if (h.lost) h.changed.wait(lock, [&] { return all_idle(); });
    const auto found = h.allocations.find(static_cast<std::byte*>(data));
    if (found == h.allocations.end() || found->second.pool == nullptr) {
        h.problems.push_back("an address that was not allocated in a pool was freed");
        return answer(cudaErrorInvalidValue);
    }
    std::byte* const place = found->first;
    const std::size_t taken = found->second.bytes;
    HostPool* const pool = found->second.pool;
    h.allocations.erase(found);
    enqueue_locked(stream, [place, taken, pool] {
        const std::lock_guard task_lock(host().mutex);
        if (!guards_intact(place, taken)) {
            host().problems.push_back("something wrote beside an allocation of " + std::to_string(taken) + " bytes");
        }
        std::memset(place, kUninitialised, taken);
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(place, taken);
#endif
        pool->kept.emplace(taken, place);
    });
    return status;
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned flags) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaHostRegister", cudaErrorMemoryAllocation);
    if (status != cudaSuccess) return status;
    if (!h.registered.try_emplace(static_cast<std::byte*>(data), Host::Registered{bytes, flags}).second) {
        return answer(cudaErrorHostMemoryAlreadyRegistered);
    }
    return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* data) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaHostUnregister");
    if (status != cudaSuccess) return status;
    return h.registered.erase(static_cast<std::byte*>(data)) == 1 ? cudaSuccess
                                                                  : answer(cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* data, unsigned) {
    Host& h = host();
    const std::lock_guard lock(h.mutex);
    const cudaError_t status = begin("cudaHostGetDevicePointer");
    if (status != cudaSuccess) return status;
    auto* const place = static_cast<std::byte*>(data);
    const auto next = h.registered.upper_bound(place);
    if (next == h.registered.begin()) return answer(cudaErrorInvalidValue);
    const auto& [begins, memory] = *std::prev(next);
    if (place >= begins + memory.bytes || (memory.flags & cudaHostRegisterMapped) == 0) {
        return answer(cudaErrorInvalidValue);
    }
    *device = data;
    return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const std::lock_guard lock(host().mutex);
    const cudaError_t status = begin("cudaMemcpyAsync");
    if (status != cudaSuccess) return status;
    // Unified addressing: the addresses themselves identify their memory.
    const bool to_device = kind == cudaMemcpyDefault ? is_device_memory(to, bytes) : kind == cudaMemcpyHostToDevice;
    if (!is_device_memory(to_device ? to : from, bytes)) return answer(cudaErrorInvalidValue);
    const void* const other = to_device ? from : to;
    if (is_device_memory(other, bytes)) {
        enqueue_locked(stream, [=] { std::memcpy(to, from, bytes); });
        return cudaSuccess;
    }
    if (!is_registered(other, bytes)) host().pageable_copies.push_back(bytes);
    enqueue_locked(stream, [=] {
        const std::lock_guard engine(host().copy_engines[to_device ? 0 : 1]);
        std::memcpy(to, from, bytes);
    });
    return cudaSuccess;
}
