#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cluster/connected_nodes.h"
#include "engine/cluster/join_forecast.h"
#include "engine/cluster/node_journal.h"
#include "engine/run/joined_machines.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

// Other machines with experts of a loaded model, in the shape that is set, or in the one
// that is forecast to be faster. Must not outlive the model, which continues alone after
// this object's destruction.
class JoinedNodes final : public JoinedMachines {
  public:
    struct Figures {
        std::string name;
        bool up = false;
        std::int64_t n_held = 0;
        double latency_us = 0;  // there and back
        double mbps = 0;        // 1e6 bytes per second, one direction
        RemoteTotals totals;
    };

    // Connects to all of them at once, requests the experts that each should hold, waits
    // until they hold them (JoinSettings::waits), and measures; this machine's own
    // experts are measured as well if their costs are unknown. Between two of the model's
    // steps. Machines that cannot be used for now are tried again in the background;
    // notes report it. Throws Error: kInvalidInput (too many), kCancelled.
    JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings,
                const LoadProgressFn& progress, const std::stop_token& stop);
    // Joins anew in the better shape that an earlier, destroyed object found: with its
    // measurements of this machine, and without any wait.
    struct Earlier {
        NodeShape shape = NodeShape::kHelpers;
        ShapeKnowledge known;
        std::vector<Message> notes;
    };
    JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings, Earlier earlier);
    JoinedNodes(const JoinedNodes&) = delete;
    JoinedNodes& operator=(const JoinedNodes&) = delete;

    std::vector<Figures> figures() const;
    std::vector<Message> take_notes() override { return journal_.take_notes(*nodes_); }
    void after_step(double us, std::int64_t n_tokens) override;
    void fill(Snapshot& snapshot) const override;
    std::uint64_t revision() const override { return nodes_->revision(); }
    // In the other shape, if the shape is chosen by forecast and the other one has become
    // clearly faster by the present costs of machines and links; as helpers, if a
    // connected machine refuses to make steps. Machines that have been gone for less than
    // JoinSettings::deal_anew_s, or have just come, delay the decision.
    JoinMachinesFn join_again(const std::stop_token& stop) override;
    std::size_t size() const { return nodes_->size(); }
    NodeClient& node(std::size_t i) { return (*nodes_)[i]; }
    const std::string& name(std::size_t i) const { return (*nodes_)[i].name(); }
    // Between two of them; empty where the desktop alone makes the steps.
    NodeMesh::Link link(std::size_t a, std::size_t b) const {
        return nodes_->mesh() != nullptr ? nodes_->mesh()->link(a, b) : NodeMesh::Link();
    }

    // The one in force.
    NodeShape shape() const { return nodes_->peers() != nullptr ? NodeShape::kDecentralised : NodeShape::kHelpers; }
    // Of the machines as they are now.
    JoinForecast forecast() const { return {model_, *nodes_, settings_, known_}; }
    // Forecast tokens per second of decode from the measured costs, with experts drawn by
    // popularity: the dispatcher's own decisions, layer by layer. 0: costs are unknown.
    double forecast_tokens_per_s(std::int64_t n_past) const;

  private:
    bool chooses() const {
        return settings_.shape == NodeShape::kAuto && settings_.use == NodeUse::kMeasured && !known_.is_last;
    }
    void start(NodeShape shape, ExpertLists lists, bool links, std::uint32_t machines = ~0u);
    void connect(NodeShape shape, const ExpertLists& lists, const LoadProgressFn& progress,
                 const std::stop_token& stop);
    void disconnect();
    void wait_for_experts(const LoadProgressFn& progress, const std::stop_token& stop);
    void put_to_use();
    void choose_shape(const LoadProgressFn& progress, const std::stop_token& stop);
    void measure_pauses(const std::stop_token& stop);
    void set_forecasts(const JoinForecast::Both& both);
    JoinMachinesFn joining_as(NodeShape shape, bool is_last);

    LoadedModel& model_;
    const JoinSettings settings_;
    const std::vector<NodeAddress> addresses_;
    mutable std::mutex mutex_;  // for the two forecasts in known_, outside of the engine's thread
    ShapeKnowledge known_;
    NodeJournal journal_;
    std::unique_ptr<ConnectedNodes> nodes_;
    std::uint32_t settled_up_ = 0;  // up() when join_again() last looked, and since when it has been so
    std::chrono::steady_clock::time_point settled_since_;
    std::uint64_t seen_remeasurements_ = 0;  // of the nodes, at the last forecast
};

// The same for Session::join(), once a model is loaded.
JoinMachinesFn joining(std::vector<NodeAddress> addresses, const JoinSettings& settings);

}  // namespace offstage::engine
