#pragma once
// Commands that read a text with a model and measure something of it.

#include <functional>
#include <string>

#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/cli/token_progress.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {

struct TextOptions {
    ModelOptions model;
    std::string text;  // file
};

// First and last options of such a command.
inline void add_text_option(CLI::App& command, TextOptions& options) {
    add_model_option(command, options.model.model);
    command.add_option("--text", options.text, "UTF-8 text, or conversations in a .jsonl or .json file, as for recall")
        ->required();
}
inline void add_text_run_options(CLI::App& command, ModelOptions& options) {
    add_context_option(command, options, kTextContext);
    add_device_options(command, options);
    add_compute_options(command, options);
}

// Loads the model and prints the report that measure(model, sequences, progress) returns.
// finish(report): before it is printed.
template <typename Measure, typename Finish>
int measure_text(const TextOptions& options, const Measure& measure, const Finish& finish) {
    const std::string text = read_long_text(options.text);
    engine::LoadedModel model(text_request(options.model), engine::LoadedModel::Text::kWanted, progress_on_terminal(),
                              {});
    print_notes(model.summary());
    const auto sequences = engine::sequences_of(model, text, options.text);
    const TokenProgress progress("Measuring", sequences);
    auto report = measure(model, sequences, std::ref(progress));
    progress.finish();
    finish(report);
    print_report(report, options.model.json, report.model + ": ");
    return 0;
}

}  // namespace offstage::cli
