#include "engine/nodes/link_test.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
constexpr int kPings = 21, kLargePings = 5;
constexpr std::size_t kLarge = kMostPingBytes;

// One ping after the other over one channel.
class Pinger {
  public:
    Pinger(const NodeAddress& address, std::stop_token stop)
        : stop_(std::move(stop)),
          channel_(address.connect({[this](FromNode message) { received(std::move(message)); },
                                    [this](const Message& why) { ended(why); }})) {}

    // Microseconds until it was back.
    double ping(std::size_t bytes) {
        const std::uint64_t number = ++number_;
        const auto begin = Clock::now();
        channel_->send(NodePing{number, std::string(bytes, 'p')});
        std::unique_lock lock(mutex_);
        const bool answered =
            changed_.wait_for(lock, stop_, kPatience, [&] { return end_.has_value() || ponged_ == number; });
        if (answered && ponged_ == number) {
            return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
        }
        if (stop_.stop_requested()) throw Error(ErrorKind::kCancelled, messages::node_test_cancelled);
        throw Error(ErrorKind::kNotFound,
                    end_.value_or(messages::node_is_silent(static_cast<std::int64_t>(kPatience.count()))));
    }
    NodeState state() {
        const std::scoped_lock lock(mutex_);
        return state_;
    }

  private:
    void received(FromNode message) {
        const std::scoped_lock lock(mutex_);
        if (const auto* pong = std::get_if<NodePong>(&message)) {
            ponged_ = pong->number;
            state_ = pong->state;
        } else if (const auto* refusal = std::get_if<NodeRefusal>(&message)) {
            end_ = from_outside(printable(refusal->sentence, kMostSentenceBytes));
        }
        changed_.notify_all();
    }
    void ended(const Message& why) {
        const std::scoped_lock lock(mutex_);
        if (!end_) end_ = why;
        changed_.notify_all();
    }

    const std::stop_token stop_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::uint64_t number_ = 0, ponged_ = 0;
    NodeState state_;
    std::optional<Message> end_;
    std::unique_ptr<NodeChannel> channel_;  // last: its events use the others
};

}  // namespace

MachineTest test_link(const NodeAddress& address, const std::stop_token& stop) {
    try {
        Pinger pinger(address, stop);
        std::vector<double> small, large;
        pinger.ping(16);  // connects
        for (int i = 0; i < kPings; ++i) small.push_back(pinger.ping(16));
        for (int i = 0; i < kLargePings; ++i) large.push_back(pinger.ping(kLarge));
        MachineTest test;
        test.latency_us = median(small);
        // Other work on the two machines makes a ping longer, never shorter.
        const double beyond_us =
            *std::min_element(large.begin(), large.end()) - *std::min_element(small.begin(), small.end());
        test.mbps = beyond_us > 0 ? 2 * static_cast<double>(kLarge) / beyond_us : 0;
        test.state = pinger.state();
        return test;
    } catch (const Error& error) {
        throw Error(ErrorKind::kNotFound, messages::node_test_failed(address.name, error.message()));
    }
}

}  // namespace offstage::engine
