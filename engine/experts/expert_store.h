#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/experts/cache_policy.h"
#include "engine/experts/slot_heap.h"
#include "engine/experts/staging.h"
#include "engine/indices.h"
#include "engine/model/model_spec.h"
#include "engine/plan/planner.h"
#include "engine/quant/expert_source.h"
#include "kernels/cpu_kernels.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// Where every expert is, in which format, and its copies. Each copy is one contiguous neuron-major block
// (kernels::ExpertView), so one copy moves an expert. The master of all is the ExpertSource (a mapped checkpoint);
// copies lie in RAM (page-locked where the system lets us) and on the device, each under its arena's budget. An expert
// has one format at a time, the same wherever its copies are. One without any copy is packed from its master into one
// of a few slots when it is called.
//
// One thread, the engine's. What happens between two layers is visible to the next: a copy on its way to the device is
// not there before it is whole. Formats change between two steps.
class ExpertStore {
  public:
    struct Options {
        std::uint64_t pin_budget_bytes = 0;
        bool dry = false;                // blocks are never filled
        std::int64_t n_speculative = 0;  // of the staging slots, for copies that nobody has asked for yet
    };

    // Makes the copies that the plan asks for. Where the device has less room than planned, or refuses a copy, experts
    // stay in RAM and a note says so. Throws Error: kOutOfMemory (RAM), kCancelled, kDevice. The referents must outlive
    // this object.
    ExpertStore(const ExpertGrid& grid, ExpertSource& source, const Plan& plan, Backend& device, Arena& ram,
                kernels::ThreadPool& pool, const Options& options);
    ~ExpertStore();
    ExpertStore(ExpertStore&& other) noexcept = delete;
    ExpertStore(const ExpertStore&) = delete;

    std::int64_t n_layers() const { return grid_.n_layers; }
    std::int64_t n_experts() const { return grid_.n_experts; }
    std::size_t size() const { return entries_.size(); }  // n_layers * n_experts
    std::size_t index(std::int64_t layer, std::int64_t expert) const;
    ExpertKey key(std::size_t index) const;

    kernels::WeightType master_type() const { return source_->master_type(); }
    std::uint64_t expert_bytes(kernels::WeightType format) const { return source_->expert_bytes(format); }
    kernels::WeightType format(std::size_t index) const { return entries_[index].format; }
    kernels::WeightType format(std::int64_t layer, std::int64_t expert) const { return format(index(layer, expert)); }
    Place place(std::int64_t layer, std::int64_t expert) const;
    bool on_device(std::size_t index) const { return static_cast<bool>(entries_[index].device); }
    bool in_ram(std::size_t index) const { return static_cast<bool>(entries_[index].ram); }
    bool has_ram_copy(std::int64_t layer, std::int64_t expert) const { return in_ram(index(layer, expert)); }
    std::int64_t n_resident() const { return n_resident_; }  // on the device; on a CPU backend: in RAM
    std::int64_t n_in_ram() const { return n_in_ram_; }
    std::uint64_t pinned_bytes() const { return ram_.pinned_bytes(); }
    const std::vector<std::string>& notes() const { return notes_; }
    // (n_layers, n_experts), 1 where the device holds the expert.
    void residency(std::vector<std::uint8_t>& resident) const;
    std::vector<kernels::WeightType> formats() const;  // (n_layers, n_experts)

    // Precondition: place() is kDevice.
    kernels::ExpertView device_view(std::int64_t layer, std::int64_t expert) const;
    // The RAM copy, or one packed now; valid until n_host_slots() other experts without a copy were asked for.
    kernels::ExpertView on_host(std::int64_t layer, std::int64_t expert);
    std::int64_t n_host_slots() const { return static_cast<std::int64_t>(host_slots_.size()); }
    // The block that on_host() gave is read until `event`.
    void hold(std::int64_t layer, std::int64_t expert, DeviceEvent event);

    Staging& staging() { return staging_; }
    // So many slots of this size from now on; between two steps. Waits for the device. Throws Error (kOutOfMemory);
    // then there are none.
    void set_staging(std::int64_t n, std::uint64_t slot_bytes);

    // All RAM copies: what a bandwidth probe reads.
    std::vector<std::span<const std::byte>> ram() const { return ram_.pieces(); }

    // ---- the cache: what is in a staging slot may stay
    // The expert in this staging slot, already computed with, takes the place of `victim`, which must be large enough
    // (place_bytes): places of staging's size are exchanged, into a smaller one it is copied within the device. Where
    // the victim has no copy in RAM it gets the admitted one's room, or new room if that is too small (swap: device and
    // RAM together hold each expert once), and its place is free only when that is done. False when that cannot be.
    bool admit(std::size_t staging_slot, std::size_t admitted, std::size_t victim);
    // The experts that have a place on the device, in no order.
    std::span<const std::uint32_t> residents() const { return residents_; }
    // Of the expert's place on the device: at least its bytes, more where a larger expert was there before. 0: none.
    std::uint64_t place_bytes(std::size_t index) const { return entries_[index].device.bytes; }
    std::uint64_t n_admitted() const { return n_admitted_; }
    // Experts that may not lose their place on the device.
    void set_pinned(std::size_t index, bool pinned) { entries_[index].pinned = pinned; }
    bool is_pinned(std::size_t index) const { return entries_[index].pinned; }

