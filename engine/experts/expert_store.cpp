#include "engine/experts/expert_store.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "engine/device/host_buffer.h"
#include "engine/error.h"

namespace offstage::engine {
namespace {

using kernels::WeightType;

LayerIndex layer_of(const ExpertKey& key) {
    return LayerIndex{key.layer};
}
ExpertIndex expert_of(const ExpertKey& key) {
    return ExpertIndex{key.expert};
}

}  // namespace

ExpertStore::ExpertStore(const ExpertGrid& grid, ExpertSource& source, const Plan& plan, Backend& device, Arena& ram,
                         kernels::ThreadPool& pool, const Options& options)
    : device_(&device),
      source_(&source),
      ram_arena_(&ram),
      pool_(&pool),
      dry_(options.dry),
      grid_(grid),
      ram_(ram, MemoryUse::kExperts, "an expert"),
      slots_(device.memory(), MemoryUse::kExperts, "an expert"),
      entries_(static_cast<std::size_t>(grid.size())) {
    residents_.reserve(entries_.size());
    assert(plan.places.size() == entries_.size());
    n_speculative_ = options.n_speculative;
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        entries_[i].format = plan.formats.empty() ? master_type() : plan.formats[i];
        largest = std::max(largest, expert_bytes(entries_[i].format));
    }
    if (!device.shares_host_memory()) ram_.set_pinning(&device, options.pin_budget_bytes);
    set_host_slots(plan.host_staging_slots, largest);
    if (!device.shares_host_memory()) {
        std::vector<SlotHeap::Slot> memory;
        for (std::int64_t i = 0; i < plan.staging_slots; ++i) {
            try {
                memory.push_back(slots_.allocate(largest));
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::kOutOfMemory) throw;
                notes_.push_back(device.info().name + " has no room for copies on demand: " + error.what());
                break;
            }
        }
        staging_.reset(std::move(memory), largest, options.n_speculative);
    }
    try {
        fill(plan);
    } catch (...) {
        wait_for_device();  // it may still read what is given back now
        throw;
    }
    if (!device.shares_host_memory() && pinned_bytes() < ram_.bytes()) {
        notes_.push_back("Only " + format_bytes(pinned_bytes()) + " of " + format_bytes(ram_.bytes()) +
                         " of experts in RAM are page-locked; copies of the others to the GPU are slower.");
    }
}

ExpertStore::~ExpertStore() {
    if (device_ != nullptr) wait_for_device();
}

// Nothing may still read or write what is given back.
void ExpertStore::wait_for_device() {
    device_->host_wait(device_->record(DeviceEvent::Queue::kCopy));
    device_->host_wait(device_->record(DeviceEvent::Queue::kCompute));
}

void ExpertStore::set_staging(std::int64_t n, std::uint64_t slot_bytes) {
    if (n == staging_.n_slots() && slot_bytes == staging_.slot_bytes() && leaving_.empty() && staging_.n_lent() == 0) {
        return;
    }
    lending_ = false;
    do {
        device_->host_wait(device_->record(DeviceEvent::Queue::kCopy));
        device_->host_wait(device_->record(DeviceEvent::Queue::kCompute));
        poll();
    } while (staging_.n_lent() > 0);
    for (Staging::Slot& slot : staging_.all()) slots_.release(slot.memory);
    staging_.reset({}, slot_bytes, 0);
    std::vector<SlotHeap::Slot> memory;
    try {
        for (std::int64_t i = 0; i < n; ++i) memory.push_back(slots_.allocate(slot_bytes));
    } catch (const Error&) {
        for (const SlotHeap::Slot& slot : memory) slots_.release(slot);
        throw;
    }
    staging_.reset(std::move(memory), slot_bytes, n_speculative_);
}

void ExpertStore::pack(std::size_t index, WeightType format, std::byte* block) {
    if (!dry_) source_->pack(layer_of(key(index)), expert_of(key(index)), format, block, *pool_);
}

