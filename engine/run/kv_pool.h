#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/device/arena.h"
#include "engine/device/backend.h"
#include "engine/experts/page_locker.h"
#include "engine/model/kv_layout.h"
#include "engine/plan/plan.h"
#include "kernels/types.h"

namespace offstage::engine {

// The KV memory of a group of layers: blocks of kKvBlockTokens tokens (kernels::KvShape),
// each in a separate piece of memory on the accelerator or in RAM, handed out to
// sequences and counted, so that sequences with a common beginning share its blocks. A
// block has a number that stays the same while the block moves. (One piece per block: a
// block of a real model is several MiB, Mixtral 8x7B's 16 MiB, so every size can be met
// exactly, and nothing is moved to close gaps.) One thread, between steps.
//
// New blocks are taken on the device first. When blocks must leave the device, the
// least-read ones go: first those that fewer sequences share, then, of equals, the
// newest, which leaves on the device the blocks that a conversation keeps longest; under
// a sliding window, and for the states of recurrent layers, the oldest, which are no
// longer read. Blocks that only idle sequences hold (set_idle()) go before all others,
// also when a new block is taken.
class KvPool {
  public:
    // Throws Error (kOutOfMemory). The device, the arena and the locker must outlive the
    // pool. locker: page-locks the memory in RAM, and unlocks released memory, on a
    // separate thread; nullptr: the pool does, on its caller's.
    KvPool(const KvGroup& group, KvRoom room, Backend& device, Arena& ram, PageLocker* locker = nullptr);
    KvPool(const KvPool&) = delete;
    KvPool& operator=(const KvPool&) = delete;

    // Sets the number of blocks; held blocks move as necessary, and to the device where
    // that has room. Allocates memory before it releases any. Throws and leaves
    // everything unchanged: Error kOutOfMemory (also where the system locks no more
    // pages), kInvalidInput when sequences hold more than that, kDevice when the device
    // fails at a copy. resize(room()) moves blocks to the device that were placed in RAM
    // while it was full.
    void resize(KvRoom room);
    // The same in pieces, so that no step of a conversation waits long: changes each
    // memory by at most so many blocks towards that room, and copies at most so many (two
    // where the only thing left is to exchange one for another). True when it is reached
    // and nothing is left to move. Between two calls the pool is fully usable, so the
    // next one may be for another room. Throws as resize() does; then the pool is as it
    // was before this call. With a locker, memory in RAM is used once it is locked: until
    // then calls return false, and the allocated memory already counts as used.
    // drop_prepared() releases it if no other call follows.
    bool approach(KvRoom room, std::int64_t most_blocks);
    bool drop_prepared();  // false: there was none

    // From now on keys and values are stored in this type (states do not change): all
    // held blocks are converted, one at a time, so that little extra memory is needed.
    // Leaves no free blocks (room() returns the number of held ones): approach() then
    // makes the plan's room for the new size. Throws Error kOutOfMemory, kDevice; then
    // held blocks are as before, except for int8's rounding on the way back, and room()
    // may be smaller.
    void retype(kernels::KvType type);
    // With a locker: allocates the memory in RAM that retype() and, after it,
    // resize(room) will need, as far as RAM has room for that beside the present blocks,
    // and has it locked. False: it is not locked yet; the next call continues. Those two
    // wait for the rest. drop_prepared() releases it.
    bool prepare_retype(kernels::KvType type, KvRoom room);

    const KvRoom& room() const { return room_; }
    const kernels::KvShape& shape() const { return shape_; }
    std::int64_t window() const { return window_; }
    bool is_state() const { return is_state_; }  // for recurrent layers: KvGroup
    bool keeps_type() const { return keeps_type_; }
    bool keeps_all() const { return window_ == 0 && !is_state_; }
    std::int64_t n_blocks() const { return room_.n_blocks(); }
    std::int64_t n_free() const { return static_cast<std::int64_t>(spare_[0].size() + spare_[1].size()); }
    std::int64_t n_held_in_host() const;  // by sequences
    KvBlock block(std::int32_t number) const { return held_[static_cast<std::size_t>(number)].memory.place; }

