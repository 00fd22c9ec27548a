#include <filesystem>
#include <iostream>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/perplexity_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "engine/eval/quantize_report.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

void declare_quantize_report(CLI::App& command, PerplexityOptions& options) {
    CLI::Option* const report_text = add_perplexity_options(command, options);
    command.add_option("--formats", options.formats, "Experts in these only, separated by commas: hqq4,hqq3")
        ->delimiter(',');
    command
        .add_flag("--keep", options.keep,
                  "Keep what each format of experts costs beside the model (neuron_thresholds.json): --max-kl and the "
                  "window's measured loss choose by it")
        ->needs(report_text);
}

int run_quantize_report(const PerplexityOptions& options) {
    std::optional<std::string> text;
    if (!options.text.empty()) text = read_long_text(options.text);
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) request.context = options.window;
    std::vector<engine::FormatId> formats;
    for (const std::string& name : options.formats) formats.push_back(engine::parse_format(name));
    const engine::ModelShape shape = engine::read_model_shape(options.model.model);
    const auto progress = [](const std::string& line) { std::cerr << line << std::endl; };
    engine::QuantizeReport report = engine::make_quantize_report(
        request, text, options.special, options.answers_after, {options.window, options.stride},
        engine::quantize_report_cells(shape.spec.experts, formats), progress, {});
    report.text = std::filesystem::path(options.text).filename().string();
    if (options.keep) {
        const std::filesystem::path file = engine::neuron_thresholds_file(shape.directory);
        engine::NeuronThresholds kept = engine::kept_thresholds(shape.directory);
        std::vector<engine::FormatLoss> losses = engine::format_losses(report);
        if (kept.n_tokens == 0) {  // nothing was measured of neurons
            kept.model = report.model;
            kept.weight_type = report.stored;
            kept.text = report.text;
            kept.n_tokens = report.rows.front().perplexity.n_tokens;
            kept.perplexity = report.rows.front().perplexity.value();
        }
        for (engine::FormatLoss& loss : losses) {
            std::erase_if(kept.formats, [&](const engine::FormatLoss& other) { return other.format == loss.format; });
            kept.formats.push_back(std::move(loss));
        }
        engine::write_neuron_thresholds(kept, file);
        std::cerr << "Kept in " << file.string() << "\n";
    }
    if (options.model.json) {
        print_json(to_json(report));
        return 0;
    }
    std::cout << report.model;
    if (text) {
        std::cout << ", " << report.text << ", " << report.rows.front().perplexity.n_tokens << " tokens, windows of "
                  << options.window << ", stride " << options.stride;
    }
    std::cout << "\n\n" << to_markdown(report);
    if (const std::string note = note_of(report); !note.empty()) std::cout << "\n" << note << "\n";
    std::cout << std::flush;
    return 0;
}

}  // namespace

void add_quantize_report(Commands& commands) {
    commands.add("quantize-report",
                 "What formats of fewer bits would save and lose: size, squared error and, with a "
                 "text, perplexity and distance to the model as it is",
                 declare_quantize_report, run_quantize_report);
}

}  // namespace offstage::cli
