#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/eval/scenarios.h"

namespace offstage::engine {

// Rows of one model on one device, with the facts needed to read them.
struct ScenarioReport {
    ModelSummary model;
    std::vector<ScenarioRow> rows;
    double read_gbps = 0;  // the host's memory, measured now by the CPU's kernels; 0: not measured
    double bus_gbps = 0;   // one expert's copy, from the calibration; 0: there is no bus
    std::string left_out;  // from fit_to_context()
};

// "emulated GeForce RTX 3060: accounted time, not a measurement", with the kind of the
// CPU's times; empty for a real device.
std::string emulation_notice(const ModelSummary& model);

// Times in seconds (ttft_s, itl_median_s, itl_p95_s, total_s), one object per row under
// "rows".
nlohmann::ordered_json to_json(const ScenarioReport& report);
// A heading with device, budget and limits, then one table per scenario, times in
// milliseconds.
std::string to_markdown(const ScenarioReport& report);

}  // namespace offstage::engine
