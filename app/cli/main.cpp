// offstage-cli: the engine from a terminal. Exit status: 0 done, 1 failed (one line on
// stderr), 2 wrong usage; 130 after Ctrl+C in generate, evaluate, sensitivity and get,
// 141 if the output's reader has ended.

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <system_error>

#include "app/cli/commands.h"
#include "app/cli/options_page.h"
#include "app/cli/standard_output.h"
#include "app/process_setup.h"
#include "engine/error.h"
#include "engine/serve/api_fields.h"

namespace {

// CLI11's sentence, with the word that is unknown where only its consequence would be
// named, and without the largest double's 309 digits.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
    std::string text = CLI::FailureMessage::simple(app, error);
    const std::size_t range = text.find(" not in range ");
    if (range != std::string::npos && text.find(" to 1797693", range) != std::string::npos) {
        text.replace(range, text.find('\n', range) - range, " is too small");
    }
    if (error.get_name() == "RequiredError") {
        for (const std::string& word : app->remaining(true)) {
            if (word.starts_with('-')) return word + " is no option here.\n" + text;
        }
    }
    return text;
}

int run(int argc, char** argv) {
    using namespace offstage::cli;
    CLI::App app(
        "Offstage on the command line: Mixture-of-Experts models, run and measured.\n"
        "Exit status: 0 done, 1 failed (one line on stderr), 2 wrong usage, 130 stopped by Ctrl+C,\n"
        "141 nobody reads the output.");
    app.name("offstage-cli");
    app.set_version_flag("--version", std::string("offstage-cli ") + OFFSTAGE_VERSION);
    app.require_subcommand(1);
    int status = 0;

    Commands commands(app, status);
    for (const auto add :
         {add_info,        add_generate,        add_models,   add_suggest, add_get,         add_nodes,     add_chat,
          add_serve,       add_logits,          add_tokenize, add_bench,   add_profile,     add_calibrate, add_plan,
          add_perplexity,  add_quantize_report, add_evaluate, add_recall,  add_activations, add_predict,   add_ablation,
          add_sensitivity, add_cluster,         add_replay,   add_help}) {
        add(commands);
    }
    // Pages of the manual.
    const std::string_view only = argc == 2 ? argv[1] : "";
    if (only == "--options-page" || only == "--fields-page") {
        std::cout << (only == "--options-page" ? options_page(app) : offstage::engine::fields_page()) << std::flush;
        return 0;
    }
    if (const std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) {
        std::cerr << "offstage-cli: " << unknown << std::endl;
        return 2;
    }
    app.failure_message(failure_text);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return status;
}

constexpr int kPipeClosed = 141;  // the status that shells show for a program ended by SIGPIPE

// The exit status, and for 1 the sentence with the reason.
struct Outcome {
    int status = 1;
    std::string failure;
};

Outcome run_guarded(int argc, char** argv) {
    const offstage::cli::StandardOutput output;
    try {
        const int status = run(argc, argv);
        offstage::cli::StandardOutput::finish();
        return {status, {}};
    } catch (const offstage::cli::OutputFailed& failure) {
        if (failure.pipe_closed()) return {kPipeClosed, {}};
        return {1, failure.what()};
    } catch (const offstage::engine::Error& error) {
        return {1, error.what()};
    } catch (const std::bad_alloc&) {
        return {1, "There is not enough memory for this; close other programs or choose a smaller model."};
    } catch (const std::system_error& error) {
        return {1, std::string("The system refused what Offstage needs (a thread, a file): ") + error.what()};
    } catch (const std::exception& error) {
        return {1, std::string("Something went wrong inside Offstage: ") + error.what()};
    }
}

}  // namespace

int main(int argc, char** argv) {
    Outcome outcome;
    if (offstage::set_up_process()) {
        outcome = run_guarded(argc, argv);
    } else {
        outcome.failure = std::string("/dev/null cannot be opened: ") + std::strerror(errno);
    }
    if (!outcome.failure.empty()) std::cerr << "offstage-cli: " << outcome.failure << std::endl;
    return outcome.status;
}
