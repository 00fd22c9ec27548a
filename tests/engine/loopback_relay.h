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
        : target_(target), delay_(delay), bytes_per_s_(bytes_per_s), listener_(::socket(AF_INET, SOCK_STREAM, 0)) {
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
    // No further ones are made, or they are again.
    void refuse(bool refuses) { refuses_ = refuses; }
    std::uint64_t bytes() const { return bytes_; }

  private:
    static sockaddr_in loopback(std::uint16_t port) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return address;
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
                const ssize_t n = ::recv(from, chunk.data(), chunk.size(), 0);
                const std::scoped_lock lock(pipe->mutex);
                if (n <= 0) {
                    pipe->ended = true;
                    pipe->changed.notify_all();
                    return;
                }
                bytes_ += static_cast<std::uint64_t>(n);
                auto leaves = std::max(Clock::now(), line_is_free);
                if (bytes_per_s_ > 0) {
                    leaves += std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(static_cast<double>(n) / bytes_per_s_));
                }
                line_is_free = leaves;
                pipe->on_way.emplace_back(leaves + delay_, chunk.substr(0, static_cast<std::size_t>(n)));
                pipe->changed.notify_all();
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
    const std::chrono::microseconds delay_;
    const double bytes_per_s_;
    const int listener_;
    std::uint16_t port_ = 0;
    std::atomic<bool> ends_ = false, refuses_ = false;
    std::atomic<std::uint64_t> bytes_ = 0;
    std::mutex mutex_;
    std::vector<int> sockets_;
    std::vector<std::thread> threads_;  // of the accepting thread, until that has ended
    std::thread thread_;
};

}  // namespace offstage::test
