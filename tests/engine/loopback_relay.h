#pragma once
// A relay between two ends on this computer that is as slow as a network: each piece of
// bytes arrives a fixed time after it was sent, and no faster than a given rate. It can
// be cut at any moment. Needs no help of the kernel.
//
// One thread for all connections, so that it takes little processor time from the ends.
// The time counts from when the kernel had the bytes, not from when this thread read
// them, and timers are set earlier by their usual delay (PunctualTimer); take_delays_us()
// returns the remaining delays of pieces.

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <linux/net_tstamp.h>
#include <list>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/engine/punctual_timer.h"

namespace offstage::test {

class LoopbackRelay {
  public:
    using Clock = std::chrono::steady_clock;

    // Connections to port() are forwarded to `target`. delay: in one direction.
    // bytes_per_s 0: without a limit.
    LoopbackRelay(std::uint16_t target, std::chrono::microseconds delay = {}, double bytes_per_s = 0)
        : target_(target),
          delay_us_(delay.count()),
          bytes_per_s_(bytes_per_s),
          listener_(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0)),
          wake_(::eventfd(0, EFD_NONBLOCK)) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof(address);
        if (wake_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(listener_, 8) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("the relay cannot listen");
        }
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    ~LoopbackRelay() {
        ends_ = true;
        ::eventfd_write(wake_, 1);
        thread_.join();
        ::close(listener_);
        ::close(wake_);
        for (const int socket : sockets_) ::close(socket);
    }
    LoopbackRelay(const LoopbackRelay&) = delete;
    LoopbackRelay& operator=(const LoopbackRelay&) = delete;

    std::uint16_t port() const { return port_; }
    // Ends all connections, with their bytes in transit.
    void cut() {
        const std::scoped_lock lock(mutex_);
        for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    // Calls `call` once, on the relay's thread, after this many more bytes have come in
    // from either end; the bytes before still arrive. is_cut: ends that connection there
    // too, so that a message ends in its middle.
    void at(std::uint64_t more_bytes, bool is_cut, std::function<void()> call) {
        const std::scoped_lock lock(moment_mutex_);
        moment_ = {bytes_ + more_bytes, is_cut, std::move(call)};
    }
    // Returns whether that was still to come; it is cancelled.
    bool forget_moment() {
        const std::scoped_lock lock(moment_mutex_);
        return std::exchange(moment_.at, kNever) != kNever;
    }
    // From now on.
    void set_delay(std::chrono::microseconds delay) { delay_us_ = delay.count(); }
    // No further ones are made, or they are again.
    void refuse(bool refuses) { refuses_ = refuses; }
    std::uint64_t bytes() const { return bytes_; }
    std::uint64_t n_connections() const { return n_connections_; }
    // Measured times of pieces from one end to the other, without the time for their
    // bytes, since the last call; microseconds.
    std::vector<double> take_delays_us() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(delays_us_, {});
    }