    // While a prompt is read: this expert's place serves as one more staging slot; until it has come back, the expert
    // is in RAM alone. False where it cannot be spared: pinned, moving, or without a copy in RAM.
    bool lend(std::size_t index);
    bool is_lent(std::size_t index) const { return entries_[index].lent; }
    // On the device, or about to come back there.
    bool belongs_on_device(std::size_t index) const { return on_device(index) || is_lent(index); }
    // False: poll() brings home what was lent, one copy at a time.
    void set_lending(bool lending) { lending_ = lending; }
    std::uint64_t n_returned() const { return n_returned_; }

    // Gives one expert's place on the device to another of its format, in the background: the first leaves at once, the
    // second is there once poll() finds its copy whole. False when that cannot be now (another is on its way, no RAM
    // copy, the device refused).
    bool begin_exchange(const Exchange& exchange);
    bool exchanging() const { return exchange_.has_value(); }
    // Not before poll() says otherwise; what is lent comes back once set_lending(false) was called.
    bool busy() const { return exchange_.has_value() || !leaving_.empty() || staging_.n_lent() > 0; }
    std::uint64_t n_exchanged() const { return n_exchanged_; }
    // Between two layers: what has arrived becomes visible, what nobody reads any more is given back.
    void poll();

    // ---- migration: new copies beside the old ones, then one switch. All return at once.
    // Room in RAM for the expert in this format, to be filled by the caller. Throws Error (kOutOfMemory).
    std::byte* prepare_ram(std::size_t index, kernels::WeightType format);
    // Copies the prepared block, or, where none was prepared, the RAM copy, to new room on the device. False when the
    // device refuses the copy. Throws Error (kOutOfMemory).
    bool prepare_device(std::size_t index);
    bool device_prepared(std::size_t index);  // the copy is whole
    // What was prepared replaces what there was; a copy that is not kept, new or old, goes. A format changes here, so
    // that this is for between two steps where it does.
    void commit(std::size_t index, bool keep_ram, bool keep_device);
    void abandon(std::size_t index);  // what was prepared
    void drop_device(std::size_t index);
    void drop_ram(std::size_t index);
    // Of an expert without any copy: the next commit() changes its format.
    void prepare_format(std::size_t index, kernels::WeightType format);
    // Waits until everything that was dropped is given back to the arenas; false when there was nothing.
    bool settle();
    // Slots for experts on disk, large enough for every format up to `bytes`. Throws Error (kOutOfMemory); then the old
    // ones stay.
    void set_host_slots(std::int64_t n, std::uint64_t bytes);
    // As many and as large as that where there are more or larger ones. What cannot be exchanged for a smaller one
    // stays. Throws nothing.
    void shrink_host_slots(std::int64_t n, std::uint64_t bytes);
    std::uint64_t host_slot_bytes() const { return host_slot_bytes_; }
    // The RAM copy's bytes, or nothing.
    const std::byte* ram_block(std::size_t index) const { return entries_[index].ram.data; }

  private:
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
        bool leaving = false;  // its bytes are on their way to RAM, or from staging to their place
        bool lent = false;     // its place serves as a staging slot
        std::unique_ptr<Prepared> prepared;
    };
    struct HostSlot {
        DeviceBlock memory;
        std::int64_t expert = -1;  // index into entries_
        std::uint64_t last_use = 0;
        DeviceEvent busy;
    };
    struct Exchanging {
        std::size_t admitted;
        SlotHeap::Slot slot;
        DeviceEvent done;
    };
    // Swap mode: the victim's bytes on their way to RAM.
    struct Leaving {
        std::size_t admitted;
        std::size_t victim;
        SlotHeap::Slot ram;  // where the victim's bytes go
        std::size_t staging_slot;
        DeviceEvent done;
    };
    struct Retired {
        SlotHeap* heap;
        SlotHeap::Slot slot;
        DeviceEvent last_use;
        DeviceEvent last_copy;
    };

    kernels::ExpertView view(const std::byte* block, kernels::WeightType format) const {
        return {block, grid_.layout(format)};
    }
    void pack(std::size_t index, kernels::WeightType format, std::byte* block);
    void fill(const Plan& plan);
    void wait_for_device();
    bool put_on_device(std::size_t entry, const std::byte* block);
    void take_place(std::size_t staging_slot, SlotHeap::Slot staged, std::size_t admitted, std::size_t victim);
    void bring_home();
    void retire(SlotHeap& heap, SlotHeap::Slot slot, DeviceEvent last_copy);
    bool free_retired(bool wait);
    void set_device(Entry& entry, SlotHeap::Slot slot);
    void set_ram(Entry& entry, SlotHeap::Slot slot);

    Backend* device_ = nullptr;
    ExpertSource* source_ = nullptr;
    Arena* ram_arena_ = nullptr;
    kernels::ThreadPool* pool_ = nullptr;
    bool dry_ = false;
    ExpertGrid grid_;
    SlotHeap ram_, slots_;
    std::int64_t n_speculative_ = 0;
    Staging staging_;
    std::vector<Entry> entries_;            // (n_layers, n_experts)
    std::vector<std::uint32_t> residents_;  // indices into entries_
    std::vector<HostSlot> host_slots_;
    std::uint64_t host_slot_bytes_ = 0;
    std::vector<Retired> retired_;
    std::optional<Exchanging> exchange_;
    std::vector<Leaving> leaving_;
    std::int64_t n_resident_ = 0;
    std::int64_t n_in_ram_ = 0;
    std::uint64_t n_exchanged_ = 0;
    std::uint64_t n_admitted_ = 0;
    bool lending_ = false;
    std::uint64_t n_returned_ = 0;
    std::uint64_t uses_ = 0;
    std::vector<std::string> notes_;
};

}  // namespace offstage::engine
