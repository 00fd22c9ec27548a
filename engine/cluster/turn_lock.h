#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace offstage::engine {

// A lock that is given in the order in which it was asked for.
class TurnLock {
  public:
    void lock();
    void unlock();
    // Who asked for it and has not got it yet.
    std::uint64_t n_waiting() const;

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t next_ = 0, serving_ = 0;
};

}  // namespace offstage::engine
