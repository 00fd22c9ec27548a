#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/device/backend.h"
#include "engine/experts/cache_policy.h"
#include "engine/experts/page_locker.h"
#include "engine/experts/slot_heap.h"
#include "engine/model/model_spec.h"
#include "engine/plan/plan.h"
#include "kernels/expert_layout.h"

namespace offstage::engine {

// The place and format of every expert, and its copies: blocks in RAM (page-locked where
// the system allows it) and on the device, each under its arena's budget. An expert has
// one format at a time, the same for all copies. A copy's room is released when no queue
// of the device uses it any more. One thread, the engine's.
class ExpertTable {
  public:
    // Without copies, in the master's format. The referents must outlive this object.
    ExpertTable(const ExpertGrid& grid, kernels::WeightType master, Backend& device, Arena& ram);
    ExpertTable(const ExpertTable&) = delete;
    ExpertTable& operator=(const ExpertTable&) = delete;

    std::int64_t n_layers() const { return grid_.n_layers; }
    std::int64_t n_experts() const { return grid_.n_experts; }
    std::size_t size() const { return entries_.size(); }  // n_layers * n_experts
    std::size_t index(std::int64_t layer, std::int64_t expert) const;
    ExpertKey key(std::size_t index) const;

    std::uint64_t expert_bytes(kernels::WeightType format) const { return grid_.expert_bytes(format); }
    kernels::WeightType format(std::size_t index) const { return entries_[index].format; }
    kernels::WeightType format(std::int64_t layer, std::int64_t expert) const { return format(index(layer, expert)); }
    std::uint64_t bytes(std::size_t index) const { return expert_bytes(format(index)); }
    Place place(std::int64_t layer, std::int64_t expert) const;
    bool on_device(std::size_t index) const { return static_cast<bool>(entries_[index].device); }
    bool in_ram(std::size_t index) const { return static_cast<bool>(entries_[index].ram); }
    bool has_ram_copy(std::int64_t layer, std::int64_t expert) const { return in_ram(index(layer, expert)); }
    std::int64_t n_resident() const { return n_resident_; }  // on the device; on a CPU backend: in RAM
    std::int64_t n_in_ram() const { return n_in_ram_; }
    std::uint64_t pinned_bytes() const { return ram_.pinned_bytes(); }
    // What the budgets leave.
    std::uint64_t ram_room() const { return ram_.room(); }
    std::uint64_t device_room() const { return slots_.room(); }
    // (n_layers, n_experts), 1 where the device holds the expert.
    void residency(std::vector<std::uint8_t>& resident) const;
    std::vector<kernels::WeightType> formats() const;  // (n_layers, n_experts)
    // Grows whenever an expert of the layer gets, changes or loses its place on the
    // device.
    std::uint64_t n_device_changes(std::int64_t layer) const {
        return n_device_changes_[static_cast<std::size_t>(layer)];
    }
    // The experts that have a place on the device, in no order.
    std::span<const std::uint32_t> residents() const { return residents_; }
    // Bytes of the expert's place on the device: at least its own, more where a larger
    // expert was there before. 0: none.
    std::uint64_t place_bytes(std::size_t index) const { return entries_[index].device.bytes; }
    // Calls the policy from now on when an expert gains or loses a place on the device,
    // and at once for those that have one; null: none. It must outlive this object, or be
    // replaced before.
    void set_cache_policy(CachePolicy* policy);
    // Experts that may not lose their place on the device.
    void set_pinned(std::size_t index, bool pinned) { entries_[index].pinned = pinned; }
    bool is_pinned(std::size_t index) const { return entries_[index].pinned; }
    // Its place serves as a staging slot for a while.
    bool is_borrowed(std::size_t index) const { return entries_[index].borrowed; }
    // On the device, or about to return there.
    bool belongs_on_device(std::size_t index) const { return on_device(index) || is_borrowed(index); }

