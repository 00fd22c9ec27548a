#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <set>
#include <span>
#include <thread>

#include "engine/device/arena.h"
#include "engine/device/backend.h"

namespace offstage::engine {

// Page-locks host memory, and unlocks it before its release, on a separate thread: either
// takes tens of milliseconds for an expert. In the order of the calls. All functions are
// called by one thread.
class PageLocker {
  public:
    // The device must outlive this object.
    explicit PageLocker(Backend& device);
    ~PageLocker();  // finishes all requests
    PageLocker(const PageLocker&) = delete;
    PageLocker& operator=(const PageLocker&) = delete;

    // Page-locks the memory, which may be used meanwhile. It stays unlocked if the system
    // refuses. Until release().
    void lock(std::span<std::byte> memory);
    // Whether memory given to lock() is locked by now: with no request under way, false
    // means that the system refused.
    bool is_locked(const std::byte* memory) const;
    // Unlocks memory that it locked, or that was locked otherwise (`locked`), and returns
    // it to its arena.
    void release(DeviceBlock memory, bool locked = false);

    bool busy() const;  // something is on its way
    bool wait();        // until nothing is; false: nothing was

  private:
    struct Job {
        std::span<std::byte> to_lock;  // or, empty:
        DeviceBlock to_release;
        bool locked = false;
    };

    void add(Job job);
    void work();
    void run(Job& job);

    Backend& device_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;  // the first is being done
    bool ends_ = false;
    std::set<const std::byte*> locked_;
    std::thread thread_;  // the last member: it uses the others
};

// A block of an arena that a PageLocker locks and unlocks; nullptr: it is not locked.
// Must not outlive either.
class LockedBlock {
  public:
    LockedBlock() = default;
    LockedBlock(DeviceBlock memory, PageLocker* locker);
    ~LockedBlock() { reset(); }
    LockedBlock(LockedBlock&& other) noexcept;
    LockedBlock& operator=(LockedBlock&& other) noexcept;

    std::byte* data() const { return memory_.data(); }
    void reset();

  private:
    DeviceBlock memory_;
    PageLocker* locker_ = nullptr;
};

}  // namespace offstage::engine
