#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/device/mirror.h"
#include "engine/experts/disk_slots.h"
#include "engine/experts/expert_reader.h"
#include "engine/experts/expert_table.h"
#include "engine/experts/place_exchange.h"
#include "engine/experts/prepared_copies.h"
#include "engine/experts/staging.h"
#include "engine/message.h"
#include "engine/plan/plan.h"
#include "engine/quant/expert_source.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {

// A model's experts and their copies. The master of all is the ExpertSource (a mapped
// checkpoint); copies are contiguous blocks (kernels::ExpertLayout), so that one copy
// moves an expert. An expert without a copy is read from its file, or packed from its
// master, into one of a few slots on demand. Changes between two layers are visible to
// the next; formats change between two steps. One thread, the engine's.
class ExpertStore : public ExpertTable {
  public:
    struct Options {
        std::uint64_t pin_budget_bytes = 0;
        bool dry = false;                             // blocks are never filled
        std::int64_t n_speculative = 0;               // of the staging slots, for copies ahead of demand
        std::optional<DirectReads::Kind> reads = {};  // reads of experts on disk beside all other work; unset: none
        bool interleaves = false;                     // rows of RAM copies: CpuOperations::wants_interleaved()
    };

    // Makes the plan's copies. Where the device has less room than planned, or refuses a
    // copy, experts stay in RAM and a note reports it. Throws Error: kOutOfMemory (RAM),
    // kCancelled, kDevice. The referents must outlive this object.
    ExpertStore(const ExpertGrid& grid, ExpertSource& source, const Plan& plan, Backend& device, Arena& ram,
                kernels::ThreadPool& pool, const Options& options);
    ~ExpertStore();

    kernels::WeightType master_type() const { return source_.master_type(); }
    // The format that the model's file has an expert in.
    kernels::WeightType stored(std::size_t index) const { return grid_.stored(master_type(), key(index).layer); }
    const std::vector<Message>& notes() const { return notes_; }

    // The RAM copy, or one packed now; valid until disk_slots().size() other experts
    // without a copy were requested.
    kernels::ExpertView on_host(std::int64_t layer, std::int64_t expert);
    // The block from on_host() is read until `event`.
    void hold(std::int64_t layer, std::int64_t expert, DeviceEvent event);
    DiskSlots& disk_slots() { return disk_slots_; }

    // ---- experts on disk that are read beside everything else
    // Whether any are. Not where time is accounted: there reading takes its time before
    // all else.
    bool reads_ahead() const { return reader_ != nullptr && !device_.info().emulated && disk_slots_.size() > 0; }
    // Reads those of the experts (indices) that are on disk: the needed ones, in the
    // order of the coming on_host() calls, until released or held; then guesses. See
    // DiskSlots.
    void expect(std::span<const std::size_t> needed, std::span<const std::size_t> guesses);
    // on_host(), if that waits for nothing.
    std::optional<kernels::ExpertView> on_host_now(std::int64_t layer, std::int64_t expert);
    const ExpertReader* reader() const { return reader_.get(); }  // nullptr: there is none

    Staging& staging() { return staging_; }
    // Sets the number and the size of the slots; between two steps. Waits for the device.
    // Throws Error (kOutOfMemory); then there are no slots.
    void set_staging(std::int64_t n, std::uint64_t slot_bytes);

    // Between two steps: copies of this block (in ram_layout()) take the place of the
    // expert's present ones, which leave first. Waits for the device. Throws Error
    // (kOutOfMemory, kDevice).
    void replace(std::size_t index, kernels::WeightType format, const std::byte* block, bool in_ram, bool on_device);

    PlaceExchange& places() { return places_; }
    PreparedCopies& copies() { return copies_; }

  private:
    void pack(std::size_t index, std::byte* block);
    // nullptr: the expert has another format than its file has.
    ExpertReader::Handle begin_read(std::size_t index, std::byte* block, ExpertReader::Urgency urgency);
    void fill(const Plan& plan, PinnedHost<std::byte>& passing);
    void wait_for_device();
    bool put_on_device(std::size_t entry, const kernels::ExpertView& block);

    ExpertSource& source_;
    kernels::ThreadPool& pool_;
    const bool dry_;
    const std::int64_t n_speculative_;
    std::unique_ptr<ExpertReader> reader_;
    std::vector<DiskSlots::Expert> needed_, guesses_;  // room for expect()
    DiskSlots disk_slots_;
    Staging staging_;
    PlaceExchange places_{*this, disk_slots_, staging_};
    PreparedCopies copies_{*this, disk_slots_};
    std::vector<Message> notes_;
};

}  // namespace offstage::engine
