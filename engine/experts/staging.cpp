#include "engine/experts/staging.h"

#include <algorithm>
#include <cassert>

namespace offstage::engine {

void Staging::reset(std::vector<SlotHeap::Slot> memory, std::uint64_t slot_bytes, std::int64_t n_speculative) {
    assert(n_borrowed() == 0);
    slots_.clear();
    for (const SlotHeap::Slot& piece : memory) {
        Slot slot;
        slot.memory = piece;
        slots_.push_back(slot);
    }
    slot_bytes_ = slot_bytes;
    n_own_ = static_cast<std::int64_t>(slots_.size());
    // Copies on demand come first: speculation gets the slots beyond one to fill and one
    // to compute with.
    n_demand_ = std::max(std::min<std::int64_t>(2, n_own_), n_own_ - n_speculative);
    next_ = 0;
}

std::int64_t Staging::n_demand() const {
    const auto end = slots_.begin() + static_cast<std::ptrdiff_t>(prompt_ ? slots_.size() : std::size_t(n_demand_));
    return std::count_if(slots_.begin(), end, [](const Slot& slot) { return slot.memory && !slot.returning; });
}

std::optional<std::size_t> Staging::next(std::uint64_t expert_bytes) {
    const std::size_t n = prompt_ ? slots_.size() : static_cast<std::size_t>(n_demand_);
    for (std::size_t tried = 0; tried < n; ++tried) {
        const std::size_t i = next_++ % n;
        const Slot& slot = slots_[i];
        if (slot.memory.bytes >= expert_bytes && !slot.awaited && !slot.returning && slot.expert < 0) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Staging::find(std::size_t expert) const {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (slots_[i].memory && slots_[i].expert == static_cast<std::int64_t>(expert)) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Staging::next_speculative(std::uint64_t expert_bytes) {
    for (std::int64_t i = n_demand_; i < n_own_; ++i) {
        const Slot& slot = slots_[static_cast<std::size_t>(i)];
        if (slot.memory.bytes >= expert_bytes && slot.expert < 0) return static_cast<std::size_t>(i);
    }
    return std::nullopt;
}

void Staging::forget_speculation() {
    for (Slot& slot : slots_) {
        slot.expert = -1;
        slot.awaited = false;
    }
}

void Staging::add_borrowed(SlotHeap::Slot memory, std::size_t owner, DeviceEvent free) {
    Slot slot;
    slot.memory = memory;
    slot.owner = static_cast<std::int64_t>(owner);
    slot.free = free;
    slots_.push_back(slot);
}

void Staging::remove_borrowed(std::size_t slot) {
    assert(slots_[slot].owner >= 0);
    slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(slot));
}

}  // namespace offstage::engine
