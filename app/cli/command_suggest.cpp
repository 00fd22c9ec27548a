#include <algorithm>
#include <cstdio>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "engine/files/text_file.h"
#include "engine/model/model_finder.h"
#include "engine/report_table.h"
#include "engine/run/run_messages.h"
#include "engine/run/suggestions.h"

namespace offstage::cli {
namespace {

struct SuggestOptions : engine::SuggestionRequest {
    ModelOptions model;
    bool known_costs = false;
    bool all = false;
    bool markdown = false;
    int first = 0;  // models of the list; 0: all
};

std::string billions(std::int64_t weights) {
    const double n = static_cast<double>(weights) / 1e9;
    char text[32];
    std::snprintf(text, sizeof text, n < 100 ? "%.1f" : "%.0f", n);
    return text;
}

// "116.8 at 4k": the model's own context.
std::string at_context(double value, std::int64_t context) {
    char text[48];
    std::snprintf(text, sizeof text, "%.1f at %lldk", value, static_cast<long long>(context / 1024));
    return text;
}

engine::Table table_of(const std::vector<engine::Suggestion>& suggestions, const SuggestOptions& options) {
    engine::Table table(
        {{"model", -1}, {"for", -1}, {"weights", -1}, {"file", -1}, {"bits", -1, 2}, {"size", -1}, {"room in", -1}});
    for (const std::int64_t context : options.contexts) {
        const std::string at = std::to_string(context / 1024) + "k ";
        table.add_column({at + "tokens/s", -1, 1});
        table.add_column({at + "first token s", -1, 1});
    }
    for (const engine::Suggestion& one : suggestions) {
        if (!options.all && one.place == engine::SuggestedPlace::kNowhere) continue;
        auto& row = table.add({one.model.name + (one.here.empty() ? "" : " (on this computer)"), one.model.good_for,
                               billions(one.total_weights) + "B, " + billions(one.active_weights) + "B active",
                               engine::file_type_name(one.type), one.bits, engine::format_bytes(one.file_bytes),
                               engine::place_text(one)});
        for (std::size_t i = 0; i < one.contexts.size(); ++i) {
            const auto& at = one.contexts[i];
            const bool is_shorter = at.context != options.contexts[i];
            const bool shown = at.forecast && (i == 0 || !is_shorter);  // a shorter one stands there already
            for (const double value : {shown ? at.forecast->decode_tokens_per_s : 0, shown ? at.forecast->ttft_s : 0}) {
                row.push_back(!shown       ? engine::Cell()
                              : is_shorter ? at_context(value, at.context)
                                           : engine::Cell(value));
            }
        }
    }
    return table;
}

nlohmann::ordered_json to_json(const engine::Suggestion& one) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, one.model, name, repository, licence, good_for, context);
    json["gguf"] = one.model.gguf.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(one.model.gguf);
    ADD_FIELDS(json, one, type, bits, file_bytes, total_weights, active_weights);
    json["here"] =
        one.here.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(engine::shown_path(one.here));
    json["room_in"] = one.place == engine::SuggestedPlace::kNowhere ? "" : engine::place_text(one);
    for (const auto& at : one.contexts) {
        nlohmann::ordered_json row;
        ADD_FIELDS(row, at, context, fits, short_by);
        row["decode_tokens_per_s"] = row["ttft_s"] = nullptr;
        if (at.forecast) ADD_FIELDS(row, (*at.forecast), decode_tokens_per_s, ttft_s, prompt_tokens, hit_rate);
        json["contexts"].push_back(row);
    }
    return json;
}

void declare_suggest(CLI::App& command, SuggestOptions& options) {
    add_device_options(command, options.model);
    add_compute_options(command, options.model);
    command.add_option("--contexts", options.contexts, "Tokens of context, one or several")
        ->delimiter(',')
        ->check(CLI::Range(std::int64_t{1024}, std::int64_t{1} << 20));
    command.add_option("--for", options.good_for, "Models that are good for this")
        ->check(CLI::IsMember({"chat", "code", "reasoning"}));
    command.add_option("--name", options.name, "Models with this in their name, \"qwen3 30b\"");
    command.add_option("--type", options.type, "All in files of this type, \"q8_0\", instead of the one that suits");
    command.add_flag("--known-costs", options.known_costs, "Measure nothing: speeds only where costs are known");
    command.add_flag("--all", options.all, "Those that have no room, too");
    command.add_option("--first", options.first, "So many of the list alone")->check(CLI::Range(1, 1000));
    command.add_flag("--markdown", options.markdown, "A table in Markdown");
    add_json_option(command, options.model.json);
}

int run_suggest(const SuggestOptions& options) {
    engine::SuggestionRequest request = options;
    request.load = load_request(options.model);
    request.measure = !options.known_costs;
    const engine::FoundModels found = engine::find_models(engine::model_places());
    const engine::LoadProgressFn progress = progress_on_terminal();
    const auto show = [&](const engine::Suggestion& one, double share) {
        progress({engine::messages::looking_at_model(one.model.name), static_cast<std::uint64_t>(share * 1000), 1000,
                  false});
    };
    return run_until_interrupt([&](const std::stop_token& stop) {
        std::vector<engine::Suggestion> all = engine::suggest_models(request, found.models, show, stop);
        const auto n = options.all ? 0 : std::count_if(all.begin(), all.end(), [](const engine::Suggestion& one) {
            return one.place == engine::SuggestedPlace::kNowhere;
        });
        if (options.first > 0) all.resize(std::min(all.size(), static_cast<std::size_t>(options.first)));
        if (options.model.json) {
            auto list = nlohmann::ordered_json::array();
            for (const engine::Suggestion& one : all) list.push_back(to_json(one));
            print_json({{"suggestions", list}});
            return 0;
        }
        if (all.empty()) {
            std::cout << "No model of the catalogue is of this kind\n";
            return 0;
        }
        const engine::Table table = table_of(all, options);
        std::cout << (options.markdown ? table.markdown() : table.text());
        if (n > 0 && !options.markdown) std::cout << n << " more have no room (--all lists them)\n";
        std::cout << std::flush;
        return 0;
    });
}

}  // namespace

void add_suggest(Commands& commands) {
    commands.add("suggest", "Models of today that run on this computer, how fast, and in which bits", declare_suggest,
                 run_suggest);
}

}  // namespace offstage::cli
