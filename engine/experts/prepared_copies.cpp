#include "engine/experts/prepared_copies.h"

#include <cassert>
#include <memory>
#include <utility>

#include "engine/error.h"

namespace offstage::engine {

std::byte* PreparedCopies::prepare_ram(std::size_t index, kernels::WeightType format, SlotHeap::Pinning pinning) {
    Entry& entry = table_.entries_[index];
    if (entry.prepared == nullptr) entry.prepared = std::make_unique<Prepared>();
    entry.prepared->format = format;
    assert(!entry.prepared->ram);
    try {
        entry.prepared->ram = table_.ram_.allocate(table_.expert_bytes(format), pinning);
    } catch (const Error&) {
        entry.prepared.reset();
        throw;
    }
    return entry.prepared->ram.data;
}

Backend* PreparedCopies::to_pin(std::size_t index) const {
    return table_.ram_.to_pin(table_.entries_[index].prepared->ram);
}

void PreparedCopies::pinned(std::size_t index, SlotHeap::Pinned outcome) {
    table_.ram_.pinned(table_.entries_[index].prepared->ram, outcome);
}

void PreparedCopies::prepare_format(std::size_t index, kernels::WeightType format) {
    Entry& entry = table_.entries_[index];
    assert(entry.prepared == nullptr);
    entry.prepared = std::make_unique<Prepared>();
    entry.prepared->format = format;
}

bool PreparedCopies::prepare_device(std::size_t index) {
    Entry& entry = table_.entries_[index];
    const bool fresh = entry.prepared == nullptr;
    const kernels::WeightType format = fresh ? entry.format : entry.prepared->format;
    const SlotHeap::Slot& from = fresh || !entry.prepared->ram ? entry.ram : entry.prepared->ram;
    assert(from);
    table_.free_retired(false);
    const SlotHeap::Slot slot = table_.slots_.allocate(table_.expert_bytes(format));
    const auto done = table_.device_.copy_expert(slot.data, table_.in_ram_layout(from, format), DeviceEvent{});
    if (!done) {
        table_.slots_.release(slot);
        return false;
    }
    if (fresh) {
        entry.prepared = std::make_unique<Prepared>();
        entry.prepared->format = format;
    }
    if (&from == &entry.ram) entry.ram_read = *done;
    entry.prepared->device = slot;
    entry.prepared->copied = *done;
    return true;
}

bool PreparedCopies::is_on_device(std::size_t index) const {
    const Entry& entry = table_.entries_[index];
    return entry.prepared != nullptr && entry.prepared->device && table_.device_.has_happened(entry.prepared->copied);
}

void PreparedCopies::commit(std::size_t index, bool keep_ram, bool keep_device) {
    Entry& entry = table_.entries_[index];
    if (const std::unique_ptr<Prepared> prepared = std::move(entry.prepared)) {
        const bool changes = prepared->format != entry.format;
        if (prepared->ram || changes) {
            table_.retire(table_.ram_, entry.ram, entry.ram_read);
            table_.set_ram(entry, prepared->ram);
            if (prepared->device) entry.ram_read = prepared->copied;
        }
        if (prepared->device || changes) {
            table_.retire(table_.slots_, entry.device, {});
            table_.set_device(entry, prepared->device);
        }
        entry.format = prepared->format;
        if (changes) {
            disk_slots_.forget(index);
        }
    }
    if (!keep_ram) table_.drop_ram(index);
    if (!keep_device) table_.drop_device(index);
}

void PreparedCopies::abandon(std::size_t index) {
    const std::unique_ptr<Prepared> prepared = std::move(table_.entries_[index].prepared);
    if (prepared == nullptr) return;
    table_.retire(table_.ram_, prepared->ram, prepared->copied);
    table_.retire(table_.slots_, prepared->device, prepared->copied);
}

}  // namespace offstage::engine
