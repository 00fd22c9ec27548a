#include <charconv>
#include <iomanip>
#include <iostream>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "engine/error.h"
#include "engine/eval/logits.h"

namespace offstage::cli {
namespace {

struct LogitsOptions {
    ModelOptions model;
    std::string tokens;  // "1,2,3"
    bool all = false;
};

std::vector<engine::TokenId> parse_tokens(const std::string& list) {
    std::vector<engine::TokenId> tokens;
    for (const std::string_view item : split_list(list)) {
        engine::TokenId id = 0;
        const auto [end, status] = std::from_chars(item.data(), item.data() + item.size(), id);
        if (item.empty() || status != std::errc() || end != item.data() + item.size()) {
            throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::tokens_option_invalid(item));
        }
        tokens.push_back(id);
    }
    return tokens;
}

void declare_logits(CLI::App& command, LogitsOptions& options) {
    add_model_option(command, options.model.model);
    command.add_option("--tokens", options.tokens, "Token ids, separated by commas")->required();
    command.add_flag("--all", options.all, "After every token, not only after the last");
    add_run_options(command, options.model, false);
    add_json_option(command, options.model.json);
}

int run_logits(const LogitsOptions& options) {
    const std::vector<engine::TokenId> tokens = parse_tokens(options.tokens);
    engine::LoadRequest request = load_request(options.model);
    request.context = static_cast<std::int64_t>(tokens.size());
    request.learn_placement = false;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kNotNeeded, progress_on_terminal(), {});
    print_notes(model.summary());
    const std::vector<std::vector<float>> logits = engine::compute_logits(model, tokens, options.all);
    if (options.model.json) {
        print_json({{"theta", model.summary().theta}, {"theta_loss", model.summary().theta_loss}, {"logits", logits}});
        return 0;
    }
    std::cout << std::setprecision(9);
    for (const std::vector<float>& row : logits) {
        for (std::size_t i = 0; i < row.size(); ++i) std::cout << (i == 0 ? "" : " ") << row[i];
        std::cout << '\n';
    }
    return 0;
}

}  // namespace

void add_logits(Commands& commands) {
    commands.add("logits", "The model's raw output for given tokens (needs no tokenizer)", declare_logits, run_logits);
}

}  // namespace offstage::cli
