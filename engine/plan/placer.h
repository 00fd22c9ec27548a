#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/plan/planner.h"

namespace offstage::engine {

// The formats of experts, and the order in which they get the fastest places: decided
// before anything is placed.
struct FormatChoice {
    std::vector<std::uint8_t>
        formats;  // (n_layers, n_experts), indices into ModelDemand::formats; empty: all `uniform`
    std::uint8_t uniform = 0;
    // The experts to place, in this order. Another machine holds the others
    // (Place::kDisk, no bytes). nullptr: all, in placement_order().
    const std::vector<std::size_t>* order = nullptr;
};

// The formats that a demand allows, its master's first; never empty (a demand without
// formats allows its master's, of 16 bits).
std::vector<ModelDemand::Format> formats_of(const ModelDemand& demand);

// Throws Error (kInvalidInput) when the three do not belong together or are out of range.
void check_demand(const PlanInputs& inputs, const Budget& budget);

// Experts by popularity, with equal ones in turn through the layers; or by layers, the
// last first.
std::vector<std::size_t> placement_order(const PlanInputs& inputs, PlacementKind kind);

// make_plan() for given formats: the longest beginning of the order that fits goes to the
// device, the next part to RAM, the rest to disk. So a larger budget's experts on the
// device include those of a smaller one. Slots are as large as the largest expert. Fills
// all of Plan except predicted_loss. Throws as make_plan().
Plan place_experts(const PlanInputs& inputs, const Budget& budget, PlacementKind kind, const FormatChoice& choice);

// Sensitivity's loss of a plan's formats; 0 where the plan names none.
double predicted_loss(const Plan& plan, const Sensitivity& sensitivity, const Popularity& popularity);

// make_plan() for a floor of bits or of predicted loss, with costs and sensitivity:
// chooses every expert's format and place. Throws as make_plan().
//
// The formats do not depend on the size of VRAM: a family of assignments is made
// beforehand, each allowed by the floor -
//   uniform    all experts in one format
//   mixtures   the least used experts in one format, the others in another (CORM,
//              section 4.1), as many as the floor allows
//   priced     each expert alone takes the format and place that cost least, at a price
//              per byte of VRAM, per byte of RAM and per loss; several prices of memory,
//              the price of loss the smallest that keeps the floor
// - and each is placed in its own order (time gained per byte), as much as fits. The
// forecasts of all decide. For one assignment, more VRAM holds the same experts and more;
// so the best of the family never gets slower with it.
Plan search_formats(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);

// One floor of loss for the formats of experts and for the neurons that are left out
// (QualityFloor::max_kl), in nats per token: mean KL divergence from the model as stored
// in its files, over a text.
//
// Formats. All experts in one format have the measured loss FormatLoss::mean_kl. A small
// change of weights costs by its square, so that an expert's share is that of its
// Sensitivity loss; the loss of mixed formats is the sum of the shares. Formats without a
// measured loss are not chosen.
// Neurons. Thresholds of each expert cost ChosenThresholds::mean_kl, one theta
// NeuronThreshold::mean_kl; no others are chosen, and guesses are corrected.
// Both. Each was measured alone, on the otherwise unchanged model. Their sum is the
// estimated loss of both, as for two small independent changes. It is no bound.
//
// make_plan() for a floor of nats, with costs and sensitivity: tries every allowed choice
// of thresholds within the floor, each with the formats that are fastest within the rest
// (FormatSearch), and takes the fastest decode by forecast; of equals the one with less
// loss. Neurons are left out only if that decodes faster by more than the error of such
// forecasts. Sets Plan::theta, neuron_kl, format_kl and the note about them. Throws Error
// as make_plan(), and kInvalidInput if Budget::theta was not measured or costs more
// than the floor.
Plan trade_quality(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);

}  // namespace offstage::engine
