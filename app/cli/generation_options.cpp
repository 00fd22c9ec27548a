#include "app/cli/generation_options.h"

#include <algorithm>

#include "app/cli/text_input.h"
#include "app/read_option.h"

namespace offstage::cli {

void add_prompt_options(CLI::App& command, GenerateOptions& options, const char* help) {
    CLI::Option* const prompt =
        command.add_option("--prompt", options.prompt, std::string(help) + "; -: standard input");
    command
        .add_option("--prompt-file", options.prompt_file,
                    "The same from a UTF-8 text file of many lines, or from standard input: -")
        ->excludes(prompt);
}

void add_sampler_options(CLI::App& command, GenerateOptions& options) {
    auto& s = options.sampler;
    const std::size_t n_before = command.get_options().size();
    add_checked(command, "--max-tokens", options.max_tokens, CLI::NonNegativeNumber,
                "Tokens at most; 0: until the answer or the context ends");
    command.add_option("--temperature", s.temperature, "0: always the most likely token")->capture_default_str();
    command.add_option("--top-k", s.top_k, "Only the K most likely tokens; 0: off")->capture_default_str();
    command.add_option("--top-p", s.top_p, "Only the most likely tokens that make up P; 1: off")->capture_default_str();
    command.add_option("--min-p", s.min_p, "Only tokens at least P times as likely as the best; 0: off")
        ->capture_default_str();
    command.add_option("--repeat-penalty", s.repeat_penalty, "Above 1 makes recent tokens less likely; 1: off")
        ->capture_default_str();
    add_checked(command, "--repeat-window", s.repeat_window, CLI::NonNegativeNumber,
                "Tokens back that count as recent for --repeat-penalty, the prompt's included; 0: all");
    command
        .add_option("--seed", s.seed,
                    "Same seed, same answer: with the same build, model, prompt, sampling, --quant, --compute and "
                    "instruction set or GPU, whatever the threads, budgets and policy; 0: a new one each time")
        ->capture_default_str();
    // The options among these that were given, by SamplerSettings' fields:
    // "repeat_penalty".
    command.parse_complete_callback([&command, &options, n_before, n_after = command.get_options().size()] {
        const std::vector<CLI::Option*> all = command.get_options();
        for (std::size_t i = n_before; i < n_after; ++i) {
            std::string name = all[i]->get_single_name();
            std::replace(name.begin(), name.end(), '-', '_');
            if (all[i]->count() > 0) options.chosen.insert(name);
        }
    });
    command.add_option("--system", options.system, "System message; unless given, the one that comes with the model");
    command.add_option(
        "--thinking", options.thinking,
        "How the model thinks before it answers, where its chat template leaves the choice (off, on, low, "
        "medium, high; offstage-cli info says which). Unless given: as the template does by itself");
    command.add_flag("--hide-thinking", options.hide_thinking, "Show the answer alone, not what was thought before it");
    add_context_option(command, options.model, kModelContext);
    add_template_option(command, options.model.chat_template);
}

std::string prompt_of(const GenerateOptions& options) {
    const std::string file = options.prompt_file.value_or("");
    const std::string from = file.empty() ? options.prompt.value_or("") : file;
    if (file.empty() && from != "-") return from;
    std::string text = from == "-" ? read_standard_input() : read_long_text(from);
    for (const char end : {'\n', '\r'}) {
        if (text.ends_with(end)) text.pop_back();
    }
    return text;
}

void apply_defaults(const engine::ModelSummary& model, GenerateOptions& options) {
    const auto is_chosen = [&](std::string_view name) { return options.chosen.contains(name); };
    model.defaults.apply(options.sampler, is_chosen);
    if (!is_chosen("max_tokens") && model.defaults.max_tokens() > 0) options.max_tokens = model.defaults.max_tokens();
}

}  // namespace offstage::cli
