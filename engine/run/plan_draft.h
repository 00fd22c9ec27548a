#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/planner.h"
#include "engine/run/replan.h"
#include "engine/telemetry/decode_meter.h"

namespace offstage::engine {

// The state of a loaded model at one moment, with everything that the result of a
// ReplanRequest depends on: a value, taken between two steps, with which any thread plans
// while the model continues.
struct PlanDraft {
    PlanInputs inputs;
    Plan base;                         // that the request changes: on its way, or present
    Plan in_force;                     // the last to be so as a whole
    Plan now;                          // with the places and formats of this moment
    std::vector<std::uint8_t> pinned;  // by a user, (n_layers, n_experts)
    ThetaChoice theta;                 // the thresholds of neurons that are left out
    std::int64_t tokens_in_use = 0;    // no context may be shorter
    std::string device;                // its name
    std::uint64_t device_bytes = 0;    // the device's whole usable memory
    std::uint64_t ram_used_bytes = 0, ram_budget_bytes = 0;
    MeasuredDecode measured;    // with the plan in force
    MigrationRates migrations;  // measured, while tokens are made or not, as now

    // Throws Error where no plan can be made: kInvalidInput, kOutOfMemory.
    Plan plan(const ReplanRequest& request) const;
    ReplanPreview preview(const ReplanRequest& request) const;

  private:
    void check(const Budget& budget) const;
    void add_transition(ReplanPreview& preview) const;  // from now to its plan
};

// An expert that a user pins to the device takes the place of the least popular one that
// is no smaller; if there is none, it takes that one's format as well.
void apply_pins(const PlanInputs& inputs, const std::vector<std::uint8_t>& pinned, Plan& plan);

}  // namespace offstage::engine
