#pragma once
// Nodes without a network: a desktop's client and a node's experts in one process, joined
// by a channel that can fail in every way. And what all tests of nodes compare.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <QString>

#include "engine/cluster/joined_nodes.h"
#include "engine/cluster/node_experts.h"
#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/run/loaded_model.h"
#include "tests/engine/set_costs.h"
#include "tests/engine/test_models.h"

namespace offstage::test {

// A test's channel: messages wait in it until its thread takes them.
class QueuedChannel : public engine::NodeChannel {
  public:
    void send(engine::ToNode message) override {
        const std::scoped_lock lock(mutex_);
        queue_.push_back(std::move(message));
        changed_.notify_all();
    }
    void close() override { cut(); }
    // It ends, as by a cut cable.
    void cut() {
        const std::scoped_lock lock(mutex_);
        cut_ = true;
        changed_.notify_all();
    }

  protected:
    // Waits. None: it is cut.
    std::optional<engine::ToNode> next() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return cut_ || !queue_.empty(); });
        if (cut_) return {};
        std::optional<engine::ToNode> message = std::move(queue_.front());
        queue_.pop_front();
        return message;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<engine::ToNode> queue_;
    bool cut_ = false;
};

// The existing channels.
class QueuedChannels {
  public:
    void add(QueuedChannel& channel) {
        const std::scoped_lock lock(mutex_);
        channels_.push_back(&channel);
    }
    void remove(QueuedChannel& channel) {
        const std::scoped_lock lock(mutex_);
        std::erase(channels_, &channel);
    }
    void cut() {
        const std::scoped_lock lock(mutex_);
        for (QueuedChannel* channel : channels_) channel->cut();
    }

  private:
    std::mutex mutex_;
    std::vector<QueuedChannel*> channels_;
};

// One node and all its connections.
class NodeInProcess {
  public:
    // Faults that the channel adds to its connection and messages. It may call these
    // functions on any thread.
    struct Faults {
        std::function<bool(engine::FromNode& message)> passes_back;  // false: it is lost
        std::function<std::vector<engine::FromNode>(const engine::FromNode& message)> sends_before;
        std::function<bool()> connects;                           // false: no answer
        std::function<void(const engine::ToNode& message)> sees;  // a desktop's messages
        // It is of an earlier version: it neither reads nor sends message fields that are
        // new.
        bool is_of_before = false;
        // The reported time of experts: those of a request together, each of a share of a
        // layer; 0: the real time.
        std::atomic<double> computes_us = 0;
        std::function<void(engine::LinkCosts::Measured& measured)> counts_as;  // NodeAddress's
        // It has finished a step, and its report has reached the desktop, or was lost.
        std::function<void(const engine::NodeStepped& stepped)> has_stepped;
    };

    NodeInProcess(engine::ExpertHost& host, engine::NodeExpertsSettings settings)
        : experts_(host, std::move(settings)) {}

    engine::NodeExperts& experts() { return experts_; }
    Faults faults;  // set before anything is connected

    engine::NodeAddress address(std::string name) {
        return {std::move(name),
                [this](engine::NodeChannelEvents events) -> std::unique_ptr<engine::NodeChannel> {
                    return std::make_unique<Channel>(*this, std::move(events));
                },
                {},
                {},
                [this](engine::LinkCosts::Measured& measured) {
                    if (faults.counts_as) faults.counts_as(measured);
                }};
    }
    // Ends the present connection.
    void cut() { channels_.cut(); }

  private:
    class Channel final : public QueuedChannel {
      public:
        Channel(NodeInProcess& node, engine::NodeChannelEvents events)
            : node_(node), events_(std::move(events)), thread_([this] { run(); }) {
            node_.channels_.add(*this);
        }
        ~Channel() override {
            node_.channels_.remove(*this);
            cut();
            thread_.join();
        }

