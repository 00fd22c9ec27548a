#pragma once

#include <cstdint>

#include "engine/plan/calibrate_host.h"
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
    double bus_us = 0;         // of the copies to the device, one after the other
    double disk_us = 0;        // of reading what no memory holds: the checkpoint, or copies quantized before
    double quantizing_us = 0;  // of quantizing, by one thread

    std::uint64_t bytes_to_move() const { return bus_bytes + ram_bytes; }
};

// Both plans are of the demand's model. `cost` prices copies and reading, `speeds` quantizing (both may be nullptr);
// what they do not know costs nothing. The longer way is taken throughout: nothing of the checkpoint is in the system's
// cache, and nothing has been quantized before.
Transition transition(const Plan& from, const Plan& to, const ModelDemand& demand, const CostModel* cost = nullptr,
                      const QuantizingSpeeds* speeds = nullptr);

// Reading, quantizing and copying one after the other, as a migration in the background goes about it.
double seconds_of(const Transition& transition);

void add_transition(const Transition& transition, Forecast& forecast);

}  // namespace offstage::engine
