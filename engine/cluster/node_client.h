#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "engine/cluster/held_experts.h"
#include "engine/cluster/measuring_turn.h"
#include "engine/cluster/node_meter.h"
#include "engine/cluster/node_protocol.h"
#include "engine/telemetry/machine_figures.h"

namespace offstage::engine {

// One connection to a node, as the transport makes it.
class NodeChannel {
  public:
    virtual ~NodeChannel() = default;
    // Queues the message; returns without waiting for it to be sent. Any thread.
    virtual void send(ToNode message) = 0;
    // Ends the connection. Any thread.
    virtual void close() = 0;
};

// A channel's events, called by its own threads; none after `ended`.
struct NodeChannelEvents {
    std::function<void(FromNode message)> received;
    std::function<void(Message why)> ended;
};

// A node's address and the way to reach it.
struct NodeAddress {
    std::string name;
    // Begins to connect; what fails is reported through the events. When the channel is
    // destroyed no event is running and none will come.
    std::function<std::unique_ptr<NodeChannel>(NodeChannelEvents)> connect;
    // For other nodes, to connect to it: its key and "host:port". Empty: other nodes do
    // not get it.
    std::string fingerprint = {}, for_nodes = {};
    // Replaces values that were measured of it before they count (drills); may be empty.
    std::function<void(LinkCosts::Measured& measured)> counts_as = {};
};

struct NodePatience {
    double answer_factor = 20;   // the longest wait for an answer, in multiples of the prediction,
    double least_answer_s = 1;   // but is waited for at least so long
    double most_answer_s = 10;   // and at most
    double connecting_s = 5;     // until the node has greeted
    double first_retry_s = 0.5;  // after a loss; twice as long after each that fails
    double longest_retry_s = 30;
    double links_again_s = 30;  // time until two nodes that could not reach each other try again
    double turn_s = 2;          // the longest wait for other nodes to be measured (MeasuringTurn)
    // The time until an unused node is measured again (RemeasureSchedule); 0: never.
    double first_measuring_s = 5;
    double longest_measuring_s = 600;  // doubled after each, up to this
    // Experts are distributed anew between machines that make the same steps, between two
    // answers, if one of them has become faster or slower by this factor, relative to
    // this machine; 0: never for that, and nothing is learnt from their shares.
    double deal_anew_factor = 1.5;
    // The same in the middle of an answer, if a machine has become slower by this factor.
    double deal_amid_factor = 4;
};

// The desktop's view of a node: the connection, made again in the background whenever it
// is lost, and what the node has said over it. Losses and returns become sentences. Any
// thread.
class NodeClient {
  public:
    using Clock = std::chrono::steady_clock;
    // The most experts that experts_to_probe() returns.
    static constexpr int kMostProbed = 15;

    // Requests that the node makes the desktop's steps itself (NodeFollow), on every
    // connection. Its messages about them go to `received`, from threads of the channel
    // and without a lock; `lost` is called when such a connection has ended, and must not
    // call back.
    struct Following {
        NodeFollow follow;
        std::function<void(FromNode message)> received;  // NodeStepped, NodeOutputs of the right shape
        std::function<void()> lost;
    };
    // `up` is called when the node is up over a new connection, from this object's
    // thread; `reported` with its reports on links to other nodes, from threads of the
    // channel. Neither with a lock of this object.
    struct Meeting {
        std::function<void()> up;
        std::function<void(const NodePeerReport& report)> reported;  // with valid fields
    };
    // What the node is used for.
    struct Terms {
        NodeHello hello;
        ExpertGrid grid;
        ActivationType activations = ActivationType::kF32;
        NodePatience patience = {};
        std::optional<Following> following = {};
        std::optional<Meeting> meeting = {};
        // When this machine last worked on a step; the greatest time value during a step.
        // Empty: the node is measured once for each connection.
        std::function<Clock::time_point()> last_step = {};
        std::shared_ptr<MeasuringTurn> turn = {};  // nodes with the same one are measured one at a time
    };

    NodeClient(NodeAddress address, Terms terms);
    ~NodeClient();
    NodeClient(const NodeClient&) = delete;
    NodeClient& operator=(const NodeClient&) = delete;

    // The experts that the node should hold, from the next connection on. The first call
    // connects.
    void start(std::vector<NodeExpert> wanted);
    // New experts for the node, over the present connection as well. Experts not in the
    // list, or in another format there, count as gone at once: call between two steps, so
    // that no request for them is on its way.
    void want(std::vector<NodeExpert> wanted);
    // Disconnects, for good: it is not up from now on. One thread, that of start().
    void stop();
    // Waits until the node holds all its experts, or it is clear that it cannot be used
    // for now. held: called about ten times a second with the number of experts that it
    // holds. No longer than until `until`.
    void wait_until_settled(const std::function<void(std::int64_t held)>& held, const std::stop_token& stop,
                            std::optional<Clock::time_point> until = {});

    const std::string& name() const { return address_.name; }
    const NodeAddress& address() const { return address_; }
    const Terms& terms() const { return terms_; }
    const ExpertGrid& grid() const { return terms_.grid; }
    ActivationType activations() const { return terms_.activations; }
    const NodePatience& patience() const { return terms_.patience; }
    LinkCosts& costs() { return meter_.costs(); }
    const LinkCosts& costs() const { return meter_.costs(); }
    std::uint64_t n_remeasurements() const { return meter_.n_remeasurements(); }
    bool is_up() const { return up_.load(std::memory_order_acquire); }
    // It is up, and makes steps.
    bool follows() const { return is_up() && follows_.load(std::memory_order_acquire); }
    // Grows with every connection over which it follows: its earlier state is lost then.
    std::uint64_t following_number() const { return n_followings_.load(std::memory_order_acquire); }
    // It is up, and has the expert in this format. Waits for nothing.
    bool holds(std::size_t index, kernels::WeightType format) const { return is_up() && held_.holds(index, format); }
    // The format that it has the expert in; nothing: it has none. Waits for nothing.
    std::optional<kernels::WeightType> held_format(std::size_t index) const { return held_.format(index); }
    std::int64_t n_held() const { return held_.count(); }
    // No further requested experts will come over the present connection.
    bool has_all() const;
    NodeWelcome welcome() const;
    struct Status {
        MachineState state = MachineState::kConnecting;
        Message why;  // as MachineFigures::why
    };
    // kRefused if it should make steps and refuses, although it is up.
    Status status() const;
    // It is up, and has refused to make steps: for a permanent reason, or repeatedly.
    bool refuses_to_follow() const;

