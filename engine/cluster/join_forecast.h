#pragma once

#include <cstdint>
#include <vector>

#include "engine/cluster/connected_nodes.h"
#include "engine/cluster/shape_forecast.h"
#include "engine/cluster/shape_switch.h"

namespace offstage::engine {

// What the choice of a shape is made of, from one connection of the machines to the next.
struct ShapeKnowledge {
    bool is_last = false;       // another shape is not possible
    std::uint32_t counted = 0;  // bit i: the choice counted node i
    ShapeSwitch shape_switch{0};
    ShapeTimes helpers, peers;  // forecasts
    LayerPauses pauses;
    std::vector<ForecastLink> links;   // by node; used if the machines have no links
    NodeMesh::Longer links_longer_us;  // the same
};

// Forecasts of connected machines in both shapes, from their measured costs and this
// machine's. The engine's thread; the referents must outlive this object.
class JoinForecast {
  public:
    JoinForecast(LoadedModel& model, const ConnectedNodes& nodes, const JoinSettings& settings,
                 const ShapeKnowledge& known)
        : model_(model), nodes_(nodes), settings_(settings), known_(known) {}

    // This machine.
    ForecastDesktop here(std::int64_t n_past) const;
    // In the shape in force, with the machines' present experts.
    ShapeTimes in_force(std::int64_t n_past) const;
    struct Both {
        ShapeTimes helpers, peers;
    };
    Both both() const;
    Both both(const ExpertLists& lists) const;  // with the experts that they will hold
    // The inputs of a forecast that change with time, for these machines (bit i: node i).
    std::vector<double> costs(std::uint32_t machines) const;
    // By node: the links between two other machines, between the layers of a step: as
    // measured by the nodes themselves, or otherwise by pings, plus the extra time of
    // this machine's messages. Without a connection between them, as last measured.
    std::vector<ForecastLink> links() const;

  private:
    bool is_counted(std::size_t i) const;
    std::vector<ForecastNode> nodes() const;
    std::vector<ForecastNode> nodes(const ExpertLists& lists, bool make_steps) const;

    LoadedModel& model_;
    const ConnectedNodes& nodes_;
    const JoinSettings& settings_;
    const ShapeKnowledge& known_;
};

}  // namespace offstage::engine
