#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/cluster/node_client.h"
#include "engine/device/cpu_operations.h"
#include "engine/dispatch/expert_executor.h"
#include "engine/experts/expert_store.h"

namespace offstage::engine {

// When an expert that another machine holds is computed there.
enum class NodeUse {
    kMeasured,  // where the forecast is earliest
    kAlways,    // the user's choice: every expert not on this machine's accelerator (ExecutorCost::is_preferred)
};

// Work that an executor has had computed elsewhere.
struct RemoteTotals {
    std::uint64_t requests = 0, rows = 0;
    std::uint64_t bytes = 0;        // activations, both ways
    std::uint64_t failed_rows = 0;  // computed here instead
    double compute_us = 0;          // of the other machine
    double network_us = 0;          // there and back, until the replies arrived, besides compute_us
    double waiting_us = 0;          // of this one, in complete()
};

// Experts computed by another machine. A node that does not answer in time, or answers
// wrongly, is not used for now: the CPU computes its experts of the running layer, and it
// gets none until it is back. One thread, the engine's.
class RemoteExecutor final : public ElsewhereExecutor {
  public:
    // The referents must outlive this object. `host`: its order of sums is the step's.
    RemoteExecutor(std::shared_ptr<NodeClient> node, const ExpertGrid& grid, const ExpertStore& experts,
                   const CpuOperations& host, NodeUse use)
        : node_(std::move(node)),
          grid_(grid),
          cost_(node_->costs(), grid, use == NodeUse::kAlways),
          experts_(experts),
          host_(host) {}

    bool takes(std::int64_t layer, std::int64_t expert) const override;
    double expert_us(kernels::WeightType format, std::int64_t n_rows) const override {
        return cost_.expert_us(format, n_rows);
    }
    double transfer_us(std::int64_t n_rows) const override { return cost_.transfer_us(n_rows); }
    bool is_preferred() const override { return cost_.is_preferred(); }
    void submit(LayerWork& work, std::span<const std::size_t> groups) override;
    void complete(LayerWork& work, std::span<const std::size_t> groups) override;
    // Call after the last layer of each step, while no message is on its way.
    void set_after_step(std::function<void()> call) { after_step_ = std::move(call); }
    // Called in each layer, before anything is sent.
    void set_each_layer(std::function<void()> call) { each_layer_ = std::move(call); }

    const RemoteTotals& totals() const { return totals_; }

  private:
    struct Request {
        std::uint64_t number = 0;
        std::vector<std::size_t> groups;  // by ascending expert
        std::size_t n_rows = 0;
        double predicted_us = 0;  // of the other machine's computing
        std::chrono::steady_clock::time_point begin;
    };
    void send(LayerWork& work, std::vector<std::size_t> groups);
    void take_replies(LayerWork& work);
    // The reply's rows to where the step's outputs are; or why they are none.
    Message take(LayerWork& work, const Request& request, const NodeReply& reply);

    std::shared_ptr<NodeClient> node_;
    const ExpertGrid& grid_;
    const NodeCost cost_;
    const ExpertStore& experts_;
    const CpuOperations& host_;
    std::vector<Request> requests_;         // of the running layer
    std::vector<std::uint32_t> token_row_;  // room: the row of a token in a request's inputs, or none
    std::vector<std::size_t> done_;         // room: groups
    RemoteTotals totals_;
    std::function<void()> after_step_, each_layer_;
};

}  // namespace offstage::engine
