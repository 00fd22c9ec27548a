#include "engine/experts/disk_slots.h"

#include <algorithm>
#include <utility>

#include "engine/error.h"
#include "engine/experts/experts_messages.h"

namespace offstage::engine {

using Urgency = ExpertReader::Urgency;

void DiskSlots::set_reader(ExpertReader* reader, Begin begin) {
    reader_ = reader;
    begin_ = std::move(begin);
}

DeviceBlock DiskSlots::allocate(std::uint64_t bytes) {
    const auto take = [&] {
        return ram_.allocate(static_cast<std::size_t>(bytes), MemoryUse::kStaging, messages::experts_read_from_disk);
    };
    try {
        return take();
    } catch (const Error&) {
        if (locker_ == nullptr || !locker_->wait()) throw;  // memory that is being unlocked may be enough
    }
    return take();
}

// No read may run meanwhile, here and below.
void DiskSlots::drop_buffers() {
    if (!has_buffers()) return;
    reader_->set_buffers({}, nullptr);
    buffers_ = {};
}

void DiskSlots::make_buffers() {
    const ReadBuffers buffers = read_buffers_for(slot_bytes_, size());
    DeviceBlock memory = allocate(buffers.bytes());
    reader_->set_buffers(buffers, memory.data());
    buffers_ = std::move(memory);
}

void DiskSlots::give_up_reads() {
    needed_.clear();
    guesses_.clear();
    for (Slot& slot : slots_) {
        slot.needed = false;
        if (slot.read == nullptr) continue;
        reader_->cancel(slot.read);
        reader_->drain(slot.read);
        if (!reader_->is_whole(slot.read)) slot.expert = -1;
        slot.read = nullptr;
    }
}

void DiskSlots::add_slots(std::int64_t n, std::uint64_t bytes) {
    const auto made = [this](std::int64_t count, std::uint64_t each) {
        std::vector<Slot> slots(static_cast<std::size_t>(count));
        for (Slot& slot : slots) slot.memory = new_slot(each);
        return slots;
    };
    const bool larger = bytes > slot_bytes_;
    if (larger) {
        for (const Slot& slot : slots_) device_.host_wait(slot.busy);
    }
    std::vector<Slot> fresh;
    try {
        fresh = made(n, bytes);
    } catch (const Error&) {
        if (!larger || slots_.empty()) throw;
        // There may be room without the old ones.
        const std::int64_t n_old = size();
        slots_.clear();
        try {
            fresh = made(n, bytes);
        } catch (const Error&) {
            slots_ = made(n_old, slot_bytes_);
            throw;
        }
    }
    if (larger) slots_.clear();
    slot_bytes_ = bytes;
    for (Slot& slot : fresh) slots_.push_back(std::move(slot));
}

void DiskSlots::resize(std::int64_t n, std::uint64_t bytes, bool buffered) {
    buffered = buffered && reader_ != nullptr && n > 0;
    const bool larger = bytes > slot_bytes_;
    if (n == size() && !larger && buffered == has_buffers()) return;
    give_up_reads();
    const std::int64_t n_more = larger ? n : n - size();
    if (n_more < 0) {
        shrink(n, slot_bytes_, buffered);
    } else if (n_more > 0) {
        add_slots(n_more, larger ? bytes : slot_bytes_);
    }
    if (!buffered) return drop_buffers();
    if (n_more > 0 || !has_buffers()) make_buffers();
}

void DiskSlots::shrink(std::int64_t n, std::uint64_t bytes, bool buffered) {
    const auto kept = static_cast<std::size_t>(std::min<std::int64_t>(n, size()));
    const bool smaller = kept > 0 && bytes < slot_bytes_;
    const bool lose_buffers = has_buffers() && (!buffered || kept == 0);
    if (kept == slots_.size() && !smaller && !lose_buffers) return;
    give_up_reads();
    for (const Slot& slot : slots_) device_.host_wait(slot.busy);
    slots_.resize(kept);
    if (kept == 0) slot_bytes_ = 0;
    const bool had_buffers = has_buffers();
    drop_buffers();
    // One after the other: experts on disk have a slot all the time.
    for (std::size_t i = 0; smaller && i < slots_.size(); ++i) {
        try {
            slots_[i] = {};
            slots_[i].memory = new_slot(bytes);
        } catch (const Error&) {
            slots_.erase(slots_.begin() + static_cast<std::ptrdiff_t>(i));
            if (i > 0) break;
            if (slots_.empty()) slots_.emplace_back().memory = new_slot(slot_bytes_);
            return;
        }
    }
    if (smaller) slot_bytes_ = bytes;
    if (!had_buffers || lose_buffers) return;
    try {
        make_buffers();
    } catch (const Error&) {
        return;  // experts are packed on demand
    }
}

DiskSlots::Slot* DiskSlots::slot_of(std::size_t index) {
    const auto found = std::find_if(slots_.begin(), slots_.end(),
                                    [&](const Slot& slot) { return slot.expert == static_cast<std::int64_t>(index); });
    return found == slots_.end() ? nullptr : &*found;
}

// The unused slot that was used longest ago, among those without a pending read; nullptr:
// none now.
DiskSlots::Slot* DiskSlots::free_slot() {
    Slot* oldest = nullptr;
    for (Slot& slot : slots_) {
        if (slot.needed || (oldest != nullptr && slot.last_use > oldest->last_use)) continue;
        if (slot.read != nullptr && !reader_->is_done(slot.read)) continue;
        if (device_.has_happened(slot.busy)) oldest = &slot;
    }
    return oldest;
}

// Waits until the slot can be written to. Slots that the current layer needs come last.
DiskSlots::Slot& DiskSlots::oldest_slot() {
    Slot& oldest = *std::min_element(slots_.begin(), slots_.end(), [](const Slot& a, const Slot& b) {
        return std::pair(a.needed, a.last_use) < std::pair(b.needed, b.last_use);
    });
    if (oldest.read != nullptr) {
        reader_->cancel(oldest.read);
        reader_->drain(oldest.read);
        oldest.read = nullptr;
    }
    device_.host_wait(oldest.busy);
    return oldest;
}

void DiskSlots::expect(std::span<const Expert> needed, std::span<const Expert> guesses) {
    if (reader_ == nullptr || slots_.empty()) return;
    const auto is_among = [](std::span<const Expert> experts, std::int64_t index) {
        return std::any_of(experts.begin(), experts.end(),
                           [&](const Expert& e) { return static_cast<std::int64_t>(e.index) == index; });
    };
    for (Slot& slot : slots_) {
        slot.needed = false;
        if (slot.read == nullptr || is_among(needed, slot.expert) || is_among(guesses, slot.expert)) continue;
        reader_->cancel(slot.read);
        if (!reader_->is_whole(slot.read)) slot.expert = -1;
    }
    needed_.clear();
    guesses_.clear();
    for (const Expert& expert : needed) {
        Slot* const slot = slot_of(expert.index);
        if (slot == nullptr) {
            needed_.push_back(expert);
            continue;
        }
        slot->needed = true;
        slot->last_use = ++uses_;
        if (slot->read != nullptr) reader_->need(slot->read);
    }
    for (const Expert& expert : guesses) {
        if (slot_of(expert.index) != nullptr) continue;
        guesses_.push_back(expert);
        if (static_cast<std::int64_t>(guesses_.size()) == n_for_guesses()) break;
    }
    begin_reads();
}

void DiskSlots::begin_reads() {
    while (!needed_.empty() && begin_read(needed_.front(), Urgency::kNeeded)) needed_.pop_front();
    if (!needed_.empty()) return;
    while (!guesses_.empty() && begin_read(guesses_.front(), Urgency::kGuess)) guesses_.pop_front();
}

// False: no slot is free for it now.
bool DiskSlots::begin_read(const Expert& expert, Urgency urgency) {
    if (expert.bytes > slot_bytes_) return true;  // find_or_pack() reports the error
    Slot* const slot = free_slot();
    if (slot == nullptr) return false;
    ExpertReader::Handle read = begin_(expert.index, slot->memory.data(), urgency);
    if (read == nullptr) return true;  // it is packed on demand
    slot->expert = static_cast<std::int64_t>(expert.index);
    slot->last_use = ++uses_;
    slot->needed = urgency == Urgency::kNeeded;
    slot->read = std::move(read);
    return true;
}

bool DiskSlots::holds(std::size_t index) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return slot.expert == static_cast<std::int64_t>(index) &&
               (slot.read == nullptr || reader_->is_whole(slot.read));
    });
}

