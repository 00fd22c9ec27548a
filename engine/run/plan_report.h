#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/message.h"
#include "engine/plan/forecast.h"
#include "engine/plan/load_request.h"
#include "engine/plan/planner.h"
#include "engine/run/model_shape.h"

namespace offstage::engine {

// The outcome of a load, computed without the weights.
struct PlanReport {
    ModelShape shape;
    // The costs as the forecast used them. The memory is as it was when the device was
    // opened, with the checkpoint mapped.
    PlanInputs inputs;
    Plan plan;
    std::string cost_source;  // for the user: "kept calibration", "measured now", "hardware profile rtx-3060"
    Forecast forecast;

    WeightReads reads() const;  // of a decoded token
    ThetaChoice theta() const;  // the forecast's threshold of neurons
    // The share of active neurons is "given" by the request, "measured" for this model,
    // or the "assumed" kUnknownActiveShare; "of all neurons": none is left out.
    std::string active_share_is() const;

    // Plans that the same budgets allow, this one last: whole layers and popular experts
    // in each format that the floor of quality allows. Empty unless requested.
    struct Compared {
        std::string name;     // "whole layers, HQQ4"
        std::string failure;  // the reason if there is no such plan; the rest is empty then
        Plan plan;
        Forecast forecast;
    };
    std::vector<Compared> compared;
    std::vector<Message> notes;  // of the model's files and its tokenizer, a sentence each
};

// Opens the device, plans, and forecasts a prompt of prompt_tokens and the decode after
// it. Costs are those of an emulated device's profile, or else a stored calibration, or
// else measured now with random weights of the model's shape (and stored): Measurements.
// With a floor of quality, or to compare, each format is costed so; its sensitivity is
// typical of the format, because weights are not read. An emulated device's memory is
// part of this computer's, as for a load; if that leaves less RAM than the request names,
// the plan is for another computer that has both, and a note reports it. Throws Error as
// a load does: kOutOfMemory, with the missing amount, when the budget is too small.
PlanReport plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                      const std::stop_token& stop, bool compare = false);

// Measures the costs of a model's experts anew, on random weights, and keeps them
// (Fiddler, figure 7). On an emulated device these are the accounted times, which are not
// kept. `not_kept` (may be nullptr): a sentence where they could not be kept.
CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop,
                          Message* not_kept = nullptr);

nlohmann::ordered_json to_json(const PlanReport& report);
std::string to_text(const PlanReport& report);
nlohmann::ordered_json report_json(const CostTable& table);
std::string to_text(const CostTable& table);

}  // namespace offstage::engine
