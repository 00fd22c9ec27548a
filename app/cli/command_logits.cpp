#include <charconv>
#include <iomanip>
#include <iostream>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "engine/error.h"
#include "engine/eval/logits.h"

namespace offstage::cli {
namespace {

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

}  // namespace

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

}  // namespace offstage::cli