const std::byte* DiskSlots::find(std::size_t index) {
    if (!holds(index)) return nullptr;
    Slot* const slot = slot_of(index);
    slot->read = nullptr;
    slot->last_use = ++uses_;
    return slot->memory.data();
}

bool DiskSlots::is_coming(std::size_t index) const {
    return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
        return slot.expert == static_cast<std::int64_t>(index) && slot.read != nullptr;
    });
}

void DiskSlots::release(std::size_t index) {
    if (Slot* const slot = slot_of(index)) slot->needed = false;
    begin_reads();
}

const std::byte* DiskSlots::find_or_pack(std::size_t index, std::uint64_t bytes, const Pack& pack) {
    if (slots_.empty() || bytes > slot_bytes_) {
        throw Error(ErrorKind::kOutOfMemory, messages::ram_full_for_disk_expert);
    }
    if (Slot* const slot = slot_of(index)) {
        slot->last_use = ++uses_;
        if (slot->read == nullptr) return slot->memory.data();
        reader_->need(slot->read);
        const ExpertReader::Handle read = std::move(slot->read);
        try {
            reader_->wait(read);
        } catch (...) {
            slot->expert = -1;
            throw;
        }
        return slot->memory.data();
    }
    std::erase_if(needed_, [&](const Expert& expert) { return expert.index == index; });
    Slot& slot = oldest_slot();
    slot.expert = -1;
    slot.needed = false;
    const HostWork reading{0, 0, static_cast<double>(bytes)};
    device_.run_on_host(reading, [&] { pack(slot.memory.data()); });
    slot.expert = static_cast<std::int64_t>(index);
    slot.last_use = ++uses_;
    return slot.memory.data();
}

void DiskSlots::hold(std::size_t index, DeviceEvent event) {
    Slot* const slot = slot_of(index);
    if (slot == nullptr) return;
    slot->busy = event;
    if (slot->needed) release(index);
}

void DiskSlots::forget(std::size_t index) {
    Slot* const slot = slot_of(index);
    if (slot == nullptr) return;
    if (slot->read != nullptr) {
        reader_->cancel(slot->read);
        reader_->drain(slot->read);
        slot->read = nullptr;
    }
    slot->expert = -1;
}

}  // namespace offstage::engine
