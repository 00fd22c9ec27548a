#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <variant>

#include "engine/cluster/node_protocol.h"
#include "engine/cluster/peer_executor.h"
#include "engine/cluster/peer_inbox.h"
#include "engine/cluster/turn_lock.h"
#include "engine/run/expert_host.h"
#include "engine/run/model_runtime.h"

namespace offstage::engine {

// A node that makes a desktop's steps itself (PeerStep): it opens the rest of the model
// beside its experts, keeps one sequence, and makes each received step on a separate
// thread, computing the experts that it owns and waiting for the others'. It can also
// compute experts that it does not hold, from its files.
class NodeFollower final : private PeerLinks {
  public:
    // Any thread; must not call back. A message of a step may block until the desktop has
    // read earlier ones.
    using Send = std::function<void(FromNode)>;
    // To those of these machines that have a link to this one; returns which
    // (NodePeers::send).
    using SendDirectly = std::function<std::uint32_t(const NodeOutputs& outputs, std::uint32_t machines)>;
    struct Totals {
        std::uint64_t n_steps = 0, n_rows = 0;
        double compute_us = 0;
    };

    // `host` is filled and contains a whole model; users of it must have the turn, as the
    // caller has now. packing: the index of an expert that is being prepared, or none;
    // read in a turn. The referents must outlive this object. Throws Error: kOutOfMemory,
    // kUnsupported (another instruction set) and the errors of reading the weights.
    NodeFollower(ExpertHost& host, TurnLock& turn, const std::size_t& packing, const NodeFollow& follow, Send send,
                 SendDirectly send_directly);
    ~NodeFollower();  // without the turn
    NodeFollower(const NodeFollower&) = delete;
    NodeFollower& operator=(const NodeFollower&) = delete;

    // Returns the message's error, or nothing. Any thread.
    Message take(NodeShares shares);
    Message take(NodeStep step);
    Message take(NodeOutputs outputs);
    Message take(const NodeAbandon& abandon);

    Totals totals() const;

  private:
    static constexpr std::uint64_t kAllSteps = ~std::uint64_t{0};

    void send(NodeOutputs outputs, std::uint32_t machines) override;
    std::optional<PeerInbox::Arrived> wait(std::int32_t layer, std::uint32_t machine, double layer_us) override;
    void lost(std::int32_t, std::uint32_t, const Message&) override {}
    // Runs long work that does not use the model, without holding the turn.
    template <typename Function>
    void without_turn(const Function& function);

    Message queue(std::variant<NodeShares, NodeStep> what);
    void run(const std::stop_token& stop);
    bool make(const NodeStep& step);
    void use(NodeShares shares);
    void follow_formats();

    ExpertHost& host_;
    TurnLock& turn_;
    const std::size_t& packing_;
    const NodeFollow follow_;
    const Send send_;
    const SendDirectly send_directly_;
    PeerInbox inbox_;
    std::unique_ptr<ModelRuntime> runtime_;
    KvSequence sequence_;
    PeerExecutor* executor_ = nullptr;  // the runtime's
    NodeShares shares_;

    mutable std::mutex mutex_;  // for all members below but the thread
    std::condition_variable_any changed_;
    std::deque<std::variant<NodeShares, NodeStep>> queue_;
    std::uint64_t making_ = 0, abandoned_ = 0;  // numbers of steps
    std::stop_source stop_step_;
    Totals totals_;
    std::jthread thread_;  // last: it uses all the others
};

}  // namespace offstage::engine
