#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/experts/page_locker.h"
#include "engine/message.h"

namespace offstage::engine {

// Slots of different sizes in one arena: experts' copies, which change their format and
// so their size while a budget moves. Each slot is a separate piece of the arena's
// memory, allocated on demand and returned on release, so that a smaller budget is met to
// the byte and nothing is moved to close gaps. (Slots that shared larger pieces would
// keep those whole for a single expert in them, and moving it needs room that a full
// budget does not have.) One thread.
class SlotHeap {
  public:
    struct Slot {
        std::byte* data = nullptr;
        std::uint64_t bytes = 0;  // the requested size
        explicit operator bool() const { return data != nullptr; }
    };

    // The referents must outlive this object.
    SlotHeap(Arena& arena, MemoryUse use, MessageArgument purpose);
    ~SlotHeap();
    SlotHeap(SlotHeap&& other) noexcept = default;
    SlotHeap& operator=(SlotHeap&& other) noexcept = default;

    // Page-locks slots from now on, within the budget; nullptr: none. locker: unlocks
    // released slots and returns them to the arena, beside the caller; nullptr: release()
    // does it. It must outlive this object.
    void set_pinning(Backend* backend, std::uint64_t budget_bytes, PageLocker* locker = nullptr);

    // Page-locking takes tens of milliseconds for an expert that no page of is in memory
    // yet. kLater: the caller does it, on any thread (to_pin()).
    enum class Pinning : std::uint8_t { kNow, kLater };
    // kNow: if the arena has no room, waits for memory that is being unlocked. Throws
    // Error (kOutOfMemory).
    Slot allocate(std::uint64_t bytes, Pinning pinning = Pinning::kNow);
    // The device whose pin() must be called for all of the slot's bytes; nullptr: none.
    // Its budget is kept for it. Call pinned() with the outcome before the slot is
    // released.
    Backend* to_pin(Slot slot) const;
    enum class Pinned : std::uint8_t { kYes, kRefused, kNotTried };
    void pinned(Slot slot, Pinned outcome);
    void release(Slot slot);  // an empty slot: nothing happens

    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t room() const { return arena_->available_bytes(); }  // that the arena's budget leaves
    std::uint64_t pinned_bytes() const { return pinned_bytes_; }      // of these, including pending ones
    std::vector<std::span<const std::byte>> pieces() const;           // by address

  private:
    struct Piece {
        DeviceBlock memory;
        bool pinned = false;
        bool waits = false;  // for pinned()
    };

    DeviceBlock take(std::uint64_t bytes, Pinning pinning);
    void give_back(Piece& piece);

    Arena* arena_ = nullptr;
    MemoryUse use_ = MemoryUse::kExperts;
    MessageArgument purpose_;
    Backend* pins_ = nullptr;
    PageLocker* locker_ = nullptr;
    std::uint64_t pin_budget_bytes_ = 0;
    std::uint64_t pinned_bytes_ = 0;
    std::uint64_t bytes_ = 0;
    std::map<const std::byte*, Piece> pieces_;  // by address
};

}  // namespace offstage::engine
