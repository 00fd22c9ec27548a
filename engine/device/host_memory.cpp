#include "engine/device/host_memory.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
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
    for (const Range& range : ranges_) munmap(range.begin, range.bytes);
}

bool AddressSpace::add_range(std::size_t bytes) noexcept {
    std::size_t before = kFirstRangeBytes;
    for (const Range& range : ranges_) before += range.bytes;
    std::size_t wanted = addresses_are_limited() ? bytes : std::max(before, bytes);
    void* begin = map(wanted);
    if (begin == nullptr) begin = map(wanted = bytes);
    if (begin == nullptr) return false;
    try {
        ranges_.push_back({static_cast<std::byte*>(begin), wanted});
        return true;
    } catch (const std::bad_alloc&) {
        munmap(begin, wanted);
        return false;
    }
}

void* AddressSpace::allocate(std::size_t bytes) noexcept {
    bytes = counted_bytes(bytes);
    const std::lock_guard lock(mutex_);
    if ((ranges_.empty() || ranges_.back().bytes - ranges_.back().used < bytes) && !add_range(bytes)) return nullptr;
    Range& range = ranges_.back();
    ++range.n_blocks;
    return range.begin + std::exchange(range.used, range.used + bytes);
}

void AddressSpace::release(void* data, std::size_t) noexcept {
    if (data == nullptr) return;
    const std::lock_guard lock(mutex_);
    const auto range = std::find_if(ranges_.begin(), ranges_.end(), [data](const Range& each) {
        return std::less_equal<>()(each.begin, data) && std::less<>()(data, each.begin + each.bytes);
    });
    if (--range->n_blocks > 0) return;
    munmap(range->begin, range->bytes);
    ranges_.erase(range);
}

}  // namespace offstage::engine
