#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/plan/load_request.h"

namespace offstage::engine {

// The gain of each part of leaving neurons out, added one after the other (CORM, figure
// 8): decoding with every expert copied when it is called; without the neurons below a
// theta; with guessed experts and neurons copied ahead; with a part of the experts on the
// device. In addition to the paper: with formats chosen expert by expert, which is in the
// paper's first part, and with the CPU computing as well.
struct AblationRow {
    std::string name;
    double tokens_per_s = 0;
    double gain = 1;  // over the first row
    // The answer with its prompt (figure 7): tokens decoded, by the time of both.
    double whole_tokens_per_s = 0, whole_gain = 1;
    double paper_gain = 0;  // 0: the paper has no such row
    double forecast_tokens_per_s = 0;
    double hit_rate = 0;      // over the timed tokens
    double active_share = 1;  // of the neurons that were checked; if none were (dry, on the CPU), the expected share
    double copied_bytes_per_token = 0, copy_bytes_saved_per_token = 0;
    double mean_bits = 0;         // per expert weight, as planned
    double hidden_computing = 0;  // share of the computing hidden behind loading (table 3)
};

struct AblationReport {
    std::string model;
    std::string device;
    bool accounted = false;  // times are those of an emulated device
    double theta = 0;
    std::int64_t resident_per_layer = 0;  // in the rows with experts on the device
    std::int64_t prompt_tokens = 0, decode_tokens = 0;
    std::vector<AblationRow> rows;
};

struct AblationSettings {
    std::int64_t prompt_tokens = 64;  // the paper's shorter one
    std::int64_t decode_tokens = 64;
    std::int64_t resident_per_layer = 2;
    // Above 0: a row in which the planner chooses each expert's format, with this mean of
    // bits per weight (QualityFloor::min_mean_bits), and the memory of the row before it.
    double mean_bits = 0;
};

// Loads the model once for each row, with the request's theta, but with the policies,
// budgets and caches of the rows. Precondition: a device with separate memory. Throws
// Error: kInvalidInput (no theta, the CPU as device, more experts resident than there
// are), and a load's errors. `progress` (may be empty) gets a line per row.
AblationReport measure_ablation(const LoadRequest& request, const AblationSettings& settings,
                                const std::function<void(const std::string& line)>& progress,
                                const std::stop_token& stop);

nlohmann::ordered_json to_json(const AblationReport& report);
std::string to_text(const AblationReport& report);
// Each row's gain for each output length (figure 7). At least one report; all of one
// model, with the same rows.
std::string gains_by_length(const std::vector<AblationReport>& reports);

}  // namespace offstage::engine