void ExpertStore::fill(const Plan& plan) {
    const auto in_ram = [&](std::size_t i) {
        return plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
    };
    // Experts that keep no copy in RAM pass through two blocks, one being packed while the other is copied.
    std::array<DeviceEvent, 2> passed;
    HostBuffer passing;
    std::uint64_t passing_bytes = 0;
    for (const Entry& entry : entries_) passing_bytes = std::max(passing_bytes, expert_bytes(entry.format));
    std::size_t next = 0;
    std::int64_t refused = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        const bool to_device = plan.places[i] == Place::kDevice && !device_->shares_host_memory();
        if (in_ram(i)) {
            set_ram(entry, ram_.allocate(expert_bytes(entry.format)));
            pack(i, entry.format, entry.ram.data);
            if (to_device && !put_on_device(i, entry.ram.data)) ++refused;
        } else if (to_device) {
            if (passing.size() == 0)
                passing = HostBuffer(static_cast<std::size_t>(2 * passing_bytes), "experts on their way");
            device_->host_wait(passed[next]);
            std::byte* block = passing.data() + next * passing_bytes;
            pack(i, entry.format, block);
            if (!put_on_device(i, block)) ++refused;
            passed[next] = device_->record(DeviceEvent::Queue::kCopy);
            next = 1 - next;
        } else {
            continue;
        }
        source_->master().advance();
    }
    device_->host_wait(device_->record(DeviceEvent::Queue::kCopy));
    if (!device_->ok()) {
        throw Error(ErrorKind::kDevice,
                    "Copying the experts to " + device_->info().name + " failed: " + device_->failure());
    }
    if (refused > 0) {
        notes_.push_back(device_->info().name + " took " + std::to_string(n_resident_) + " experts; " +
                         std::to_string(refused) + " more were planned and found no room.");
        if (host_slots_.empty() && !plan.duplicates) {
            throw Error(ErrorKind::kOutOfMemory,
                        device_->info().name +
                            " has less memory free than planned, and RAM has no room for the "
                            "experts left over; close other programs or lower the VRAM budget.");
        }
    }
}

bool ExpertStore::put_on_device(std::size_t index, const std::byte* block) {
    Entry& entry = entries_[index];
    SlotHeap::Slot slot;
    try {
        slot = slots_.allocate(expert_bytes(entry.format));
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        return false;
    }
    if (!device_->copy_weights(slot.data, block, slot.bytes, DeviceEvent{})) {
        slots_.release(slot);
        return false;
    }
    set_device(entry, slot);
    return true;
}

void ExpertStore::set_device(Entry& entry, SlotHeap::Slot slot) {
    const bool was = static_cast<bool>(entry.device);
    const bool is = static_cast<bool>(slot);
    entry.device = slot;
    if (was == is) return;
    n_resident_ += is ? 1 : -1;
    if (is) {
        entry.resident_at = static_cast<std::uint32_t>(residents_.size());
        residents_.push_back(static_cast<std::uint32_t>(&entry - entries_.data()));
    } else {  // the last one takes its place in the list
        entries_[residents_.back()].resident_at = entry.resident_at;
        residents_[entry.resident_at] = residents_.back();
        residents_.pop_back();
    }
}

void ExpertStore::set_ram(Entry& entry, SlotHeap::Slot slot) {
    const int change = static_cast<int>(static_cast<bool>(slot)) - static_cast<int>(static_cast<bool>(entry.ram));
    n_in_ram_ += change;
    if (device_->shares_host_memory()) n_resident_ += change;
    entry.ram = slot;
    entry.ram_read = {};
}

std::size_t ExpertStore::index(std::int64_t layer, std::int64_t expert) const {
    assert(layer >= 0 && layer < grid_.n_layers && expert >= 0 && expert < grid_.n_experts);
    return static_cast<std::size_t>(layer * grid_.n_experts + expert);
}

ExpertKey ExpertStore::key(std::size_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    return {static_cast<std::int32_t>(i / grid_.n_experts), static_cast<std::int32_t>(i % grid_.n_experts)};
}

Place ExpertStore::place(std::int64_t layer, std::int64_t expert) const {
    const Entry& entry = entries_[index(layer, expert)];
    if (entry.device) return Place::kDevice;
    return entry.ram ? Place::kRam : Place::kDisk;
}

void ExpertStore::residency(std::vector<std::uint8_t>& resident) const {
    resident.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        resident[i] = static_cast<bool>(device_->shares_host_memory() ? entries_[i].ram : entries_[i].device);
    }
}

std::vector<WeightType> ExpertStore::formats() const {
    std::vector<WeightType> formats;
    for (const Entry& entry : entries_) formats.push_back(entry.format);
    return formats;
}

kernels::ExpertView ExpertStore::device_view(std::int64_t layer, std::int64_t expert) const {
    const Entry& entry = entries_[index(layer, expert)];
    assert(entry.device);
    return view(entry.device.data, entry.format);
}

