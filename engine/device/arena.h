#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "engine/message.h"

namespace offstage::engine {

// The uses of memory: the rows of every budget display.
enum class MemoryUse : std::uint8_t { kDense, kKvCache, kExperts, kStaging, kWorkspace };
inline constexpr std::size_t kMemoryUses = 5;
std::string_view name_of(MemoryUse use);  // "dense weights", "KV cache", "experts", "staging", "workspace"

// The source of an arena's bytes: host memory, a GPU. allocate() returns nullptr when
// there are none, and never throws.
class MemorySource {
  public:
    virtual ~MemorySource() = default;
    virtual void* allocate(std::size_t bytes) noexcept = 0;
    virtual void release(void* data, std::size_t bytes) noexcept = 0;
    // Released memory may be kept for later, but if the source has a limit, all memory
    // that it holds stays within it.
    virtual void set_limit(std::uint64_t /*bytes*/) noexcept {}
};

struct ArenaUsage {
    std::uint64_t budget_bytes = 0;
    std::uint64_t used_bytes = 0;
    std::uint64_t high_water_bytes = 0;  // never above the budget
    std::array<std::uint64_t, kMemoryUses> by_use{};
};

class Arena;

// A piece of an arena's memory; its destructor returns it. Movable. Must not outlive its
// arena.
class DeviceBlock {
  public:
    DeviceBlock() = default;
    ~DeviceBlock();
    DeviceBlock(DeviceBlock&& other) noexcept;
    DeviceBlock& operator=(DeviceBlock&& other) noexcept;

    // An address of the device: the host may read it only where it shares memory.
    std::byte* data() const { return data_; }
    std::size_t size() const { return bytes_; }
    template <typename T>
    T* as() const {
        return reinterpret_cast<T*>(data_);
    }
    explicit operator bool() const { return data_ != nullptr; }

  private:
    friend class Arena;
    Arena* arena_ = nullptr;
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
    MemoryUse use_ = MemoryUse::kWorkspace;
};

// Memory of one place (a GPU, an emulated accelerator, the host) under a budget that the
// used bytes never exceed. Sizes count rounded up to 256 bytes, the alignment of blocks;
// a device's further rounding to pages does not count. Any thread. Allocation happens at
// load and when plans change, never per token.
class Arena {
  public:
    // `place`: a name for messages, e.g. "NVIDIA H200" or "RAM". The source must outlive
    // the arena.
    Arena(MessageArgument place, MemorySource& source, std::uint64_t budget_bytes);
    ~Arena();  // all blocks must be freed, and no other bytes counted
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    // Zero bytes give an empty block. Throws Error (kOutOfMemory) with the place, the
    // purpose, the requested bytes and the rest of the budget, or saying that the device
    // itself had no more.
    DeviceBlock allocate(std::size_t bytes, MemoryUse use, const MessageArgument& purpose);

    // Memory that the device itself takes for this program besides the blocks counts as
    // well: from now on so many bytes, for this use. False: the budget has no room for a
    // larger number, and the old number stays.
    bool count_beside(std::uint64_t bytes, MemoryUse use);

    ArenaUsage usage() const;
    std::uint64_t available_bytes() const;
    // Sets a new budget, at least the used bytes (otherwise Error kInvalidInput). The
    // high-water mark restarts at the present use.
    void set_budget(std::uint64_t bytes);
    // The same to these bytes or to what is used, unless that is more than the budget.
    // Keeps the high-water mark where it is no more than that.
    void lower_budget(std::uint64_t bytes);

    // Tests and drills: the n-th allocation from now fails (1: the next) as if the device
    // had no more memory; 0: none.
    void fail_allocation(int n);

  private:
    friend class DeviceBlock;
    void give_back(DeviceBlock& block) noexcept;

    MessageArgument place_;
    MemorySource& source_;
    mutable std::mutex mutex_;
    ArenaUsage usage_;
    std::uint64_t beside_bytes_ = 0;  // part of the used bytes: count_beside()
    int fail_in_ = 0;
};

}  // namespace offstage::engine
