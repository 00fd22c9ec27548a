#include "engine/device/host_memory.h"

#include <sys/mman.h>

namespace offstage::engine {

void* HostMemory::allocate(std::size_t bytes) noexcept {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    madvise(memory, bytes, MADV_HUGEPAGE);  // advice only: the kernel may have none to give
    return memory;
}

void HostMemory::release(void* data, std::size_t bytes) noexcept {
    munmap(data, bytes);
}

}  // namespace offstage::engine
