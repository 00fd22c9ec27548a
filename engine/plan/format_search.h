#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/plan/placer.h"
#include "engine/plan/planner.h"
#include "engine/plan/planner_objective.h"

namespace offstage::engine {

// Sensitivity's loss of a plan's formats; 0 where the plan names none.
double predicted_loss(const Plan& plan, const Sensitivity& sensitivity, const Popularity& popularity);

// Chooses every expert's format and place.
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
class FormatSearch {
  public:
    // The referents must outlive this object.
    FormatSearch(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);
    struct Found {
        Plan plan;
        PlanScore score;
    };
    // Throws Error as make_plan().
    Found choose();

  private:
    using Formats = std::vector<std::uint8_t>;  // per expert, indices into formats_

    void measure_ways();
    void weigh_experts();
    void find_floor();
    double loss_of(const Formats& formats) const;
    bool is_allowed(const Formats& formats) const;

    void add_uniform();
    void add_mixtures();
    void add_priced();
    Formats mixture(std::uint8_t more, std::uint8_t fewer, double min_bits, double max_loss) const;
    Formats priced(double vram_price, double ram_price) const;
    void raise_bits(Formats& formats) const;
    std::vector<std::size_t> order_of(const Formats& formats) const;
    void consider(const FormatChoice& choice, PlacementKind kind);

    std::size_t at(std::size_t expert, std::size_t format) const { return expert * formats_.size() + format; }

    const PlanInputs& inputs_;
    const ModelDemand& demand_;
    const Budget& budget_;
    const Popularity& popularity_;
    const PlacementKind kind_;
    const std::vector<ModelDemand::Format> formats_;
    const std::size_t n_experts_;  // in all layers

    DecodeSample sample_;
    DecodeCosts decode_costs_;
    // Mean microseconds of one expert of a token, by format, if all of the token's
    // experts are at this place.
    std::vector<double> device_us_, ram_us_, disk_us_;
    std::vector<double> use_;            // share of the layer's tokens that choose the expert
    std::vector<double> loss_;           // (experts, formats)
    std::vector<std::uint32_t> by_use_;  // experts, the least used first
    double min_bits_ = 0, max_loss_ = 0;

    std::optional<Found> best_;
};

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
