#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/backend.h"
#include "engine/experts/slot_heap.h"

namespace offstage::engine {

// Room on the device for experts being copied (Mixtral-Offloading, 3.3: b buffers shared
// by all layers). Its own slots have one size, that of the largest format in use. Some
// are kept for copies ahead of demand (speculative loading); these evict nothing before
// they are used. While a prompt is read they serve copies on demand as well, in addition
// to borrowed places of experts on the device (PlaceExchange). One thread, the engine's.
class Staging {
  public:
    struct Slot {
        SlotHeap::Slot memory;  // empty: exchanged, see PlaceExchange::admit
        DeviceEvent free;       // when the last use of its content has ended
        // The expert whose copy ahead of demand is in the slot or on its way; -1: none.
        std::int64_t expert = -1;
        DeviceEvent copied;
        std::int64_t content = -1;  // the expert that was copied last
        // For a copy ahead of demand without all of its neurons: the copied ones, in
        // stored order. Empty: it is whole.
        std::vector<std::int32_t> neurons;
        bool awaited = false;     // the present layer still has to compute with its content
        std::int64_t owner = -1;  // the expert whose place this is; -1: staging's own
        bool returning = false;   // the owner is being copied back, until `copied`
        int refusals = 0;         // of the owner's copy
    };

    Staging() = default;

    std::uint64_t slot_bytes() const { return slot_bytes_; }
    std::int64_t n_slots() const { return n_own_; }  // its own
    std::int64_t n_borrowed() const { return static_cast<std::int64_t>(slots_.size()) - n_own_; }
    // The number of slots for copies on demand; while a prompt is read, includes those
    // for guesses and borrowed ones.
    std::int64_t n_demand() const;
    bool guesses() const { return !prompt_ && n_own_ > n_demand_; }
    void read_prompt(bool prompt) { prompt_ = prompt; }
    Slot& slot(std::size_t i) { return slots_[i]; }

    // The slot for a copy on demand, or for a prompt's copy ahead: the least recently
    // used of those that are large enough and whose content is no longer needed.
    std::optional<std::size_t> next(std::uint64_t expert_bytes);

    // The slot with this expert's copy ahead of demand, complete or on its way.
    std::optional<std::size_t> find(std::size_t expert) const;
    // A slot for a speculative copy: an empty one, or one whose layer did not call its
    // content.
    std::optional<std::size_t> next_speculative(std::uint64_t expert_bytes);
    void forget_speculation();

    // For the memory's owner. reset(): precondition n_borrowed() == 0.
    void reset(std::vector<SlotHeap::Slot> memory, std::uint64_t slot_bytes, std::int64_t n_speculative);
    std::vector<Slot>& all() { return slots_; }
    void add_borrowed(SlotHeap::Slot memory, std::size_t owner, DeviceEvent free);
    void remove_borrowed(std::size_t slot);  // invalidates the numbers of the borrowed slots behind it

  private:
    std::vector<Slot> slots_;  // its own (demand first, then speculative), then the borrowed ones
    std::int64_t n_own_ = 0;
    std::int64_t n_demand_ = 0;
    bool prompt_ = false;
    std::size_t next_ = 0;
    std::uint64_t slot_bytes_ = 0;
};

}  // namespace offstage::engine
