#include "engine/device/host_buffer.h"

#include <sys/mman.h>
#include <utility>

#include "engine/device/device_messages.h"
#include "engine/device/memory_size.h"
#include "engine/error.h"

namespace offstage::engine {

HostBuffer::HostBuffer(std::size_t bytes, const MessageArgument& purpose) : bytes_(bytes) {
    if (bytes == 0) return;
    if (bytes >= kHugePageBytes) require_ram(bytes, purpose);  // smaller pieces are not worth reading /proc for
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        bytes_ = 0;
        throw Error(ErrorKind::kOutOfMemory, messages::no_memory_for(purpose, ByteSize{bytes}));
    }
    madvise(memory, bytes, MADV_HUGEPAGE);  // advice only: the kernel may have none to give
    data_ = static_cast<std::byte*>(memory);
}

HostBuffer::~HostBuffer() {
    if (data_ != nullptr) munmap(data_, bytes_);
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

HostBuffer& HostBuffer::operator=(HostBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

void require_ram(std::uint64_t bytes, const MessageArgument& purpose) {
    const MemorySize memory = memory_size();
    const auto available = static_cast<std::uint64_t>(memory.available_bytes);
    if (memory.total_bytes == 0 || bytes <= available) return;  // 0: unknown
    throw Error(ErrorKind::kOutOfMemory, messages::memory_not_free(purpose, ByteSize{bytes}, free_memory_text(memory),
                                                                   ByteSize{bytes - available}));
}

}  // namespace offstage::engine
