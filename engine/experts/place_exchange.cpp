#include "engine/experts/place_exchange.h"

#include <utility>

#include "engine/error.h"

namespace offstage::engine {

bool PlaceExchange::admit(std::size_t staging_slot, std::size_t admitted, std::size_t victim) {
    Staging::Slot& staged = staging_.slot(staging_slot);
    Entry& in = table_.entries_[admitted];
    Entry& out = table_.entries_[victim];
    if (exchange_.has_value() && exchange_->admitted == admitted) return false;
    if (in.device || in.borrowed || !out.device || out.pinned || out.leaving || !staged.memory || staged.owner >= 0)
        return false;
    if (out.device.bytes < table_.expert_bytes(in.format)) return false;
    const SlotHeap::Slot memory = staged.memory;
    if (out.ram || (!in.ram && disk_slots_.size() > 0)) {
        take_place(staging_slot, memory, admitted, victim);
    } else {
        if (!in.ram) return false;
        // Swap: the victim goes to RAM, to the admitted expert's place. That copy has
        // already been read, earlier on the same queue.
        SlotHeap::Slot ram = in.ram;
        if (ram.bytes < table_.expert_bytes(out.format)) {
            try {
                ram = table_.ram_.allocate(table_.expert_bytes(out.format));
            } catch (const Error&) {
                return false;
            }
        }
        const auto done =
            table_.device_.copy_expert_to_host(ram.data, table_.ram_layout(out.format), out.device.data, in.ram_read);
        if (!done) {
            if (ram.data != in.ram.data) table_.ram_.release(ram);
            return false;
        }
        leaving_.push_back({admitted, victim, ram, staging_slot, *done});
        out.leaving = true;
        if (ram.data != in.ram.data) table_.retire(table_.ram_, in.ram, in.ram_read);
        table_.set_ram(in, {});
        table_.set_device(in, memory);
        in.leaving = true;
        staged.memory = {};
    }
    staged.expert = staged.content = -1;
    return true;
}

// The victim's bytes are no longer needed there. Later work on the compute queue finds
// the expert in its place.
void PlaceExchange::take_place(std::size_t staging_slot, SlotHeap::Slot staged, std::size_t admitted,
                               std::size_t victim) {
    Staging::Slot& slot = staging_.slot(staging_slot);
    Entry& in = table_.entries_[admitted];
    SlotHeap::Slot place = table_.entries_[victim].device;
    table_.set_device(table_.entries_[victim], {});
    if (place.bytes == staged.bytes) {
        std::swap(place, staged);
    } else {
        table_.device_.copy_within(place.data, staged.data, table_.expert_bytes(in.format));
    }
    table_.set_device(in, place);
    slot.memory = staged;
    slot.free = table_.device_.record(DeviceEvent::Queue::kCompute);
}

bool PlaceExchange::borrow_slot(std::size_t index) {
    Entry& entry = table_.entries_[index];
    if (!entry.device || !entry.ram || entry.pinned || entry.leaving || entry.prepared != nullptr) return false;
    staging_.add_borrowed(entry.device, index, table_.device_.record(DeviceEvent::Queue::kCompute));
    table_.set_device(entry, {});
    entry.borrowed = true;
    return true;
}

void PlaceExchange::restore_borrowed() {
    constexpr int kTries = 3;
    for (auto i = static_cast<std::size_t>(staging_.n_slots()); i < staging_.all().size();) {
        Staging::Slot& slot = staging_.slot(i);
        Entry& entry = table_.entries_[static_cast<std::size_t>(slot.owner)];
        if (!slot.returning) {
            if (slot.awaited) return;
            const auto done =
                table_.device_.copy_expert(slot.memory.data, table_.in_ram_layout(entry.ram, entry.format), slot.free);
            slot.returning = done.has_value();
            slot.expert = slot.content = -1;
            if (done) {
                entry.ram_read = slot.copied = *done;
            } else if (++slot.refusals == kTries) {  // the device has no place for it any more
                entry.borrowed = false;
                table_.retire(table_.slots_, slot.memory, slot.copied);
                staging_.remove_borrowed(i);
            }
            return;  // one at a time: a request meanwhile waits for only one copy
        }
        if (!table_.device_.has_happened(slot.copied)) return;
        entry.borrowed = false;
        table_.set_device(entry, slot.memory);
        staging_.remove_borrowed(i);
    }
}

bool PlaceExchange::begin(const Exchange& exchange) {
    if (exchange_.has_value() || table_.device_.shares_host_memory()) return false;
    const std::size_t admitted = table_.index(exchange.admit_layer, exchange.admit_expert);
    const std::size_t evicted = table_.index(exchange.evict_layer, exchange.evict_expert);
    Entry& in = table_.entries_[admitted];
    Entry& out = table_.entries_[evicted];
    if (in.device || in.borrowed || !in.ram || !out.device || !out.ram || out.pinned || out.leaving ||
        out.device.bytes < table_.expert_bytes(in.format)) {
        return false;
    }
    const SlotHeap::Slot slot = out.device;
    // All of the GPU's uses of the evicted expert come before this point of its queue.
    const auto done = table_.device_.copy_expert(slot.data, table_.in_ram_layout(in.ram, in.format),
                                                 table_.device_.record(DeviceEvent::Queue::kCompute));
    if (!done) return false;
    in.ram_read = *done;
    table_.set_device(out, {});
    exchange_ = {admitted, slot, *done};
    return true;
}

void PlaceExchange::poll() {
    if (exchange_.has_value() && table_.device_.has_happened(exchange_->done)) {
        table_.set_device(table_.entries_[exchange_->admitted], exchange_->slot);
        exchange_.reset();
    }
    for (std::size_t i = 0; i < leaving_.size();) {
        const Leaving& leaving = leaving_[i];
        if (!table_.device_.has_happened(leaving.done)) {
            ++i;
            continue;
        }
        table_.entries_[leaving.admitted].leaving = table_.entries_[leaving.victim].leaving = false;
        table_.set_ram(table_.entries_[leaving.victim], leaving.ram);
        take_place(leaving.staging_slot, table_.entries_[leaving.admitted].device, leaving.admitted, leaving.victim);
        leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (!borrowing_ && staging_.n_borrowed() > 0) restore_borrowed();
    table_.free_retired(false);
}

}  // namespace offstage::engine
