#include <algorithm>
#include <iostream>
#include <optional>

#include "app/cli/commands.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/model/model_finder.h"
#include "engine/report_table.h"
#include "engine/run/fit_estimate.h"

namespace offstage::cli {
namespace {

struct FinderOptions {
    std::vector<std::string> folders;  // besides the caches
    bool json = false;
};

struct ListedModel {
    engine::FoundModel found;
    // For a load on the CPU with the default options; nothing if the model cannot be
    // opened. It has a forecast once costs of such experts were measured on this
    // computer.
    std::optional<engine::FitEstimate> fit;
};

// The whole tokenizer is read too: what a load for text would refuse, the list says.
ListedModel look_at(engine::FoundModel found) {
    ListedModel listed{std::move(found), std::nullopt};
    if (!listed.found.supported()) return listed;
    engine::LoadRequest request;
    request.model = listed.found.path.string();
    std::optional<engine::FitEstimator> estimator;
    try {
        estimator.emplace(request.model);
    } catch (const engine::Error& error) {
        listed.found.problem = error.message();
        return listed;
    }
    try {
        listed.fit = estimator->estimate(request);
    } catch (const engine::Error&) {  // about memory: a load reports it
    }
    return listed;
}

// For a column of the table: the beginning and the end, which tells files of one model
// apart. The line below the table has all of it.
std::string cut(const std::string& name) {
    constexpr std::size_t kMost = 64, kEnd = 24;  // bytes
    if (name.size() <= kMost) return name;
    const auto is_inside_character = [&](std::size_t at) { return (name[at] & 0xC0) == 0x80; };
    std::size_t begin = kMost - kEnd - 3, end = name.size() - kEnd;
    while (is_inside_character(begin)) --begin;
    while (is_inside_character(end)) --end;
    return name.substr(0, begin) + "..." + name.substr(end);
}

std::vector<engine::Cell> row_of(const ListedModel& listed) {
    const auto& [model, fit] = listed;
    const auto shown = [](bool known, engine::Cell cell) { return known ? std::move(cell) : engine::Cell(""); };
    return {cut(model.name),
            std::string(name_of(model.origin)),
            cut(model.family),
            shown(model.bytes > 0, engine::format_bytes(model.bytes)),
            shown(model.bits > 0, model.bits),
            shown(model.n_experts > 0, std::to_string(model.n_experts) + " x " + std::to_string(model.n_layers)),
            shown(fit.has_value(), !fit || !fit->fits        ? "no"
                                   : model.has_chat_template ? "yes"
                                                             : "yes, but needs a chat template"),
            fit && fit->forecast ? engine::Cell(fit->forecast->decode_tokens_per_s) : engine::Cell("")};
}

nlohmann::ordered_json to_json(const ListedModel& listed) {
    const auto& [model, fit] = listed;
    nlohmann::ordered_json json = {{"name", model.name},
                                   {"path", engine::shown_path(model.path)},
                                   {"from", name_of(model.origin)},
                                   {"publisher", model.publisher},
                                   {"family", model.family},
                                   {"bytes", nullptr},
                                   {"bits_per_weight", nullptr},
                                   {"n_experts", model.n_experts},
                                   {"n_moe_layers", model.n_layers},
                                   {"chat_template", model.has_chat_template},
                                   {"supported", model.supported()},
                                   {"problem", nullptr},
                                   {"fits", nullptr},
                                   {"decode_tokens_per_s", nullptr}};
    if (fit) {
        json["fits"] = fit->fits;
        if (fit->forecast) json["decode_tokens_per_s"] = fit->forecast->decode_tokens_per_s;
    }
    if (model.bytes > 0) json["bytes"] = model.bytes;
    if (model.bits > 0) json["bits_per_weight"] = model.bits;
    if (!model.supported()) json["problem"] = model.problem.english();
    return json;
}

void declare_models(CLI::App& command, FinderOptions& options) {
    command.add_option("--folder", options.folders, "Look here too; may be given more than once");
    add_json_option(command, options.json);
}

int run_models(const FinderOptions& options) {
    std::vector<engine::ModelPlace> places = engine::model_places();
    for (const std::string& folder : options.folders) places.push_back({engine::ModelOrigin::kFolder, folder});
    engine::FoundModels found = engine::find_models(places);
    std::vector<ListedModel> listed;
    for (engine::FoundModel& model : found.models) listed.push_back(look_at(std::move(model)));
    std::stable_sort(listed.begin(), listed.end(), [](const ListedModel& a, const ListedModel& b) {
        return a.found.supported() > b.found.supported();
    });
    if (options.json) {
        auto models = nlohmann::ordered_json::array();
        for (const ListedModel& model : listed) models.push_back(to_json(model));
        auto looked_in = nlohmann::ordered_json::array();
        for (const engine::ModelPlace& place : places) {
            looked_in.push_back({{"from", name_of(place.origin)}, {"folder", engine::shown_path(place.folder)}});
        }
        print_json({{"models", models},
                    {"other_models", found.n_others},
                    {"places", looked_in},
                    {"problems", engine::english(found.problems)},
                    {"complete", found.complete}});
        return 0;
    }
    engine::Table table({{"model", -1},
                         {"from", -1},
                         {"family", -1},
                         {"size", -1},
                         {"bits", -1, 2},
                         {"experts", -1},
                         {"fits", -1},
                         {"tokens/s", -1, 2}});
    for (const ListedModel& model : listed) table.add(row_of(model));
    if (!listed.empty()) std::cout << table.text() << "\n";
    for (const auto& [model, fit] : listed) {
        std::cout << model.name << ": "
                  << (model.supported() ? engine::shown_path(model.path) : model.problem.english())
                  << (model.supported() && !model.has_chat_template
                          ? " (no chat template that can be used: --chat-template)"
                          : "")
                  << "\n";
    }
    if (listed.empty()) {
        std::cout << "No Mixture-of-Experts models were found in\n";
        for (const engine::ModelPlace& place : places) {
            std::cout << "  " << name_of(place.origin) << ": " << engine::shown_path(place.folder) << "\n";
        }
    }
    if (found.n_others > 0) {
        std::cout << found.n_others << " more " << (found.n_others == 1 ? "is no" : "are no")
                  << " Mixture-of-Experts model" << (found.n_others == 1 ? "" : "s") << "\n";
    }
    std::cout << std::flush;
    for (const engine::Message& problem : found.problems) std::cerr << "note: " << problem.english() << "\n";
    if (!found.complete) {
        std::cerr << "note: the search ended after " << engine::kMostEntries << " files and folders\n";
    }
    return 0;
}

}  // namespace

void add_models(Commands& commands) {
    commands.add("models", "The models in the caches of Hugging Face, LM Studio, llama.cpp and Ollama on this computer",
                 declare_models, run_models);
}

}  // namespace offstage::cli
