#include "engine/serve/http_socket.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/error.h"
#include "engine/serve/serve_messages.h"

namespace offstage::engine {
namespace {

int milliseconds_until(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 3'600'000));
}

}  // namespace

EventFile::EventFile() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (descriptor_ < 0) {
        throw Error(ErrorKind::kOutOfMemory, messages::no_more_file_descriptors(std::strerror(errno)));
    }
}

EventFile::~EventFile() {
    ::close(descriptor_);
}

void EventFile::set() {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(descriptor_, &one, sizeof(one)));  // full: it is set already
}

void EventFile::clear() {
    std::uint64_t n = 0;
    static_cast<void>(!::read(descriptor_, &n, sizeof(n)));
}

void HttpSocket::end_head() {
    in_head_ = false;
    // Lines between chunks come on top.
    bytes_left_ = 2 * limits_.body_bytes + limits_.head_bytes;
    deadline_ = after(limits_.body_ms);
}

void HttpSocket::cut_off() {
    ::shutdown(socket_, SHUT_RDWR);
}

void HttpSocket::linger() {
    constexpr int kLingerMs = 1000;
    ::shutdown(socket_, SHUT_WR);
    const auto end = after(kLingerMs);
    std::array<char, 65536> discarded;
    while (Clock::now() < end && wait_for(POLLIN, end)) {
        if (::recv(socket_, discarded.data(), discarded.size(), MSG_DONTWAIT) <= 0) break;
    }
}

ssize_t HttpSocket::receive(char* to, std::size_t size) {
    if (taken_ == filled_ && !fill()) return -1;
    const std::size_t n = std::min(size, filled_ - taken_);
    std::copy_n(buffer_.data() + taken_, n, to);
    taken_ += n;
    return static_cast<ssize_t>(n);
}

ssize_t HttpSocket::send(const char* from, std::size_t size) {
    if (broken_ || problem_ != Problem::kNone) return -1;
    while (true) {
        const ssize_t n = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) return n;
        if (errno == EINTR) continue;
        if ((errno != EAGAIN && errno != EWOULDBLOCK) || !wait_for(POLLOUT, after(limits_.write_ms))) break;
    }
    broken_ = true;
    return -1;
}

void HttpSocket::send_all(std::string_view text) {
    problem_ = Problem::kNone;
    while (!text.empty()) {
        const ssize_t n = send(text.data(), text.size());
        if (n <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(n));
    }
}

std::function<void()> HttpSocket::waker() {
    if (wake_ == nullptr) wake_ = std::make_shared<EventFile>();
    return [wake = wake_] { wake->set(); };
}

HttpClient::Wait HttpSocket::wait(int ms) {
    if (wake_ == nullptr) wake_ = std::make_shared<EventFile>();
    const auto end = after(ms);
    while (true) {
        std::array<pollfd, 3> files = {pollfd{wake_->descriptor(), POLLIN, 0}, pollfd{stop_.descriptor(), POLLIN, 0},
                                       pollfd{socket_, POLLRDHUP, 0}};
        const int n = ::poll(files.data(), files.size(), ms < 0 ? -1 : milliseconds_until(end));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 || files[1].revents != 0 || files[2].revents != 0) return Wait::kEnds;
        if (files[0].revents == 0) return Wait::kNothing;
        wake_->clear();
        return Wait::kWoken;
    }
}

bool HttpSocket::server_stops() const {
    pollfd file{stop_.descriptor(), POLLIN, 0};
    return ::poll(&file, 1, 0) > 0;
}

bool HttpSocket::poll_now() const {
    pollfd file{socket_, POLLIN, 0};
    return ::poll(&file, 1, 0) > 0;
}

// False: the deadline passed, or the server stops.
bool HttpSocket::wait_for(short events, Clock::time_point deadline) const {
    while (true) {
        std::array<pollfd, 2> files = {pollfd{socket_, events, 0}, pollfd{stop_.descriptor(), POLLIN, 0}};
        const int n = ::poll(files.data(), files.size(), milliseconds_until(deadline));
        if (n < 0 && errno == EINTR) continue;
        return n > 0 && files[1].revents == 0;
    }
}

bool HttpSocket::fill() {
    if (problem_ != Problem::kNone) return false;
    if (bytes_left_ == 0) {
        problem_ = in_head_ ? Problem::kHeadTooLarge : Problem::kNone;
        return false;
    }
    if (!wait_for(POLLIN, deadline_)) {
        problem_ = server_stops() ? Problem::kNone : Problem::kTooSlow;
        return false;
    }
    const std::size_t most = std::min(buffer_.size(), bytes_left_);
    const ssize_t n = ::recv(socket_, buffer_.data(), most, MSG_DONTWAIT);
    if (n <= 0) return false;
    any_read_ = true;
    taken_ = 0;
    filled_ = static_cast<std::size_t>(n);
    bytes_left_ -= filled_;
    return true;
}

}  // namespace offstage::engine
