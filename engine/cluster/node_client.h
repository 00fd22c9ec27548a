#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "engine/cluster/link_costs.h"
#include "engine/cluster/measuring_turn.h"
#include "engine/cluster/node_protocol.h"
#include "engine/cluster/remeasure_schedule.h"
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
};

struct NodePatience {
    double answer_factor = 20;   // the longest wait for an answer, in multiples of the prediction,
    double least_answer_s = 1;   // but is waited for at least so long
    double most_answer_s = 10;   // and at most
    double connecting_s = 5;     // until the node has greeted
    double first_retry_s = 0.5;  // after a loss; twice as long after each that fails
    double longest_retry_s = 30;
    double links_again_s = 30;  // time until two nodes that could not reach each other try again
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
// is lost, the experts that the node holds, and their costs. Losses and returns become
// sentences. Any thread.
class NodeClient {
  public:
    // The inputs for the protocol and for measurements: the hello, the model, and bytes
    // of an expert in a format.
    NodeClient(NodeAddress address, NodeHello hello, const ExpertGrid& grid, ActivationType activations,
               NodePatience patience = {});
    ~NodeClient();
    NodeClient(const NodeClient&) = delete;
    NodeClient& operator=(const NodeClient&) = delete;

    // Before start(): requests that the node makes the desktop's steps itself
    // (NodeFollow), on every connection. Its messages about them go to `received`, from
    // threads of the channel and without a lock; `lost` is called when such a connection
    // has ended, and must not call back.
    struct Following {
        NodeFollow follow;
        std::function<void(FromNode message)> received;  // NodeStepped, NodeOutputs of the right shape
        std::function<void()> lost;
    };
    void set_following(Following following);
    // Before start(): `up` is called when the node is up over a new connection, from this
    // object's thread; `reported` with its reports on links to other nodes, from threads
    // of the channel. Neither with a lock of this object.
    struct Meeting {
        std::function<void()> up;
        std::function<void(const NodePeerReport& report)> reported;  // with valid fields
    };
    void set_meeting(Meeting meeting);
    // Call before start(). Returns when this machine last worked on a step; the greatest
    // time value during a step. This object's thread calls it. Without it the node is
    // measured once for each connection.
    void set_last_step(std::function<std::chrono::steady_clock::time_point()> last_step);
    // Before start(): nodes with the same MeasuringTurn are measured one at a time.
    void set_measuring_turn(std::shared_ptr<MeasuringTurn> turn);
    // It is up, and makes steps.
    bool follows() const { return is_up() && follows_.load(std::memory_order_acquire); }
    // For a node that makes steps. False: it is not up.
    bool send_peer(ToNode message);
    // False: it is not up.
    bool send_up(ToNode message);
    // Grows with every connection over which it follows: its earlier state is lost then.
    std::uint64_t following_number() const { return n_followings_.load(std::memory_order_acquire); }

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
                            std::optional<std::chrono::steady_clock::time_point> until = {});

    const std::string& name() const { return address_.name; }
    ActivationType activations() const { return activations_; }
    const NodePatience& patience() const { return patience_; }
    LinkCosts& costs() { return costs_; }
    const LinkCosts& costs() const { return costs_; }
    bool is_up() const { return up_.load(std::memory_order_acquire); }
    // It is up, and has the expert in this format. Waits for nothing.
    bool holds(std::size_t index, kernels::WeightType format) const {
        return is_up() && held_[index].load(std::memory_order_relaxed) == held_as(format);
    }
    // The format that it has the expert in; nothing: it has none. Waits for nothing.
    std::optional<kernels::WeightType> held_format(std::size_t index) const {
        const std::uint8_t as = held_[index].load(std::memory_order_relaxed);
        return as == 0 ? std::nullopt : std::optional(static_cast<kernels::WeightType>(as - 1));
    }
    std::int64_t n_held() const { return n_held_.load(std::memory_order_relaxed); }
    // No further requested experts will come over the present connection.
    bool has_all() const;
    NodeWelcome welcome() const;
    NodeState state() const;  // as last reported
    struct Status {
        MachineState state = MachineState::kConnecting;
        Message why;  // as MachineFigures::why
    };
    // kRefused if it should make steps and refuses, although it is up.
    Status status() const;
    // It is up, and has refused to make steps: for a permanent reason, or repeatedly.
    bool refuses_to_follow() const;

    // Sends a request under a unique number, which is returned; 0: the node is not up.
    std::uint64_t send(NodeCompute request);
    // The reply, valid or not; none: none came in time, or the connection ended.
    std::optional<NodeReply> wait(std::uint64_t number, std::chrono::steady_clock::time_point until);
    // Held experts of one format for probe(), enough of them that each is no longer in
    // the node's caches when it repeats.
    std::vector<NodeExpert> experts_to_probe() const;
    // The node computes n_rows rows; waits for its reply. none: it is not up, does not
    // answer or sends an invalid reply.
    std::optional<NodeReply> probe(const NodeExpert& expert, std::uint32_t n_rows) {
        return wait_for_probe(send_probe(expert, n_rows), n_rows);
    }
    // The same by halves, under the number that is returned; 0: it is not up.
    std::uint64_t send_probe(const NodeExpert& expert, std::uint32_t n_rows);
    std::optional<NodeReply> wait_for_probe(std::uint64_t number, std::uint32_t n_rows);
    // The node cannot be relied on: the connection is closed, and another one made later.
    void give_up(const Message& why);

