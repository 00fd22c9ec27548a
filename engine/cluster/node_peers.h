#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "engine/cluster/node_client.h"
#include "engine/cluster/node_protocol.h"
#include "engine/run/dense_costs.h"

namespace offstage::engine {

// Connects a node to another one that its desktop has named: to that address and to that
// key alone. Failures are reported through the events.
using ConnectPeer = std::function<std::unique_ptr<NodeChannel>(const NodePeer& peer, NodeChannelEvents events)>;

// Plays layers of the desktop's model with a pause after each (measure_paused_layers).
using PauseLayers =
    std::function<PausedLayers(const std::function<void(bool first)>& pause, const std::stop_token& stop)>;

// A node's links to other nodes of one desktop, for the direct exchange of shares of
// layers: one to each reachable node that the desktop has named (NodePeer), until the
// desktop withdraws the name or is gone. Of each two, the node with the lower number
// connects. A link stands for one connection: none is opened twice under the same number.
// Any thread.
class NodePeers {
  public:
    // To the desktop; must not call back.
    using Send = std::function<void(FromNode)>;
    // Returns the error of a message; empty: it is stored until it is needed, or dropped.
    // Must not call back.
    using Received = std::function<Message(NodeOutputs)>;
    // The answering side of a link that another node has made. Neither may call back.
    struct Port {
        std::function<void(FromNode)> send;
        std::function<void()> close;
    };

    // connect: empty: this machine has no links to other nodes, and answers so.
    // pause_layers: one link at a time; may throw Error. note: for this machine's user;
    // may be empty.
    NodePeers(ConnectPeer connect, Send send, Received received, PauseLayers pause_layers,
              std::function<void(const Message&)> note);
    ~NodePeers();  // ends all links
    NodePeers(const NodePeers&) = delete;
    NodePeers& operator=(const NodePeers&) = delete;

    // Returns the message's error. Not from an event of a channel.
    Message take(const NodePeer& peer);
    // Whether a node with this key is expected and has not connected yet.
    bool expects(const std::string& fingerprint) const;
    // A node with this key has connected and sent its hello. Returns the error; empty: it
    // has been welcomed.
    Message open(const std::string& fingerprint, const NodePeerHello& hello, Port port);
    // A message over the link that was opened under this number. Returns its error: the
    // link must end then.
    Message receive(std::uint64_t link, ToNode message);
    // The link has ended; after the return, its port is not used any more.
    void close(std::uint64_t link);
    // To those of the machines (bit i: machine i) that have a link; returns which. Never
    // waits.
    std::uint32_t send(const NodeOutputs& outputs, std::uint32_t machines);
    // The desktop is gone: all links end, nothing is received any more, and no new links
    // begin.
    void end();

  private:
    struct Link {
        NodePeer peer;
        bool used = false;                     // it is made here, or a node has connected under this number
        std::shared_ptr<NodeChannel> channel;  // while it is up and was made here
        std::optional<Port> port;              // while it is up and was made there
        std::jthread thread;                   // of a link that is made here
    };
    class Talk;

    void run(const NodePeer& peer, const std::stop_token& stop);
    double longer_between_layers_us(const std::function<bool()>& there_and_back, double alone_us,
                                    const std::stop_token& stop);
    Message deliver(std::uint32_t machine, std::uint64_t link, NodeOutputs outputs);
    std::map<std::uint32_t, Link>::iterator find_locked(std::uint64_t link);
    void report(const NodePeer& peer, NodePeerReport::State state, const Message& why = {});
    void note(const Message& message) const {
        if (note_) note_(message);
    }

    const ConnectPeer connect_;
    const Send send_;
    const Received received_;
    const PauseLayers pause_layers_;
    std::mutex pausing_;  // one link at a time
    const std::function<void(const Message&)> note_;
    mutable std::mutex mutex_;             // for the members below
    std::map<std::uint32_t, Link> links_;  // by the other machine
    bool ended_ = false;
};

}  // namespace offstage::engine
