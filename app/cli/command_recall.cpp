#include <algorithm>
#include <iostream>
#include <unistd.h>

#include "app/cli/commands.h"
#include "engine/error.h"
#include "engine/eval/recall.h"
#include "engine/files/file_writer.h"
#include "engine/files/text_file.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

constexpr std::int64_t kRecallWindow = 2048;
constexpr std::size_t kLongestText = std::size_t{16} << 20;

std::string read_text(const std::string& path) {
    std::optional<std::string> text = engine::read_small_file(path, kLongestText);
    if (!text) throw engine::Error(engine::ErrorKind::kNotFound, path + ": there is no such text");
    return std::move(*text);
}

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
    const std::string text = read_text(options.text);
    engine::LoadRequest request = load_request(options.model);
    const engine::ModelShape shape = engine::read_model_shape(options.model.model);
    if (request.context == 0) request.context = std::min(kRecallWindow, shape.spec.max_context);
    request.learn_placement = false;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kWanted, progress_on_terminal(), {});
    print_notes(model.summary());
    const auto sequences = options.text.ends_with(".jsonl") ? engine::conversation_sequences(model, text, options.text)
                                                            : engine::text_sequences(model, text);
    std::int64_t all = 0;
    for (const auto& sequence : sequences) all += static_cast<std::int64_t>(sequence.size());
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto progress = [&](std::int64_t done) {
        if (terminal) std::cerr << "\r\x1b[KMeasuring: " << done << " of " << all << " tokens" << std::flush;
    };
    const engine::RoutingTrace trace = engine::record_routing(model, sequences, options.distances, progress, {});
    if (terminal) std::cerr << "\r\x1b[K" << std::flush;
    const engine::RecallReport report = engine::measure_recall(trace);
    if (!options.trace_out.empty()) write_trace(trace, options.trace_out);
    if (!options.out.empty()) {
        if (const std::string failure = engine::write_file(options.out, engine::to_svg(report)); !failure.empty()) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, options.out + " cannot be written: " + failure);
        }
    }
    if (options.model.json) {
        print_json(engine::to_json(report));
    } else {
        std::cout << report.model << ": " << engine::to_text(report) << std::flush;
    }
    return 0;
}

}  // namespace offstage::cli
