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
#include "engine/plan/plan.h"
#include "engine/plan/policy_kind.h"
#include "engine/plan/popularity.h"
#include "engine/telemetry/machine_figures.h"

namespace offstage::engine {

// Tokens before the one that shapes are compared by.
inline constexpr std::int64_t kShapePast = 512;

// Another machine in a forecast of joined machines.
struct ForecastNode {
    const LinkCosts* costs = nullptr;
    // (n_layers, n_experts): 1 where it has the expert, in the format that this machine has it in.
    std::vector<std::uint8_t> has;
};

// A link between two of the other machines, by their places in the list of nodes.
struct ForecastLink {
    std::size_t a = 0, b = 0;
    double message_us = 0;  // of a small message one way, between the layers of a step
    double us_per_byte = 0;
};

// This machine in it. What it refers to must outlive it.
struct ForecastDesktop {
    const ExpertGrid& grid;
    const Popularity& popularity;
    const CostModel& cost;
    std::vector<Place> places;                 // (n_layers, n_experts)
    std::vector<kernels::WeightType> formats;  // the same
    std::int64_t staging_slots = 0;
    PolicyKind policy = PolicyKind::kBalanced;
    double dense_bytes = 0;     // that a decoded token reads beside its experts
    double head_share = 0;      // of them: what makes logits, which the other machines leave to this one
    bool on_processor = false;  // experts are computed by this machine's CPU, and the rest as well
    ActivationType activations = ActivationType::kF32;
    bool insists = false;  // NodeUse::kAlways
    // How much longer its part of a layer takes because its thread waits for messages between two (PausedLayers).
    double pause_us = 0;
    double wake_us = 0;  // that a thread which waits for another one begins to run later than that one says so
    std::int64_t n_past = kShapePast;
    std::vector<ForecastLink> node_links = {};  // between all others what they send each other goes by way of this one

    // Experts and the rest of a step were measured on this machine.
    bool knows_costs() const { return !cost.table().cpu_expert.empty() && cost.table().dense.known(); }
};

// What a decoded token is forecast to take when machines compute it together.
struct ShapeForecast {
    ShapeTimes times;           // all 0: something is not known
    std::vector<double> calls;  // of a token's (layer, expert) pairs, how many each machine computes; this one first
    // (n_layers, n_experts): the machine that computes the expert in every step, this one 0; empty of helpers.
    std::string owners;
};

// Experts drawn by popularity, the dispatcher's decisions layer by layer, and what links,
// experts and steps were measured to take; a layer with experts elsewhere is followed by
// one that begins after a wait. A request is sent when those before it are. Nothing is
// known without a machine, or without this one's costs.
ShapeForecast forecast_as_helpers(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes);
// Layers are played through one after the other (PeerTimeline); what messages add to that
// is `network`. Attention and the rest take another machine as much longer as an expert
// does, where both are a processor's work here (but for pause_us, which is the same);
// else it reads them at the rate at which it reads experts. Each machine's part of a
// layer follows a wait for messages, which wakes its thread: of a ping there and back one
// end's does, of shares both. The thread that has computed a share sends it to one
// machine after the other, and before that the step.
ShapeForecast forecast_as_peers(const ForecastDesktop& desktop, std::span<const ForecastNode> nodes);

// Of the dense weights that a decoded token reads, those that make logits.
double head_share_of(const ModelSpec& spec);

// Of a list of what a machine should hold, what matters most first, how many it has room for. room_bytes 0: all.
std::size_t n_within(std::span<const NodeExpert> experts, const ExpertGrid& grid, std::uint64_t room_bytes);
// ForecastNode::has, where it holds the first n of them.
std::vector<std::uint8_t> first_held(std::span<const NodeExpert> experts, const ExpertGrid& grid, std::size_t n);
// What of its memory a machine has for experts, where it makes the steps as well: 1 where there is none.
std::uint64_t room_beside_steps(std::uint64_t ram_bytes, std::uint64_t dense_bytes, std::uint64_t kv_bytes);

}  // namespace offstage::engine
