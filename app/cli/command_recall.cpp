#include <algorithm>
#include <functional>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/cli/token_progress.h"
#include "engine/error.h"
#include "engine/eval/recall.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {
namespace {

struct RecallOptions {
    ModelOptions model;
    std::string text;       // file
    std::string out;        // picture; empty: none
    std::string trace_out;  // empty: none
    std::vector<std::int64_t> distances = {1, 2, 10};
};

void write_trace(const engine::RoutingTrace& trace, const std::string& path) {
    engine::TraceWriter writer(path, trace.header);
    const std::size_t n_guesses = trace.header.guesses_per_token();
    for (std::size_t t = 0; t < trace.tokens.size(); ++t) {
        writer.add_step(trace.experts_of(t), 1, trace.tokens[t].position, trace.tokens[t].kind,
                        std::span(trace.guesses).subspan(t * n_guesses, n_guesses));
    }
    writer.finish();
}

void declare_recall(CLI::App& command, RecallOptions& options) {
    add_model_option(command, options.model.model);
    command
        .add_option("--text", options.text,
                    "UTF-8 text, or a .jsonl or .json file of conversations, {\"messages\": [{\"role\", \"content\"}]} "
                    "or {\"conversations\": [{\"from\", \"value\"}]} as ShareGPT's")
        ->required();
    command.add_option("--out", options.out, "Picture to draw (SVG)");
    command.add_option("--trace-out", options.trace_out, "Routing trace to write, for offstage-cli replay");
    command
        .add_option("--ahead", options.distances, "Layers ahead that are guessed; those the model has not are left out")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    add_context_option(command, options.model, kTextContext);
    add_device_options(command, options.model);
    add_compute_options(command, options.model);
    add_json_option(command, options.model.json);
}

int run_recall(RecallOptions& options) {
    std::vector<std::int64_t>& distances = options.distances;
    std::sort(distances.begin(), distances.end());
    distances.erase(std::unique(distances.begin(), distances.end()), distances.end());
    const std::string text = read_long_text(options.text);
    engine::LoadedModel model(text_request(options.model), engine::LoadedModel::Text::kWanted, progress_on_terminal(),
                              {});
    print_notes(model.summary());
    const auto sequences = engine::sequences_of(model, text, options.text);
    const TokenProgress progress("Measuring", sequences);
    const engine::RoutingTrace trace =
        engine::record_routing(model, sequences, options.distances, std::ref(progress), {});
    progress.finish();
    const engine::RecallReport report = engine::measure_recall(trace);
    if (!options.trace_out.empty()) write_trace(trace, options.trace_out);
    write_or_throw(options.out, engine::to_svg(report));
    print_report(report, options.model.json, report.model + ": ");
    return 0;
}

}  // namespace

void add_recall(Commands& commands) {
    commands.add("recall",
                 "How often the expert that is wanted is there already: in an LRU cache, and among guesses made ahead",
                 declare_recall, run_recall);
}

}  // namespace offstage::cli
