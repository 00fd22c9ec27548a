#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "engine/device/arena.h"

namespace offstage::engine {

// The host's RAM, page-aligned, zeroed, in huge pages where the system gives them; a page
// costs RAM once it is touched. Never gives more than the machine (or a limit of this
// program: memory_size()) has free, nor more in all than it has: the system itself would
// hand out the addresses and end the program later. Any thread.
class HostMemory final : public MemorySource {
  public:
    void* allocate(std::size_t bytes) noexcept override;
    void release(void* data, std::size_t bytes) noexcept override;

  private:
    bool has_room(std::uint64_t bytes) noexcept;

    std::atomic<std::uint64_t> allocated_bytes_{0};
    std::atomic<std::uint64_t> may_give_unseen_{0};  // before memory_size() is called again; at most 256 MiB
};

// Addresses without a check of the machine's RAM: for dry runs, which touch hardly any of
// them. Blocks lie one behind the other in ranges, each as large as all before it, since
// the system takes its time for every range: a released block's addresses come again when
// all of its range are released. Blocks must not outlive the object, which gives all
// ranges back. Aligned as Arena's blocks. Any thread. Where addresses are limited
// (ulimit -v, -d) each block is a range, and so it is where the system refuses a larger
// one, as with vm.overcommit_memory=2, which counts addresses as memory in use.
class AddressSpace final : public MemorySource {
  public:
    ~AddressSpace() override;
    void* allocate(std::size_t bytes) noexcept override;
    void release(void* data, std::size_t bytes) noexcept override;

  private:
    struct Range {
        std::size_t bytes = 0;
        std::size_t used = 0;      // from the beginning, released blocks among them
        std::size_t n_blocks = 0;  // not released
    };
    bool add_range(std::size_t bytes) noexcept;

    std::mutex mutex_;
    std::map<std::byte*, Range> ranges_;  // by their beginning
    std::byte* newest_ = nullptr;         // is handed out; nullptr: none
    std::size_t range_bytes_ = 0;         // of all
};

}  // namespace offstage::engine
