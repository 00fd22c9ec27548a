#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/cluster/link_costs.h"
#include "engine/cluster/node_protocol.h"
#include "engine/model/model_spec.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/load_settings.h"
#include "engine/plan/plan.h"
#include "engine/plan/popularity.h"
#include "engine/telemetry/machine_figures.h"

namespace offstage::engine {

// Tokens before the one for which shapes are compared.
inline constexpr std::int64_t kShapePast = 512;

// Another machine in a forecast of joined machines.
struct ForecastNode {
    const LinkCosts* costs = nullptr;
    // (n_layers, n_experts): 1 if it has the expert in this machine's format.
    std::vector<std::uint8_t> has;
};

// A link between two of the other machines, by their places in the list of nodes.
struct ForecastLink {
    std::size_t a = 0, b = 0;
    double message_us = 0;  // a small message one way, between the layers of a step
    double us_per_byte = 0;
};

// This machine in the forecast. The referents must outlive it.
struct ForecastDesktop {
    const ExpertGrid& grid;
    const Popularity& popularity;
    const CostModel& cost;
    std::vector<Place> places;                 // (n_layers, n_experts)
    std::vector<kernels::WeightType> formats;  // the same
    std::int64_t staging_slots = 0;
    PolicyKind policy = PolicyKind::kBalanced;
    double dense_bytes = 0;     // read by a decoded token beside its experts
    double head_share = 0;      // of them: the head, which the other machines leave to this one
    bool on_processor = false;  // experts are computed by this machine's CPU, and the rest as well
    ActivationType activations = ActivationType::kF32;
    bool insists = false;  // NodeUse::kAlways
    // Extra time of its part of a layer because its thread waits for messages between two
    // (PausedLayers).
    double pause_us = 0;
    double wake_us = 0;  // from a thread's notification to the start of the thread that waits for it
    std::int64_t n_past = kShapePast;
    std::vector<ForecastLink> node_links = {};  // for all other pairs this machine forwards messages

    // Experts and the rest of a step were measured on this machine.
    bool knows_costs() const { return !cost.table().cpu_expert.empty() && cost.table().dense.known(); }
};

// The forecast of a decoded token that machines compute together.
struct ShapeForecast {
    ShapeTimes times;           // all 0: something is not known
    std::vector<double> calls;  // (layer, expert) pairs of a token that each machine computes; this one first
    // (n_layers, n_experts): the machine that computes the expert in every step (this
    // one: 0); empty for helpers.
    std::string owners;
};

// Uses experts drawn by popularity, the dispatcher's decisions layer by layer, and the
// measured times of links, experts and steps; a layer with experts elsewhere is followed
// by one that begins after a wait. A request is sent when those before it have been sent.
// Unknown without a machine, or without this one's costs.
ShapeForecast forecast_as_helpers(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes);
// Plays the layers through one after the other (PeerTimeline); the time added by messages
// is `network`. If this machine computes both attention and experts on its processor,
// another machine's time for attention and the rest is scaled like an expert's (except
// for pause_us, which is the same); otherwise it reads them at the rate at which it reads
// experts. Each machine's part of a layer follows a wait for messages, which wakes its
// thread: in a ping this happens at one end, in an exchange of shares at both. The thread
// that has computed a share sends it to one machine after the other, and before that the
// step.
ShapeForecast forecast_as_peers(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes);

// The head's share of the dense weights that a decoded token reads.
double head_share_of(const ModelSpec& spec);

// The number of entries of a list (experts that a machine should hold, most important
// first) that fit. room_bytes 0: all.
std::size_t n_within(std::span<const NodeExpert> experts, const ExpertGrid& grid, std::uint64_t room_bytes);
// ForecastNode::has, if it holds these.
std::vector<std::uint8_t> held_within(std::span<const NodeExpert> experts, const ExpertGrid& grid,
                                      std::uint64_t room_bytes);
// Bytes of its memory that a machine has for experts, if it makes the steps as well: 1 if
// there are none.
std::uint64_t room_beside_steps(std::uint64_t ram_bytes, std::uint64_t dense_bytes, std::uint64_t kv_bytes);

}  // namespace offstage::engine
