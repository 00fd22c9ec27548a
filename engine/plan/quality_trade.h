#pragma once

#include "engine/plan/planner.h"

namespace offstage::engine {

// One floor of loss for the formats of experts and for the neurons that are left out (QualityFloor::max_kl), in nats
// per token: mean KL divergence from the model as it is in its files, over a text.
//
// Formats. All experts in one format were measured to cost FormatLoss::mean_kl. A small change of weights costs by its
// square, so that an expert's part of it is that of its Sensitivity loss; the loss of mixed formats is the sum of the
// parts. Formats of which nothing was measured are not chosen.
// Neurons. Thresholds of each expert cost ChosenThresholds::mean_kl, one theta NeuronThreshold::mean_kl; no others are
// chosen, and guesses are corrected.
// Both. Each was measured alone, on the model that is otherwise whole. The sum is taken for the loss of both: what two
// small changes that have nothing to do with each other cost in sum. It is an estimate of what they cost together, no
// bound.

// Makes a cost model's forecasts those of what is left out, by what was measured of it.
void leave_out(CostModel& cost, const ThetaChoice& choice, const NeuronThresholds& measured, SparseLoading loading);

// Sensitivities whose loss is in nats: Sensitivity::loss of all experts in one format is what was measured of it. Only
// of the formats that were.
Sensitivity sensitivity_in_nats(const Sensitivity& errors, const NeuronThresholds& measured,
                                const Popularity& popularity);

// make_plan() for a floor of nats, with costs and sensitivity: of all that may be left out within the floor, each with
// the formats that are fastest within the rest (FormatSearch), what decodes fastest by forecast; of equals what costs
// less. Neurons are left out only where that decodes faster by more than such forecasts are off. Sets Plan::theta,
// neuron_kl, format_kl and the note that says so. Throws Error as make_plan(), and kInvalidInput where PlanCosts::theta
// was not measured or costs more than the floor.
Plan trade_quality(const ModelDemand& demand, const Budget& budget, const Popularity& popularity, PlacementKind kind,
                   const PlanCosts& costs);

}  // namespace offstage::engine
