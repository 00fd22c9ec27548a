#pragma once

#include <functional>
#include <optional>
#include <stop_token>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/hardware_profile.h"
#include "engine/plan/calibration.h"
#include "engine/plan/cost_model.h"

namespace offstage::engine {

// Costs as a hardware profile has them. Where the profile knows no host, cpu_expert stays
// empty.
CostTable costs_of(const HardwareProfile& profile, kernels::WeightType format, const ExpertGrid& grid);

// What was measured of the CPU, beside a device that is accounted.
void take_cpu_part(CostTable& table, CostTable cpu);

// What experts of one format cost. Loads, reports and estimates have it from here, so
// that their forecasts are the same number.
struct FormatCosts {
    CostTable table;
    bool measured = false;  // now, all or in part
};

// Without measuring. Of an emulated device: by its profile, and where that knows no host,
// with the CPU's part that is kept. Nothing: something would have to be measured.
std::optional<FormatCosts> known_format_costs(const CostPlace& place, const HardwareProfile* emulated,
                                              kernels::WeightType format, const ExpertGrid& grid,
                                              const CalibrationCache& cache);
// The same, and what is not known is measured now and kept. The device must be reserve()d
// as calibrate() says. Throws as calibrate_format().
FormatCosts format_costs(Backend& device, CpuOperations& host, const FormatCalibration& wanted,
                         const CalibrationCache& cache, const std::function<void(double)>& progress,
                         const std::stop_token& stop);

}  // namespace offstage::engine
