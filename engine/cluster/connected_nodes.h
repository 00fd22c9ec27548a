#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/cluster/layer_pauses.h"
#include "engine/cluster/node_client.h"
#include "engine/cluster/node_mesh.h"
#include "engine/cluster/node_shape.h"
#include "engine/cluster/peer_group.h"
#include "engine/cluster/remote_executor.h"
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
    double links_s = 6;       // as long it waits, if it waits, for links between the machines
    LayerPauses pauses = {};  // known ones are not measured
};

using ExpertLists = std::vector<std::vector<NodeExpert>>;  // for each machine, the experts that it should hold

// For these machines of n (bit i: machine i); the lists of the others are empty.
ExpertLists expert_lists(LoadedModel& model, std::size_t n, std::uint32_t machines);

// Other machines connected to a loaded model in one shape, and the experts that each
// should hold. Its destruction ends the connections; the model continues alone. The
// engine's thread, unless otherwise stated.
class ConnectedNodes {
  public:
    struct Start {
        NodeShape shape = NodeShape::kHelpers;
        ExpertLists lists;
        std::uint32_t machines = ~0u;  // bit i: node i has a share of the experts
        bool links = false;            // between the machines
        bool measures_links = false;   // between the layers of a step as well
        NodeMesh::Longer links_longer_us = {};
        LayerPauses pauses = {};
    };

    // The referents must outlive this object.
    ConnectedNodes(LoadedModel& model, const JoinSettings& settings) : model_(model), settings_(settings) {}
    ~ConnectedNodes();
    ConnectedNodes(const ConnectedNodes&) = delete;
    ConnectedNodes& operator=(const ConnectedNodes&) = delete;

    // Begins to connect to all of them. Once.
    void start(const std::vector<NodeAddress>& addresses, Start start);
    // From now on the model uses them.
    void put_to_use();
    void want(const ExpertLists& lists);
    void note_step();

    // Any thread, once they are started.
    std::size_t size() const { return nodes_.size(); }
    NodeClient& operator[](std::size_t i) { return *nodes_[i]; }
    const NodeClient& operator[](std::size_t i) const { return *nodes_[i]; }
    const std::vector<std::shared_ptr<NodeClient>>& all() const { return nodes_; }
    std::uint32_t up() const;                          // bit i: node i
    NodeMesh* mesh() const { return mesh_.get(); }     // nullptr: no links between the machines were requested
    PeerGroup* peers() const { return peers_.get(); }  // nullptr: helpers
    std::uint64_t n_remeasurements() const;
    std::uint64_t revision() const;  // grows whenever machines come, go, or get other experts

    RemoteTotals totals(std::size_t i) const { return peers_ ? peers_->totals(i) : executors_[i]->totals(); }

  private:
    void follow_plan();
    std::uint64_t room_of(std::size_t i);

    LoadedModel& model_;
    const JoinSettings& settings_;
    std::unique_ptr<NodeMesh> mesh_;
    std::unique_ptr<PeerGroup> peers_;
    // steady_clock: when this machine last worked on a step, as far as this object has
    // seen.
    std::atomic<std::chrono::steady_clock::rep> last_step_ = 0;
    // The inputs of the lists that the machines have.
    struct Dealt {
        std::uint32_t machines = 0;  // that had a share
        std::vector<Place> places;
        std::vector<kernels::WeightType> formats;
    } dealt_;
    struct Room {
        std::chrono::steady_clock::time_point last_up_at;
        std::size_t n_wanted = 0;  // experts requested of it
        // Of the experts that it held when it had no room for more; 0: it always had
        // room.
        std::uint64_t bytes = 0;
    };
    std::vector<Room> rooms_;  // of each
    std::vector<std::shared_ptr<NodeClient>> nodes_;
    std::vector<RemoteExecutor*> executors_;  // the model's; none where all make the steps
};

// The hello to nodes that work for this model.
NodeHello hello_of(ExpertHost& host, const std::string& desktop);

}  // namespace offstage::engine
