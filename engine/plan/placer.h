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

}  // namespace offstage::engine
