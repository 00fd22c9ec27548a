#include <algorithm>

#include "app/cli/commands.h"
#include "app/cli/text_command.h"
#include "app/read_option.h"
#include "engine/eval/recall.h"

namespace offstage::cli {
namespace {

struct RecallOptions : TextOptions {
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
    add_checked(command, "--ahead", options.distances, CLI::Range(1, 4096),
                "Layers ahead that are guessed; those the model has not are left out")
        ->delimiter(',');
    add_text_run_options(command, options.model);
    add_json_option(command, options.model.json);
}

int run_recall(RecallOptions& options) {
    std::vector<std::int64_t>& distances = options.distances;
    std::sort(distances.begin(), distances.end());
    distances.erase(std::unique(distances.begin(), distances.end()), distances.end());
    return measure_text(
        options,
        [&](engine::LoadedModel& model, const auto& sequences, const auto& progress) {
            const engine::RoutingTrace trace = engine::record_routing(model, sequences, distances, progress, {});
            if (!options.trace_out.empty()) write_trace(trace, options.trace_out);
            return engine::measure_recall(trace);
        },
        [&](const engine::RecallReport& report) { write_or_throw(options.out, engine::to_svg(report)); });
}

}  // namespace

void add_recall(Commands& commands) {
    commands.add("recall",
                 "How often the expert that is wanted is there already: in an LRU cache, and among guesses made ahead",
                 declare_recall, run_recall);
}

}  // namespace offstage::cli
