#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/experts/expert_reader.h"
#include "engine/experts/page_locker.h"

namespace offstage::engine {

// Room in RAM for experts on disk, shared by all layers: each is read into the slot that
// was used longest ago. With a reader, a layer's experts are read while others are
// computed, and the next layer's likely ones while the disk is idle; other experts are
// packed from their master on demand. One thread, the engine's.
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

    // Call it before there are slots. begin: ExpertReader::start(); it must outlive this
    // object.
    void set_reader(ExpertReader* reader, Begin begin);
    // Page-locks slots from now on, so that the device copies from them beside other
    // work; nullptr: no page-locking.
    void set_locker(PageLocker* locker) { locker_ = locker; }

    std::int64_t size() const { return static_cast<std::int64_t>(slots_.size()); }
    std::uint64_t slot_bytes() const { return slot_bytes_; }
    // The most guesses that are read: the other slots are kept for needed experts.
    std::int64_t n_for_guesses() const { return size() / 2; }

    // Makes n slots of `bytes`, and with `buffered` the reader's buffers; keeps the old
    // ones where they are as many and large enough. Without buffers experts are packed on
    // demand. Throws Error (kOutOfMemory); then the old ones stay.
    void resize(std::int64_t n, std::uint64_t bytes, bool buffered);
    // Reduces the number and size of the slots to these. If none can be exchanged for a
    // smaller one, one of the old size stays. Throws Error (kOutOfMemory) if not even
    // that can be made again.
    void shrink(std::int64_t n, std::uint64_t bytes, bool buffered);

    // ---- with a reader: the next calls
    // `needed`: in the order of the coming calls; each keeps its slot until release().
    // Guesses, in the order of their likelihood, are read when nothing else is; reads of
    // the call before that are in neither list are cancelled.
    void expect(std::span<const Expert> needed, std::span<const Expert> guesses);
    // The block if it is complete by now; otherwise nullptr.
    const std::byte* find(std::size_t index);
    bool holds(std::size_t index) const;  // find() would give something
    // True while it is being read, or read and not yet used.
    bool is_coming(std::size_t index) const;
    // It was computed with; what waits for a slot may have this one.
    void release(std::size_t index);

    // The expert's block of `bytes`: waits for a pending read, or else fills it by
    // `pack`; valid until size() other experts were requested. Throws Error: kOutOfMemory
    // without a slot that is large enough, and the errors of reading and pack.
    const std::byte* find_or_pack(std::size_t index, std::uint64_t bytes, const Pack& pack);
    // The expert's block is read until `event`; it is released.
    void hold(std::size_t index, DeviceEvent event);
    // Its block is outdated.
    void forget(std::size_t index);

  private:
    struct Slot {
        LockedBlock memory;
        std::int64_t expert = -1;
        std::uint64_t last_use = 0;
        DeviceEvent busy;
        bool needed = false;  // by the layer at hand
        ExpertReader::Handle read;
    };

    DeviceBlock allocate(std::uint64_t bytes);
    LockedBlock new_slot(std::uint64_t bytes) { return {allocate(bytes), locker_}; }
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
    PageLocker* locker_ = nullptr;
    Begin begin_;
    DeviceBlock buffers_;
    std::vector<Slot> slots_;
    std::deque<Expert> needed_, guesses_;  // without a slot so far
    std::uint64_t slot_bytes_ = 0;
    std::uint64_t uses_ = 0;
};

}  // namespace offstage::engine
