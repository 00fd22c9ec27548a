#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/indices.h"
#include "engine/run/kv_pool.h"

namespace offstage::engine {

// The KV cache of a loaded model: a pool for each group of layers that are alike. One
// thread, between steps.
class KvCache {
  public:
    // rooms: a group's each. Throws Error (kOutOfMemory). The device and the arena must
    // outlive the cache.
    KvCache(const KvLayout& layout, std::span<const KvRoom> rooms, Backend& device, Arena& ram);

    std::size_t n_groups() const { return pools_.size(); }
    KvPool& pool(std::size_t group) { return *pools_[group]; }
    const KvPool& pool(std::size_t group) const { return *pools_[group]; }
    kernels::KvType type() const { return type_; }  // of keys and values
    std::int64_t n_held_in_host() const;            // blocks, by sequences
    bool has_states() const;                        // of DeltaNet layers

    // As KvPool's, for all groups; those that get smaller go first, since the others may
    // need their memory. Where one of them throws, it is as it was before the call, and
    // what the others reached stays.
    void resize(std::span<const KvRoom> rooms);
    // most_bytes: to be taken or copied by this call, at least one block.
    // Memory in RAM is page-locked, and unlocked before it is given back, by a thread beside the one that calls; true
    // only when that has done all of it.
    bool approach(std::span<const KvRoom> rooms, std::uint64_t most_bytes);
    // Waits for what approach() has begun: another call goes on.
    void wait_for_memory();
    // Gives back what approach() or prepare_retype() has begun to lock: its room is not
    // wanted any more.
    void drop_prepared();
    // Where it throws, all groups are in the type that they were in. Idle sequences are
    // given up: what they hold would not be what a fresh read in the new type computes.
    void retype(kernels::KvType type);
    // Before retype() and resize(): has the memory in RAM locked that these will want, by the
    // thread beside the caller's. True when it is, or none will be wanted.
    bool prepare_retype(kernels::KvType type, std::span<const KvRoom> rooms);

    // Idle sequences (KvSequence::set_idle), whose blocks running ones may have. `give_up`
    // is called wherever blocks are short - in KvSequence::prepare(), and where the room
    // shrinks below what is held - and gives up some blocks, or says that it has none.
    enum class GiveUp : std::uint8_t {
        kEnds,   // what lies behind a sequence's last checkpoint, and earlier checkpoints
        kWhole,  // a sequence with all it holds
    };
    void set_give_up(std::function<bool(GiveUp what)> give_up) { give_up_ = std::move(give_up); }
    bool give_up(GiveUp what) { return give_up_ && give_up_(what); }
    // Of running sequences, as far as the device has room or idle ones hold its blocks.
    void bring_to_device();

  private:
    bool holds_more_than(std::span<const KvRoom> rooms) const;
    // Calls step(group) for those that get smaller and then the others, until it is false.
    bool for_each_group(std::span<const KvRoom> rooms, const std::function<bool(std::size_t group)>& step);

    std::unique_ptr<PageLocker> locker_;  // nullptr: the device locks no memory, or only as if
    std::vector<std::unique_ptr<KvPool>> pools_;
    kernels::KvType type_ = kernels::KvType::kF32;
    std::function<bool(GiveUp what)> give_up_;
};

// A token of a sequence, and by what step its keys and values were computed: two sequences of one model that say the
// same hold the same bits, and another machine that makes the same steps does.
struct WrittenToken {
    static constexpr std::int32_t kInAnyStep = 0;      // its sums do not depend on the step (SumOrder::kMany)
    static constexpr std::int32_t kBesideOthers = -1;  // in a step with other sequences, or nobody knows

    TokenId token = 0;
    std::int32_t n_together = kBesideOthers;  // above 0: tokens of its step, which had no others
    std::int32_t place = 0;                   // among these
    std::uint32_t step = 0;                   // which one it was, where that matters
    bool operator==(const WrittenToken&) const = default;
};

// Keys and values of one conversation, or of one beam, in blocks of the cache's pools.
// Gives them back. Where a group has a window, what lies before the window of the next
// token, and of the one before it, is given back after each step. Of a group of DeltaNet
// layers there is one block, their state after all tokens (none: zeros); a step writes
// another one, which commit() puts in its place, so that a step that fails changes
// nothing.
class KvSequence {
  public:
    KvSequence() = default;
    KvSequence(KvCache& cache, std::int64_t capacity);
    ~KvSequence();
    KvSequence(KvSequence&& other) noexcept;
    KvSequence& operator=(KvSequence&& other) noexcept;

    KvCache& cache() const { return *cache_; }
    std::int64_t size() const { return size_; }          // tokens held
    std::int64_t capacity() const { return capacity_; }  // tokens it may hold
    // Throws Error (kInvalidInput) when it holds more already.
    void set_capacity(std::int64_t n_tokens);

