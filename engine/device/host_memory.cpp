#include "engine/device/host_memory.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <exception>
#include <iterator>
#include <new>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

#include "engine/device/counted_bytes.h"
#include "engine/device/host_buffer.h"
#include "engine/device/memory_size.h"

namespace offstage::engine {
namespace {

// The size of free memory is read from two dozen files: not again for each expert of a
// model.
constexpr std::uint64_t kUnseenBytes = std::uint64_t{256} << 20;
constexpr std::size_t kFirstRangeBytes = std::size_t{64} << 20;

void* map(std::size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// Begins at a huge page, so that the kernel can use as many of them as possible.
void* map_at_huge_page(std::size_t bytes) {
    void* const memory = map(bytes + kHugePageBytes);
    if (memory == nullptr) return nullptr;
    auto* const first = static_cast<std::byte*>(memory);
    const std::size_t before =
        (kHugePageBytes - reinterpret_cast<std::uintptr_t>(first) % kHugePageBytes) % kHugePageBytes;
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t end = (before + bytes + page - 1) / page * page;
    if (before > 0) munmap(first, before);
    if (end < bytes + kHugePageBytes) munmap(first + end, bytes + kHugePageBytes - end);
    madvise(first + before, bytes, MADV_HUGEPAGE);  // advice only: the kernel may have none to give
    return first + before;
}

bool addresses_are_limited() {
    for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
        rlimit limit{};
        if (getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return true;
    }
    return false;
}

}  // namespace

bool HostMemory::has_room(std::uint64_t bytes) noexcept {
    if (bytes < kHugePageBytes) return true;
    std::uint64_t unseen = may_give_unseen_;
    while (unseen >= bytes) {
        if (may_give_unseen_.compare_exchange_weak(unseen, unseen - bytes)) return true;
    }
    try {
        const MemorySize ram = memory_size();
        if (ram.total_bytes <= 0) return true;  // unknown
        const std::uint64_t allocated = allocated_bytes_;
        const auto total = static_cast<std::uint64_t>(ram.total_bytes);
        const auto available = static_cast<std::uint64_t>(ram.available_bytes);
        if (bytes > available || allocated + bytes > total) return false;
        may_give_unseen_ = std::min({available - bytes, total - allocated - bytes, kUnseenBytes * 64}) / 64;
        return true;
    } catch (const std::exception&) {  // no memory even to look
        return false;
    }
}

void* HostMemory::allocate(std::size_t bytes) noexcept {
    if (bytes == 0 || !has_room(bytes)) return nullptr;
    void* memory = bytes >= kHugePageBytes ? map_at_huge_page(bytes) : map(bytes);
    if (memory == nullptr) return nullptr;
    allocated_bytes_ += bytes;
    return memory;
}

void HostMemory::release(void* data, std::size_t bytes) noexcept {
    if (data == nullptr) return;
    munmap(data, bytes);
    allocated_bytes_ -= bytes;
}

AddressSpace::~AddressSpace() {
    for (const auto& [begin, range] : ranges_) munmap(begin, range.bytes);
}

bool AddressSpace::add_range(std::size_t bytes) noexcept {
    std::size_t wanted = addresses_are_limited() ? bytes : std::max(kFirstRangeBytes + range_bytes_, bytes);
    void* memory = map(wanted);
    if (memory == nullptr) memory = map(wanted = bytes);
    if (memory == nullptr) return false;
    auto* const begin = static_cast<std::byte*>(memory);
    try {
        ranges_.emplace(begin, Range{wanted});
    } catch (const std::bad_alloc&) {
        munmap(begin, wanted);
        return false;
    }
    newest_ = begin;
    range_bytes_ += wanted;
    return true;
}

void* AddressSpace::allocate(std::size_t bytes) noexcept {
    if (bytes == 0) return nullptr;
    bytes = counted_bytes(bytes);
    const std::lock_guard lock(mutex_);
    auto range = ranges_.find(newest_);
    if (range == ranges_.end() || range->second.bytes - range->second.used < bytes) {
        if (!add_range(bytes)) return nullptr;
        range = ranges_.find(newest_);
    }
    ++range->second.n_blocks;
    return newest_ + std::exchange(range->second.used, range->second.used + bytes);
}

void AddressSpace::release(void* data, std::size_t) noexcept {
    if (data == nullptr) return;
    const std::lock_guard lock(mutex_);
    auto range = ranges_.upper_bound(static_cast<std::byte*>(data));
    const bool known = range != ranges_.begin() && data < std::prev(range)->first + std::prev(range)->second.bytes;
    assert(known && "a block of other memory");
    if (!known) return;
    --range;
    if (--range->second.n_blocks > 0) return;
    munmap(range->first, range->second.bytes);
    range_bytes_ -= range->second.bytes;
    if (range->first == newest_) newest_ = nullptr;
    ranges_.erase(range);
}

}  // namespace offstage::engine
