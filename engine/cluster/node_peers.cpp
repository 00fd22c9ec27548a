#include "engine/cluster/node_peers.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>
#include <vector>

#include "engine/cluster/exchange_probe.h"
#include "engine/cluster/link_costs.h"
#include "engine/cluster/node_messages.h"
#include "engine/error.h"
#include "engine/statistics.h"

namespace offstage::engine {
namespace {

constexpr std::chrono::milliseconds kPeerAnswers{5'000};  // or cannot be reached
// The pause between two pings. While a token is made, both ends wait for each other in
// every layer, and a thread that must wake up takes longer than a running one.
constexpr std::chrono::milliseconds kPeerPingPause{1};

}  // namespace

// The events of a connection made here, for the thread that makes it.
class NodePeers::Talk {
  public:
    void welcome() {
        set([&] { welcomed_ = true; });
    }
    void pong(std::uint64_t number) {
        set([&] { ponged_ = number; });
    }
    // The first reason counts.
    void end(const Message& why) {
        set([&] {
            if (!ended_) why_ = why;
            ended_ = true;
        });
    }
    bool is_welcomed() const {
        const std::scoped_lock lock(mutex_);
        return welcomed_;
    }
    Message why() const {
        const std::scoped_lock lock(mutex_);
        return why_;
    }
    // False: it did not come in time, or cannot come.
    bool wait_for_welcome(const std::stop_token& stop) {
        return wait(stop, [&] { return welcomed_; });
    }
    bool wait_for_pong(std::uint64_t number, const std::stop_token& stop) {
        return wait(stop, [&] { return ponged_ >= number; });
    }
    void wait_for_end(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return ended_; });
    }

  private:
    template <typename Change>
    void set(const Change& change) {
        const std::scoped_lock lock(mutex_);
        change();
        changed_.notify_all();
    }
    template <typename Condition>
    bool wait(const std::stop_token& stop, const Condition& condition) {
        std::unique_lock lock(mutex_);
        changed_.wait_for(lock, stop, kPeerAnswers, [&] { return ended_ || condition(); });
        return !ended_ && condition();
    }

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;
    bool welcomed_ = false, ended_ = false;
    std::uint64_t ponged_ = 0;
    Message why_;
};

NodePeers::NodePeers(ConnectPeer connect, Send send, Received received, PauseLayers pause_layers,
                     std::function<void(const Message&)> note)
    : connect_(std::move(connect)),
      send_(std::move(send)),
      received_(std::move(received)),
      pause_layers_(std::move(pause_layers)),
      note_(std::move(note)) {}

NodePeers::~NodePeers() {
    end();
}

std::map<std::uint32_t, NodePeers::Link>::iterator NodePeers::find_locked(std::uint64_t link) {
    return std::find_if(links_.begin(), links_.end(), [&](const auto& one) { return one.second.peer.link == link; });
}

void NodePeers::report(const NodePeer& peer, NodePeerReport::State state, const Message& why) {
    NodePeerReport report;
    report.link = peer.link;
    report.machine = peer.machine;
    report.state = state;
    report.why = why.english();
    send_(std::move(report));
}

// ---------------------------------------------------------------- the desktop's messages
Message NodePeers::take(const NodePeer& peer) {
    if (Message wrong = check(peer); !wrong.empty()) return wrong;
    std::jthread before;  // ends without the lock: its events need it
    bool ends = false;
    {
        const std::scoped_lock lock(mutex_);
        if (ended_) return {};
        if (const auto found = links_.find(peer.machine); found != links_.end()) {
            Link& link = found->second;
            ends = link.channel != nullptr || link.port.has_value();
            if (link.port) link.port->close();
            before = std::move(link.thread);
            links_.erase(found);
        }
        if (!peer.fingerprint.empty() && connect_) {
            Link& link = links_[peer.machine];
            link.peer = peer;
            link.peer.name = printable(peer.name, kMostNameBytes);
            if (!peer.address.empty()) {
                link.used = true;
                link.thread = std::jthread([this, peer = link.peer](const std::stop_token& stop) { run(peer, stop); });
            }
        }
    }
    if (before.joinable()) {
        before.request_stop();
        before.join();
    }
    if (ends) note(messages::node_peer_is_gone(printable(peer.name, kMostNameBytes)));
    if (peer.fingerprint.empty()) return {};
    if (!connect_) {
        report(peer, NodePeerReport::State::kEnded, messages::node_takes_no_peers);
    } else if (peer.address.empty()) {
        report(peer, NodePeerReport::State::kExpected);
    }
    return {};
}

