#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace offstage::engine {

// A lock that is granted in the order of the requests.
class TurnLock {
  public:
    void lock() {
        std::unique_lock lock(mutex_);
        const std::uint64_t turn = next_++;
        changed_.wait(lock, [&] { return serving_ == turn; });
    }
    void unlock() {
        {
            const std::scoped_lock lock(mutex_);
            ++serving_;
        }
        changed_.notify_all();
    }
    // The number of waiting requests.
    std::uint64_t n_waiting() const {
        const std::scoped_lock lock(mutex_);
        return next_ > serving_ ? next_ - serving_ - 1 : 0;
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0, serving_ = 0;
};

}  // namespace offstage::engine
