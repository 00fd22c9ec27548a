#include <iostream>
#include <unistd.h>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "engine/error.h"
#include "engine/eval/perplexity.h"
#include "engine/files/text_file.h"
#include "engine/print.h"

namespace offstage::cli {

std::string read_long_text(const std::string& path) {
    constexpr std::size_t kLongestText = std::size_t{64} << 20;
    std::optional<std::string> text = engine::read_small_file(path, kLongestText);
    if (!text) throw engine::Error(engine::ErrorKind::kNotFound, engine::messages::no_such_text(path));
    return std::move(*text);
}

int run_perplexity(const PerplexityOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) request.context = options.window;
    request.learn_placement = false;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kWanted, progress_on_terminal(), {});
    const std::vector<engine::TokenId> tokens = engine::tokens_of_text(model, text, options.special);
    std::vector<std::uint8_t> counts;
    if (!options.answers_after.empty()) counts = engine::answers_of(model, tokens, options.answers_after);
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto progress = [&](std::int64_t done, std::int64_t all) {
        if (terminal) std::cerr << "\r\x1b[KScoring: " << done << " of " << all << " tokens" << std::flush;
    };
    const engine::Perplexity result =
        engine::measure_perplexity(model, tokens, counts, {options.window, options.stride}, progress, {});
    if (terminal) std::cerr << "\r\x1b[K" << std::flush;
    print_notes(model.summary());
    if (options.model.json) {
        print_json({{"model", model.summary().name},
                    {"text", options.text},
                    {"answers_after", options.answers_after},
                    {"window", options.window},
                    {"stride", options.stride},
                    {"n_tokens", result.n_tokens},
                    {"negative_log_likelihood", result.negative_log_likelihood},
                    {"perplexity", result.value()},
                    {"weight_type", model.summary().weight_type},
                    {"weight_bytes", model.summary().weight_bytes},
                    {"kv_type", model.summary().kv_type},
                    {"theta", model.summary().theta},
                    {"theta_loss", model.summary().theta_loss},
                    {"neuron_guesses", model.summary().accepts_guesses ? "accept" : "correct"},
                    {"compute", model.summary().compute},
                    {"seconds", result.seconds}});
        return 0;
    }
    std::cout << model.summary().name << ": perplexity " << engine::print("%.4f", result.value()) << " over "
              << result.n_tokens << " tokens (windows of " << options.window << ", stride " << options.stride << ")"
              << theta_label(model.summary()) << std::endl;
    return 0;
}

}  // namespace offstage::cli
