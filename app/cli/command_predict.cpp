#include "app/cli/commands.h"
#include "app/cli/text_command.h"
#include "app/read_option.h"
#include "engine/eval/prediction_report.h"

namespace offstage::cli {
namespace {

struct PredictOptions : TextOptions {
    std::vector<double> thetas = {0.1, 0.25};
};

void declare_predict(CLI::App& command, PredictOptions& options) {
    add_text_option(command, options);
    add_checked(command, "--theta", options.thetas, CLI::PositiveNumber,
                "The thetas, separated by commas: below one a neuron is not active")
        ->delimiter(',');
    add_text_run_options(command, options.model);
    add_quant_option(command, options.model);
    add_json_option(command, options.model.json);
}

int run_predict(const PredictOptions& options) {
    return measure_text(
        options,
        [&](engine::LoadedModel& model, const auto& sequences, const auto& progress) {
            return engine::measure_prediction(model, sequences, options.thetas, progress, {});
        },
        [&](engine::PredictionReport& report) { report.text = options.text; });
}

}  // namespace

void add_predict(Commands& commands) {
    commands.add(
        "predict",
        "How well a layer's experts and their active neurons are known one layer ahead: recall and precision by layer",
        declare_predict, run_predict);
}

}  // namespace offstage::cli
