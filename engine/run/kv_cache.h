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
    bool has_states() const;                        // for recurrent layers
    bool keeps_all() const;                         // every group does

    // As KvPool's, for all groups; groups that shrink come first, since the others may
    // need their memory. If one of them throws, that one is unchanged, and the new sizes
    // of the others stay.
    void resize(std::span<const KvRoom> rooms);
    // most_bytes: to be allocated or copied by this call, at least one block. A separate
    // thread page-locks memory in RAM, and unlocks it before its release; true only when
    // that thread has finished.
    bool approach(std::span<const KvRoom> rooms, std::uint64_t most_bytes);
    // Waits for the work that approach() has started; another call continues it.
    void wait_for_memory();
    // Releases memory that approach() or prepare_retype() has begun to lock and that is
    // no longer needed.
    void drop_prepared();
    // If it throws, all groups keep their old type. Idle sequences are given up:
    // converted, they would differ from a fresh computation in the new type.
    void retype(kernels::KvType type);
    // Before retype() and resize(): lets the separate thread lock the memory in RAM that
    // these will need. True when it is locked, or none will be needed.
    bool prepare_retype(kernels::KvType type, std::span<const KvRoom> rooms);

    // Idle sequences (KvSequence::set_idle), whose blocks running ones may take.
    // `give_up` is called whenever blocks are short (in KvSequence::prepare(), and when
    // the room shrinks below the held blocks); it releases some blocks, or returns that
    // it has none.
    enum class GiveUp : std::uint8_t {
        kEnds,     // above all blocks after a sequence's last checkpoint, and earlier checkpoints
        kWhole,    // a sequence with all it holds
        kRunning,  // one that is not idle becomes idle; only where the room shrinks
    };
    void set_give_up(std::function<bool(GiveUp what)> give_up) { give_up_ = std::move(give_up); }
    bool give_up(GiveUp what) { return give_up_ && give_up_(what); }
    // Moves blocks of running sequences to the device, as far as it has room or idle ones
    // hold its blocks.
    void bring_to_device();

  private:
    bool holds_more_than(std::span<const KvRoom> rooms) const;
    // Calls step(group) for groups that shrink and then for the others, until it returns
    // false.
    bool for_each_group(std::span<const KvRoom> rooms, const std::function<bool(std::size_t group)>& step);

    std::unique_ptr<PageLocker> locker_;  // nullptr: the device locks no memory, or only emulates it
    std::vector<std::unique_ptr<KvPool>> pools_;
    kernels::KvType type_ = kernels::KvType::kF32;
    std::function<bool(GiveUp what)> give_up_;
};

// A token of a sequence, and the kind of step that computed its keys and values: two
// sequences of one model with equal entries hold the same bits, and so does another
// machine that makes the same steps.
struct WrittenToken {
    static constexpr std::int32_t kInAnyStep = 0;      // its sums do not depend on the step (SumOrder::kMany)
    static constexpr std::int32_t kBesideOthers = -1;  // in a step with other sequences, or unknown

    TokenId token = 0;
    std::int32_t n_together = kBesideOthers;  // above 0: tokens of its step, which had no others
    std::int32_t place = 0;                   // among these
    std::uint32_t step = 0;                   // which one it was, where that matters
    bool operator==(const WrittenToken&) const = default;
};

