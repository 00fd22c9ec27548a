#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device/backend.h"
#include "engine/experts/slot_heap.h"

namespace offstage::engine {

// Room on the device for experts on their way (Mixtral-Offloading, 3.3: b buffers shared by all layers). All slots are
// of one size, that of the largest format in force. Some are kept for copies that nobody has asked for yet (speculative
// loading); those evict nothing before they are used. One thread, the engine's.
class Staging {
  public:
    struct Slot {
        SlotHeap::Slot memory;  // empty: lent out, see ExpertStore::admit
        DeviceEvent free;       // when what was done with its content has ended
        // Speculative slots: whose copy is in it or on its way; -1: nobody's.
        std::int64_t expert = -1;
        DeviceEvent copied;
        std::int64_t content = -1;  // whose copy came last
    };

    Staging() = default;

    std::uint64_t slot_bytes() const { return slot_bytes_; }
    std::int64_t n_slots() const { return static_cast<std::int64_t>(slots_.size()); }
    // For copies on demand; while a prompt is read, those for guesses are lent to them.
    std::int64_t n_demand() const;
    bool guesses() const { return !lent_ && n_slots() > n_demand_; }
    void lend_guesses(bool lent) { lent_ = lent; }
    Slot& slot(std::size_t i) { return slots_[i]; }

    // For copies on demand: the slot that was handed out longest ago. Nothing when none is there or an expert of this
    // size does not fit.
    std::optional<std::size_t> next(std::uint64_t expert_bytes);

    // The slot with this expert's speculative copy, whole or on its way.
    std::optional<std::size_t> find(std::size_t expert) const;
    // A slot for a speculative copy: an empty one, or one whose content was not asked for by the layer it was made for.
    std::optional<std::size_t> next_speculative(std::uint64_t expert_bytes);
    // Those of layers before this one are worthless from now on (the next token will guess anew).
    void forget_layers_before(std::size_t first_expert);
    void forget_speculation();

    // For the owner of the memory.
    void reset(std::vector<SlotHeap::Slot> memory, std::uint64_t slot_bytes, std::int64_t n_speculative);
    std::vector<Slot>& all() { return slots_; }

  private:
    std::vector<Slot> slots_;  // demand first, then speculative
    std::int64_t n_demand_ = 0;
    bool lent_ = false;
    std::size_t next_ = 0;
    std::uint64_t slot_bytes_ = 0;
};

}  // namespace offstage::engine