bool NodePeers::expects(const std::string& fingerprint) const {
    const std::scoped_lock lock(mutex_);
    return !ended_ && !fingerprint.empty() && std::any_of(links_.begin(), links_.end(), [&](const auto& one) {
        return one.second.peer.fingerprint == fingerprint && !one.second.used;
    });
}

void NodePeers::end() {
    std::map<std::uint32_t, Link> links;  // their threads end without the lock
    std::vector<std::string> gone;
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
        links = std::exchange(links_, {});
        for (auto& [machine, link] : links) {
            if (link.port || link.channel) gone.push_back(link.peer.name);
            if (link.port) link.port->close();
            link.port.reset();
        }
    }
    for (auto& [machine, link] : links) {
        if (link.thread.joinable()) link.thread.request_stop();
    }
    for (const std::string& name : gone) note(messages::node_peer_is_gone(name));
}

// -------------------------------------------------------------- a link that is made here
void NodePeers::run(const NodePeer& peer, const std::stop_token& stop) {
    const auto talk = std::make_shared<Talk>();
    const auto received = [this, talk, peer](FromNode message) {
        if (const auto* welcome = std::get_if<NodePeerWelcome>(&message); welcome && welcome->link == peer.link) {
            talk->welcome();
        } else if (const auto* pong = std::get_if<NodePong>(&message)) {
            talk->pong(pong->number);
        } else if (auto* refusal = std::get_if<NodeRefusal>(&message)) {
            talk->end(from_outside(printable(refusal->sentence, kMostSentenceBytes)));
        } else if (auto* outputs = std::get_if<NodeOutputs>(&message); outputs && talk->is_welcomed()) {
            const Message wrong = deliver(peer.machine, peer.link, std::move(*outputs));
            if (!wrong.empty()) talk->end(messages::node_sent_nonsense(wrong));
        } else {
            talk->end(messages::node_sent_nonsense(messages::node_message_empty));
        }
    };
    std::shared_ptr<NodeChannel> channel = connect_(peer, {received, [talk](const Message& why) { talk->end(why); }});
    NodePeerReport up;
    up.link = peer.link;
    up.machine = peer.machine;
    up.state = NodePeerReport::State::kUp;
    std::uint64_t n_pings = 0;
    const Pings pings{[&](std::size_t bytes) {
                          channel->send(NodePing{++n_pings, std::string(bytes, 'p')});
                          return n_pings;
                      },
                      [&](std::uint64_t number) { return talk->wait_for_pong(number, stop); }};
    const auto measure = [&] {
        const auto times = measure_pings(pings, kPeerPingPause);
        if (!times) return false;
        up.latency_us = median(times->small_us);
        up.us_per_byte = times->us_per_byte;
        const auto exchange = measure_exchanges(pings, kSmallPing, up.latency_us);
        if (!exchange) return false;
        up.message_us = std::max(up.latency_us / 4, exchange->message_us);
        if (!peer.between_layers) return true;
        bool is_lost = false;
        const double longer_us = longer_between_layers_us(
            [&] {
                is_lost = is_lost || !pings.wait(pings.send(kSmallPing));
                return !is_lost;
            },
            up.latency_us, stop);
        if (longer_us != 0) up.between_layers_us = LinkCosts::between_layers(up.message_us, longer_us);
        return !is_lost;
    };
    channel->send(NodePeerHello{kNodeProtocol, peer.link, peer.self});
    if (talk->wait_for_welcome(stop) && measure()) {
        note(messages::node_peer_connected_to(peer.name, peer.address));
        {
            const std::scoped_lock lock(mutex_);
            send_(up);  // before any other message over it
            if (const auto found = find_locked(peer.link); found != links_.end()) found->second.channel = channel;
        }
        talk->wait_for_end(stop);
        if (!stop.stop_requested()) note(messages::node_peer_is_gone(peer.name));
    }
    {
        const std::scoped_lock lock(mutex_);
        if (const auto found = find_locked(peer.link); found != links_.end()) found->second.channel.reset();
    }
    if (!stop.stop_requested()) {
        const Message why = talk->why();
        report(
            peer, NodePeerReport::State::kEnded,
            why.empty() ? messages::node_is_silent(Decimal{static_cast<double>(kPeerAnswers.count()) / 1e3, 0}) : why);
    }
    channel->close();
}

