#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/message.h"

namespace offstage::engine {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;

// Zeroed anonymous memory from the system. Pages take RAM only when they are first
// touched. The system is asked for huge pages (one TLB entry for 2 MiB keeps sequential
// reads at the memory's speed). Movable owner.
class HostBuffer {
  public:
    HostBuffer() = default;
    // Throws Error (kOutOfMemory) naming `purpose` and the size, also where require_ram()
    // does.
    HostBuffer(std::size_t bytes, const MessageArgument& purpose);
    ~HostBuffer();
    HostBuffer(HostBuffer&& other) noexcept;
    HostBuffer& operator=(HostBuffer&& other) noexcept;

    std::byte* data() { return data_; }
    const std::byte* data() const { return data_; }
    std::size_t size() const { return bytes_; }

  private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

// Throws Error (kOutOfMemory) when `bytes` for `purpose` are more than the machine or a
// limit of this program has to give (memory_size()): the system itself would hand out the
// addresses and end the program later.
void require_ram(std::uint64_t bytes, const MessageArgument& purpose);

}  // namespace offstage::engine