// Keys and values of one conversation, or of one beam, in blocks of the cache's pools,
// which it releases. In a group with a window, blocks before the windows of the next
// token and the kPromptEndTokens before it are released after each step. A group of
// recurrent layers has one block, their state after all tokens (none: zeros); a step
// writes others, behind all its tokens or behind each, of which commit() puts one in its
// place, so that a failed step changes nothing.
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

    // A group's blocks, by number; those before `first` were freed.
    struct Table {
        std::int64_t first = 0;
        std::vector<std::int32_t> blocks;
        std::vector<std::int32_t> next_states;  // written by the step under way

        std::int64_t end() const { return first + static_cast<std::int64_t>(blocks.size()); }
        std::int32_t& at(std::int64_t block) { return blocks[static_cast<std::size_t>(block - first)]; }
        std::int32_t at(std::int64_t block) const { return blocks[static_cast<std::size_t>(block - first)]; }
    };
    const Table& table(std::size_t group) const { return tables_[group]; }
    // The first of a group's blocks after commit() of n_tokens more.
    std::int64_t first_after(std::size_t group, std::int64_t n_tokens) const;

    // Makes sure that n_tokens more can be written: takes blocks, and separates from a
    // shared last block by copying this sequence's part of it (at most kKvBlockTokens - 1
    // tokens). Where blocks are short, these are given up in order: the ends of idle
    // sequences, this one's earlier checkpoints (for edits of earlier messages), idle
    // sequences, and the last checkpoint. A fork's state takes memory beyond the plan,
    // where there is some, before an idle sequence is given up. False when a pool still
    // has no block; nothing else has changed then. n_states: that the step writes.
    bool prepare(std::int64_t n_tokens, Backend& device, std::size_t n_states = 1);
    // How many drafted tokens, at most `most`, the next step has room for besides its
    // token, without anything being given up. States of recurrent layers, one for each
    // token, take memory beyond the plan where there is some.
    std::int64_t room_for_drafts(std::int64_t most);
    // Appends these tokens, whose keys and values are written in every layer, to the
    // sequence; n_together and step: as in WrittenToken. The first of the states written
    // is the one behind them.
    void commit(std::span<const TokenId> tokens, std::int32_t n_together, std::uint32_t step);
    // The same for tokens whose ids are not needed later.
    void commit(std::int64_t n_tokens);
    // (size())
    std::span<const WrittenToken> written() const { return written_; }
    // A step whose sums depend on all of its tokens, and of which truncate() has left
    // only the beginning: the end of the remaining part, and the removed tokens.
    // Repeating that step needs them.
    struct CutStep {
        std::size_t end = 0;
        std::vector<TokenId> rest;
    };
    std::span<const CutStep> cut_steps() const { return cut_steps_; }  // ascending

    // Goes back to its first n_tokens tokens. If a group no longer holds the keys that a
    // token there would see, it goes back to the last checkpoint before it, or holds
    // nothing. Returns the number of tokens that it holds.
    std::int64_t truncate(std::int64_t n_tokens);
    // The value that truncate() would return.
    std::int64_t reach(std::int64_t n_tokens) const;
    void clear() { truncate(0); }
    // Keeps the present contents of windowed groups, so that truncate() can return here
    // or to kPromptEndTokens less; and the states of recurrent layers, with which it can
    // return exactly here. The last eight checkpoints are kept and occupy blocks. If
    // blocks are short, fewer are kept (prepare()). Does nothing without windows and
    // states.
    void checkpoint();
    // Gives up the earliest checkpoint except the last. False: there is none.
    bool give_up_checkpoint();

    // A second sequence with the same tokens for a while, as of a beam: shares all
    // blocks, copies nothing. Without the checkpoints.
    KvSequence fork() const;
    // The same with the checkpoints, to stay.
    KvSequence copy() const;

    struct Checkpoint {
        std::int64_t size = 0;
        std::vector<Table> tables;  // empty ones of groups that keep everything
    };
    std::span<const Checkpoint> checkpoints() const { return checkpoints_; }  // ascending
    // Of an empty sequence: makes it hold the first n_tokens of these. It releases the
    // tables' blocks from now on, so the caller has counted one reference for each place
    // in them. Where n_tokens are fewer than `written`, all groups keep everything, and
    // the blocks behind them may be missing.
    void restore(std::vector<Table> tables, std::vector<Checkpoint> checkpoints, std::vector<WrittenToken> written,
                 std::vector<CutStep> cut_steps, std::int64_t n_tokens);

    // No step is made with it for a while: its blocks leave the device first.
    void set_idle(bool idle);
    bool is_idle() const { return idle_; }
    // Gives up an earlier checkpoint, or else the blocks after the last one; where all
    // groups keep everything, the last block. False: there is none. The sequence may be
    // empty afterwards.
    bool give_up_end();

  private:
    static constexpr std::size_t kMostCheckpoints = 8;

    // Whether the tables, of `size` tokens, hold all keys that a token after n_tokens
    // tokens sees, or (`or_before`) where a state is that of fewer tokens, those that a
    // token after them sees.
    bool reaches(const std::vector<Table>& tables, std::int64_t size, std::int64_t n_tokens, bool or_before) const;
    const Checkpoint* checkpoint_for(std::int64_t n_tokens) const;  // nullptr: none reaches it
    void drop_first_checkpoint();
    void cut_written(std::size_t n_tokens);
    void mark_idle(const std::vector<Table>& tables, bool idle) const;
    bool has_room_for(std::int64_t n_tokens, std::size_t n_states) const;
    bool lacks_states(std::size_t group, std::size_t n_states) const;
    bool grow_states(std::size_t n_states);
    void drop_next_states(std::size_t group, std::size_t n_kept);
    bool parts_from_last(std::size_t group) const;
    Table held(std::size_t group) const;  // without blocks that a step was to write
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
