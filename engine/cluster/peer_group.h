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

// The desktop's side of steps that several machines make together (PeerStep). Two machines that are connected to each
// other (NodeMesh) send each other what they computed; between all others it goes by way of here. What has gone
// directly is kept for two layers, for the case that the link ends before it has arrived. A machine takes part in a
// step when what it holds of the sequence is bit by bit what this one holds; if not, it is sent what it lacks, and
// makes those steps for itself while this machine goes on without it. Of what is not wanted any more, because another
// prompt has begun, it is told so. While an answer goes on it lacks another token with each one that is made without
// it: when these are few enough it makes them up at the beginning of a step that it takes part in. What experts take on
// each machine is learnt from steps; where that is not what they were dealt by, they are dealt anew before the next
// answer, and at once where a machine has become much slower.
//
// Steps: one thread, the engine's. Connects to nothing itself: the nodes are the caller's to start and stop.
class PeerGroup final : public StepListener, private PeerLinks {
  public:
    // Between two steps. Until then the group must not be asked for anything else.
    PeerGroup(LoadedModel& model, ActivationType activations, NodePatience patience, NodeMesh& mesh);
    ~PeerGroup() override;  // when the nodes are stopped; leaves the model's executors to the caller
    PeerGroup(const PeerGroup&) = delete;
    PeerGroup& operator=(const PeerGroup&) = delete;

    // What the i-th node is started with.
    NodeClient::Following following(std::size_t i);
    // From now on they take part. Machine i + 1 is nodes[i].
    void use(std::vector<std::shared_ptr<NodeClient>> nodes);
    // Called before each step.
    void set_before_step(std::function<void()> call) { before_step_ = std::move(call); }
    // Called in each layer of a step that is made together, as soon as this machine's share is done.
    void set_each_layer(std::function<void()> call) { each_layer_ = std::move(call); }

    const RemoteTotals& totals(std::size_t i) const { return executor_->totals()[i + 1]; }
    double own_us() const { return executor_->own_us(); }
    std::uint64_t n_steps(std::size_t i) const { return peers_[i].n_steps; }  // that it took part in
    // Owners as they would be dealt out now, machines as of use(); empty before that.
    std::string deal() const;
    StepsAlone alone() const { return alone_; }  // of the last step; any thread
    // The owners in force, as NodeShares::owners; empty before there are any. Any thread.
    std::string owners() const;
    std::uint64_t n_deals() const { return n_deals_; }  // grows with the owners; any thread
    std::vector<Message> take_notes();                  // sentences for the person; any thread

    void begin_step(std::span<const Segment> segments, StepLogits wanted, std::int64_t n_prompt) override;
    void end_step(bool done) override;

  private:
    using Clock = std::chrono::steady_clock;
    struct Peer {
        std::uint64_t following = 0;      // NodeClient::following_number()
        std::vector<WrittenToken> holds;  // at least
        // Steps that it was sent to catch up: their numbers follow each other and end with `feeding`; 0: none.
        std::uint64_t feeding = 0;
        std::vector<std::size_t> fed_ends;  // tokens that it holds behind each of them
        std::vector<WrittenToken> fed;      // the tokens
        Clock::time_point fed_at, fed_by;   // it has said by then that they are made, or is given up
        double step_s = 0;                  // what the last of those that were made took it; 0: unknown
        std::size_t n_sure = 0;             // what it held before it was sent the running step, and what that needs
        std::uint64_t shares_sent = 0;      // version
        int rests = 0;                      // steps
        std::uint64_t n_steps = 0;
    };
    // What nodes have said of steps, until the engine's thread looks.
    struct Said {
        std::uint64_t done = 0, failed = 0;      // the last steps' numbers
        Clock::time_point done_at, before_that;  // when it said so, and of the one before
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

    // Of the last shares.
    NodeShares shares_;
    std::uint64_t shares_version_ = 0, shares_changes_ = 0;
    std::uint32_t shared_by_ = 0;
    std::vector<Place> shares_places_;
    // By machine: a row of an expert in the master format, as it was counted. Empty: that is not known.
    std::vector<double> shares_costs_us_;
    double own_factor_ = 1;  // that experts take this machine longer than its costs say

    // Of the running step; machines_ == 0: there is none.
    std::atomic<std::uint64_t> number_ = 0;
    std::atomic<std::uint32_t> machines_ = 0;
    KvSequence* sequence_ = nullptr;
    std::size_t n_past_ = 0;
    std::int64_t n_tokens_ = 0;
    std::size_t expected_past_ = 0;  // of a step that continues the last one

    // What machines have sent directly of their last two layers, by machine, step and layer. NodeOutputs::direct: who
    // has not had it from here.
    std::mutex direct_mutex_;
    std::vector<std::map<std::pair<std::uint64_t, std::int32_t>, std::vector<NodeOutputs>>> direct_;

    std::atomic<std::uint64_t> n_deals_ = 0;
    mutable std::mutex mutex_;  // of these
    std::vector<Said> said_;
    std::string owners_in_force_;
    std::vector<Message> notes_;
};

}  // namespace offstage::engine
