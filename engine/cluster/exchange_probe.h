#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace offstage::engine {

// A fixed amount of computing between two messages, as in a layer: waiting is not the
// only cost of messages. Caches grow cold meanwhile, and the connection's threads need
// the processor as well.
class ProbeWork {
  public:
    ProbeWork();
    // Its present time.
    double us();
    // With nothing between.
    double alone_us() const { return alone_us_; }

  private:
    std::vector<std::uint64_t> numbers_;
    std::atomic<std::uint64_t> sum_ = 0;  // only written
    double alone_us_ = 0;
};

// How a ping is made. `send` sends one of so many bytes and returns its number; `wait`
// waits until it has come back; false: it has not.
struct Pings {
    std::function<std::uint64_t(std::size_t bytes)> send;
    std::function<bool(std::uint64_t number)> wait;
};

// Times of messages when machines exchange their shares of a layer: one message is on its
// way in each direction.
struct ExchangeTimes {
    double message_us = 0;  // one way, both ends' software included
    double send_us = 0;     // the sending thread's part of it
};
// From two pings, of which the second follows the first at half of the round trip. None
// if one has not come back.
std::optional<ExchangeTimes> measure_exchanges(const Pings& pings, std::size_t bytes, double round_trip_us);

// Times of a link by itself.
struct PingTimes {
    std::vector<double> small_us;  // there and back
    double us_per_byte = 0;        // beyond that, one direction
};
// From some small pings and some large ones, one after the other, with a pause before
// each. After a large message the receiver of a connection (HTTP/2) may accept some more
// bytes silently; after those it answers each small message with a message (window
// updates), which costs both ends processor time. That is the normal case in use, so
// small messages are measured then: at last, small pings run until as many bytes as the
// large message had have gone there and back. None if one has not come back.
std::optional<PingTimes> measure_pings(const Pings& pings, std::chrono::microseconds pause = {});
inline constexpr std::size_t kSmallPing = 16;  // bytes

}  // namespace offstage::engine
