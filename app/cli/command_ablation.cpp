#include <iostream>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/read_option.h"
#include "engine/eval/ablation.h"

namespace offstage::cli {
namespace {

struct AblationOptions {
    AblationOptions() { model.device = "emulated:corm"; }
    ModelOptions model;
    std::int64_t prompt = 64;
    std::vector<std::int64_t> decode = {64};
    std::int64_t resident_per_layer = 2;
    double mean_bits = 0;  // 0: no row of formats chosen expert by expert
};

void declare_ablation(CLI::App& command, AblationOptions& options) {
    add_model_option(command, options.model.model);
    add_checked(command, "--prompt", options.prompt, CLI::PositiveNumber, "Tokens of the prompt");
    add_checked(command, "--decode,--output-lengths", options.decode, CLI::PositiveNumber,
                "Tokens decoded after it: a number, or several, separated by commas, each with a table of its own")
        ->delimiter(',');
    add_checked(command, "--resident", options.resident_per_layer, CLI::NonNegativeNumber,
                "Experts of each layer that have a place on the device where experts are kept");
    add_checked(command, "--mean-bits", options.mean_bits, CLI::NonNegativeNumber,
                "A row more, in which each expert has a format of its own, with so many bits per weight in the "
                "mean, as --min-bits lets the plan choose them; 0: none");
    command.add_option("--device", options.model.device, "As for bench")->capture_default_str();
    add_parsed(command, "--ram", options.model.ram_bytes, parse_size, "RAM budget, as for bench");
    command.add_option("--profile", options.model.popularity_file,
                       "Popularity profile that dry runs draw experts from");
    add_theta_option(command, options.model);
    add_dry_options(command, options.model,
                    "A synthetic model on an emulated device with a host: account the time, compute nothing",
                    "an expert is guessed right");
    add_compute_options(command, options.model);
    add_quant_option(command, options.model);
    add_json_option(command, options.model.json);
}

int run_ablation(const AblationOptions& options) {
    const auto progress = [](const std::string& line) {
        if (isatty(STDERR_FILENO) != 0) std::cerr << line << std::endl;
    };
    std::vector<engine::AblationReport> reports;
    for (const std::int64_t decode : options.decode) {
        reports.push_back(engine::measure_ablation(
            load_request(options.model), {options.prompt, decode, options.resident_per_layer, options.mean_bits},
            progress, {}));
        if (!options.model.json) std::cout << (reports.size() > 1 ? "\n" : "");
        if (!options.model.json || options.decode.size() == 1) {
            print_report(reports.back(), options.model.json,
                         reports.back().model + " on " + reports.back().device + ", ");
        }
    }
    if (reports.size() == 1) return 0;
    if (options.model.json) {
        nlohmann::ordered_json json = nlohmann::ordered_json::array();
        for (const engine::AblationReport& report : reports) json.push_back(to_json(report));
        print_json(json);
    } else {
        std::cout << "\n" << gains_by_length(reports) << std::flush;
    }
    return 0;
}

}  // namespace

void add_ablation(Commands& commands) {
    commands.add("ablation",
                 "What decoding gains by sparse neurons, by copying ahead, by experts that are kept, by "
                 "formats of their own, and by the CPU, one after the other",
                 declare_ablation, run_ablation);
}

}  // namespace offstage::cli