    // Sentences for the user since the last call.
    std::vector<Message> take_notes();
    std::uint64_t n_losses() const { return n_losses_.load(); }
    std::uint64_t n_connections() const { return n_connections_.load(); }  // connections that were used
    // Grows with every change of status() and of the held experts.
    std::uint64_t n_changes() const { return n_changes_.load(); }
    // Grows whenever it has been measured again over the same connection.
    std::uint64_t n_remeasurements() const { return n_remeasurements_.load(); }

  private:
    using Clock = std::chrono::steady_clock;
    struct Waiting {
        bool wanted = true;
        std::optional<NodeReply> reply;
    };
    // held_: 0 is nothing.
    static std::uint8_t held_as(kernels::WeightType format) {
        return static_cast<std::uint8_t>(static_cast<unsigned>(format) + 1);
    }

    void run(const std::stop_token& stop);
    enum class End { kLost, kRefused, kStopped };
    End serve_connection(const std::stop_token& stop);
    std::optional<LinkCosts::Measured> measure(const std::stop_token& stop);
    void measure_again(const std::stop_token& stop);
    void measure_link_again(const std::stop_token& stop);
    std::optional<double> ping_us(std::size_t bytes, const std::stop_token& stop);
    std::uint64_t send_ping(std::size_t bytes);  // 0: the connection has ended
    bool wait_for_pong(std::uint64_t number, const std::stop_token& stop);
    std::optional<double> round_trip_us(std::span<const NodeExpert> experts, double* expert_us);
    void received(std::uint64_t connection, FromNode message);
    void received_locked(FromNode message, std::chrono::steady_clock::time_point now);
    bool is_for_peers(std::uint64_t connection, const FromNode& message);
    bool is_of_links(std::uint64_t connection, const FromNode& message);
    void ended(std::uint64_t connection, const Message& why);
    void set_wanted_locked(std::vector<NodeExpert> wanted);
    void send_want_locked();
    std::size_t index_of(const NodeExpert& expert) const {
        return static_cast<std::size_t>(expert.layer * grid_.n_experts + expert.expert);
    }
    void end_locked(const Message& why);
    void note_locked(Message note);
    template <typename Condition>
    bool wait_for(std::unique_lock<std::mutex>& lock, const std::stop_token& stop, double seconds,
                  const Condition& condition);

    const NodeAddress address_;
    const NodeHello hello_;
    const ExpertGrid grid_;
    const ActivationType activations_;
    const NodePatience patience_;
    LinkCosts costs_;
    std::vector<std::atomic<std::uint8_t>> held_;  // (n_layers, n_experts)
    std::atomic<std::int64_t> n_held_ = 0;
    std::atomic<bool> up_ = false, follows_ = false;
    std::atomic<std::uint64_t> n_followings_ = 0;
    std::optional<Following> following_;                                // constant once it has started
    std::optional<Meeting> meeting_;                                    // the same
    std::function<std::chrono::steady_clock::time_point()> last_step_;  // the same
    std::shared_ptr<MeasuringTurn> turn_;                               // the same
    // Used by the thread only: the times of measurements, and the last measurement by
    // itself.
    RemeasureSchedule remeasuring_;
    LinkCosts::Measured last_measured_;
    std::atomic<std::uint64_t> n_losses_ = 0, n_connections_ = 0, n_changes_ = 0, n_remeasurements_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable_any changed_;  // all but replies
    std::condition_variable replied_;      // a reply, or the connection has ended
    std::vector<NodeExpert> wanted_;
    std::vector<std::uint8_t> wanted_as_;  // the same as held_
    bool want_sent_ = false;               // over this connection
    std::uint64_t connection_ = 0;         // its number
    std::shared_ptr<NodeChannel> channel_;
    bool open_ = false;  // and has not ended
    bool refused_ = false;
    bool draining_ = false;
    bool complete_ = false;  // holdings
    bool settled_ = false;   // see wait_until_settled()
    Message end_reason_;
    Message cannot_follow_;       // why it makes no steps, over this connection
    bool follows_later_ = false;  // for a temporary reason: the request is repeated
    int n_refused_for_now_ = 0;   // the number of such refusals over this connection
    Message trouble_;             // why it is not up, since it last was
    Message unreachable_;         // the last reported reason
    std::optional<NodeWelcome> welcome_;
    std::optional<NodeExpert> first_held_;
    std::uint64_t next_number_ = 0;
    std::uint64_t ponged_ = 0;  // the last number that has come back over this connection
    NodeState state_;
    std::map<std::uint64_t, Waiting> waiting_;
    std::vector<Message> notes_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace offstage::engine
