#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cluster/node_client.h"
#include "engine/message.h"

namespace offstage::engine {

// The desktop's side of links between its nodes (NodePeer). For each two nodes that are
// up, the desktop sends the one with the higher number the other's key; after its
// confirmation the other gets its address and connects. The outcome is recorded. Two
// nodes that cannot reach each other continue through the desktop, and try again now and
// then. Any thread.
class NodeMesh {
  public:
    // The known state of the link between two nodes.
    struct Link {
        bool direct = false;    // it is up
        bool by_way = false;    // it was tried and failed; their messages go through the desktop
        double latency_us = 0;  // as last measured, there and back; 0: never
        double us_per_byte = 0;
        double message_us = 0;  // a small message one way, as in the exchange of shares of layers
        // The extra time between the layers of a step (below 0: less); none: not measured
        // there.
        std::optional<double> longer_us;
        Message why;  // by_way: the reason
    };

    // addresses: of the nodes; a pair with a node that has no address for other nodes is
    // ignored. between_layers: links are measured between the layers of a step too, which
    // takes the connecting node a second or so, one link at a time.
    explicit NodeMesh(const std::vector<NodeAddress>& addresses, double again_s = NodePatience().links_again_s,
                      bool between_layers = false);
    NodeMesh(const NodeMesh&) = delete;
    NodeMesh& operator=(const NodeMesh&) = delete;

    // Link::longer_us of all pairs: measurements of an earlier mesh of the same nodes are
    // not repeated. Before the nodes are started.
    using Longer = std::vector<std::optional<double>>;
    Longer longer_us() const;
    void set_longer_us(const Longer& known);

    // Call before the nodes are started; they must be stopped before this object is
    // destroyed.
    void use(std::vector<std::shared_ptr<NodeClient>> nodes);
    NodeClient::Meeting meeting(std::size_t i);
    // Called when a link has ended, and counts as ended already.
    void set_on_ended(std::function<void()> call);

    Link link(std::size_t a, std::size_t b) const;
    // Bit j + 1: there is a link to node j, as in NodeOutputs::direct.
    std::uint32_t direct_machines(std::size_t i) const;
    // Waits until the outcome of the link between each two connected nodes is known, but
    // no longer than `until`.
    void wait_until_settled(std::chrono::steady_clock::time_point until, const std::stop_token& stop) const;
    // Ends the node's links, whose messages may never arrive. False: it has none.
    bool drop(std::size_t i, const Message& why);
    // Retries the pairs that could not reach each other; between two steps.
    void retry();
    // Ends all links; measurements are kept.
    void withdraw();

    std::vector<Message> take_notes();
    std::uint64_t n_changes() const;

  private:
    using Clock = std::chrono::steady_clock;
    enum class State { kNone, kAsked, kConnecting, kDirect, kByWay };
    struct Pair {
        std::size_t a = 0, b = 0;  // a < b
        State state = State::kNone;
        std::uint64_t link = 0;
        std::uint64_t connection_a = 0, connection_b = 0;  // NodeClient::n_connections() at the request
        Clock::time_point since;                           // of the state
        Link known;
        bool is_reported = false;  // it was reported that messages go through the desktop, since it last was direct
        bool is_news = false;      // the state is to be reported
    };

    bool can_meet(const Pair& pair) const;
    void introduce_locked(Pair& pair);
    void set_locked(Pair& pair, State state);
    void end_locked(Pair& pair, const Message& why);
    void tell_locked(const Pair& pair, std::size_t to, bool expects_link) const;
    void came_up(std::size_t i);
    void reported(std::size_t i, const NodePeerReport& report);
    const Pair& pair_of(std::size_t a, std::size_t b) const;

    struct Place {
        std::string fingerprint, address;
    };
    const double again_s_;
    const bool between_layers_;
    std::vector<Place> places_;
    std::vector<std::shared_ptr<NodeClient>> nodes_;
    std::function<void()> on_ended_;
    mutable std::mutex mutex_;                     // for the members below
    mutable std::condition_variable_any settled_;  // a state of a pair
    std::vector<Pair> pairs_;
    std::uint64_t next_link_ = 0;
    std::uint64_t n_changes_ = 0;
    bool meets_ = true;
    std::vector<Message> notes_;
};

}  // namespace offstage::engine
