#include <iostream>
#include <unistd.h>

#include "app/cli/commands.h"
#include "app/cli/perplexity_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/read_option.h"
#include "engine/eval/perplexity.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::cli {
namespace {

void declare_perplexity(CLI::App& command, PerplexityOptions& options) {
    add_perplexity_options(command, options)->required();
    add_quant_option(command, options.model);
    add_theta_option(command, options.model);
}

int run_perplexity(const PerplexityOptions& options) {
    const std::string text = read_long_text(options.text);
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) request.context = options.window;
    request.learn_placement = false;
    request.text_needs = engine::TextNeeds::kTokenizer;
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
        nlohmann::ordered_json json = {{"model", model.summary().name}};
        ADD_FIELDS(json, options, text, answers_after, window, stride);
        ADD_FIELDS(json, result, n_tokens, negative_log_likelihood);
        json["perplexity"] = result.value();
        ADD_FIELDS(json, model.summary(), weight_type, weight_bytes, kv_type, theta, theta_loss);
        json["neuron_guesses"] = model.summary().accepts_guesses ? "accept" : "correct";
        json["compute"] = model.summary().compute;
        json["seconds"] = result.seconds;
        print_json(json);
        return 0;
    }
    std::cout << model.summary().name << ": perplexity " << engine::print("%.4f", result.value()) << " over "
              << result.n_tokens << " tokens (windows of " << options.window << ", stride " << options.stride << ")"
              << theta_label(model.summary()) << std::endl;
    return 0;
}

}  // namespace

CLI::Option* add_perplexity_options(CLI::App& command, PerplexityOptions& options) {
    add_model_option(command, options.model.model);
    CLI::Option* const text = command.add_option("--text", options.text, "UTF-8 text");
    command.add_flag("--special", options.special,
                     "Special tokens written out in the text (<s>, <|user|> ...) count as tokens, as in a chat");
    command
        .add_option("--answers-after", options.answers_after,
                    "Only answers count: what follows this special token (<|assistant|>), up to the end of text; for "
                    "models that were taught answers alone. Goes with --special")
        ->needs("--special");
    add_checked(command, "--window", options.window, CLI::PositiveNumber, "Tokens the model sees at once");
    add_checked(command, "--stride", options.stride, CLI::PositiveNumber,
                "Tokens from one window to the next: each is scored with at least WINDOW - STRIDE before it");
    add_device_options(command, options.model);
    add_compute_options(command, options.model);
    add_json_option(command, options.model.json);
    return text;
}

void add_perplexity(Commands& commands) {
    commands.add("perplexity", "How well the model foretells a text: e^(mean of -ln p), sliding window",
                 declare_perplexity, run_perplexity);
}

}  // namespace offstage::cli
