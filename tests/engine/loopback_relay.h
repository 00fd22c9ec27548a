#pragma once
// A relay between two ends on this computer that is as slow as a network: each piece of
// bytes arrives a fixed time after it was sent, and no faster than a given rate. It can be
// cut at any moment. The kernel needs no help for that.

#include <arpa/inet.h>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace offstage::test {

class LoopbackRelay {
  public:
    using Clock = std::chrono::steady_clock;

    // Connections to port() go on to `target`. delay: of one direction. bytes_per_s 0: as
    // fast as it goes.
    LoopbackRelay(std::uint16_t target, std::chrono::microseconds delay = {}, double bytes_per_s = 0)
        : target_(target),
          delay_us_(delay.count()),
          bytes_per_s_(bytes_per_s),
          listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in address = loopback(0);
        socklen_t size = sizeof(address);
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 8) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
            throw std::runtime_error("the relay cannot listen");
        }
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { accept_all(); });
    }
    ~LoopbackRelay() {
        ends_ = true;
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        cut();
        ::close(listener_);
        for (std::thread& thread : threads_) thread.join();
        for (const int socket : sockets_) ::close(socket);
    }
    LoopbackRelay(const LoopbackRelay&) = delete;
    LoopbackRelay& operator=(const LoopbackRelay&) = delete;

    std::uint16_t port() const { return port_; }
    // All connections that there are end, with whatever is on its way.
    void cut() {
        const std::scoped_lock lock(mutex_);
        for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
    }
    // Calls once, on a thread of its own, when so many more bytes have come in from either end; what came before
    // arrives still. is_cut: and ends that connection there, so that a message ends in its middle.
    void at(std::uint64_t more_bytes, bool is_cut, std::function<void()> call) {
        const std::scoped_lock lock(moment_mutex_);
        moment_ = {bytes_ + more_bytes, is_cut, std::move(call)};
    }
    // Whether that was still to come; it comes no more.
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

  private:
    static constexpr std::uint64_t kNever = ~std::uint64_t{0};

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
    // n more bytes have come in. True: the connection ends behind the first *n of them.
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
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<std::pair<Clock::time_point, std::string>> on_way;
        bool ended = false;
    };

    void accept_all() {
        while (!ends_) {
            const int from = ::accept(listener_, nullptr, nullptr);
            if (from < 0) return;
            const int to = ::socket(AF_INET, SOCK_STREAM, 0);
            const sockaddr_in address = loopback(target_);
            const std::scoped_lock lock(mutex_);
            sockets_.push_back(from);
            sockets_.push_back(to);
            ++n_connections_;
            if (refuses_ || ends_ || ::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
                ::shutdown(from, SHUT_RDWR);
                continue;
            }
            const int one = 1;
            ::setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            ::setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            carry(from, to);
            carry(to, from);
        }
    }
    void carry(int from, int to) {
        const auto pipe = std::make_shared<Pipe>();
        threads_.emplace_back([this, pipe, from] {
            std::string chunk(64 << 10, '\0');
            Clock::time_point line_is_free{};
            while (true) {
                ssize_t n = ::recv(from, chunk.data(), chunk.size(), 0);
                bool is_last = n <= 0;
                if (n > 0 && moment_comes(&n)) {
                    is_last = true;
                    ::shutdown(from, SHUT_RDWR);
                }
                const std::scoped_lock lock(pipe->mutex);
                auto leaves = std::max(Clock::now(), line_is_free);
                if (n > 0 && bytes_per_s_ > 0) {
                    leaves += std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(static_cast<double>(n) / bytes_per_s_));
                }
                line_is_free = leaves;
                if (n > 0) {
                    pipe->on_way.emplace_back(leaves + std::chrono::microseconds(delay_us_),
                                              chunk.substr(0, static_cast<std::size_t>(n)));
                }
                pipe->ended = is_last;
                pipe->changed.notify_all();
                if (is_last) return;
            }
        });
        threads_.emplace_back([pipe, to] {
            std::unique_lock lock(pipe->mutex);
            while (true) {
                pipe->changed.wait(lock, [&] { return pipe->ended || !pipe->on_way.empty(); });
                if (pipe->on_way.empty()) break;
                const auto [arrives, bytes] = std::move(pipe->on_way.front());
                pipe->on_way.pop_front();
                lock.unlock();
                std::this_thread::sleep_until(arrives);
                for (std::size_t sent = 0; sent < bytes.size();) {
                    const ssize_t n = ::send(to, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
                    if (n <= 0) break;
                    sent += static_cast<std::size_t>(n);
                }
                lock.lock();
            }
            ::shutdown(to, SHUT_RDWR);
        });
    }

    const std::uint16_t target_;
    std::atomic<std::int64_t> delay_us_;
    const double bytes_per_s_;
    const int listener_;
    std::uint16_t port_ = 0;
    std::atomic<bool> ends_ = false, refuses_ = false;
    std::atomic<std::uint64_t> bytes_ = 0, n_connections_ = 0;
    std::mutex moment_mutex_;
    Moment moment_;
    std::mutex mutex_;
    std::vector<int> sockets_;
    std::vector<std::thread> threads_;  // of the accepting thread, until that has ended
    std::thread thread_;
};

}  // namespace offstage::test
