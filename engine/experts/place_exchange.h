#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/experts/disk_slots.h"
#include "engine/experts/expert_table.h"
#include "engine/experts/placement_learner.h"
#include "engine/experts/staging.h"

namespace offstage::engine {

// Experts that give their places on the device to others, or to staging for a while. A
// copy on its way to the device is not there before it is whole. One thread, the
// engine's.
class PlaceExchange {
  public:
    // The referents must outlive this object.
    PlaceExchange(ExpertTable& table, const DiskSlots& disk_slots, Staging& staging)
        : table_(table), disk_slots_(disk_slots), staging_(staging) {}

    // ---- the cache: an expert in a staging slot may stay
    // The expert in this staging slot, which has been used, takes the place of `victim`,
    // which must be large enough (place_bytes): places of staging's size are exchanged,
    // into another place it is copied within the device. A victim without a copy in RAM
    // gets the admitted one's room, or new room if that is too small (swap: device and
    // RAM together hold each expert once), and its place is free only when that is done.
    // False when that cannot be.
    bool admit(std::size_t staging_slot, std::size_t admitted, std::size_t victim);

    // ---- while a prompt is read
    // This expert's place serves as one more staging slot; until the expert is restored,
    // it is in RAM only. False where it cannot be spared: pinned, moving, or without a
    // copy in RAM.
    bool borrow_slot(std::size_t index);
    // False: poll() restores the experts whose places were borrowed, one copy at a time.
    void set_borrowing(bool borrowing) { borrowing_ = borrowing; }

    // ---- by live counts
    // Gives one expert's place on the device to another of its format, in the background:
    // the first leaves at once, the second is usable once poll() finds its copy complete.
    // False when that cannot be now (another is under way, no RAM copy, the device
    // refused).
    bool begin(const Exchange& exchange);
    bool exchanging() const { return exchange_.has_value(); }

    // Stays true until poll() ends the work; borrowed places are restored once
    // set_borrowing(false) was called.
    bool busy() const { return exchange_.has_value() || !leaving_.empty() || staging_.n_borrowed() > 0; }
    bool swapping() const { return !leaving_.empty(); }
    // Between two layers: finished copies become visible, and memory that no operation
    // reads any more is released.
    void poll();

  private:
    using Entry = ExpertTable::Entry;
    struct Exchanging {
        std::size_t admitted;
        SlotHeap::Slot slot;
        DeviceEvent done;
    };
    // Swap mode: the victim's bytes on their way to RAM.
    struct Leaving {
        std::size_t admitted;
        std::size_t victim;
        SlotHeap::Slot ram;  // the room for the victim's bytes
        std::size_t staging_slot;
        DeviceEvent done;
    };

    void take_place(std::size_t staging_slot, SlotHeap::Slot staged, std::size_t admitted, std::size_t victim);
    void restore_borrowed();

    ExpertTable& table_;
    const DiskSlots& disk_slots_;
    Staging& staging_;
    std::optional<Exchanging> exchange_;
    std::vector<Leaving> leaving_;
    bool borrowing_ = false;
};

}  // namespace offstage::engine
