#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/nodes_joined.h"
#include "engine/error.h"
#include "engine/run/plan_report.h"

namespace offstage::cli {

int run_plan(const PlanOptions& options) {
    const engine::PlanReport report =
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

}  // namespace offstage::cli
