#include <iostream>
#include <unistd.h>

#include "app/cli/commands.h"
#include "engine/eval/ablation.h"

namespace offstage::cli {

int run_ablation(const AblationOptions& options) {
    const auto progress = [](const std::string& line) {
        if (isatty(STDERR_FILENO) != 0) std::cerr << line << std::endl;
    };
    const engine::AblationReport report = engine::measure_ablation(
        load_request(options.model), {options.prompt, options.decode, options.resident_per_layer, options.mean_bits},
        progress, {});
    print_report(report, options.model.json, report.model + " on " + report.device + ", ");
    return 0;
}

}  // namespace offstage::cli