kernels::ExpertView ExpertStore::on_host(std::int64_t layer, std::int64_t expert) {
    const std::size_t i = index(layer, expert);
    const Entry& entry = entries_[i];
    if (entry.ram) return view(entry.ram.data, entry.format);
    if (host_slots_.empty() || expert_bytes(entry.format) > host_slot_bytes_) {
        throw Error(ErrorKind::kOutOfMemory, "RAM has no room for an expert that is on disk; raise the RAM budget.");
    }
    HostSlot* oldest = &host_slots_.front();
    for (HostSlot& slot : host_slots_) {
        if (slot.expert == static_cast<std::int64_t>(i)) {
            slot.last_use = ++uses_;
            return view(slot.memory.data(), entry.format);
        }
        if (slot.last_use < oldest->last_use) oldest = &slot;
    }
    device_->host_wait(oldest->busy);
    oldest->expert = -1;
    const HostWork reading{0, 0, static_cast<double>(expert_bytes(entry.format))};
    device_->run_on_host(reading, [&] { pack(i, entry.format, oldest->memory.data()); });
    oldest->expert = static_cast<std::int64_t>(i);
    oldest->last_use = ++uses_;
    return view(oldest->memory.data(), entry.format);
}

void ExpertStore::hold(std::int64_t layer, std::int64_t expert, DeviceEvent event) {
    const std::size_t i = index(layer, expert);
    if (entries_[i].ram) {
        entries_[i].ram_read = event;
        return;
    }
    for (HostSlot& slot : host_slots_) {
        if (slot.expert == static_cast<std::int64_t>(i)) slot.busy = event;
    }
}

void ExpertStore::set_host_slots(std::int64_t n, std::uint64_t bytes) {
    if (n == static_cast<std::int64_t>(host_slots_.size()) && bytes <= host_slot_bytes_) return;
    std::vector<HostSlot> slots(static_cast<std::size_t>(n));
    for (HostSlot& slot : slots) {
        slot.memory =
            ram_arena_->allocate(static_cast<std::size_t>(bytes), MemoryUse::kStaging, "experts read from disk");
    }
    for (const HostSlot& slot : host_slots_) device_->host_wait(slot.busy);
    host_slots_ = std::move(slots);
    host_slot_bytes_ = bytes;
}

void ExpertStore::shrink_host_slots(std::int64_t n, std::uint64_t bytes) {
    const auto kept = static_cast<std::size_t>(std::min<std::int64_t>(n, n_host_slots()));
    const bool smaller = kept > 0 && bytes < host_slot_bytes_;
    if (kept == host_slots_.size() && !smaller) return;
    for (const HostSlot& slot : host_slots_) device_->host_wait(slot.busy);
    host_slots_.resize(kept);
    if (kept == 0) host_slot_bytes_ = 0;
    if (!smaller) return;
    // One after the other: experts on disk have a slot all the time.
    const bool beside = kept == 1;
    for (std::size_t i = 0; i < kept; ++i) {
        try {
            if (!beside) host_slots_[i].memory = {};
            HostSlot fresh;
            fresh.memory =
                ram_arena_->allocate(static_cast<std::size_t>(bytes), MemoryUse::kStaging, "experts read from disk");
            host_slots_[i] = std::move(fresh);
        } catch (const Error&) {
            if (!beside) host_slots_.erase(host_slots_.begin() + static_cast<std::ptrdiff_t>(i));
            if (i == 0) return;
            break;
        }
    }
    host_slot_bytes_ = bytes;
}

// ---------------------------------------------------------------- the cache

bool ExpertStore::admit(std::size_t staging_slot, std::size_t admitted, std::size_t victim) {
    Staging::Slot& staged = staging_.slot(staging_slot);
    Entry& in = entries_[admitted];
    Entry& out = entries_[victim];
    if (exchange_.has_value() && exchange_->admitted == admitted) return false;
    if (in.device || in.lent || !out.device || out.pinned || out.leaving || !staged.memory || staged.lender >= 0)
        return false;
    if (out.device.bytes < expert_bytes(in.format)) return false;
    const SlotHeap::Slot memory = staged.memory;
    if (out.ram || (!in.ram && !host_slots_.empty())) {
        take_place(staging_slot, memory, admitted, victim);
    } else {
        if (!in.ram) return false;
        // Swap: the victim goes to RAM, where the admitted one was. Its copy has been read: that was before on the same
        // queue.
        SlotHeap::Slot ram = in.ram;
        if (ram.bytes < expert_bytes(out.format)) {
            try {
                ram = ram_.allocate(expert_bytes(out.format));
            } catch (const Error&) {
                return false;
            }
        }
        const auto done = device_->copy_to_host(ram.data, out.device.data, expert_bytes(out.format), in.ram_read);
        if (!done) {
            if (ram.data != in.ram.data) ram_.release(ram);
            return false;
        }
        leaving_.push_back({admitted, victim, ram, staging_slot, *done});
        out.leaving = true;
        if (ram.data != in.ram.data) retire(ram_, in.ram, in.ram_read);
        set_ram(in, {});
        set_device(in, memory);
        in.leaving = true;
        staged.memory = {};
    }
    staged.expert = staged.content = -1;
    ++n_admitted_;
    return true;
}