      private:
        void give_back(engine::FromNode message) {
            auto* const reply = std::get_if<engine::NodeReply>(&message);
            auto* const outputs = std::get_if<engine::NodeOutputs>(&message);
            auto* const report = std::get_if<engine::NodePeerReport>(&message);
            if (report != nullptr && node_.faults.is_of_before) report->between_layers_us = 0;
            const double us = node_.faults.computes_us;
            if (reply != nullptr && us > 0) reply->compute_us = us;
            if (outputs != nullptr && us > 0) outputs->compute_us = us * static_cast<double>(outputs->experts.size());
            if (node_.faults.sends_before) {
                for (engine::FromNode& one : node_.faults.sends_before(message)) events_.received(std::move(one));
            }
            const auto* const report_of_step = std::get_if<engine::NodeStepped>(&message);
            const auto stepped = report_of_step != nullptr ? std::optional(*report_of_step) : std::nullopt;
            if (!node_.faults.passes_back || node_.faults.passes_back(message)) events_.received(std::move(message));
            if (stepped && node_.faults.has_stepped) node_.faults.has_stepped(*stepped);
        }
        void run() {
            engine::NodeExperts& experts = node_.experts_;
            engine::NodeExperts::Desktop desktop = 0;
            const bool connects = !node_.faults.connects || node_.faults.connects();
            while (connects) {
                std::optional<engine::ToNode> taken = next();
                if (!taken) break;
                engine::ToNode& message = *taken;
                auto* const peer = std::get_if<engine::NodePeer>(&message);
                if (peer != nullptr && node_.faults.is_of_before) peer->between_layers = false;
                if (node_.faults.sees) node_.faults.sees(message);
                if (const auto* hello = std::get_if<engine::NodeHello>(&message)) {
                    engine::Message refusal;
                    desktop = experts.open(
                        *hello, [this](engine::FromNode what) { give_back(std::move(what)); }, refusal);
                    if (desktop == 0) give_back(engine::NodeRefusal{refusal.english()});
                } else if (auto* want = std::get_if<engine::NodeWant>(&message)) {
                    if (const auto wrong = experts.want(desktop, std::move(*want)); !wrong.empty())
                        give_back(engine::NodeRefusal{wrong.english()});
                } else if (const auto* request = std::get_if<engine::NodeCompute>(&message)) {
                    give_back(experts.compute(desktop, *request));
                } else if (const auto* ping = std::get_if<engine::NodePing>(&message)) {
                    give_back(engine::NodePong{ping->number, ping->payload, experts.state()});
                } else if (const auto wrong = experts.follow(desktop, std::move(message)); !wrong.empty()) {
                    give_back(engine::NodeRefusal{wrong.english()});
                }
            }
            experts.close(desktop);
            events_.ended(engine::messages::node_link_ended);
        }

        NodeInProcess& node_;
        const engine::NodeChannelEvents events_;
        std::thread thread_;  // last: it uses all the others
    };

    engine::NodeExperts experts_;
    QueuedChannels channels_;
};

// The network between nodes of one process: only nodes with a place here can be reached
// by the others.
class NodeNetwork {
  public:
    // false: it is lost on its way, in either direction. Any thread.
    std::function<bool(const engine::NodeOutputs& outputs)> passes;
    std::function<bool()> connects;  // false: no answer
    // The time of each message to a node, one after the other.
    std::atomic<std::chrono::milliseconds> takes{std::chrono::milliseconds(0)};

    // And of the pings to a node behind the first n of a link.
    std::atomic<int> pings_before_slow{0}, n_slow_pings{0};
    std::atomic<std::chrono::milliseconds> slow_ping_takes{std::chrono::milliseconds(0)};

