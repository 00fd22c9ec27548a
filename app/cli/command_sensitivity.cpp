#include <algorithm>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "app/cli/choice_task_files.h"
#include "app/cli/commands.h"
#include "app/cli/evaluation_line.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/read_option.h"
#include "engine/eval/theta_report.h"
#include "engine/eval/theta_scorer.h"
#include "engine/eval/threshold_choice.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

struct SensitivityOptions {
    ModelOptions model;
    std::string text;  // file
    bool special = false;
    std::vector<double> thetas = {0.05, 0.1, 0.15, 0.2, 0.25, 0.3};
    std::vector<double> losses;    // thresholds are chosen for each
    bool kept_thresholds = false;  // those kept beside the model are scored as well
    std::int64_t window = 512;
    std::int64_t stride = 256;
    std::int64_t limit = 0;    // tokens of the text at most; 0: all
    std::int64_t decode = 64;  // tokens; 0: speed is not measured
    std::string csv, svg;      // files to write; empty: none
    bool keep = false;         // beside the model, for the window
    ChoiceOptions choices;     // scored for each theta; its task is empty: none
};

void keep_beside_model(const engine::LoadedModel& model, const engine::ThetaReport& report,
                       std::vector<engine::ChosenThresholds> chosen, const std::string& text_name) {
    const std::filesystem::path file = engine::neuron_thresholds_file(model.directory());
    engine::NeuronThresholds kept = engine::thresholds_of(report);
    kept.text = text_name;
    kept.chosen = model.summary().thresholds.chosen;
    kept.formats = model.summary().thresholds.formats;
    for (engine::ChosenThresholds& each : chosen) engine::add_chosen(kept, std::move(each));
    engine::write_neuron_thresholds(kept, file);
    std::cerr << "Kept in " << file.string() << "\n";
}

int measure_sensitivity_to_theta(const SensitivityOptions& options, const std::stop_token& stop) {
    const std::string text = read_long_text(options.text);
    std::vector<engine::ChoiceTask> tasks;
    engine::ThetaSettings settings{{options.window, options.stride}, options.thetas, options.decode};
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) request.context = options.window;
    if (!options.choices.task.empty()) {
        settings.format = choice_format_of(options.choices.task);
        settings.choices = {options.choices.limit, options.special};
        tasks = read_choice_tasks(settings.format, options.choices);
        settings.tasks = tasks;
        const std::int64_t most = engine::read_model_shape(options.model.model).spec.max_context;
        request.context = std::max(request.context, std::min(kChoiceContext, most));
    }
    request.learn_placement = false;
    request.text_needs = engine::TextNeeds::kTokenizer;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kWanted, progress_on_terminal(), stop);
    print_notes(model.summary());
    std::vector<engine::TokenId> tokens = engine::tokens_of_text(model, text, options.special);
    if (options.limit > 0 && static_cast<std::int64_t>(tokens.size()) > options.limit) {
        tokens.resize(static_cast<std::size_t>(options.limit));
    }
    EvaluationLine of_tasks;
    const auto progress = [&](const std::string& line) {
        of_tasks.finish();
        if (isatty(STDERR_FILENO) != 0) std::cerr << line << std::endl;
    };
    const std::string text_name = std::filesystem::path(options.text).filename().string();
    std::vector<engine::ChosenThresholds> chosen;
    if (!options.losses.empty()) {
        chosen = engine::choose_thresholds(model, tokens, settings.windows, options.losses, progress, stop);
    }
    for (engine::ChosenThresholds& each : chosen) each.text = text_name;
    std::vector<engine::ChosenThresholds> scored = chosen;
    if (options.kept_thresholds) {
        const auto& kept = model.summary().thresholds.chosen;
        scored.insert(scored.end(), kept.begin(), kept.end());
    }
    settings.chosen = scored;
    engine::ThetaReport report = engine::measure_thetas(model, tokens, settings, progress, of_tasks.callback(), stop);
    of_tasks.finish();
    report.text = options.text;
    write_or_throw(options.csv, engine::to_csv(report));
    write_or_throw(options.svg, engine::to_svg(report));
    if (options.keep && !report.partial) keep_beside_model(model, report, std::move(chosen), text_name);
    print_report(report, options.model.json, report.model + ", " + report.weight_type + ", " + report.device + "\n");
    if (!report.partial) return 0;
    std::cerr << "Stopped by Ctrl+C: the result is partial, of what was done until then"
              << (options.keep ? "; nothing was kept beside the model." : ".") << std::endl;
    return kStoppedStatus;
}

void declare_sensitivity(CLI::App& command, SensitivityOptions& options) {
    add_model_option(command, options.model.model);
    command.add_option("--text", options.text, "UTF-8 text")->required();
    add_checked(command, "--theta", options.thetas, CLI::NonNegativeNumber,
                "The thetas, separated by commas; 0 comes besides")
        ->delimiter(',');
    command
        .add_option("--thresholds-for-loss", options.losses,
                    "Choose a theta for each expert, so that each of these losses (nats per token from theta 0, "
                    "separated by commas) buys the most skipped neurons; scored and, with --keep, kept as well")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command.add_flag("--kept-thresholds", options.kept_thresholds,
                     "Score the thresholds that are kept beside the model as well");
    CLI::Option* const task =
        command
            .add_option("--task", options.choices.task,
                        "Multiple choice that each theta is asked as well, scored as by evaluate: mmlu, piqa, "
                        "winogrande, hellaswag, arc, llama-hellaswag, llama-winogrande or llama-choices")
            ->check(CLI::IsMember(choice_tasks()));
    CLI::Option* const data = command.add_option("--data", options.choices.data,
                                                 "Its file; of mmlu also several, or a folder. " + choice_file_help());
    task->needs(data);
    data->needs(task);
    add_choice_file_options(command, options.choices);
    add_checked(command, "--task-limit", options.choices.limit, CLI::NonNegativeNumber,
                "Tasks at most; 0: all. Which ones, is as the rule's origin takes them")
        ->needs(task);
    command.add_flag("--special", options.special,
                     "Special tokens written out in the texts (<s>, <|user|> ...) count as tokens");
    add_checked(command, "--window", options.window, CLI::PositiveNumber, "Tokens the model sees at once");
    add_checked(command, "--stride", options.stride, CLI::PositiveNumber, "Tokens from one window to the next");
    add_checked(command, "--limit", options.limit, CLI::NonNegativeNumber, "Tokens of the text at most; 0: all");
    add_checked(command, "--decode", options.decode, CLI::NonNegativeNumber,
                "Tokens that are decoded for the speed; 0: none");
    command.add_option("--csv", options.csv, "Table to write");
    command.add_option("--svg", options.svg, "Picture to draw");
    command.add_flag("--keep", options.keep,
                     "Keep the table beside the model (neuron_thresholds.json): the Budget panel tells by it what a "
                     "theta costs");
    add_sparse_options(command, options.model);
    add_device_options(command, options.model);
    add_expert_options(command, options.model);
    add_compute_options(command, options.model);
    add_json_option(command, options.model.json);
}

int run_sensitivity(const SensitivityOptions& options) {
    return run_until_interrupt(
        [&](const std::stop_token& stop) { return measure_sensitivity_to_theta(options, stop); });
}

}  // namespace

void add_sensitivity(Commands& commands) {
    commands.add(
        "sensitivity",
        "What skipping neurons below a theta saves and costs: active share by layer, perplexity, distance to theta "
        "0, right answers to a --task, tokens/s",
        declare_sensitivity, run_sensitivity);
}

}  // namespace offstage::cli
