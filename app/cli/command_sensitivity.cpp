#include <filesystem>
#include <iostream>
#include <unistd.h>

#include "app/cli/commands.h"
#include "engine/error.h"
#include "engine/eval/theta_report.h"
#include "engine/eval/threshold_choice.h"
#include "engine/files/file_writer.h"
#include "engine/plan/plan_messages.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

void write_or_throw(const std::string& path, const std::string& content) {
    if (path.empty()) return;
    if (const std::string failure = engine::write_file(path, content); !failure.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::file_cannot_be_written(path, failure));
    }
}

}  // namespace

int run_sensitivity(const SensitivityOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) request.context = options.window;
    request.learn_placement = false;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kWanted, progress_on_terminal(), {});
    print_notes(model.summary());
    std::vector<engine::TokenId> tokens = engine::tokens_of_text(model, text, options.special);
    if (options.limit > 0 && static_cast<std::int64_t>(tokens.size()) > options.limit) {
        tokens.resize(static_cast<std::size_t>(options.limit));
    }
    const auto progress = [](const std::string& line) {
        if (isatty(STDERR_FILENO) != 0) std::cerr << line << std::endl;
    };
    const engine::WindowSettings windows{options.window, options.stride};
    const std::string text_name = std::filesystem::path(options.text).filename().string();
    std::vector<engine::ChosenThresholds> chosen;
    if (!options.losses.empty()) {
        chosen = engine::choose_thresholds(model, tokens, windows, options.losses, progress, {});
    }
    for (engine::ChosenThresholds& each : chosen) each.text = text_name;
    std::vector<engine::ChosenThresholds> scored = chosen;
    if (options.kept_thresholds) {
        const auto& kept = model.summary().thresholds.chosen;
        scored.insert(scored.end(), kept.begin(), kept.end());
    }
    engine::ThetaReport report =
        engine::measure_thetas(model, tokens, windows, options.thetas, options.decode, progress, {}, scored);
    report.text = options.text;
    write_or_throw(options.csv, engine::to_csv(report));
    write_or_throw(options.svg, engine::to_svg(report));
    if (options.keep) {
        const std::filesystem::path file = engine::neuron_thresholds_file(model.directory());
        engine::NeuronThresholds kept = engine::thresholds_of(report);
        kept.text = text_name;
        kept.chosen = model.summary().thresholds.chosen;
        kept.formats = model.summary().thresholds.formats;
        for (engine::ChosenThresholds& each : chosen) engine::add_chosen(kept, std::move(each));
        engine::write_neuron_thresholds(kept, file);
        std::cerr << "Kept in " << file.string() << "\n";
    }
    print_report(report, options.model.json, report.model + ", " + report.weight_type + ", " + report.device + "\n");
    return 0;
}

}  // namespace offstage::cli