    // -1: none left. Where the device is full and RAM is not, a block that only idle
    // sequences hold goes to RAM, so that the new block lies on the device.
    std::int32_t take();
    // Adds a block beyond the room, in RAM if the device has no memory left. False: RAM
    // has none either. The next approach() frees it once it is unused.
    bool add_block();
    void share(std::int32_t block) { ++held_[static_cast<std::size_t>(block)].references; }
    void drop(std::int32_t block);
    bool is_shared(std::int32_t block) const { return held_[static_cast<std::size_t>(block)].references > 1; }
    // A block's shape().block_bytes() to and from RAM. False: the device failed.
    bool download(std::int32_t block, std::byte* to);
    bool upload(std::int32_t block, const std::byte* from);
    // Marks one of the sequences that hold the block as idle or not: no step reads it for
    // an idle sequence. Before a sequence drops the block, it must not be idle.
    void set_idle(std::int32_t block, bool idle);
    // Moves blocks of sequences that are not idle to the device, as far as it has room or
    // can exchange blocks. If the device fails, blocks stay in place.
    void bring_to_device();

  private:
    // A block's memory.
    struct Memory {
        Memory() = default;
        Memory(Memory&& other) noexcept;
        Memory& operator=(Memory&& other) noexcept;
        ~Memory();

        DeviceBlock bytes;
        KvBlock place;
        Backend* pinned_by = nullptr;
        PageLocker* locker = nullptr;  // which unlocks it and gives it back
    };
    struct Held {
        Memory memory;
        std::int64_t references = 0;  // 0: the number is free, and without memory
        std::int64_t idle = 0;        // of these, by idle sequences
        std::uint64_t age = 0;        // the larger, the newer
    };
    enum class Place : std::uint8_t { kDevice, kHost };
    static Place other(Place place) { return place == Place::kDevice ? Place::kHost : Place::kDevice; }

    std::vector<Memory>& spare(Place place) { return spare_[static_cast<std::size_t>(place)]; }
    Message purpose_of(const kernels::KvShape& shape, std::int64_t of_all) const;
    DeviceBlock allocate_host(std::size_t bytes, const Message& purpose);
    Memory being_locked(DeviceBlock bytes);
    void map_locked(std::span<Memory> memories, const Message& purpose);
    Memory pinned_host(std::size_t bytes, const Message& purpose);
    std::vector<Memory> allocate(Place place, const kernels::KvShape& shape, std::int64_t n, std::int64_t of_all);
    enum class Shortage : std::uint8_t { kThrows, kIsLeft };
    bool prepare(const kernels::KvShape& shape, std::int64_t n, std::int64_t of_all, Shortage shortage);
    bool approach(KvRoom room, std::int64_t most_blocks, bool prepares);
    bool is_read_more(const Held& a, const Held& b) const;
    void make_device_room();
    // Numbers of the held blocks there, the least-read first.
    std::vector<std::int32_t> held_in(Place place) const;
    // Copies these blocks into `to`, memories at the other place, and waits. False: the
    // device failed; nothing is lost.
    bool copy(std::span<const std::int32_t> blocks, Place from, std::span<Memory* const> to);
    bool move(std::span<const std::int32_t> blocks, Place from);  // to spare memory, which must suffice
    std::int64_t change_room(KvRoom room);                        // returns the number of copied blocks
    bool settle(std::int64_t most_blocks);
    void rewrite(Held& held, kernels::KvType type);

    kernels::KvShape shape_;
    std::int64_t window_;
    bool is_state_;
    bool keeps_type_;
    Backend& device_;
    Arena& ram_;
    PageLocker* locker_;
    KvRoom room_;
    std::vector<Held> held_;  // by number
    std::vector<std::int32_t> free_numbers_;
    std::vector<Memory> spare_[2];  // by Place; the next one to hand out last
    std::vector<Memory> prepared_;  // in RAM, of no room yet: the locker has been given them; all of one size
    std::uint64_t n_taken_ = 0;
    std::int64_t n_idle_ = 0;  // references, of all blocks
};

}  // namespace offstage::engine