  private:
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};
    static constexpr std::size_t kMostDelays = std::size_t{1} << 20;

    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
    }

    struct Moment {
        std::uint64_t at = kNever;
        bool is_cut = false;
        std::function<void()> call;
    };
    // n more bytes have come in. True: the connection ends after the first *n of them.
    bool moment_comes(ssize_t* n) {
        Moment now;
        {
            const std::scoped_lock lock(moment_mutex_);
            const std::uint64_t before = bytes_.fetch_add(static_cast<std::uint64_t>(*n));
            if (moment_.at > before + static_cast<std::uint64_t>(*n)) return false;
            now = std::exchange(moment_, {});
            if (now.is_cut) *n = static_cast<ssize_t>(now.at > before ? now.at - before : 0);
        }
        if (now.call) now.call();
        return now.is_cut;
    }

    // One direction of one connection.
    struct Pipe {
        int from = -1, to = -1;
        struct Piece {
            Clock::time_point leaves, arrives;
            std::string bytes;
            std::size_t n_sent = 0;
        };
        std::deque<Piece> on_way;
        Clock::time_point line_is_free{};
        bool ended = false;    // nothing more comes in
        bool is_full = false;  // the other end accepts no more for now
    };

    void run() {
        PunctualTimer::make_prompt();
        std::vector<pollfd> polled;
        while (!ends_) {
            polled.clear();
            polled.push_back({listener_, POLLIN, 0});
            polled.push_back({wake_, POLLIN, 0});
            auto next = PunctualTimer::kNever;
            for (const Pipe& pipe : pipes_) {
                polled.push_back({pipe.ended ? -1 : pipe.from, POLLIN, 0});
                polled.push_back({pipe.is_full ? pipe.to : -1, POLLOUT, 0});
                if (!pipe.on_way.empty() && !pipe.is_full) next = std::min(next, pipe.on_way.front().arrives);
            }
            wait(polled, next);
            std::size_t at = 2;
            for (Pipe& pipe : pipes_) {
                if (polled[at].revents != 0) receive(pipe);
                if (polled[at + 1].revents != 0) pipe.is_full = false;
                at += 2;
                deliver(pipe);
            }
            pipes_.remove_if([](const Pipe& pipe) { return pipe.ended && pipe.on_way.empty(); });
            if (polled[0].revents != 0) accept_one();
        }
        cut();
    }
    void wait(std::vector<pollfd>& polled, Clock::time_point due) {
        const auto until = timer_.wake_at(due);
        const auto left = std::max(std::chrono::nanoseconds(0),
                                   std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now()));
        constexpr std::int64_t kSecond = 1'000'000'000;
        const timespec time{static_cast<time_t>(left.count() / kSecond), static_cast<long>(left.count() % kSecond)};
        const timespec* const timeout = until == PunctualTimer::kNever ? nullptr : &time;
        if (::ppoll(polled.data(), polled.size(), timeout, nullptr) == 0 && left.count() > 0) timer_.woken(until);
    }

    void accept_one() {
        const int from = ::accept(listener_, nullptr, nullptr);
        if (from < 0) return;
        const int to = ::socket(AF_INET, SOCK_STREAM, 0);
        const sockaddr_in address = loopback(target_);
        const std::scoped_lock lock(mutex_);
        sockets_.push_back(from);
        sockets_.push_back(to);
        ++n_connections_;
        if (refuses_ || ::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
            ::shutdown(from, SHUT_RDWR);
            return;
        }
        const int one = 1, stamps = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
        for (const int socket : {from, to}) {
            ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            ::setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &stamps, sizeof(stamps));
        }
        pipes_.emplace_back().from = from;
        pipes_.back().to = to;
        pipes_.emplace_back().from = to;
        pipes_.back().to = from;
    }

    // The time when the kernel received the data; now, if it does not report that.
    static Clock::time_point arrival(msghdr& message) {
        const auto now = Clock::now();
        timespec real{};
        ::clock_gettime(CLOCK_REALTIME, &real);
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPING) continue;
            timespec stamp{};  // the first of three
            std::memcpy(&stamp, CMSG_DATA(c), sizeof(stamp));
            if (stamp.tv_sec == 0 && stamp.tv_nsec == 0) break;
            const std::chrono::nanoseconds ago(std::int64_t{1'000'000'000} * (real.tv_sec - stamp.tv_sec) +
                                               (real.tv_nsec - stamp.tv_nsec));
            if (ago.count() > 0) return now - ago;
        }
        return now;
    }
    void receive(Pipe& pipe) {
        iovec piece{chunk_.data(), chunk_.size()};
        alignas(cmsghdr) std::array<char, 256> control{};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        ssize_t n = ::recvmsg(pipe.from, &message, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
        pipe.ended = n <= 0;
        const auto arrived = n > 0 ? arrival(message) : Clock::now();
        if (n > 0 && moment_comes(&n)) {
            pipe.ended = true;
            ::shutdown(pipe.from, SHUT_RDWR);
        }
        auto leaves = std::max(arrived, pipe.line_is_free);
        if (n > 0 && bytes_per_s_ > 0) {
            leaves += std::chrono::duration_cast<Clock::duration>(
                std::chrono::duration<double>(static_cast<double>(n) / bytes_per_s_));
        }
        pipe.line_is_free = leaves;
        if (n > 0) {
            pipe.on_way.push_back(
                {leaves, leaves + std::chrono::microseconds(delay_us_), chunk_.substr(0, static_cast<std::size_t>(n))});
        } else if (pipe.on_way.empty()) {
            ::shutdown(pipe.to, SHUT_RDWR);
        }
    }
    // Delivers pieces whose time has come.
    void deliver(Pipe& pipe) {
        while (!pipe.on_way.empty() && !pipe.is_full && timer_.is_time(pipe.on_way.front().arrives)) {
            Pipe::Piece& piece = pipe.on_way.front();
            const ssize_t n = ::send(pipe.to, piece.bytes.data() + piece.n_sent, piece.bytes.size() - piece.n_sent,
                                     MSG_NOSIGNAL | MSG_DONTWAIT);
            pipe.is_full = n < 0 && errno == EAGAIN;
            if (pipe.is_full) return;
            if (n > 0) piece.n_sent += static_cast<std::size_t>(n);
            if (n > 0 && piece.n_sent < piece.bytes.size()) continue;
            if (n > 0) note(Clock::now() - piece.leaves);
            pipe.on_way.pop_front();
            if (pipe.ended && pipe.on_way.empty()) ::shutdown(pipe.to, SHUT_RDWR);
        }
    }
    void note(Clock::duration delay) {
        const std::scoped_lock lock(mutex_);
        if (delays_us_.size() < kMostDelays) {
            delays_us_.push_back(std::chrono::duration<double, std::micro>(delay).count());
        }
    }

    const std::uint16_t target_;
    std::atomic<std::int64_t> delay_us_;
    const double bytes_per_s_;
    const int listener_, wake_;
    std::uint16_t port_ = 0;
    std::atomic<bool> ends_ = false, refuses_ = false;
    std::atomic<std::uint64_t> bytes_ = 0, n_connections_ = 0;
    std::mutex moment_mutex_;
    Moment moment_;
    std::mutex mutex_;  // for these two
    std::vector<int> sockets_;
    std::vector<double> delays_us_;
    // The thread's.
    PunctualTimer timer_;
    std::list<Pipe> pipes_;
    std::string chunk_ = std::string(64 << 10, '\0');
    std::thread thread_;  // last: it uses all the others
};

}  // namespace offstage::test
