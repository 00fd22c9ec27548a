#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/experts/expert_reader.h"

namespace offstage::engine {

// Room in RAM for experts on disk, shared by all layers: each is read into the slot that
// was used longest ago. Where there is a reader, a layer's experts are read while others
// are computed with, and the next layer's likely ones while the disk has nothing else to
// do; others are packed from their master when they are asked for. One thread, the
// engine's.
class DiskSlots {
  public:
    struct Expert {
        std::size_t index = 0;  // in the store
        std::uint64_t bytes = 0;
    };
    using Pack = std::function<void(std::byte* block)>;
    using Begin = std::function<ExpertReader::Handle(std::size_t index, std::byte* block, ExpertReader::Urgency)>;

    // The referents must outlive this object.
    DiskSlots(Backend& device, Arena& ram) : device_(device), ram_(ram) {}
    ~DiskSlots() { give_up_reads(); }
    DiskSlots(const DiskSlots&) = delete;
    DiskSlots& operator=(const DiskSlots&) = delete;

    // Before there are slots. begin: ExpertReader::start(); it must outlive this object.
    void set_reader(ExpertReader* reader, Begin begin);

    std::int64_t size() const { return static_cast<std::int64_t>(slots_.size()); }
    std::uint64_t slot_bytes() const { return slot_bytes_; }
    // At most so many guesses are read: the others stay for what is needed.
    std::int64_t n_for_guesses() const { return size() / 2; }

    // So many slots of `bytes`, and with `buffered` the reader's buffers; as they are where
    // there are as many, and large enough. Without buffers experts are packed when they
    // are asked for. Throws Error (kOutOfMemory); then the old ones stay.
    void resize(std::int64_t n, std::uint64_t bytes, bool buffered);
    // As many and as large as that where there are more or larger ones. What cannot be
    // exchanged for a smaller one stays. Throws nothing.
    void shrink(std::int64_t n, std::uint64_t bytes, bool buffered);

    // ---- with a reader: what is called next
    // `needed`: in the order in which they will be asked for; each keeps its slot until
    // release(). Guesses, in the order of their likelihood, are read when nothing else
    // is; those of the call before that are not among either are given up.
    void expect(std::span<const Expert> needed, std::span<const Expert> guesses);
    // The block, if it is whole by now; else nullptr.
    const std::byte* find(std::size_t index);
    bool holds(std::size_t index) const;  // find() would give something
    // It is being read, or read and not yet looked at.
    bool is_coming(std::size_t index) const;
    // It was computed with; what waits for a slot may have this one.
    void release(std::size_t index);

    // The expert's block of `bytes`, waited for where it is coming, else filled by `pack`;
    // valid until size() other experts were asked for. Throws Error: kOutOfMemory without
    // a slot that is large enough, and what reading and pack throw.
    const std::byte* find_or_pack(std::size_t index, std::uint64_t bytes, const Pack& pack);
    // The expert's block is read until `event`; it is released.
    void hold(std::size_t index, DeviceEvent event);
    // Its block is not what it was.
    void forget(std::size_t index);

  private:
    // Page-locked where the system lets us: the device copies from it beside its other work.
    class Memory {
      public:
        Memory() = default;
        Memory(Backend& device, DeviceBlock bytes);
        ~Memory();
        Memory(Memory&& other) noexcept { *this = std::move(other); }
        Memory& operator=(Memory&& other) noexcept;
        std::byte* data() const { return bytes_.data(); }

      private:
        Backend* pinned_by_ = nullptr;
        DeviceBlock bytes_;
    };
    struct Slot {
        Memory memory;
        std::int64_t expert = -1;
        std::uint64_t last_use = 0;
        DeviceEvent busy;
        bool needed = false;  // by the layer at hand
        ExpertReader::Handle read;
    };

    DeviceBlock allocate(std::uint64_t bytes);
    Memory allocate_slot(std::uint64_t bytes) { return {device_, allocate(bytes)}; }
    void add_slots(std::int64_t n, std::uint64_t bytes);
    bool has_buffers() const { return buffers_.data() != nullptr; }
    void drop_buffers();
    void make_buffers();
    Slot* slot_of(std::size_t index);
    Slot* free_slot();
    Slot& oldest_slot();
    void begin_reads();
    bool begin_read(const Expert& expert, ExpertReader::Urgency urgency);
    void give_up_reads();

    Backend& device_;
    Arena& ram_;
    ExpertReader* reader_ = nullptr;
    Begin begin_;
    DeviceBlock buffers_;
    std::vector<Slot> slots_;
    std::deque<Expert> needed_, guesses_;  // that have no slot yet
    std::uint64_t slot_bytes_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace offstage::engine
