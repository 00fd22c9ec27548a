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

// The costs in a hardware profile. If the profile has no host, cpu_expert stays empty.
CostTable costs_of(const HardwareProfile& profile, kernels::WeightType format, const ExpertGrid& grid);

// Takes the CPU's measured costs over into the table of an accounted device.
void take_cpu_part(CostTable& table, CostTable cpu);

// The costs of experts of one format. Loads, reports and estimates all use this, so that
// their forecasts are equal.
struct FormatCosts {
    CostTable table;
    bool measured = false;  // now, all or in part
};

// Without measuring. For an emulated device: from its profile, and if that has no host,
// with the CPU's stored part. Nothing: something would have to be measured.
std::optional<FormatCosts> known_format_costs(const CostPlace& place, const HardwareProfile* emulated,
                                              kernels::WeightType format, const ExpertGrid& grid,
                                              const CalibrationCache& cache);
// The same, but unknown costs are measured now and stored. The device must be reserve()d
// as for calibrate(). Throws as calibrate_format().
FormatCosts format_costs(Backend& device, CpuOperations& host, const FormatCalibration& wanted,
                         const CalibrationCache& cache, const std::function<void(double)>& progress,
                         const std::stop_token& stop);

}  // namespace offstage::engine
