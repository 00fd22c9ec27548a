#include <functional>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/token_progress.h"
#include "engine/error.h"
#include "engine/eval/recall.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {
namespace {

void write_trace(const engine::RoutingTrace& trace, const std::string& path) {
    engine::TraceWriter writer(path, trace.header);
    const std::size_t n_guesses = trace.header.guesses_per_token();
    for (std::size_t t = 0; t < trace.tokens.size(); ++t) {
        writer.add_step(trace.experts_of(t), 1, trace.tokens[t].position, trace.tokens[t].kind,
                        std::span(trace.guesses).subspan(t * n_guesses, n_guesses));
    }
    writer.finish();
}

}  // namespace

int run_recall(const RecallOptions& options) {
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

}  // namespace offstage::cli
