#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace offstage::engine {

// Some computing between two messages, always the same amount, as a layer has it: messages are not paid for by waiting
// alone. Caches have grown cold meanwhile, and the connection's threads want the processor as well.
class ProbeWork {
  public:
    ProbeWork();
    // What it takes now.
    double us();
    // With nothing between.
    double alone_us() const { return alone_us_; }

  private:
    std::vector<std::uint64_t> numbers_;
    std::atomic<std::uint64_t> sum_ = 0;  // read by nobody
    double alone_us_ = 0;
};

// Of messages as machines send them that exchange their shares of a layer: there is one on its way in each direction.
struct ExchangeTimes {
    double message_us = 0;  // one way, both ends' software included
    double send_us = 0;     // that the thread which sends one is busy with it; a part of it
};

// Of two pings that follow each other at half of their time there and back. `send` sends one and returns its number,
// `wait` waits until it has come back, false: it has not. None where one has not.
std::optional<ExchangeTimes> measure_exchanges(double round_trip_us, const std::function<std::uint64_t()>& send,
                                               const std::function<bool(std::uint64_t number)>& wait);

// Behind a large message the receiver's end of a connection (HTTP/2) may take some more
// bytes without saying so; when these have come, it answers each small message with a
// message of its own (window updates), which costs both ends processor time. In use that
// is the rule, so what small messages take is measured then: small pings go until as many
// bytes as the large message had have gone there and back. `send` sends one of so many
// bytes and returns its number, `wait` waits until it has come back; false: it has not.
bool use_up_window(std::size_t large_bytes, const std::function<std::uint64_t(std::size_t bytes)>& send,
                   const std::function<bool(std::uint64_t number)>& wait);

}  // namespace offstage::engine
