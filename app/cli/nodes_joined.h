#pragma once
// --node: other machines that compute experts for a command.

#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/model_options.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/loaded_model.h"

namespace offstage::cli {

// The machines that compute experts of a loaded model besides this one. Must be destroyed
// before the model, after its last step.
class NodesJoined {
  public:
    virtual ~NodesJoined() = default;
    // Prints notes about them since the last call to stderr.
    virtual void print_notes() = 0;
    virtual nlohmann::ordered_json to_json() const = 0;
    // The forecast speed of decoding, from JoinedNodes; 0: not known.
    virtual double forecast_tokens_per_s(std::int64_t n_past) const = 0;
};

// nullptr: the options name no machine. forecasts: also measures the costs for
// forecast_tokens_per_s(). Throws Error.
std::unique_ptr<NodesJoined> join_nodes(engine::LoadedModel& model, const ModelOptions& options, bool forecasts);
std::unique_ptr<NodesJoined> join_nodes(engine::Session& session, const ModelOptions& options);
// For several answers, between which the session may join the machines again
// (JoinedMachines::join_again). Prints notes.
void join_session(engine::Session& session, const ModelOptions& options);
// Reports, for each of the named machines, the experts that it could hold and its costs,
// and the forecast of a decoded token with them in both shapes
// (engine/cluster/shape_forecast), on stdout or in the object.
void report_nodes(const ModelOptions& options, const engine::FitEstimate& report, nlohmann::ordered_json* json);

}  // namespace offstage::cli
