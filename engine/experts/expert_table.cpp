#include "engine/experts/expert_table.h"

#include <cassert>

#include "engine/experts/experts_messages.h"

namespace offstage::engine {

using kernels::WeightType;

ExpertTable::ExpertTable(const ExpertGrid& grid, WeightType master, Backend& device, Arena& ram)
    : grid_(grid),
      device_(device),
      ram_(ram, MemoryUse::kExperts, messages::an_expert),
      slots_(device.memory(), MemoryUse::kExperts, messages::an_expert),
      entries_(static_cast<std::size_t>(grid.size())),
      n_device_changes_(static_cast<std::size_t>(grid.n_layers)) {
    residents_.reserve(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) entries_[i].format = grid_.stored(master, key(i).layer);
}

std::size_t ExpertTable::index(std::int64_t layer, std::int64_t expert) const {
    assert(layer >= 0 && layer < grid_.n_layers && expert >= 0 && expert < grid_.n_experts);
    return static_cast<std::size_t>(layer * grid_.n_experts + expert);
}

ExpertKey ExpertTable::key(std::size_t index) const {
    const auto i = static_cast<std::int64_t>(index);
    return {static_cast<std::int32_t>(i / grid_.n_experts), static_cast<std::int32_t>(i % grid_.n_experts)};
}

Place ExpertTable::place(std::int64_t layer, std::int64_t expert) const {
    const Entry& entry = entries_[index(layer, expert)];
    if (entry.device) return Place::kDevice;
    return entry.ram ? Place::kRam : Place::kDisk;
}

void ExpertTable::residency(std::vector<std::uint8_t>& resident) const {
    resident.resize(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        resident[i] = static_cast<bool>(device_.shares_host_memory() ? entries_[i].ram : entries_[i].device);
    }
}

std::vector<WeightType> ExpertTable::formats() const {
    std::vector<WeightType> formats;
    for (const Entry& entry : entries_) formats.push_back(entry.format);
    return formats;
}

void ExpertTable::set_cache_policy(CachePolicy* policy) {
    policy_ = policy;
    if (policy_ == nullptr) return;
    for (const std::uint32_t i : residents_) policy_->entered(key(i));
}

kernels::ExpertView ExpertTable::device_view(std::int64_t layer, std::int64_t expert) const {
    const Entry& entry = entries_[index(layer, expert)];
    assert(entry.device);
    return view(entry.device.data, entry.format);
}

void ExpertTable::set_device(Entry& entry, SlotHeap::Slot slot) {
    const bool was = static_cast<bool>(entry.device);
    const bool is = static_cast<bool>(slot);
    entry.device = slot;
    const auto index = static_cast<std::size_t>(&entry - entries_.data());
    const ExpertKey changed = key(index);
    ++n_device_changes_[static_cast<std::size_t>(changed.layer)];
    if (was == is) return;
    n_resident_ += is ? 1 : -1;
    if (policy_ != nullptr) is ? policy_->entered(changed) : policy_->left(changed);
    if (is) {
        entry.resident_at = static_cast<std::uint32_t>(residents_.size());
        residents_.push_back(static_cast<std::uint32_t>(index));
    } else {  // the last one takes its place in the list
        entries_[residents_.back()].resident_at = entry.resident_at;
        residents_[entry.resident_at] = residents_.back();
        residents_.pop_back();
    }
}

void ExpertTable::set_ram(Entry& entry, SlotHeap::Slot slot) {
    const int change = static_cast<int>(static_cast<bool>(slot)) - static_cast<int>(static_cast<bool>(entry.ram));
    n_in_ram_ += change;
    if (device_.shares_host_memory()) n_resident_ += change;
    entry.ram = slot;
    entry.ram_read = {};
}

void ExpertTable::drop_device(std::size_t index) {
    Entry& entry = entries_[index];
    retire(slots_, entry.device, {});
    set_device(entry, {});
}

void ExpertTable::drop_ram(std::size_t index) {
    Entry& entry = entries_[index];
    retire(ram_, entry.ram, entry.ram_read);
    set_ram(entry, {});
}

void ExpertTable::retire(SlotHeap& heap, SlotHeap::Slot slot, DeviceEvent last_copy) {
    if (slot) retired_.push_back({&heap, slot, device_.record(DeviceEvent::Queue::kCompute), last_copy});
}

bool ExpertTable::settle() {
    const bool freed = free_retired(true);
    return (locker_ != nullptr && locker_->wait()) || freed;
}

bool ExpertTable::free_retired(bool wait) {
    return std::erase_if(retired_, [&](const Retired& retired) {
               if (wait) {
                   device_.host_wait(retired.last_use);
                   device_.host_wait(retired.last_copy);
               } else if (!device_.has_happened(retired.last_use) || !device_.has_happened(retired.last_copy)) {
                   return false;
               }
               retired.heap->release(retired.slot);
               return true;
           }) > 0;
}

}  // namespace offstage::engine
