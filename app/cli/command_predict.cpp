#include <functional>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/cli/token_progress.h"
#include "engine/eval/prediction_report.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {
namespace {

struct PredictOptions {
    ModelOptions model;
    std::string text;  // file
    std::vector<double> thetas = {0.1, 0.25};
};

void declare_predict(CLI::App& command, PredictOptions& options) {
    add_model_option(command, options.model.model);
    command.add_option("--text", options.text, "UTF-8 text, or conversations in a .jsonl or .json file, as for recall")
        ->required();
    command.add_option("--theta", options.thetas, "The thetas, separated by commas: below one a neuron is not active")
        ->delimiter(',')
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_context_option(command, options.model, kTextContext);
    add_device_options(command, options.model);
    add_compute_options(command, options.model);
    add_quant_option(command, options.model);
    add_json_option(command, options.model.json);
}

int run_predict(const PredictOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadedModel model(text_request(options.model), engine::LoadedModel::Text::kWanted, progress_on_terminal(),
                              {});
    print_notes(model.summary());
    const auto sequences = engine::sequences_of(model, text, options.text);
    const TokenProgress progress("Measuring", sequences);
    engine::PredictionReport report =
        engine::measure_prediction(model, sequences, options.thetas, std::ref(progress), {});
    progress.finish();
    report.text = options.text;
    print_report(report, options.model.json, report.model + ": ");
    return 0;
}

}  // namespace

void add_predict(Commands& commands) {
    commands.add(
        "predict",
        "How well a layer's experts and their active neurons are known one layer ahead: recall and precision by layer",
        declare_predict, run_predict);
}

}  // namespace offstage::cli