    // Precondition: place() is kDevice.
    kernels::ExpertView device_view(std::int64_t layer, std::int64_t expert) const;
    // The RAM copy, or nothing.
    kernels::ExpertView ram_view(std::size_t index) const {
        return in_its_layer(index, in_ram_layout(entries_[index].ram, format(index)));
    }
    // All RAM copies, for a bandwidth probe.
    std::vector<std::span<const std::byte>> ram() const { return ram_.pieces(); }

    void drop_device(std::size_t index);
    void drop_ram(std::size_t index);
    // Waits until everything that was dropped is returned to the arenas; false if there
    // was nothing.
    bool settle();
    // Releases memory that no queue of the device uses any more; false if there was none.
    // wait: waits for the queues, but not for memory that is being unlocked.
    bool free_dropped(bool wait) { return free_retired(wait); }
    // Memory that was dropped has not returned to its arena yet.
    bool freeing() const { return !retired_.empty() || (locker_ != nullptr && locker_->busy()); }
    // RAM is unlocked beside other work, and some of it may be right now.
    bool unlocking() const { return locker_ != nullptr && freeing(); }

    // The layout of a RAM copy: rows may be interleaved only there.
    kernels::ExpertLayout ram_layout(kernels::WeightType format) const {
        kernels::ExpertLayout layout = grid_.layout(format);
        layout.interleaved = interleaves_;
        return layout;
    }

  protected:
    friend class PlaceExchange;
    friend class PreparedCopies;

    // New copies beside the old ones, until they are committed.
    struct Prepared {
        kernels::WeightType format = kernels::WeightType::kBf16;
        SlotHeap::Slot ram, device;
        DeviceEvent copied;
    };
    struct Entry {
        kernels::WeightType format = kernels::WeightType::kBf16;
        SlotHeap::Slot device, ram;
        DeviceEvent ram_read;           // the last copy that reads the RAM copy
        std::uint32_t resident_at = 0;  // its place in residents_, where it is there
        bool pinned = false;
        bool leaving = false;   // its bytes are on their way to RAM, or from staging to their place
        bool borrowed = false;  // its place serves as a staging slot
        std::unique_ptr<Prepared> prepared;
    };

    kernels::ExpertView view(const std::byte* block, kernels::WeightType format) const {
        return {block, grid_.layout(format)};
    }
    // With the layer's limit (ExpertGrid::limits).
    kernels::ExpertView in_its_layer(std::size_t index, kernels::ExpertView expert) const {
        expert.layout.spec.limit = grid_.limit(static_cast<std::int64_t>(index) / grid_.n_experts);
        return expert;
    }
    kernels::ExpertView in_ram_layout(const SlotHeap::Slot& slot, kernels::WeightType format) const {
        return {slot.data, ram_layout(format)};
    }
    void set_device(Entry& entry, SlotHeap::Slot slot);
    void set_ram(Entry& entry, SlotHeap::Slot slot);
    // Given back when the compute queue is past this point, and last_copy has happened.
    void retire(SlotHeap& heap, SlotHeap::Slot slot, DeviceEvent last_copy);
    bool free_retired(bool wait);

    const ExpertGrid grid_;
    Backend& device_;
    std::unique_ptr<PageLocker> locker_;  // nullptr: the device locks no memory, or only emulates it
    SlotHeap ram_, slots_;
    std::vector<Entry> entries_;  // (n_layers, n_experts)
    bool interleaves_ = false;  // rows of RAM copies (kernels/interleaved.h): nothing but products of bytes reads them

  private:
    struct Retired {
        SlotHeap* heap;
        SlotHeap::Slot slot;
        DeviceEvent last_use;
        DeviceEvent last_copy;
    };

    std::vector<std::uint32_t> residents_;  // indices into entries_
    std::vector<Retired> retired_;
    CachePolicy* policy_ = nullptr;
    std::int64_t n_resident_ = 0;
    std::int64_t n_in_ram_ = 0;
    std::vector<std::uint64_t> n_device_changes_;  // (n_layers)
};

}  // namespace offstage::engine