    // A group's blocks, by number; those before `first` were given back.
    struct Table {
        std::int64_t first = 0;
        std::vector<std::int32_t> blocks;
        std::int32_t next_state = -1;  // what the step under way writes; -1: none

        std::int64_t end() const { return first + static_cast<std::int64_t>(blocks.size()); }
        std::int32_t& at(std::int64_t block) { return blocks[static_cast<std::size_t>(block - first)]; }
        std::int32_t at(std::int64_t block) const { return blocks[static_cast<std::size_t>(block - first)]; }
    };
    const Table& table(std::size_t group) const { return tables_[group]; }

    // Makes sure that n_tokens more can be written: takes blocks, and parts from a shared
    // last block by copying what it holds of this sequence (at most kKvBlockTokens - 1
    // tokens). Where blocks are short, the ends of idle sequences are given up, then this
    // one's earlier checkpoints, idle sequences, and the last checkpoint. A fork's state
    // takes memory beyond the plan, where there is some, before an idle sequence goes.
    // False when a pool has no block left even so; nothing else has changed then.
    bool prepare(std::int64_t n_tokens, Backend& device);
    // Makes these tokens, already written for every layer, part of the sequence; n_together and step: as
    // WrittenToken's.
    void commit(std::span<const TokenId> tokens, std::int32_t n_together, std::uint32_t step);
    // The same with tokens that nobody will ask for.
    void commit(std::int64_t n_tokens);
    // (size())
    std::span<const WrittenToken> written() const { return written_; }
    // Where truncate() has left the beginning of a step whose sums depend on all of its tokens: up to where what is
    // left of it goes, and the tokens that it had behind that. Whoever makes that step again needs them.
    struct CutStep {
        std::size_t end = 0;
        std::vector<TokenId> rest;
    };
    std::span<const CutStep> cut_steps() const { return cut_steps_; }  // ascending

    // Goes back to its first n_tokens tokens. Where a group no longer holds what a token
    // there would see, it goes back to the last checkpoint before it, or holds nothing.
    // Returns the number of tokens that it holds.
    std::int64_t truncate(std::int64_t n_tokens);
    // What truncate() would return.
    std::int64_t reach(std::int64_t n_tokens) const;
    void clear() { truncate(0); }
    // Keeps what windowed groups hold now, so that truncate() can come back here, or to
    // one token less, and the states of DeltaNet layers, which are those of just here. The
    // last eight are kept, and cost their blocks; where these are short, the last two, and
    // then less (prepare()). Nothing without either.
    void checkpoint();
    // Gives up the earliest checkpoint but the last. False: there is no such one.
    bool give_up_checkpoint();

    // A second sequence with the same tokens for a while, as of a beam: shares all
    // blocks, copies nothing. Without the checkpoints.
    KvSequence fork() const;
    // The same with the checkpoints, to stay.
    KvSequence copy() const;

    // No step is made with it for a while: its blocks leave the device first.
    void set_idle(bool idle);
    bool is_idle() const { return idle_; }
    // Gives up an earlier checkpoint, or else what lies behind the last one; where all
    // groups keep everything, the last block. False: there is no such thing. It may hold
    // nothing afterwards.
    bool give_up_end();

  private:
    struct Checkpoint {
        std::int64_t size = 0;
        std::vector<Table> tables;  // empty ones of groups that keep everything
    };
    static constexpr std::size_t kMostCheckpoints = 8;
    static constexpr std::size_t kSafeCheckpoints = 2;  // which idle sequences' ends are given up for

    // The tables, of `size` tokens, hold what a token after n_tokens tokens sees, or
    // (`or_before`) where a state is that of fewer tokens, what one after those sees.
    bool reaches(const std::vector<Table>& tables, std::int64_t size, std::int64_t n_tokens, bool or_before) const;
    const Checkpoint* checkpoint_for(std::int64_t n_tokens) const;  // nullptr: none reaches it
    void drop_first_checkpoint();
    void cut_written(std::size_t n_tokens);
    void mark_idle(const std::vector<Table>& tables, bool idle) const;
    bool keeps_all() const;  // every group does
    bool has_room_for(std::int64_t n_tokens) const;
    bool grow_states();
    bool parts_from_last(std::size_t group) const;
    Table held(std::size_t group) const;  // without what a step was to write
    void share(const std::vector<Table>& tables) const;
    void drop(const std::vector<Table>& tables);

    KvCache* cache_ = nullptr;
    std::vector<Table> tables_;            // by group
    std::vector<Checkpoint> checkpoints_;  // ascending
    std::vector<WrittenToken> written_;
    std::vector<CutStep> cut_steps_;
    std::int64_t capacity_ = 0;
    std::int64_t size_ = 0;
    bool idle_ = false;
    bool is_fork_ = false;
};

}  // namespace offstage::engine
