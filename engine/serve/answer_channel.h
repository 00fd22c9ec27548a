#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "engine/serve/answer_work.h"
#include "engine/serve/api_error.h"

namespace offstage::engine {

// Messages of the engine's thread to the connection that waits for an answer. Ends with
// AnswerTotals or an ApiError.
using AnswerEvent = std::variant<AnswerPiece, AnswerTotals, ApiError>;

class AnswerChannel {
  public:
    // `wake` is called after each event, on the engine's thread.
    explicit AnswerChannel(std::function<void()> wake) : wake_(std::move(wake)) {}

    // After the end nothing more is taken.
    void put(AnswerEvent event) {
        {
            const std::lock_guard lock(mutex_);
            if (ended_) return;
            ended_ = !std::holds_alternative<AnswerPiece>(event);
            events_.push_back(std::move(event));
        }
        wake_();
    }
    std::optional<AnswerEvent> take() {
        const std::lock_guard lock(mutex_);
        if (events_.empty()) return std::nullopt;
        std::optional<AnswerEvent> event(std::move(events_.front()));
        events_.pop_front();
        return event;
    }

  private:
    std::function<void()> wake_;
    std::mutex mutex_;
    std::deque<AnswerEvent> events_;
    bool ended_ = false;
};

}  // namespace offstage::engine
