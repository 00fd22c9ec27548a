#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>
#include <sys/types.h>

#include "engine/serve/http_server.h"

namespace offstage::engine {

// A number that poll() can wait for. Any thread.
class EventFile {
  public:
    EventFile();  // throws Error (kOutOfMemory)
    ~EventFile();
    EventFile(const EventFile&) = delete;
    EventFile& operator=(const EventFile&) = delete;

    int descriptor() const { return descriptor_; }
    void set();
    void clear();

  private:
    int descriptor_;
};

// One accepted socket, of one request: receives and sends within HttpLimits, and ends all
// waits when the server stops. One thread, except where marked.
class HttpSocket : public HttpClient {
  public:
    // stop: set when the server stops. The referents must outlive this object; the caller
    // closes the socket.
    HttpSocket(int socket, const HttpLimits& limits, EventFile& stop)
        : socket_(socket),
          limits_(limits),
          stop_(stop),
          bytes_left_(limits.head_bytes),
          deadline_(after(limits.head_ms)) {}

    // ---- while a request is received
    enum class Problem { kNone, kHeadTooLarge, kTooSlow };
    Problem problem() const { return problem_; }
    bool any_read() const { return any_read_; }
    // The body follows.
    void end_head();

    // Any thread, before the socket is closed: all waits of its own thread end.
    void cut_off();
    // Nothing more is sent; the client's further bytes are discarded for a while, since
    // closing with unread bytes would destroy the reply on its way.
    void linger();

    int descriptor() const { return socket_; }
    bool has_input() const { return filled_ > taken_ || poll_now(); }
    bool can_send() const { return !broken_ && !server_stops(); }
    // At most `size` bytes, at least one; -1: no more come, or within the limits.
    ssize_t receive(char* to, std::size_t size);
    ssize_t send(const char* from, std::size_t size);
    // The same, after any earlier problem.
    void send_all(std::string_view text);

    // ---- HttpClient
    std::function<void()> waker() override;
    Wait wait(int ms) override;
    bool server_stops() const override;

  private:
    using Clock = std::chrono::steady_clock;

    static Clock::time_point after(int ms) { return Clock::now() + std::chrono::milliseconds(ms); }
    bool poll_now() const;
    bool wait_for(short events, Clock::time_point deadline) const;
    bool fill();

    int socket_;
    const HttpLimits& limits_;
    EventFile& stop_;
    std::shared_ptr<EventFile> wake_;
    std::size_t bytes_left_;
    Clock::time_point deadline_;
    bool in_head_ = true, any_read_ = false, broken_ = false;
    Problem problem_ = Problem::kNone;
    std::array<char, 16384> buffer_;
    std::size_t taken_ = 0, filled_ = 0;
};

}  // namespace offstage::engine
