#pragma once

#include <cstdint>
#include <vector>

#include "engine/plan/placer.h"
#include "engine/plan/plan_inputs.h"
#include "engine/plan/planner_objective.h"

namespace offstage::engine {

// Sensitivity's loss of a plan's formats; 0 where the plan names none.
double predicted_loss(const Plan& plan, const Sensitivity& sensitivity, const Popularity& popularity);

// Chooses every expert's format and place.
//
// The formats do not depend on the size of VRAM: a family of assignments is made
// beforehand, each allowed by the floor -
//   uniform    all experts in one format
//   mixtures   the least used experts in one format, the others in another (CORM, section
//   4.1), as many as the floor
//              allows
//   priced     each expert alone takes the format and place that cost least, at a price
//   per byte of VRAM, per byte of
//              RAM and per loss; several prices of memory, the price of loss the smallest
//              that keeps the floor
// - and each is placed in its own order (time gained per byte), as much as fits. The
//   forecasts of all decide. For one assignment, more VRAM holds the same experts and
//   more; so the best of the family never gets slower with it.
class FormatSearch {
  public:
    // The referents must outlive this object.
    FormatSearch(const PlanInputs& inputs, const Budget& budget, PlacementKind kind);
    // Throws Error as make_plan().
    Plan choose();
    const PlanScore& score() const { return best_.score; }  // of the chosen plan

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

    struct Best {
        Plan plan;
        PlanScore score;
    };
    bool has_best_ = false;
    Best best_;
};

}  // namespace offstage::engine
