#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/cluster/node_follower.h"
#include "engine/cluster/node_peers.h"
#include "engine/cluster/node_protocol.h"
#include "engine/cluster/turn_lock.h"
#include "engine/run/expert_host.h"

namespace offstage::engine {

struct NodeExpertsSettings {
    std::string name;               // this machine's
    std::size_t most_desktops = 4;  // at once
    double linger_s = 30;           // how long a disconnected desktop's experts stay
    // Experts that were not computed for this long are read once, a page of memory at a
    // time, so that the system does not swap them out. 0: never.
    double keep_warm_s = 0;
    std::function<void(const Message&)> note = {};  // for the node's user; any thread. Empty: not used
    ConnectPeer connect_peer = {};                  // empty: it has no links to other nodes
};

// The work of a node: it holds the experts that desktops request in RAM, packed for this
// machine's kernels, and computes them with the same operations as a model on this
// machine. A separate thread makes experts ready, one at a time, beside the requests;
// requests are served one after the other, desktops in turn. A desktop may also request
// whole steps (NodeFollower): then the node works for that one alone. Any thread.
class NodeExperts {
  public:
    using Desktop = std::uint64_t;
    using Send = std::function<void(FromNode)>;  // any thread; must not call back

    // `host` is open but not filled, must outlive this object, and is used by nothing
    // else. Throws Error as ExpertHost::fill().
    NodeExperts(ExpertHost& host, NodeExpertsSettings settings);
    ~NodeExperts();
    NodeExperts(const NodeExperts&) = delete;
    NodeExperts& operator=(const NodeExperts&) = delete;

    // Registers a desktop and sends its welcome. 0: refused, and `refusal` has the
    // reason.
    Desktop open(const NodeHello& hello, Send send, Message& refusal);
    // Returns the error of the list; empty: its experts are being made ready.
    Message want(Desktop desktop, NodeWant want);
    // The experts' outputs, or a refusal in the reply.
    NodeReply compute(Desktop desktop, const NodeCompute& request);
    // NodeFollow, and messages for a node that follows. Returns the message's error;
    // empty: it is being processed. Opening the rest of the model takes as long as
    // reading it.
    Message follow(Desktop desktop, ToNode message);
    void close(Desktop desktop);
    // Whether a desktop has named the node that has this key, which may then connect.
    // Waits for no turn.
    bool expects_peer(const std::string& fingerprint) const;
    // A node with this key has connected: the links of which it is one end from now on.
    // None: it is refused, and `refusal` has the reason.
    std::shared_ptr<NodePeers> open_peer(const std::string& fingerprint, const NodePeerHello& hello,
                                         const NodePeers::Port& port, Message& refusal);
    // Informs all desktops that this machine is about to end.
    void drain();

    NodeState state() const;
    // The number of reads that keep experts warm.
    std::uint64_t n_warmed() const { return n_warmed_; }
    const ExpertGrid& grid() const { return host_.spec().experts; }

  private:
    using Clock = std::chrono::steady_clock;
    static constexpr std::size_t kNoExpert = ~std::size_t{0};
    struct Client {
        Send send;
        std::vector<NodeExpert> wanted;
        std::size_t next = 0;  // first entry of `wanted` not processed yet
        bool complete = true;
        std::vector<std::uint8_t> told;  // (n_layers, n_experts): 1 if it was reported as held
    };

    std::size_t index(const NodeExpert& expert) const;
    bool is_held(const NodeExpert& expert) const;
    Message meet(Desktop desktop, const NodePeer& peer);
    Message begin_following(Desktop desktop, const NodeFollow& follow);
    std::shared_ptr<NodeFollower> follower_of(Desktop desktop) const;
    void end_following();
    Message take_from_peer(Desktop desktop, NodeOutputs outputs);
    Message problem(Desktop desktop, const NodeCompute& request) const;
    void run(const std::stop_token& stop);
    bool make_ready_next(const std::stop_token& stop);
    std::byte* room_for(const NodeExpert& expert, const Client& client);
    bool free_unwanted();
    bool let_go(std::size_t index);
    bool free_what_matters_less(const Client& client);
    void keep_warm(const std::stop_token& stop);

    ExpertHost& host_;
    const NodeExpertsSettings settings_;
    const std::string fingerprint_;
    kernels::ThreadPool packing_pool_{1};

    mutable TurnLock turn_;  // for all members below up to the next mark, and for the host
    std::map<Desktop, Client> desktops_;
    Desktop last_desktop_ = 0, last_served_ = 0;
    std::vector<float> inputs_, outputs_;
    std::vector<std::int32_t> row_token_;
    std::vector<ExpertCall> calls_;
    NodeState totals_;
    std::size_t packing_ = kNoExpert;  // index of the expert that is being packed
    Clock::time_point free_at_ = Clock::time_point::max();
    std::vector<Clock::time_point> last_read_;  // (n_layers, n_experts): computed, or kept warm
    Clock::time_point warm_at_ = Clock::time_point::max();
    std::atomic<std::uint64_t> n_warmed_ = 0;

    mutable std::mutex follower_mutex_;  // for these three
    std::shared_ptr<NodeFollower> follower_;
    Desktop following_ = 0;            // 0: none
    NodeFollower::Totals followed_{};  // of earlier followers

    mutable std::mutex peers_mutex_;  // of these
    std::map<Desktop, std::shared_ptr<NodePeers>> peers_;

    std::mutex wake_mutex_;  // for these two
    std::condition_variable_any wake_;
    bool work_ = false;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace offstage::engine
