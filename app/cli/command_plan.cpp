#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/terminal_output.h"
#include "app/read_option.h"
#include "engine/error.h"
#include "engine/run/fit_estimate.h"

namespace offstage::cli {
namespace {

struct PlanOptions {
    ModelOptions model;
    std::int64_t prompt = 512;
    bool compare = false;
};

void declare_calibrate(CLI::App& command, ModelOptions& options) {
    add_model_option(command, options.model);
    add_device_options(command, options);
    add_compute_options(command, options);
    add_json_option(command, options.json);
}

int run_calibrate(const ModelOptions& options) {
    engine::Message not_kept;
    const engine::CostTable table =
        engine::calibrate_model(load_request(options), progress_on_terminal(), {}, &not_kept);
    if (options.json) {
        print_json(engine::report_json(table));
    } else {
        std::cout << engine::to_text(table) << std::flush;
    }
    if (!not_kept.empty()) throw engine::Error(engine::ErrorKind::kInvalidInput, not_kept);
    return 0;
}

void declare_plan(CLI::App& command, PlanOptions& options) {
    add_model_option(command, options.model.model);
    add_checked(command, "--prompt", options.prompt, CLI::Range(std::int64_t{1}, std::int64_t{1} << 20),
                "Tokens of the prompt that is forecast");
    add_context_option(command, options.model, kModelContext);
    add_device_options(command, options.model);
    add_theta_option(command, options.model);
    add_kept_context_option(command, options.model);
    add_compute_options(command, options.model);
    add_json_option(command, options.model.json);
    add_node_options(command, options.model);
    add_expert_options(command, options.model);
    command.add_flag("--compare", options.compare,
                     "List what the same budgets allow in one format for all, by popularity and in whole layers");
}

int run_plan(const PlanOptions& options) {
    const engine::FitEstimate report =
        engine::plan_model(load_request(options.model), options.prompt, progress_on_terminal(), {}, options.compare);
    if (options.model.json) {
        auto json = to_json(report);
        report_nodes(options.model, report, &json);
        print_json(json);
        return 0;
    }
    print_report(report, false);
    report_nodes(options.model, report, nullptr);
    return 0;
}

}  // namespace

void add_calibrate(Commands& commands) {
    commands.add("calibrate", "Measure what copies and experts take on this machine", declare_calibrate, run_calibrate);
}

void add_plan(Commands& commands) {
    commands.add("plan", "What would go where, and how fast that would be; reads no weights", declare_plan, run_plan);
}

}  // namespace offstage::cli
