#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/cluster/node_client.h"
#include "engine/cluster/node_mesh.h"
#include "engine/cluster/node_shape.h"
#include "engine/cluster/peer_group.h"
#include "engine/cluster/remote_executor.h"
#include "engine/cluster/shape_forecast.h"
#include "engine/cluster/shape_switch.h"
#include "engine/run/joined_machines.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {

inline constexpr std::size_t kMostNodes = kMostElsewhere;

struct JoinSettings {
    NodeShape shape = NodeShape::kHelpers;
    NodeUse use = NodeUse::kMeasured;
    ActivationType activations = ActivationType::kF32;
    NodePatience patience;
    double deal_anew_s = 10;  // a machine that is away for longer leaves its experts to the others
    std::string desktop;      // this machine's name, for the nodes' logs
    bool forecasts = false;   // also measures the costs for forecast_tokens_per_s(): some seconds, once
    // Waits until the machines hold all their experts; otherwise they are used as they
    // become ready, and the shape is chosen by those that can be measured within
    // choice_s.
    bool waits = true;
    double choice_s = 3;
    // The time after which a shape chosen by forecast may be chosen again, between two
    // answers (ShapeSwitch); 0: never.
    double choose_again_s = 30;
    double links_s = 6;  // as long it waits, if it waits, for links between the machines
};

