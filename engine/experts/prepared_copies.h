#pragma once

#include <cstddef>

#include "engine/experts/disk_slots.h"
#include "engine/experts/expert_table.h"

namespace offstage::engine {

// For migrations: makes new copies beside the old ones, then switches once. All functions
// return at once. One thread, the engine's.
class PreparedCopies {
  public:
    // The referents must outlive this object.
    PreparedCopies(ExpertTable& table, DiskSlots& disk_slots) : table_(table), disk_slots_(disk_slots) {}

    // Room in RAM for the expert in this format, to be filled by the caller. Throws Error
    // (kOutOfMemory).
    std::byte* prepare_ram(std::size_t index, kernels::WeightType format,
                           SlotHeap::Pinning pinning = SlotHeap::Pinning::kNow);
    // For that room, as SlotHeap's functions of these names.
    Backend* to_pin(std::size_t index) const;
    void pinned(std::size_t index, SlotHeap::Pinned outcome);
    // Copies the prepared block, or, where none was prepared, the RAM copy, to new room
    // on the device. False when the device refuses the copy. Throws Error (kOutOfMemory).
    bool prepare_device(std::size_t index);
    bool is_on_device(std::size_t index) const;  // the prepared copy is whole
    // For an expert without any copy: the next commit() changes its format.
    void prepare_format(std::size_t index, kernels::WeightType format);
    // Prepared copies replace the old ones; a copy that is not kept, new or old, is
    // dropped. If the format changes, only between two steps.
    void commit(std::size_t index, bool keep_ram, bool keep_device);
    void abandon(std::size_t index);  // the prepared copies

  private:
    using Entry = ExpertTable::Entry;
    using Prepared = ExpertTable::Prepared;

    ExpertTable& table_;
    DiskSlots& disk_slots_;
};

}  // namespace offstage::engine
