#include <algorithm>
#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "app/cli/choice_task_files.h"
#include "app/cli/commands.h"
#include "app/cli/evaluation_line.h"
#include "app/cli/interrupt.h"
#include "engine/error.h"
#include "engine/eval/theta_report.h"
#include "engine/eval/theta_scorer.h"
#include "engine/eval/threshold_choice.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

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

}  // namespace

int run_sensitivity(const SensitivityOptions& options) {
    return run_until_interrupt(
        [&](const std::stop_token& stop) { return measure_sensitivity_to_theta(options, stop); });
}

}  // namespace offstage::cli
