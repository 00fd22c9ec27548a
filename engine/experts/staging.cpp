#include "engine/experts/staging.h"

#include <algorithm>
#include <utility>

namespace offstage::engine {

void Staging::reset(std::vector<SlotHeap::Slot> memory, std::uint64_t slot_bytes, std::int64_t n_speculative) {
    slots_.clear();
    for (const SlotHeap::Slot& piece : memory) {
        Slot slot;
        slot.memory = piece;
        slots_.push_back(slot);
    }
    slot_bytes_ = slot_bytes;
    // Copies on demand come first: speculation gets what is beyond one buffer to fill and one to compute with.
    n_demand_ = std::max(std::min<std::int64_t>(2, n_slots()), n_slots() - n_speculative);
    next_ = 0;
}

std::int64_t Staging::n_demand() const {
    std::int64_t n = 0;
    for (std::int64_t i = 0; i < (lent_ ? n_slots() : n_demand_); ++i) {
        n += slots_[static_cast<std::size_t>(i)].memory ? 1 : 0;
    }
    return n;
}

std::optional<std::size_t> Staging::next(std::uint64_t expert_bytes) {
    if (expert_bytes > slot_bytes_) return std::nullopt;
    const std::int64_t n = lent_ ? n_slots() : n_demand_;
    for (std::int64_t tried = 0; tried < n; ++tried) {
        const std::size_t i = next_++ % static_cast<std::size_t>(n);
        if (slots_[i].memory) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Staging::find(std::size_t expert) const {
    for (std::size_t i = static_cast<std::size_t>(n_demand_); i < slots_.size(); ++i) {
        if (slots_[i].memory && slots_[i].expert == static_cast<std::int64_t>(expert)) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> Staging::next_speculative(std::uint64_t expert_bytes) {
    if (expert_bytes > slot_bytes_) return std::nullopt;
    for (std::size_t i = static_cast<std::size_t>(n_demand_); i < slots_.size(); ++i) {
        if (slots_[i].memory && slots_[i].expert < 0) return i;
    }
    return std::nullopt;
}

void Staging::forget_layers_before(std::size_t first_expert) {
    for (std::size_t i = static_cast<std::size_t>(n_demand_); i < slots_.size(); ++i) {
        if (slots_[i].expert >= 0 && static_cast<std::size_t>(slots_[i].expert) < first_expert) slots_[i].expert = -1;
    }
}

void Staging::forget_speculation() {
    for (Slot& slot : slots_) slot.expert = -1;
}

}  // namespace offstage::engine
