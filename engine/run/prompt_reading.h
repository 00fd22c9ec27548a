#pragma once
// The progress of reading a prompt, for waiting readers.

#include <cstdint>
#include <mutex>

namespace offstage::engine {

struct PromptProgress {
    std::int64_t n_tokens = 0;  // to be read for the present answer; 0: no prompt is being read
    double n_read = 0;          // of them; in the running step by the share of its layers that have begun
};

// Written by the engine's thread, read by any.
class PromptReading {
  public:
    // While it exists, so many tokens are being read.
    class Span {
      public:
        Span(PromptReading& reading, std::int64_t n_tokens) : reading_(reading) { reading_.set({n_tokens, 0, 0, 0}); }
        ~Span() { reading_.set({}); }
        Span(const Span&) = delete;
        Span& operator=(const Span&) = delete;

      private:
        PromptReading& reading_;
    };

    void begin_step(std::int64_t n_tokens) {
        const std::lock_guard lock(mutex_);
        state_.n_read += state_.n_step;
        state_.n_step = n_tokens;
        state_.layers = 0;
    }
    void begin_layer(std::int64_t layer, std::int64_t n_layers) {
        const std::lock_guard lock(mutex_);
        state_.layers = static_cast<double>(layer) / static_cast<double>(n_layers);
    }
    PromptProgress progress() const {
        const std::lock_guard lock(mutex_);
        const auto n_step = static_cast<double>(state_.n_step);
        return {state_.n_tokens, static_cast<double>(state_.n_read) + state_.layers * n_step};
    }

  private:
    struct State {
        std::int64_t n_tokens = 0;
        std::int64_t n_read = 0;
        std::int64_t n_step = 0;  // of the running one
        double layers = 0;        // of it, as a share
    };
    void set(const State& state) {
        const std::lock_guard lock(mutex_);
        state_ = state;
    }

    State state_;
    mutable std::mutex mutex_;  // held as long as it takes to copy a few numbers
};

}  // namespace offstage::engine