// The victim's bytes are wanted there no more. On the compute queue what follows finds the expert in its place.
void ExpertStore::take_place(std::size_t staging_slot, SlotHeap::Slot staged, std::size_t admitted,
                             std::size_t victim) {
    Staging::Slot& slot = staging_.slot(staging_slot);
    Entry& in = entries_[admitted];
    SlotHeap::Slot place = entries_[victim].device;
    set_device(entries_[victim], {});
    if (place.bytes == staged.bytes) {
        std::swap(place, staged);
    } else {
        device_->copy_within(place.data, staged.data, expert_bytes(in.format));
    }
    set_device(in, place);
    slot.memory = staged;
    slot.free = device_->record(DeviceEvent::Queue::kCompute);
}

bool ExpertStore::lend(std::size_t index) {
    Entry& entry = entries_[index];
    if (!entry.device || !entry.ram || entry.pinned || entry.leaving || entry.prepared != nullptr) return false;
    staging_.add_lent(entry.device, index, device_->record(DeviceEvent::Queue::kCompute));
    set_device(entry, {});
    entry.lent = true;
    return true;
}

void ExpertStore::bring_home() {
    constexpr int kTries = 3;
    for (auto i = static_cast<std::size_t>(staging_.n_slots()); i < staging_.all().size();) {
        Staging::Slot& slot = staging_.slot(i);
        Entry& entry = entries_[static_cast<std::size_t>(slot.lender)];
        if (!slot.returning) {
            if (slot.awaited) return;
            const auto done =
                device_->copy_weights(slot.memory.data, entry.ram.data, expert_bytes(entry.format), slot.free);
            slot.returning = done.has_value();
            slot.expert = slot.content = -1;
            if (done) {
                entry.ram_read = slot.copied = *done;
            } else if (++slot.refusals == kTries) {  // the device has no place for it any more
                entry.lent = false;
                retire(slots_, slot.memory, slot.copied);
                staging_.remove_lent(i);
            }
            return;  // one at a time: what is asked for meanwhile waits for no more than that
        }
        if (!device_->has_happened(slot.copied)) return;
        entry.lent = false;
        set_device(entry, slot.memory);
        staging_.remove_lent(i);
        ++n_returned_;
    }
}

bool ExpertStore::begin_exchange(const Exchange& exchange) {
    if (exchange_.has_value() || device_->shares_host_memory()) return false;
    const std::size_t admitted = index(exchange.admit_layer, exchange.admit_expert);
    const std::size_t evicted = index(exchange.evict_layer, exchange.evict_expert);
    Entry& in = entries_[admitted];
    Entry& out = entries_[evicted];
    if (in.device || in.lent || !in.ram || !out.device || !out.ram || out.pinned || out.leaving ||
        out.device.bytes < expert_bytes(in.format)) {
        return false;
    }
    const SlotHeap::Slot slot = out.device;
    // What the GPU still does with the evicted expert lies before this point of its queue.
    const auto done = device_->copy_weights(slot.data, in.ram.data, expert_bytes(in.format),
                                            device_->record(DeviceEvent::Queue::kCompute));
    if (!done) return false;
    in.ram_read = *done;
    set_device(out, {});
    exchange_ = {admitted, slot, *done};
    return true;
}