    // The function for the settings of the i-th node.
    engine::ConnectPeer connecting(std::size_t i) {
        return [this, i](const engine::NodePeer& peer, engine::NodeChannelEvents events) {
            return std::make_unique<Channel>(*this, key_of(i), peer, std::move(events));
        };
    }
    void place(std::size_t i, NodeInProcess& node) {
        const std::scoped_lock lock(mutex_);
        nodes_[address_of(i)] = &node;
    }
    // As reported to the desktop.
    engine::NodeAddress address(std::size_t i, NodeInProcess& node, std::string name) const {
        engine::NodeAddress address = node.address(std::move(name));
        address.fingerprint = key_of(i);
        address.for_nodes = address_of(i);
        return address;
    }
    static std::string key_of(std::size_t i) {
        return std::string(engine::kFingerprintDigits, static_cast<char>('1' + i));
    }
    static std::string address_of(std::size_t i) { return "node" + std::to_string(i) + ":7420"; }
    // Ends all present links.
    void cut() { channels_.cut(); }
    int n_connections() const { return n_connections_; }

  private:
    class Channel final : public QueuedChannel {
      public:
        Channel(NodeNetwork& network, std::string key, const engine::NodePeer& peer, engine::NodeChannelEvents events)
            : network_(network), key_(std::move(key)), events_(std::move(events)) {
            {
                const std::scoped_lock lock(network_.mutex_);
                const auto found = network_.nodes_.find(peer.address);
                if (found != network_.nodes_.end()) node_ = found->second;
            }
            network_.channels_.add(*this);
            ++network_.n_connections_;
            thread_ = std::thread([this] { run(); });
        }
        ~Channel() override {
            network_.channels_.remove(*this);
            cut();
            thread_.join();
        }

      private:
        bool passes(const engine::NodeOutputs* outputs) const {
            return outputs == nullptr || !network_.passes || network_.passes(*outputs);
        }
        void give_back(engine::FromNode message) {
            if (passes(std::get_if<engine::NodeOutputs>(&message))) events_.received(std::move(message));
        }
        void run() {
            std::shared_ptr<engine::NodePeers> peers;
            std::uint64_t link = 0;
            int n_pings = 0;
            const bool connects = node_ != nullptr && (!network_.connects || network_.connects());
            while (connects) {
                std::optional<engine::ToNode> taken = next();
                if (!taken) break;
                if (const auto takes = network_.takes.load(); takes.count() > 0) std::this_thread::sleep_for(takes);
                engine::ToNode& message = *taken;
                if (std::holds_alternative<engine::NodePing>(message) && n_pings++ >= network_.pings_before_slow) {
                    ++network_.n_slow_pings;
                    std::this_thread::sleep_for(network_.slow_ping_takes.load());
                }
                engine::Message wrong;
                if (peers != nullptr) {
                    if (passes(std::get_if<engine::NodeOutputs>(&message))) {
                        wrong = peers->receive(link, std::move(message));
                    }
                } else if (const auto* hello = std::get_if<engine::NodePeerHello>(&message)) {
                    link = hello->link;
                    peers = node_->experts().open_peer(
                        key_, *hello,
                        {[this](engine::FromNode what) { give_back(std::move(what)); }, [this] { cut(); }}, wrong);
                }
                if (wrong.empty()) continue;
                events_.received(engine::NodeRefusal{wrong.english()});
                break;
            }
            if (peers != nullptr) peers->close(link);
            events_.ended(engine::messages::node_link_ended);
        }

        NodeNetwork& network_;
        const std::string key_;
        const engine::NodeChannelEvents events_;
        NodeInProcess* node_ = nullptr;
        std::thread thread_;  // last: it uses all the others
    };

    std::mutex mutex_;
    std::map<std::string, NodeInProcess*> nodes_;
    QueuedChannels channels_;
    std::atomic<int> n_connections_ = 0;
};

// A machine with one node.
struct OneNode {
    explicit OneNode(const engine::LoadRequest& request, engine::NodeExpertsSettings settings = {"cupboard", 2, 0})
        : host(request), node(host, std::move(settings)) {}
    engine::ExpertHost host;
    NodeInProcess node;
};

