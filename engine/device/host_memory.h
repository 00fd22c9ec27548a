#pragma once

#include "engine/device/arena.h"

namespace offstage::engine {

// Zeroed memory straight from the system, huge pages where it gives them, pages taken as they are touched (HostBuffer's
// way): the source of arenas that lie in RAM.
class HostMemory final : public MemorySource {
  public:
    void* allocate(std::size_t bytes) noexcept override;
    void release(void* data, std::size_t bytes) noexcept override;
};

}  // namespace offstage::engine
