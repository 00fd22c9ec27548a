#include "engine/device/host_memory.h"

#include <exception>
#include <sys/mman.h>

#include "engine/device/host_buffer.h"
#include "engine/device/memory_size.h"

namespace offstage::engine {
namespace {

// Small pieces are not worth reading /proc for.
bool has_room(std::uint64_t bytes, std::uint64_t allocated) noexcept {
    if (bytes < kHugePageBytes) return true;
    try {
        const MemorySize ram = memory_size();
        if (ram.total_bytes <= 0) return true;  // unknown
        return bytes <= static_cast<std::uint64_t>(ram.available_bytes) &&
               allocated + bytes <= static_cast<std::uint64_t>(ram.total_bytes);
    } catch (const std::exception&) {  // no memory even to look
        return false;
    }
}

}  // namespace

void* HostMemory::allocate(std::size_t bytes) noexcept {
    if (bytes == 0 || !has_room(bytes, allocated_bytes_)) return nullptr;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (bytes >= kHugePageBytes)
        madvise(memory, bytes, MADV_HUGEPAGE);  // advice only: the kernel may have none to give
    allocated_bytes_ += bytes;
    return memory;
}

void HostMemory::release(void* data, std::size_t bytes) noexcept {
    if (data == nullptr) return;
    munmap(data, bytes);
    allocated_bytes_ -= bytes;
}

void* AddressSpace::allocate(std::size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

void AddressSpace::release(void* data, std::size_t bytes) noexcept {
    if (data != nullptr) munmap(data, bytes);
}

}  // namespace offstage::engine