    // False: it is not up. send_peer: it does not make steps.
    bool send_up(ToNode message) { return send(std::move(message), Needs::kUp); }
    bool send_peer(ToNode message) { return send(std::move(message), Needs::kFollowing); }
    // Sends a request under a unique number, which is returned; 0: the node is not up.
    std::uint64_t send(NodeCompute request) { return ask(std::move(request), Needs::kUp); }
    // The reply, valid or not; none: none came in time, or the connection ended.
    std::optional<NodeReply> wait(std::uint64_t number, Clock::time_point until);
    // Held experts of one format for probe(), enough of them that each is no longer in
    // the node's caches when it repeats.
    std::vector<NodeExpert> experts_to_probe() const;
    // The node computes n_rows rows; waits for its reply. none: it is not connected, does
    // not answer or sends an invalid reply.
    std::optional<NodeReply> probe(const NodeExpert& expert, std::uint32_t n_rows) {
        return wait_for_probe(send_probe(expert, n_rows), n_rows);
    }
    // The same by halves, under the number that is returned; 0: it is not connected.
    std::uint64_t send_probe(const NodeExpert& expert, std::uint32_t n_rows);
    std::optional<NodeReply> wait_for_probe(std::uint64_t number, std::uint32_t n_rows);
    std::uint64_t send_ping(std::size_t bytes);  // its number; 0: it is not connected
    bool wait_for_pong(std::uint64_t number, const std::stop_token& stop);
    // The node cannot be relied on: the connection is closed, and another one made later.
    void give_up(const Message& why);

    // Sentences for the user since the last call.
    std::vector<Message> take_notes();
    std::uint64_t n_losses() const { return n_losses_.load(); }
    std::uint64_t n_connections() const { return n_connections_.load(); }  // connections that were used
    // Grows with every change of status() and of the held experts.
    std::uint64_t n_changes() const { return n_changes_.load(); }

  private:
    // The last connection.
    struct Connection {
        std::uint64_t number = 0;
        std::shared_ptr<NodeChannel> channel;
        bool open = false;  // and has not ended
        bool refused = false;
        bool draining = false;
        bool want_sent = false;
        Message end_reason;
        Message cannot_follow;       // why it makes no steps
        bool follows_later = false;  // for a temporary reason: the request is repeated
        int n_refused_for_now = 0;   // the number of such refusals
        std::optional<NodeWelcome> welcome;
        std::uint64_t ponged = 0;                                    // the last number that has come back
        std::map<std::uint64_t, std::optional<NodeReply>> requests;  // that are waited for
    };
    enum class Needs { kConnected, kUp, kFollowing };
    enum class End { kLost, kRefused, kStopped };
    using Lock = std::unique_lock<std::mutex>;

    void run(const std::stop_token& stop);
    End serve_connection(const std::stop_token& stop);
    bool becomes_ready(Lock& lock, const std::stop_token& stop);
    void stay_up(Lock& lock, const std::stop_token& stop);
    std::shared_ptr<NodeChannel> channel_locked(Needs needs) const;
    bool send(ToNode message, Needs needs);
    std::uint64_t ask(NodeCompute request, Needs needs);
    void received(std::uint64_t connection, FromNode message);
    void take_locked(NodeWelcome welcome);
    void take_locked(const NodeHoldings& holdings);
    void take_locked(NodeReply reply);
    void take_locked(const NodePong& pong) { now_.ponged = pong.number; }
    void take_locked(const NodeDrain&);
    void take_locked(const NodeRefusal& refusal);
    void take_locked(const NodeFollowing& following);
    // Unrequested steps or links, or of the wrong shape.
    void take_locked(const NodeStepped&) { end_as_nonsense_locked({}); }
    void take_locked(const NodeOutputs& outputs) { end_as_nonsense_locked(check(outputs, terms_.grid)); }
    void take_locked(const NodePeerReport& report) { end_as_nonsense_locked(check(report)); }
    void take_locked(const NodePeerWelcome&) { end_as_nonsense_locked({}); }
    void end_as_nonsense_locked(const Message& wrong);
    void end_locked(const Message& why);
    void send_want_locked();
    void note_locked(Message note);
    template <typename Condition>
    bool wait_for(Lock& lock, const std::stop_token& stop, double seconds, const Condition& condition);

    const NodeAddress address_;
    const Terms terms_;
    NodeMeter meter_;
    HeldExperts held_;
    std::atomic<bool> up_ = false, follows_ = false;
    std::atomic<std::uint64_t> n_followings_ = 0, n_losses_ = 0, n_connections_ = 0, n_changes_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;  // all but replies
    std::condition_variable replied_;      // a reply, or the connection has ended
    Connection now_;
    bool settled_ = false;  // see wait_until_settled()
    Message trouble_;       // why it is not up, since it last was
    Message unreachable_;   // the last reported reason
    std::uint64_t next_number_ = 0;
    std::vector<Message> notes_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace offstage::engine
