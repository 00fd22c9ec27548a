#include "engine/cluster/turn_lock.h"

namespace offstage::engine {

void TurnLock::lock() {
    std::unique_lock lock(mutex_);
    const std::uint64_t turn = next_++;
    changed_.wait(lock, [&] { return serving_ == turn; });
}

void TurnLock::unlock() {
    {
        const std::scoped_lock lock(mutex_);
        ++serving_;
    }
    changed_.notify_all();
}

std::uint64_t TurnLock::n_waiting() const {
    const std::scoped_lock lock(mutex_);
    return next_ > serving_ ? next_ - serving_ - 1 : 0;
}

}  // namespace offstage::engine