// The extra time of one message between two layers of a step compared with a message
// alone (below 0: less): the computing thread sends a small one there and waits until it
// is back. 0: not measured.
double NodePeers::longer_between_layers_us(const std::function<bool()>& there_and_back, double alone_us,
                                           const std::stop_token& stop) {
    const std::scoped_lock lock(pausing_);
    std::stop_source ends;
    const std::stop_callback as_well(stop, [&] { ends.request_stop(); });
    try {
        const PausedLayers layers = pause_layers_(
            [&](bool) {
                if (!ends.stop_requested() && !there_and_back()) ends.request_stop();
            },
            ends.get_token());
        return layers.pause_us > 0 ? (layers.pause_us - alone_us) / 2 : 0;
    } catch (const Error& error) {
        note(error.message());
        return 0;
    }
}

// ------------------------------------------------------------- a link that is made there
Message NodePeers::open(const std::string& fingerprint, const NodePeerHello& hello, Port port) {
    if (Message wrong = check(hello); !wrong.empty()) return wrong;
    std::string name;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = find_locked(hello.link);
        if (found == links_.end() || ended_ || found->second.used || found->first != hello.machine ||
            found->second.peer.fingerprint != fingerprint || fingerprint.empty()) {
            return messages::node_peer_is_not_expected;
        }
        found->second.used = true;
        port.send(NodePeerWelcome{hello.link});
        found->second.port = std::move(port);
        name = found->second.peer.name;
    }
    note(messages::node_peer_has_connected(name));
    return {};
}

Message NodePeers::receive(std::uint64_t link, ToNode message) {
    if (auto* outputs = std::get_if<NodeOutputs>(&message)) {
        return deliver(outputs->machine, link, std::move(*outputs));
    }
    auto* const ping = std::get_if<NodePing>(&message);
    if (ping == nullptr) return messages::node_message_empty;
    if (Message wrong = check(*ping); !wrong.empty()) return wrong;
    const std::scoped_lock lock(mutex_);
    const auto found = find_locked(link);
    if (found != links_.end() && found->second.port) {
        found->second.port->send(NodePong{ping->number, std::move(ping->payload), {}});
    }
    return {};
}

void NodePeers::close(std::uint64_t link) {
    std::optional<NodePeer> ended;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = find_locked(link);
        if (found == links_.end() || !found->second.port) return;
        found->second.port.reset();
        ended = found->second.peer;
    }
    note(messages::node_peer_is_gone(ended->name));
    report(*ended, NodePeerReport::State::kEnded, messages::node_link_ended);
}

// --------------------------------------------------------------- shares of layers
// A machine sends only its own share, and only the desktop reports losses. With the lock:
// none after end().
Message NodePeers::deliver(std::uint32_t machine, std::uint64_t link, NodeOutputs outputs) {
    const std::scoped_lock lock(mutex_);
    const auto found = find_locked(link);
    if (found == links_.end() || found->first != machine) return messages::node_peer_is_not_expected;
    if (outputs.machine != machine || outputs.lost) {
        return messages::node_field_invalid("the machine", outputs.machine, std::to_string(machine));
    }
    outputs.direct = 0;
    return received_(std::move(outputs));
}

std::uint32_t NodePeers::send(const NodeOutputs& outputs, std::uint32_t machines) {
    std::uint32_t sent = 0;
    const std::scoped_lock lock(mutex_);
    for (auto& [machine, link] : links_) {
        if ((machines >> machine & 1u) == 0) continue;
        if (link.channel) {
            link.channel->send(outputs);
        } else if (link.port) {
            link.port->send(outputs);
        } else {
            continue;
        }
        sent |= 1u << machine;
    }
    return sent;
}

}  // namespace offstage::engine
