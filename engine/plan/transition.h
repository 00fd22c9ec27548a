#pragma once

#include <cstdint>

#include "engine/plan/cost_model.h"
#include "engine/plan/forecast.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

// What has to happen for one plan to become another.
struct Transition {
    std::int64_t to_device = 0;    // experts that the device gets a copy of: new there, or in another format
    std::int64_t from_device = 0;  // copies there that go, or are of the wrong format
    std::int64_t to_ram = 0;       // copies to be made in RAM, from the master
    std::int64_t quantized = 0;    // experts that change to a packed format, from the master
    std::uint64_t bus_bytes = 0;   // of the copies to the device
    std::uint64_t ram_bytes = 0;   // of the copies in RAM
    double quantized_weights = 0;
    double bus_us = 0;  // of the copies to the device, one after the other

    std::uint64_t bytes_to_move() const { return bus_bytes + ram_bytes; }
};

// Both plans are of the demand's model. `cost` (may be nullptr) prices the copies.
Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand, const CostModel* cost = nullptr);

// Copies and quantizing one after the other, as a migration in the background goes about it.
// quantized_weights_per_s: measured, of the whole machine; 0: unknown, and not counted.
double seconds_of(const Transition& transition, double quantized_weights_per_s);

void add_transition(const Transition& transition, double quantized_weights_per_s, Forecast& forecast);

}  // namespace offstage::engine