// answer_s: how long it waits for an answer; short in tests with a silent node, otherwise
// long enough for a busy computer, as all other waits are. Costs stay those measured at
// the connection, and so do shares.
inline engine::JoinSettings quickToReturn(double answer_s = 10) {
    engine::JoinSettings settings;
    settings.patience.answer_factor = 0;
    settings.patience.least_answer_s = answer_s;
    settings.patience.connecting_s = settings.patience.turn_s = settings.links_s = settings.choice_s = 60;
    settings.patience.first_retry_s = 0.01;
    settings.patience.longest_retry_s = 0.05;
    settings.patience.first_measuring_s = 0;
    settings.patience.deal_anew_factor = 0;
    return settings;
}
// Experts that a node holds are always computed there.
inline engine::JoinSettings insisting(double answer_s = 10) {
    engine::JoinSettings settings = quickToReturn(answer_s);
    settings.use = engine::NodeUse::kAlways;
    return settings;
}

inline QString textOf(const std::vector<engine::Message>& notes) {
    QString text;
    for (const engine::Message& note : notes) text += QString::fromStdString(note.english()) + QLatin1Char('\n');
    return text;
}

inline constexpr std::int64_t kNodePrompt =
    engine::kSmallestStep + 6;  // tokens: more than the fastest order of sums is for

// Logits of a prompt and of greedy tokens after it; each_step is called before each step.
// None where a step fails.
inline std::vector<float> nodeLogits(engine::LoadedModel& model, int n_tokens = 12,
                                     const std::function<void(int)>& each_step = {}) {
    engine::KvSequence sequence = model.new_sequence();
    std::vector<engine::TokenId> tokens;
    const std::int64_t vocabulary = model.spec().vocab_size;
    for (std::int64_t i = 0; i < kNodePrompt; ++i)
        tokens.push_back(static_cast<engine::TokenId>((5 + i * 37) % std::min<std::int64_t>(900, vocabulary)));
    std::vector<float> all;
    for (int i = 0; i < n_tokens; ++i) {
        if (each_step) each_step(i);
        const engine::Segment segment{&sequence, tokens};
        if (model.forward().step({&segment, 1}, engine::Forward::Logits::kLast, {}) != engine::Forward::Outcome::kDone)
            return {};
        const auto logits = model.forward().logits();
        all.insert(all.end(), logits.begin(), logits.end());
        tokens = {static_cast<engine::TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin())};
    }
    return all;
}

// The rows of experts meanwhile: for a prompt the last layer computes only the last
// token.
inline std::uint64_t nodeRows(const engine::LoadedModel& model, int n_tokens = 12) {
    const engine::ExpertGrid& grid = model.spec().experts;
    const std::int64_t of_prompt = kNodePrompt * (grid.n_layers - 1) + 1;
    return static_cast<std::uint64_t>((of_prompt + (n_tokens - 1) * grid.n_layers) * grid.n_active);
}

// A load in float32 that keeps its measurements in `cache`.
inline engine::LoadRequest nodeRequest(const std::string& model, const std::string& cache) {
    engine::LoadRequest request;
    request.model = model;
    request.compute = engine::ComputeMode::kF32;
    request.cache_directory = cache;
    request.checks_costs = false;
    request.context = 256;
    request.prefetch = engine::PrefetchMode::kOff;
    request.cache = engine::CacheKind::kStatic;
    request.learn_placement = false;
    return request;
}

inline std::unique_ptr<engine::LoadedModel> openModel(const engine::LoadRequest& request) {
    return std::make_unique<engine::LoadedModel>(request, engine::LoadedModel::Text::kNotNeeded,
                                                 engine::LoadProgressFn{}, std::stop_token{});
}

// Waits for what other threads do, without a fixed time.
inline bool becomesTrue(const std::function<bool()>& condition, int seconds = 30) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return true;
}

}  // namespace offstage::test
