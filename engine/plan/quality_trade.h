#pragma once

#include "engine/plan/plan_inputs.h"

namespace offstage::engine {

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

// Sensitivities whose loss is in nats: Sensitivity::loss of all experts in one format is
// its measured loss. Contains only measured formats.
Sensitivity sensitivity_in_nats(const Sensitivity& errors, const NeuronThresholds& measured,
                                const Popularity& popularity);

// make_plan() for a floor of nats, with costs and sensitivity: tries every allowed choice
// of thresholds within the floor, each with the formats that are fastest within the rest
// (FormatSearch), and takes the fastest decode by forecast; of equals the one with less
// loss. Neurons are left out only if that decodes faster by more than the error of such
// forecasts. Sets Plan::theta, neuron_kl, format_kl and the note about them. Throws Error
// as make_plan(), and kInvalidInput if Budget::theta was not measured or costs more
// than the floor.
Plan trade_quality(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);

}  // namespace offstage::engine
