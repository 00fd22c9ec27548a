#include <functional>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/cli/token_progress.h"
#include "engine/eval/activations.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {
namespace {

struct ActivationOptions {
    ModelOptions model;
    std::string text;  // file
    std::vector<double> bounds{engine::kActivationBounds.begin(), engine::kActivationBounds.end()};
};

void declare_activations(CLI::App& command, ActivationOptions& options) {
    add_model_option(command, options.model.model);
    command.add_option("--text", options.text, "UTF-8 text, or conversations in a .jsonl or .json file, as for recall")
        ->required();
    command.add_option("--below", options.bounds, "The bounds")
        ->delimiter(',')
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_context_option(command, options.model, kTextContext);
    add_device_options(command, options.model);
    add_compute_options(command, options.model);
    add_quant_option(command, options.model);
    add_json_option(command, options.model.json);
}

int run_activations(const ActivationOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadedModel model(text_request(options.model), engine::LoadedModel::Text::kWanted, progress_on_terminal(),
                              {});
    print_notes(model.summary());
    const auto sequences = engine::sequences_of(model, text, options.text);
    const TokenProgress progress("Measuring", sequences);
    const engine::ActivationReport report =
        engine::measure_activations(model, sequences, options.bounds, std::ref(progress), {});
    progress.finish();
    print_report(report, options.model.json, report.model + ": ");
    return 0;
}

}  // namespace

void add_activations(Commands& commands) {
    commands.add("activations", "How near to zero the experts' neurons are: share of |act(w1 . x)| below some bounds",
                 declare_activations, run_activations);
}

}  // namespace offstage::cli
