#include "engine/experts/disk_slots.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"

namespace offstage::engine {

DeviceBlock DiskSlots::allocate(std::uint64_t bytes) {
    return ram_.allocate(static_cast<std::size_t>(bytes), MemoryUse::kStaging, "experts read from disk");
}

void DiskSlots::resize(std::int64_t n, std::uint64_t bytes) {
    if (n == size() && bytes <= slot_bytes_) return;
    std::vector<Slot> slots(static_cast<std::size_t>(n));
    for (Slot& slot : slots) slot.memory = allocate(bytes);
    for (const Slot& slot : slots_) device_.host_wait(slot.busy);
    slots_ = std::move(slots);
    slot_bytes_ = bytes;
}

void DiskSlots::shrink(std::int64_t n, std::uint64_t bytes) {
    const auto kept = static_cast<std::size_t>(std::min<std::int64_t>(n, size()));
    const bool smaller = kept > 0 && bytes < slot_bytes_;
    if (kept == slots_.size() && !smaller) return;
    for (const Slot& slot : slots_) device_.host_wait(slot.busy);
    slots_.resize(kept);
    if (kept == 0) slot_bytes_ = 0;
    if (!smaller) return;
    // One after the other: experts on disk have a slot all the time.
    const bool beside = kept == 1;
    for (std::size_t i = 0; i < kept; ++i) {
        try {
            if (!beside) slots_[i].memory = {};
            Slot fresh;
            fresh.memory = allocate(bytes);
            slots_[i] = std::move(fresh);
        } catch (const Error&) {
            if (!beside) slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(i));
            if (i == 0) return;
            break;
        }
    }
    slot_bytes_ = bytes;
}

const std::byte* DiskSlots::find_or_pack(std::size_t expert, std::uint64_t bytes,
                                         const std::function<void(std::byte* block)>& pack) {
    if (slots_.empty() || bytes > slot_bytes_) {
        throw Error(ErrorKind::kOutOfMemory, "RAM has no room for an expert that is on disk; raise the RAM budget.");
    }
    Slot* oldest = &slots_.front();
    for (Slot& slot : slots_) {
        if (slot.expert == static_cast<std::int64_t>(expert)) {
            slot.last_use = ++uses_;
            return slot.memory.data();
        }
        if (slot.last_use < oldest->last_use) oldest = &slot;
    }
    device_.host_wait(oldest->busy);
    oldest->expert = -1;
    const HostWork reading{0, 0, static_cast<double>(bytes)};
    device_.run_on_host(reading, [&] { pack(oldest->memory.data()); });
    oldest->expert = static_cast<std::int64_t>(expert);
    oldest->last_use = ++uses_;
    return oldest->memory.data();
}

void DiskSlots::hold(std::size_t expert, DeviceEvent event) {
    for (Slot& slot : slots_) {
        if (slot.expert == static_cast<std::int64_t>(expert)) slot.busy = event;
    }
}

void DiskSlots::forget(std::size_t expert) {
    for (Slot& slot : slots_) {
        if (slot.expert == static_cast<std::int64_t>(expert)) slot.expert = -1;
    }
}

}  // namespace offstage::engine