// A loaded model's helpers: experts of it on other machines. Must not outlive the model,
// which continues alone after this object's destruction.
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
        bool is_last = false;       // another shape is not possible
        std::uint32_t counted = 0;  // bit i: node i was up
        ShapeSwitch shape_switch{0};
        ShapeTimes helpers, peers;  // forecasts
        double pause_us = 0, wake_us = 0, request_us = 0, share_us = 0;
        std::vector<ForecastLink> node_links;  // by node
        NodeMesh::Longer links_longer_us;
        std::vector<Message> notes;
    };
    JoinedNodes(LoadedModel& model, std::vector<NodeAddress> addresses, const JoinSettings& settings, Earlier earlier);
    ~JoinedNodes() override;  // disconnects
    JoinedNodes(const JoinedNodes&) = delete;
    JoinedNodes& operator=(const JoinedNodes&) = delete;

    std::vector<Figures> figures() const;
    std::vector<Message> take_notes() override;
    void after_step(double us, std::int64_t n_tokens) override;
    void fill(Snapshot& snapshot) const override;
    std::uint64_t revision() const override;
    // In the other shape, if the shape is chosen by forecast and the other one has become
    // clearly faster by the present costs of machines and links; as helpers, if a
    // connected machine refuses to make steps. Machines that have been gone for less than
    // JoinSettings::deal_anew_s, or have just come, delay the decision.
    JoinMachinesFn join_again(const std::stop_token& stop) override;
    NodeClient& node(std::size_t i) { return *nodes_[i]; }
    // Between two of them; empty where the desktop alone makes the steps.
    NodeMesh::Link link(std::size_t a, std::size_t b) const { return mesh_ ? mesh_->link(a, b) : NodeMesh::Link(); }
    std::size_t size() const { return nodes_.size(); }
    // This machine's total time for its own part of layers: with steps made by all
    // machines until its share is done, with helpers until all requests are sent.
    // Engine's thread.
    double own_us() const { return peers_ ? peers_->own_us() : executors_.empty() ? 0 : executors_.front()->own_us(); }
    const std::string& name(std::size_t i) const { return nodes_[i]->name(); }

    // The one in force.
    NodeShape shape() const { return peers_ ? NodeShape::kDecentralised : NodeShape::kHelpers; }
    // Forecast tokens per second of decode from the measured costs, with experts drawn by
    // popularity: the dispatcher's own decisions, layer by layer. 0: costs are unknown.
    double forecast_tokens_per_s(std::int64_t n_past) const;
    // The same, divided into the parts of a token's time; all 0: costs are unknown.
    ShapeTimes forecast_times(std::int64_t n_past) const;
    // This machine in such a forecast.
    ForecastDesktop forecast_here(std::int64_t n_past) const;

  private:
    // The time of a decoded token, and each machine's work for it.
    struct Token {
        double us = 0;
        std::vector<RemoteTotals> of_nodes;
    };

    bool chooses() const {
        return settings_.shape == NodeShape::kAuto && settings_.use == NodeUse::kMeasured && !is_last_;
    }
    using Lists = std::vector<std::vector<NodeExpert>>;  // for each machine, the experts that it should hold
    Lists lists() const;
    Lists lists_of(const std::vector<std::uint8_t>& counted) const;  // those of the others are empty
    void connect(NodeShape shape, const Lists& lists, const LoadProgressFn& progress, const std::stop_token& stop);
    void start_connecting(NodeShape shape, const Lists& lists, bool with_links);
    void wait_for_experts(const LoadProgressFn& progress, const std::stop_token& stop);
    std::chrono::steady_clock::time_point links_until() const;
    void wait_for_links(std::chrono::steady_clock::time_point until, const std::stop_token& stop);
    void put_to_use();
    void disconnect();
    void choose_shape(const LoadProgressFn& progress, const std::stop_token& stop);
    RemoteTotals totals_of(std::size_t i) const;
    bool is_forecast(std::size_t i) const;
    std::vector<ForecastNode> forecast_nodes() const;  // with their present experts
    std::vector<ForecastNode> forecast_nodes(const Lists& lists, bool make_steps) const;
    std::uint64_t n_remeasurements() const;
    void note_step();
    void forecast_anew();
    void choose_by(const Lists& lists);
    std::vector<double> costs_of(std::uint32_t machines) const;
    std::vector<ForecastLink> node_links() const;
    JoinMachinesFn joining_as(NodeShape shape, bool is_last);
    std::vector<std::uint8_t> by_node(std::uint32_t machines) const;  // bit i: node i
    void say_who_steps();
    void say_what_use_found();
    void measure_here(bool forecasts, const std::stop_token& stop);
    void measure_pauses(const std::stop_token& stop);
    void announce(std::size_t i);
    std::uint32_t up() const;  // bit i: node i
    void follow_losses(std::uint32_t now);
    void follow_plan();
    std::uint64_t room_of(std::size_t i);

    LoadedModel& model_;
    const JoinSettings settings_;
    const std::vector<NodeAddress> addresses_;
    std::unique_ptr<NodeMesh> mesh_;    // nullptr: no links between the machines were requested
    std::unique_ptr<PeerGroup> peers_;  // nullptr: helpers
    std::uint32_t counted_ = 0;         // bit i: the choice of a shape counted node i
    bool is_last_ = false;              // the shape is fixed from now on
    ShapeSwitch shape_switch_;
    std::uint32_t settled_up_ = 0;  // up() when join_again() last looked, and since when it has been so
    std::chrono::steady_clock::time_point settled_since_;
    std::vector<ForecastLink> earlier_links_;  // by node, used if there is no mesh
    NodeMesh::Longer links_longer_us_;         // of the earlier mesh
    double pause_us_ = 0, wake_us_ = 0;        // as ForecastDesktop's
    double request_us_ = 0, share_us_ = 0;     // as LinkCosts::set_between_layers()
    std::uint64_t seen_remeasurements_ = 0;    // of the nodes, at the last forecast
    // steady_clock: when this machine last worked on a step, as far as this object has
    // seen.
    std::atomic<std::chrono::steady_clock::rep> last_step_ = 0;
    StepsAlone said_alone_ = StepsAlone::kNo;
    std::vector<std::chrono::steady_clock::time_point> last_up_at_;
    // The inputs of the lists that the machines have.
    struct Dealt {
        std::vector<std::uint8_t> counted;  // machines that had a share
        std::vector<Place> places;
        std::vector<kernels::WeightType> formats;
    } dealt_;
    // The number of experts requested of each machine, and the bytes of those that it
    // held when it had no room for more; 0: it always had room.
    std::vector<std::size_t> n_wanted_;
    std::vector<std::uint64_t> room_bytes_;
    std::vector<std::shared_ptr<NodeClient>> nodes_;
    std::vector<RemoteExecutor*> executors_;  // the model's; none where all make the steps
    // For helpers, by node: the last reported cost of a row of an expert there, with its
    // transfer; and the number of that measurement.
    struct KnownCost {
        std::uint64_t measurement = 0;
        double us = 0;
    };
    std::vector<KnownCost> known_costs_;
    std::vector<RemoteTotals> seen_;  // of the machines, at the last step's end; one thread
    std::uint32_t last_up_ = 0;       // at the last step's end; one thread
    // A loss whose cost is not known yet: the lost machines, and a token's time before.
    std::string lost_;
    double before_us_ = 0;
    mutable std::mutex mutex_;  // for the members below
    std::vector<Message> notes_;
    ShapeTimes as_helpers_, as_peers_;  // forecasts
    std::vector<char> announced_;       // whether its experts were announced
    std::deque<Token> tokens_;          // the last ones, all with the same machines
};

// The same for Session::join(), once a model is loaded.
JoinMachinesFn joining(std::vector<NodeAddress> addresses, const JoinSettings& settings);

// The hello to nodes that work for this model.
NodeHello hello_of(ExpertHost& host, const std::string& desktop);

}  // namespace offstage::engine
