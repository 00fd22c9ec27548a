#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace offstage::engine {

// Machines measured at the same time would slow each other down: they share this one's
// processor and network. So they take turns; after a limited wait the next one goes on,
// so that a silent machine does not block the others. Any thread.
class MeasuringTurn {
  public:
    // While it exists this machine has its turn, or has waited long enough.
    class Guard {
      public:
        Guard(MeasuringTurn& turn, double most_s, const std::stop_token& stop) : turn_(turn) {
            std::unique_lock lock(turn_.mutex_);
            const auto is_free = [&] { return !turn_.taken_; };
            has_it_ = turn_.changed_.wait_for(lock, stop, std::chrono::duration<double>(most_s), is_free);
            if (has_it_) turn_.taken_ = true;
        }
        ~Guard() {
            if (!has_it_) return;
            {
                const std::scoped_lock lock(turn_.mutex_);
                turn_.taken_ = false;
            }
            turn_.changed_.notify_all();
        }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;
        bool has_it() const { return has_it_; }

      private:
        MeasuringTurn& turn_;
        bool has_it_ = false;
    };

  private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool taken_ = false;
};

}  // namespace offstage::engine
