#pragma once

#include <atomic>
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

// Times of messages when machines exchange their shares of a layer: one message is on its
// way in each direction.
struct ExchangeTimes {
    double message_us = 0;  // one way, both ends' software included
    double send_us = 0;     // the sending thread's part of it
};

// From two pings, of which the second follows the first at half of the round trip. `send`
// sends one and returns its number, `wait` waits until it has come back; false: it has
// not. None if one has not.
std::optional<ExchangeTimes> measure_exchanges(double round_trip_us, const std::function<std::uint64_t()>& send,
                                               const std::function<bool(std::uint64_t number)>& wait);

// After a large message the receiver of a connection (HTTP/2) may accept some more bytes
// silently; after those it answers each small message with a message (window updates),
// which costs both ends processor time. That is the normal case in use, so small messages
// are measured then: small pings run until as many bytes as the large message had have
// gone there and back. `send` sends a message of so many bytes and returns its number,
// `wait` waits until it has come back; false: it has not.
bool use_up_window(std::size_t large_bytes, const std::function<std::uint64_t(std::size_t bytes)>& send,
                   const std::function<bool(std::uint64_t number)>& wait);

}  // namespace offstage::engine
