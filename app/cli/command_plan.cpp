#include <iostream>

#include "app/cli/commands.h"
#include "engine/eval/plan_report.h"

namespace offstage::cli {

int run_plan(const PlanOptions& options) {
    const engine::PlanReport report =
        engine::plan_model(load_request(options.model), options.prompt, progress_on_terminal(), {}, options.compare);
    if (options.model.json) {
        print_json(engine::to_json(report));
    } else {
        std::cout << engine::to_text(report) << std::flush;
    }
    return 0;
}

int run_calibrate(const ModelOptions& options) {
    const engine::CostTable table = engine::calibrate_model(load_request(options), progress_on_terminal(), {});
    if (options.json) {
        print_json(engine::report_json(table));
    } else {
        std::cout << engine::to_text(table) << std::flush;
    }
    return 0;
}

}  // namespace offstage::cli