void ExpertStore::poll() {
    if (exchange_.has_value() && device_->has_happened(exchange_->done)) {
        set_device(entries_[exchange_->admitted], exchange_->slot);
        ++n_exchanged_;
        exchange_.reset();
    }
    for (std::size_t i = 0; i < leaving_.size();) {
        const Leaving& leaving = leaving_[i];
        if (!device_->has_happened(leaving.done)) {
            ++i;
            continue;
        }
        entries_[leaving.admitted].leaving = entries_[leaving.victim].leaving = false;
        set_ram(entries_[leaving.victim], leaving.ram);
        take_place(leaving.staging_slot, entries_[leaving.admitted].device, leaving.admitted, leaving.victim);
        leaving_.erase(leaving_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (!lending_ && staging_.n_lent() > 0) bring_home();
    free_retired(false);
}

// ---------------------------------------------------------------- migration

std::byte* ExpertStore::prepare_ram(std::size_t index, WeightType format) {
    Entry& entry = entries_[index];
    if (entry.prepared == nullptr) entry.prepared = std::make_unique<Prepared>();
    entry.prepared->format = format;
    assert(!entry.prepared->ram);
    try {
        entry.prepared->ram = ram_.allocate(expert_bytes(format));
    } catch (const Error&) {
        entry.prepared.reset();
        throw;
    }
    return entry.prepared->ram.data;
}

void ExpertStore::prepare_format(std::size_t index, WeightType format) {
    Entry& entry = entries_[index];
    assert(entry.prepared == nullptr);
    entry.prepared = std::make_unique<Prepared>();
    entry.prepared->format = format;
}

bool ExpertStore::prepare_device(std::size_t index) {
    Entry& entry = entries_[index];
    const bool fresh = entry.prepared == nullptr;
    const WeightType format = fresh ? entry.format : entry.prepared->format;
    const std::byte* from = fresh || !entry.prepared->ram ? entry.ram.data : entry.prepared->ram.data;
    assert(from != nullptr);
    free_retired(false);
    const SlotHeap::Slot slot = slots_.allocate(expert_bytes(format));
    const auto done = device_->copy_weights(slot.data, from, slot.bytes, DeviceEvent{});
    if (!done) {
        slots_.release(slot);
        return false;
    }
    if (fresh) {
        entry.prepared = std::make_unique<Prepared>();
        entry.prepared->format = format;
    }
    if (from == entry.ram.data) entry.ram_read = *done;
    entry.prepared->device = slot;
    entry.prepared->copied = *done;
    return true;
}

bool ExpertStore::device_prepared(std::size_t index) {
    const Entry& entry = entries_[index];
    return entry.prepared != nullptr && entry.prepared->device && device_->has_happened(entry.prepared->copied);
}

void ExpertStore::commit(std::size_t index, bool keep_ram, bool keep_device) {
    Entry& entry = entries_[index];
    if (const std::unique_ptr<Prepared> prepared = std::move(entry.prepared)) {
        const bool changes = prepared->format != entry.format;
        if (prepared->ram || changes) {
            retire(ram_, entry.ram, entry.ram_read);
            set_ram(entry, prepared->ram);
            if (prepared->device) entry.ram_read = prepared->copied;
        }
        if (prepared->device || changes) {
            retire(slots_, entry.device, {});
            set_device(entry, prepared->device);
        }
        entry.format = prepared->format;
        if (changes) {
            for (HostSlot& slot : host_slots_) {
                if (slot.expert == static_cast<std::int64_t>(index)) slot.expert = -1;
            }
        }
    }
    if (!keep_ram) drop_ram(index);
    if (!keep_device) drop_device(index);
}

void ExpertStore::abandon(std::size_t index) {
    const std::unique_ptr<Prepared> prepared = std::move(entries_[index].prepared);
    if (prepared == nullptr) return;
    retire(ram_, prepared->ram, prepared->copied);
    retire(slots_, prepared->device, prepared->copied);
}

void ExpertStore::drop_device(std::size_t index) {
    Entry& entry = entries_[index];
    retire(slots_, entry.device, {});
    set_device(entry, {});
}

void ExpertStore::drop_ram(std::size_t index) {
    Entry& entry = entries_[index];
    retire(ram_, entry.ram, entry.ram_read);
    set_ram(entry, {});
}

void ExpertStore::retire(SlotHeap& heap, SlotHeap::Slot slot, DeviceEvent last_copy) {
    if (slot) retired_.push_back({&heap, slot, device_->record(DeviceEvent::Queue::kCompute), last_copy});
}

bool ExpertStore::free_retired(bool wait) {
    return std::erase_if(retired_, [&](const Retired& retired) {
               if (wait) {
                   device_->host_wait(retired.last_use);
                   device_->host_wait(retired.last_copy);
               } else if (!device_->has_happened(retired.last_use) || !device_->has_happened(retired.last_copy)) {
                   return false;
               }
               retired.heap->release(retired.slot);
               return true;
           }) > 0;
}

bool ExpertStore::settle() {
    return free_retired(true);
}

}  // namespace offstage::engine
