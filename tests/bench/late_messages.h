#pragma once
// A network between this program and a node without a relay: one thread of this program
// delays messages from the node by the transfer times of both directions. The network
// takes no processor time but that thread's, so that two programs on two cores behave
// like two machines of one core.
//
// Messages to the node arrive at once. So all of the node's work is earlier by a
// message's time than it would be; either side waits for the other as long as with a
// message's time in each direction.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "engine/cluster/node_client.h"
#include "tests/engine/punctual_timer.h"

namespace offstage::test {

// Times from requests to their replies, microseconds; any thread.
class RoundTrips {
  public:
    void add(std::chrono::steady_clock::duration took) {
        const std::scoped_lock lock(mutex_);
        us_.push_back(std::chrono::duration<double, std::micro>(took).count());
    }
    std::vector<double> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(us_, {});
    }

  private:
    std::mutex mutex_;
    std::vector<double> us_;
};

class LateMessages final : public engine::NodeChannel {
  public:
    using Clock = std::chrono::steady_clock;

    // delay: in one direction. bytes_per_s 0: without a limit.
    LateMessages(const engine::NodeAddress& node, engine::NodeChannelEvents events, std::chrono::microseconds delay,
                 double bytes_per_s, std::shared_ptr<RoundTrips> round_trips)
        : delay_(delay),
          bytes_per_s_(bytes_per_s),
          round_trips_(std::move(round_trips)),
          events_(std::move(events)),
          thread_([this] { run(); }) {
        channel_ = node.connect({[this](engine::FromNode message) { put(bytes_of(message), std::move(message)); },
                                 [this](engine::Message why) { put(0, std::move(why)); }});
    }
    ~LateMessages() override {
        channel_.reset();  // nothing more is put
        {
            const std::scoped_lock lock(mutex_);
            ends_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    void send(engine::ToNode message) override {
        {
            const std::scoped_lock lock(mutex_);
            const auto now = Clock::now();
            if (std::holds_alternative<engine::NodeCompute>(message)) asked_.push_back(now);
            out_is_free_ = std::max(out_is_free_, now) + time_of(bytes_of(message));
            out_ = out_is_free_ - now;
        }
        channel_->send(std::move(message));
    }
    void close() override { channel_->close(); }

    // The node, with its messages late.
    static engine::NodeAddress through(engine::NodeAddress node, std::chrono::microseconds delay, double bytes_per_s,
                                       std::shared_ptr<RoundTrips> round_trips) {
        engine::NodeAddress late = node;
        late.connect = [node = std::move(node), delay, bytes_per_s,
                        round_trips = std::move(round_trips)](engine::NodeChannelEvents events) {
            return std::make_unique<LateMessages>(node, std::move(events), delay, bytes_per_s, round_trips);
        };
        return late;
    }

  private:
    struct Piece {
        Clock::time_point due;
        std::variant<engine::FromNode, engine::Message> what;  // the latter: why the connection has ended
    };
    static constexpr std::size_t kBesideContents = 100;  // bytes of a message, about

    template <typename OneOf>
    static std::size_t bytes_of(const OneOf& message) {
        return kBesideContents + std::visit(
                                     [](const auto& what) {
                                         if constexpr (requires { what.inputs.size(); }) return what.inputs.size();
                                         if constexpr (requires { what.outputs.size(); }) return what.outputs.size();
                                         if constexpr (requires { what.payload.size(); }) return what.payload.size();
                                         return std::size_t{0};
                                     },
                                     message);
    }
    Clock::duration time_of(std::size_t n_bytes) const {
        if (bytes_per_s_ <= 0) return {};
        return std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(static_cast<double>(n_bytes) / bytes_per_s_));
    }
    template <typename What>
    void put(std::size_t n_bytes, What what) {
        {
            const std::scoped_lock lock(mutex_);
            in_is_free_ = std::max(in_is_free_, Clock::now()) + time_of(n_bytes);
            last_due_ = std::max(last_due_, in_is_free_ + out_ + 2 * delay_);
            late_.push_back({last_due_, std::move(what)});
        }
        changed_.notify_all();
    }
    void run() {
        PunctualTimer::make_prompt();
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return ends_ || !late_.empty(); });
            if (ends_) return;
            const auto due = late_.front().due, wake_at = timer_.wake_at(due);
            if (wake_at > Clock::now() && !changed_.wait_until(lock, wake_at, [&] { return ends_; })) {
                timer_.woken(wake_at);
            }
            if (ends_) return;
            if (!timer_.is_time(due)) continue;
            auto what = std::move(late_.front().what);
            late_.pop_front();
            const auto* const message = std::get_if<engine::FromNode>(&what);
            if (message != nullptr && std::holds_alternative<engine::NodeReply>(*message) && !asked_.empty()) {
                round_trips_->add(Clock::now() - asked_.front());
                asked_.pop_front();
            }
            lock.unlock();
            if (message != nullptr) {
                events_.received(std::get<engine::FromNode>(std::move(what)));
            } else {
                events_.ended(std::get<engine::Message>(what));
            }
            lock.lock();
        }
    }

    const Clock::duration delay_;
    const double bytes_per_s_;
    const std::shared_ptr<RoundTrips> round_trips_;
    const engine::NodeChannelEvents events_;
    PunctualTimer timer_;  // the thread's
    std::mutex mutex_;     // for the members below
    std::condition_variable changed_;
    std::deque<Piece> late_;
    std::deque<Clock::time_point> asked_;  // requests that have no reply yet
    Clock::time_point out_is_free_{}, in_is_free_{}, last_due_{};
    Clock::duration out_{};  // the line's time for the last message to the node
    bool ends_ = false;
    std::thread thread_;                            // uses all of these
    std::unique_ptr<engine::NodeChannel> channel_;  // last: its events use the others
};

}  // namespace offstage::test
