#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/serve/answer_channel.h"
#include "engine/serve/answer_queue.h"
#include "engine/serve/http_server.h"
#include "engine/serve/reply_writer.h"

namespace offstage::engine {

inline constexpr const char* kServerStopped = "The request was stopped before it was answered.";
inline constexpr int kClientLeft = 499;  // for the metrics only: the client has left
inline constexpr const char* kClientLeftText = "The client left before its answer was whole.";

// The engine's end of a channel: if no other end was sent, reports that the request was
// dropped, as when the queue is closed.
class ChannelEnd {
  public:
    explicit ChannelEnd(std::shared_ptr<AnswerChannel> channel) : channel_(std::move(channel)) {}
    ~ChannelEnd() { channel_->put(ApiError(503, kServerStopped)); }
    ChannelEnd(const ChannelEnd&) = delete;
    ChannelEnd& operator=(const ChannelEnd&) = delete;
    AnswerChannel& channel() { return *channel_; }

  private:
    std::shared_ptr<AnswerChannel> channel_;
};

// The connection's end: while it exists the answer is needed.
class PendingAnswer {
  public:
    PendingAnswer(std::shared_ptr<AnswerChannel> channel, std::shared_ptr<AnswerQueue::Ticket> ticket,
                  HttpClient& client)
        : channel_(std::move(channel)), ticket_(std::move(ticket)), client_(client) {}
    ~PendingAnswer() { ticket_->cancel(); }
    PendingAnswer(const PendingAnswer&) = delete;
    PendingAnswer& operator=(const PendingAnswer&) = delete;

    // nullopt: the client left, or the server stops. Calls `still_waits` after each such
    // number of milliseconds without an event (-1: never); if it returns false, this ends
    // too.
    std::optional<AnswerEvent> next(int ms = -1, const std::function<bool()>& still_waits = {}) {
        while (true) {
            if (std::optional<AnswerEvent> event = channel_->take()) return event;
            const HttpClient::Wait wait = client_.wait(ms);
            if (wait == HttpClient::Wait::kEnds) return std::nullopt;
            if (wait == HttpClient::Wait::kNothing && !still_waits()) return std::nullopt;
        }
    }
    // Why next() gave nothing.
    ApiError unanswered() const {
        if (client_.server_stops()) return {503, kServerStopped};
        return {kClientLeft, kClientLeftText};
    }

  private:
    std::shared_ptr<AnswerChannel> channel_;
    std::shared_ptr<AnswerQueue::Ticket> ticket_;
    HttpClient& client_;
};

// Writes the events of a stream until its end, and something now and then while there are
// none: programs and proxies close a silent connection.
void write_events(PendingAnswer& pending, ReplyWriter& writer, int comment_ms, const HttpReply::Write& write);
// The body of a reply in one piece. Throws ApiError.
std::string whole_answer(PendingAnswer& pending, ReplyWriter& writer);

}  // namespace offstage::engine
