#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <unistd.h>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/text_command.h"
#include "engine/error.h"
#include "engine/eval/expert_profile.h"
#include "engine/eval/loaded_step_model.h"
#include "engine/eval/text_sequences.h"

namespace offstage::cli {
namespace {

struct ProfileOptions : TextOptions {
    std::string out;
};

std::string read_profile_text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (file.bad() || !file.is_open()) {
        throw engine::Error(engine::ErrorKind::kNotFound, engine::messages::text_cannot_be_read(path));
    }
    return text;
}

void declare_profile(CLI::App& command, ProfileOptions& options) {
    add_text_option(command, options);
    command.add_option("--out", options.out, "The profile to write (JSON)")->required();
    add_text_run_options(command, options.model);
    add_json_option(command, options.model.json);
}

int run_profile(const ProfileOptions& options) {
    const std::string text = read_profile_text(options.text);
    engine::LoadedModel model(text_request(options.model), engine::LoadedModel::Text::kWanted, progress_on_terminal(),
                              {});
    print_notes(model.summary());
    const bool terminal = isatty(STDERR_FILENO) != 0;
    std::int64_t told = -1;
    const auto progress = [&](std::int64_t done, std::int64_t all) {
        const std::int64_t percent = 100 * done / std::max<std::int64_t>(1, all);
        const std::int64_t step = terminal ? percent : percent / 10;
        if (step == told) return;
        told = step;
        std::cerr << (terminal ? "\r\x1b[K" : "") << "Counting: " << done << " tokens, " << percent << " %"
                  << (terminal ? "" : "\n") << std::flush;
    };
    engine::LoadedStepModel steps(model);
    const engine::ExpertGrid& grid = model.spec().experts;
    engine::Popularity counted =
        engine::has_conversations(options.text)
            ? engine::count_experts(steps, grid, engine::conversation_sequences(model, text, options.text), progress,
                                    {})
            : engine::count_experts(steps, grid, *model.tokenizer(), text, progress, {});
    if (terminal) std::cerr << "\r\x1b[K" << std::flush;
    counted.source = std::filesystem::path(options.text).filename().string();
    engine::write_popularity(counted, model.name(), options.out);
    if (options.model.json) {
        print_json({{"model", model.name()}, {"n_tokens", counted.n_tokens}, {"out", options.out}});
        return 0;
    }
    double least = 1, most = 0;
    for (std::int64_t layer = 0; layer < counted.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < counted.n_experts; ++expert) {
            least = std::min(least, counted.share(layer, expert));
            most = std::max(most, counted.share(layer, expert));
        }
    }
    std::cout << model.name() << ": " << counted.n_tokens << " tokens counted; a token chooses the rarest expert with "
              << 100 * least << " %, the most popular with " << 100 * most << " %. Written to " << options.out
              << std::endl;
    return 0;
}

}  // namespace

void add_profile(Commands& commands) {
    commands.add("profile", "Count which experts a text is routed to, for placement", declare_profile, run_profile);
}

}  // namespace offstage::cli
