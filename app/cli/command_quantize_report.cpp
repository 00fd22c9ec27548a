#include <filesystem>
#include <iostream>

#include "app/cli/commands.h"
#include "engine/eval/quantize_report.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {

int run_quantize_report(const PerplexityOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) request.context = options.window;
    const engine::ModelShape shape = engine::read_model_shape(options.model.model);
    const auto progress = [](const std::string& line) { std::cerr << line << std::endl; };
    engine::QuantizeReport report = engine::make_quantize_report(
        request, text, options.special, options.answers_after, {options.window, options.stride},
        engine::quantize_report_cells(shape.spec), progress, {});
    report.text = std::filesystem::path(options.text).filename().string();
    if (options.model.json) {
        print_json(to_json(report));
        return 0;
    }
    std::cout << report.model << ", " << report.text << ", " << report.rows.front().perplexity.n_tokens
              << " tokens, windows of " << options.window << ", stride " << options.stride << "\n\n"
              << to_markdown(report) << std::flush;
    return 0;
}

}  // namespace offstage::cli
