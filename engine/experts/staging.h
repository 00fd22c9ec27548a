#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/backend.h"
#include "engine/experts/slot_heap.h"

namespace offstage::engine {

// Room on the device for experts on their way (Mixtral-Offloading, 3.3: b buffers shared
// by all layers). Its own slots are of one size, that of the largest format in force.
// Some are kept for copies that nobody has asked for yet (speculative loading); those
// evict nothing before they are used. While a prompt is read these serve copies on demand
// as well, and the places of experts on the device are borrowed on top (PlaceExchange).
// One thread, the engine's.
class Staging {
  public:
    struct Slot {
        SlotHeap::Slot memory;  // empty: exchanged, see PlaceExchange::admit
        DeviceEvent free;       // when what was done with its content has ended
        // Whose copy, that nobody has asked for yet, is in it or on its way; -1: nobody's.
        std::int64_t expert = -1;
        DeviceEvent copied;
        std::int64_t content = -1;  // whose copy came last
        // Of a copy made unasked without all of its neurons: those that are there, as they lie. Empty: it is whole.
        std::vector<std::int32_t> neurons;
        bool awaited = false;     // the layer at hand has yet to compute with its content
        std::int64_t owner = -1;  // the expert whose place this is; -1: staging's own
        bool returning = false;   // the owner's copy is on its way back; `copied` says until when
        int refusals = 0;         // of that copy
    };

    Staging() = default;

    std::uint64_t slot_bytes() const { return slot_bytes_; }
    std::int64_t n_slots() const { return n_own_; }  // its own
    std::int64_t n_borrowed() const { return static_cast<std::int64_t>(slots_.size()) - n_own_; }
    // For copies on demand; while a prompt is read, those for guesses and those of
    // borrowed slots serve them.
    std::int64_t n_demand() const;
    bool guesses() const { return !prompt_ && n_own_ > n_demand_; }
    void read_prompt(bool prompt) { prompt_ = prompt; }
    Slot& slot(std::size_t i) { return slots_[i]; }

    // For copies on demand, and a prompt's ahead of demand: of the slots that are large enough and hold nothing that is
    // still wanted, the one that was handed out longest ago.
    std::optional<std::size_t> next(std::uint64_t expert_bytes);

    // The slot with this expert's copy made unasked, whole or on its way.
    std::optional<std::size_t> find(std::size_t expert) const;
    // A slot for a speculative copy: an empty one, or one whose content was not asked for by the layer it was made for.
    std::optional<std::size_t> next_speculative(std::uint64_t expert_bytes);
    void forget_speculation();

    // For the owner of the memory. reset(): precondition n_borrowed() == 0.
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
