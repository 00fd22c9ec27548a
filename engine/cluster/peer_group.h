#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/cluster/node_client.h"
#include "engine/cluster/node_mesh.h"
#include "engine/cluster/peer_executor.h"
#include "engine/cluster/peer_inbox.h"
#include "engine/run/kv_cache.h"
#include "engine/run/loaded_model.h"
#include "engine/run/step_listener.h"

namespace offstage::engine {

// The desktop's side of steps that several machines make together (PeerStep). Two
// machines that are connected to each other (NodeMesh) send each other their outputs
// directly; between all others the desktop forwards them. The desktop keeps directly sent
// outputs for two layers, in case the link ends before they have arrived. A machine takes
// part in a step when its part of the sequence equals this machine's bit by bit. If not,
// the desktop sends it the missing tokens; the machine makes those steps by itself while
// this machine continues without it. If another prompt begins meanwhile, the desktop
// cancels that work. During an answer a machine misses one more token with each step made
// without it: when these are few enough it catches up at the beginning of a step that it
// takes part in. The times of experts on each machine are learnt from steps; if they
// differ from those behind the present distribution of experts, experts are distributed
// anew before the next answer, and at once if a machine has become much slower.
//
// Steps: one thread, the engine's. Makes no connections itself: the caller starts and
// stops the nodes.
class PeerGroup final : public StepListener, private PeerLinks {
  public:
    // Call between two steps. Until use(), call nothing else.
    PeerGroup(LoadedModel& model, ActivationType activations, NodePatience patience, NodeMesh& mesh);
    ~PeerGroup() override;  // when the nodes are stopped; leaves the model's executors to the caller
    PeerGroup(const PeerGroup&) = delete;
    PeerGroup& operator=(const PeerGroup&) = delete;

    // The `following` argument for starting the i-th node.
    NodeClient::Following following(std::size_t i);
    // From now on they take part. Machine i + 1 is nodes[i].
    void use(std::vector<std::shared_ptr<NodeClient>> nodes);
    // Called before each step.
    void set_before_step(std::function<void()> call) { before_step_ = std::move(call); }
    // Called in each layer of a common step, as soon as this machine's share is done.
    void set_each_layer(std::function<void()> call) { each_layer_ = std::move(call); }

    const RemoteTotals& totals(std::size_t i) const { return executor_->totals()[i + 1]; }
    StepsAlone alone() const { return alone_; }  // of the last step; any thread
    // The owners in force, as NodeShares::owners; empty before there are any. Any thread.
    std::string owners() const;
    std::uint64_t n_deals() const { return n_deals_; }  // grows with the owners; any thread
    std::vector<Message> take_notes();                  // sentences for the user; any thread

    void begin_step(std::span<const Segment> segments, StepLogits wanted, std::int64_t n_prompt) override;
    void end_step(bool done) override;

  private:
    using Clock = std::chrono::steady_clock;
    struct Peer {
        std::uint64_t following = 0;      // NodeClient::following_number()
        std::vector<WrittenToken> holds;  // at least
        // The steps that were sent to it to catch up: consecutive numbers that end with
        // `feeding`; 0: none.
        std::uint64_t feeding = 0;
        std::vector<std::size_t> fed_ends;  // tokens that it holds behind each of them
        std::vector<WrittenToken> fed;      // the tokens
        Clock::time_point fed_at, fed_by;   // the deadline for its report that they are done
        double step_s = 0;                  // time of the last one it made; 0: unknown
        std::size_t n_sure = 0;             // tokens held for sure before the running step was sent
        std::uint64_t shares_sent = 0;      // version
        int rests = 0;                      // steps
    };
    // The nodes' reports on steps, until the engine's thread reads them.
    struct Said {
        std::uint64_t done = 0, failed = 0;      // the last steps' numbers
        Clock::time_point done_at, before_that;  // time of that report, and of the one before
    };

    void received(std::size_t i, FromNode message);
    void lost_connection(std::size_t i);
    void send(NodeOutputs outputs, std::uint32_t machines) override;
    std::optional<PeerInbox::Arrived> wait(std::int32_t layer, std::uint32_t machine, double layer_us) override;
    void lost(std::int32_t layer, std::uint32_t machine, const Message& why) override;

    bool send_on(std::size_t i, NodeOutputs outputs, std::uint32_t machines);
    void send_again();
    bool takes_part(std::size_t i, std::span<const WrittenToken> past);
    void look_what_it_said(std::size_t i);
    void stop_feeding(std::size_t i);
    bool feed(std::size_t i, std::span<const WrittenToken> past, std::size_t begin);
    bool makes_up_at_once(std::size_t i, std::span<const WrittenToken> past, std::size_t begin);
    double feed_s(std::size_t n_tokens) const;
    void follow_shares(std::uint32_t machines, bool begins_answer);
    bool learns() const { return patience_.deal_anew_factor > 0; }
    std::string deal() const;  // the owners of a new distribution now
    std::vector<double> costs_us() const;
    bool cost_otherwise(const std::vector<double>& costs_us, std::uint32_t machines, bool begins_answer) const;
    void note_shares(const std::string& before);
    void learn_own(const NodeOutputs& outputs);
    double share_us(std::size_t i, const NodeOutputs& outputs) const;
    void send_shares(std::size_t i);

    LoadedModel& model_;
    const NodeFollow follow_;
    const NodePatience patience_;
    NodeMesh& mesh_;
    PeerInbox inbox_;
    std::vector<std::shared_ptr<NodeClient>> nodes_;
    std::vector<Peer> peers_;
    PeerExecutor* executor_ = nullptr;  // the model's
    std::function<void()> before_step_, each_layer_;
    std::atomic<StepsAlone> alone_ = StepsAlone::kNo;

    // The last shares.
    NodeShares shares_;
    std::uint64_t shares_version_ = 0, shares_changes_ = 0;
    std::uint32_t shared_by_ = 0;
    std::vector<Place> shares_places_;
    // By machine: the cost of a row of an expert in the master format for the last
    // distribution. Empty: not known.
    std::vector<double> shares_costs_us_;
    double own_factor_ = 1;  // this machine's time for experts, divided by its costs

    // The running step; machines_ == 0: there is none.
    std::atomic<std::uint64_t> number_ = 0;
    std::atomic<std::uint32_t> machines_ = 0;
    KvSequence* sequence_ = nullptr;
    std::size_t n_past_ = 0;
    std::int64_t n_tokens_ = 0;
    std::size_t expected_past_ = 0;  // of a step that continues the last one

    // Outputs of the last two layers that machines sent directly, by machine, step and
    // layer. NodeOutputs::direct: the machines that have not received them from here.
    std::mutex direct_mutex_;
    std::vector<std::map<std::pair<std::uint64_t, std::int32_t>, std::vector<NodeOutputs>>> direct_;

    std::atomic<std::uint64_t> n_deals_ = 0;
    mutable std::mutex mutex_;  // of these
    std::vector<Said> said_;
    std::string owners_in_force_;
    std::vector<Message> notes_;
};

}  // namespace offstage::engine
