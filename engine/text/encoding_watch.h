#pragma once

#include <functional>
#include <utility>

namespace offstage::engine {

// While this object exists, tokenizers that encode on this thread call `check` now and
// then: after some thousand words, within a long word after some thousand merges, and
// between the stretches that special tokens separate. An exception from `check` ends the
// encoding.
class EncodingWatch {
  public:
    explicit EncodingWatch(std::function<void()> check)
        : check_(std::move(check)), before_(std::exchange(now_, &check_)) {}
    ~EncodingWatch() { now_ = before_; }
    EncodingWatch(const EncodingWatch&) = delete;
    EncodingWatch& operator=(const EncodingWatch&) = delete;

    // By the tokenizers.
    static void look() {
        if (now_ != nullptr && *now_) (*now_)();
    }
    // Looks at each 2^12th count.
    class Counter {
      public:
        void count() {
            if (++n_ % (1u << 12) == 0) look();
        }

      private:
        unsigned n_ = 0;
    };

  private:
    static inline thread_local const std::function<void()>* now_ = nullptr;

    const std::function<void()> check_;
    const std::function<void()>* const before_;
};

}  // namespace offstage::engine
