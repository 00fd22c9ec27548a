#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"

namespace offstage::engine {

// Slots of different sizes in one arena: experts' copies, which change their format and so their size while a budget
// moves. Memory is taken from the arena in slabs of some slots and given back as soon as a slab is empty, so that a
// smaller budget is felt. One thread.
class SlotHeap {
  public:
    struct Slot {
        std::byte* data = nullptr;
        std::uint64_t bytes = 0;  // as asked for
        explicit operator bool() const { return data != nullptr; }
    };

    SlotHeap() = default;
    // Slabs of about slab_bytes; 0: one slot each. The referents must outlive this object.
    SlotHeap(Arena& arena, MemoryUse use, std::string purpose, std::uint64_t slab_bytes);
    ~SlotHeap();
    SlotHeap(SlotHeap&& other) noexcept = default;
    SlotHeap& operator=(SlotHeap&& other) noexcept = default;

    // From now on slabs are page-locked as far as the budget goes; nullptr: none are.
    void set_pinning(Backend* backend, std::uint64_t budget_bytes);

    // A hole that is large enough, or a new slab for up to `expected` slots of this size (this one among them). Throws
    // Error (kOutOfMemory).
    Slot allocate(std::uint64_t bytes, std::int64_t expected = 1);
    void release(Slot slot);  // an empty slot: nothing happens

    std::uint64_t bytes() const;         // in slabs
    std::uint64_t pinned_bytes() const;  // of these
    // One slab after the other.
    std::vector<std::span<const std::byte>> slabs() const;

  private:
    struct Hole {
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };
    struct Slab {
        DeviceBlock memory;
        std::vector<Hole> holes;  // ascending, never touching each other
        std::int64_t n_slots = 0;
        bool pinned = false;
    };

    static Slot cut(Slab& slab, std::size_t hole, std::uint64_t bytes);
    void unpin(Slab& slab);

    Arena* arena_ = nullptr;
    MemoryUse use_ = MemoryUse::kExperts;
    std::string purpose_;
    std::uint64_t slab_bytes_ = 0;
    Backend* pins_ = nullptr;
    std::uint64_t pin_budget_bytes_ = 0;
    std::uint64_t pinned_bytes_ = 0;
    std::vector<Slab> slabs_;
};

}  // namespace offstage::engine
