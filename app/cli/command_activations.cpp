#include "app/cli/commands.h"
#include "app/cli/text_command.h"
#include "app/read_option.h"
#include "engine/eval/activations.h"

namespace offstage::cli {
namespace {

struct ActivationOptions : TextOptions {
    std::vector<double> bounds{engine::kActivationBounds.begin(), engine::kActivationBounds.end()};
};

void declare_activations(CLI::App& command, ActivationOptions& options) {
    add_text_option(command, options);
    add_checked(command, "--below", options.bounds, CLI::PositiveNumber, "The bounds")->delimiter(',');
    add_text_run_options(command, options.model);
    add_quant_option(command, options.model);
    add_json_option(command, options.model.json);
}

int run_activations(const ActivationOptions& options) {
    return measure_text(
        options,
        [&](engine::LoadedModel& model, const auto& sequences, const auto& progress) {
            return engine::measure_activations(model, sequences, options.bounds, progress, {});
        },
        [](const engine::ActivationReport&) {});
}

}  // namespace

void add_activations(Commands& commands) {
    commands.add("activations", "How near to zero the experts' neurons are: share of |act(w1 . x)| below some bounds",
                 declare_activations, run_activations);
}

}  // namespace offstage::cli
