#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"

namespace offstage::engine {

// Room in RAM for experts on disk: each is packed from its master when it is called, into
// the slot that was used longest ago. One thread, the engine's.
class DiskSlots {
  public:
    // The referents must outlive this object.
    DiskSlots(Backend& device, Arena& ram) : device_(device), ram_(ram) {}

    std::int64_t size() const { return static_cast<std::int64_t>(slots_.size()); }
    std::uint64_t slot_bytes() const { return slot_bytes_; }

    // So many slots of `bytes`; as they are where there are as many, and large enough.
    // Throws Error (kOutOfMemory); then the old ones stay.
    void resize(std::int64_t n, std::uint64_t bytes);
    // As many and as large as that where there are more or larger ones. What cannot be
    // exchanged for a smaller one stays. Throws nothing.
    void shrink(std::int64_t n, std::uint64_t bytes);

    // The expert's block of `bytes`, filled by `pack` unless it is there already; valid
    // until size() other experts were asked for. Throws Error: kOutOfMemory without a
    // slot that is large enough, and what pack throws.
    const std::byte* find_or_pack(std::size_t expert, std::uint64_t bytes,
                                  const std::function<void(std::byte* block)>& pack);
    // The expert's block is read until `event`.
    void hold(std::size_t expert, DeviceEvent event);
    // Its block is not what it was.
    void forget(std::size_t expert);

  private:
    struct Slot {
        DeviceBlock memory;
        std::int64_t expert = -1;
        std::uint64_t last_use = 0;
        DeviceEvent busy;
    };

    DeviceBlock allocate(std::uint64_t bytes);

    Backend& device_;
    Arena& ram_;
    std::vector<Slot> slots_;
    std::uint64_t slot_bytes_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace offstage::engine
