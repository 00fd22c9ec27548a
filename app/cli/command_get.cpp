#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "engine/error.h"
#include "engine/files/text_file.h"
#include "engine/hub/hub_download.h"
#include "engine/hub/hub_messages.h"
#include "engine/hub/hub_preview.h"
#include "engine/report_table.h"
#include "engine/run/fit_estimate.h"

namespace offstage::cli {
namespace {

struct GetOptions {
    std::string name;
    std::string revision;
    bool list = false;
    bool plan_only = false;
    bool anyway = false;
    ModelOptions model;
};

int list_models(const engine::HubRepository& repository, bool json) {
    auto list = nlohmann::ordered_json::array();
    engine::Table table({{"type", -1}, {"files", -1}, {"size", -1}});
    for (const engine::HubModel& model : engine::models_of(repository)) {
        const std::string type = model.type.empty() ? "safetensors" : model.type;
        table.add({type, std::to_string(model.files.size()), engine::format_bytes(model.bytes())});
        list.push_back({{"type", type}, {"files", model.files.size()}, {"bytes", model.bytes()}});
    }
    if (json) {
        print_json({{"repository", repository.name}, {"commit", repository.commit}, {"models", list}});
    } else {
        std::cout << table.text() << std::flush;
    }
    return 0;
}

// What a load with these options makes of exactly this file, by its headers alone.
engine::FitEstimate estimate_of(const engine::HubDownload& download, const GetOptions& options,
                                const std::stop_token& stop) {
    const engine::HubPreview preview(download, stop);
    engine::FitEstimator estimator(preview.model().string(), engine::FitEstimator::Text::kHeadersAlone);
    return estimator.measure(load_request(options.model), {}, progress_on_terminal(), stop);
}

// Throws Error where the model is of no use here, unless it is wanted all the same.
void show_plan(const engine::HubDownload& download, const GetOptions& options, const std::stop_token& stop) {
    try {
        const engine::FitEstimate fit = estimate_of(download, options, stop);
        if (!fit.fits) {
            throw engine::Error(
                engine::ErrorKind::kOutOfMemory,
                options.plan_only ? fit.problem : engine::messages::does_not_fit_get_anyway(fit.problem));
        }
        if (options.plan_only && options.model.json) return print_json(engine::to_json(fit));
        (options.plan_only ? std::cout : std::cerr) << engine::to_text(fit) << std::flush;
    } catch (const engine::Error& error) {
        if (!options.anyway || error.kind() == engine::ErrorKind::kCancelled) throw;
        std::cerr << "note: " << error.what() << std::endl;
    }
}

void declare_get(CLI::App& command, GetOptions& options) {
    command
        .add_option(
            "NAME", options.name,
            "OWNER/NAME of a repository, its address, or a model of `suggest`; :TYPE behind it names one of its "
            "GGUF files")
        ->required();
    command.add_option("--revision", options.revision, "Branch, tag or commit; main unless the address names one");
    command.add_flag("--list", options.list, "List the files that there are, and get none");
    command.add_flag("--plan", options.plan_only, "Read the headers, say what a load would give, and get nothing");
    command.add_flag("--anyway", options.anyway, "Also a model that does not fit or is not supported");
    add_device_options(command, options.model);
    add_json_option(command, options.model.json);
}

int run_get(const GetOptions& options) {
    const engine::HubRuntime runtime;
    const auto get = [&](const std::stop_token& stop) {
        const engine::HubName wanted = engine::parse_hub_name(options.name);
        engine::HubDownload download;
        download.access = engine::hub_access();
        download.cache = engine::hub_cache();
        engine::HubConnection connection(download.access);
        const std::string& revision = options.revision.empty() ? wanted.revision : options.revision;
        download.repository = engine::read_hub_repository(connection, wanted.repository, revision, stop);
        if (options.list) return list_models(download.repository, options.model.json);
        download.model = engine::choose_model(download.repository, wanted);
        std::cerr << download.repository.name << (download.model.type.empty() ? "" : ":") << download.model.type << ", "
                  << engine::format_bytes(download.model.bytes()) << " from " << connection.host() << " to "
                  << engine::shown_path(download.cache) << std::endl;
        show_plan(download, options, stop);
        if (options.plan_only) return 0;
        const engine::LoadProgressFn show = progress_on_terminal();
        download.progress = [&](const engine::HubProgress& now) {
            const engine::ByteSize speed{static_cast<std::uint64_t>(now.bytes_per_s)};
            show({now.checking ? engine::messages::checking_file(now.file)
                               : engine::messages::getting_file(now.file, speed),
                  now.bytes_done, now.bytes_total});
        };
        const std::string path = engine::shown_path(engine::get_model(download, stop));
        if (options.model.json) {
            print_json({{"path", path}, {"bytes", download.model.bytes()}, {"commit", download.repository.commit}});
        } else {
            std::cout << path << std::endl;
        }
        return 0;
    };
    return run_until_interrupt(get, "Stopped by Ctrl+C; the parts that have come stay, and the same command goes on.");
}

}  // namespace

void add_get(Commands& commands) {
    commands.add("get", "Get a model from the Hugging Face hub into its cache on this computer", declare_get, run_get);
}

}  // namespace offstage::cli
