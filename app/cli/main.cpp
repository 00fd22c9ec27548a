// offstage-cli: the engine from a terminal. Exit status: 0 done, 1 failed (one line on stderr), 2 wrong usage.

#include <CLI/CLI.hpp>
#include <iostream>
#include <new>
#include <string>

#include "app/cli/commands.h"
#include "engine/error.h"

namespace {

using offstage::cli::BenchOptions;
using offstage::cli::GenerateOptions;
using offstage::cli::LogitsOptions;
using offstage::cli::ModelOptions;

constexpr const char* kModelHelp =
    "Folder with config.json and *.safetensors, or synthetic:NAME?layers=N&seed=S "
    "(mixtral-8x7b, mixtral-mini, fine)";

void add_compute_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--compute", options.compute, "How batched products are formed: f32, bf16, or auto (the faster)")
        ->check(CLI::IsMember({"f32", "bf16", "auto"}))
        ->capture_default_str();
    command.add_option("--threads", options.n_threads, "Compute threads; 0: one per core")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
}

void add_json_option(CLI::App& command, ModelOptions& options) {
    command.add_flag("--json", options.json, "Print one JSON object on stdout and nothing else there");
}

void add_model_option(CLI::App& command, ModelOptions& options) {
    command.add_option("--model", options.model, kModelHelp)->required();
}

void add_sampler_options(CLI::App& command, GenerateOptions& options) {
    auto& s = options.sampler;
    command.add_option("--max-tokens", options.max_tokens, "Tokens at most; 0: until the answer or the context ends")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command.add_option("--temperature", s.temperature, "0: always the most likely token")->capture_default_str();
    command.add_option("--top-k", s.top_k, "Only the K most likely tokens; 0: off")->capture_default_str();
    command.add_option("--top-p", s.top_p, "Only the most likely tokens that make up P; 1: off")->capture_default_str();
    command.add_option("--min-p", s.min_p, "Only tokens at least P times as likely as the best; 0: off")
        ->capture_default_str();
    command.add_option("--repeat-penalty", s.repeat_penalty, "Above 1 makes recent tokens less likely; 1: off")
        ->capture_default_str();
    command.add_option("--seed", s.seed, "Same seed, same answer; 0: a new one each time")->capture_default_str();
    command.add_option("--system", options.system, "System message");
    command.add_option("--context", options.model.context, "Tokens of context; 0: the model's own, at most 32768")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
}

int run(int argc, char** argv) {
    CLI::App app(
        "Offstage on the command line: Mixture-of-Experts models, run and measured.\n"
        "Exit status: 0 done, 1 failed (one line on stderr), 2 wrong usage.");
    app.name("offstage-cli");
    app.set_version_flag("--version", std::string("offstage-cli ") + OFFSTAGE_VERSION);
    app.require_subcommand(1);
    int status = 0;

    ModelOptions info;
    CLI::App* command = app.add_subcommand("info", "What a model is: shapes, sizes, files checked");
    command->add_option("MODEL", info.model, kModelHelp)->required();
    add_json_option(*command, info);
    command->callback([&] { status = offstage::cli::run_info(info); });

    GenerateOptions generate;
    command = app.add_subcommand("generate", "Answer one prompt");
    add_model_option(*command, generate.model);
    command->add_option("--prompt", generate.prompt, "What to answer")->required();
    command->add_flag("--raw", generate.raw, "Continue the prompt as it is, without the chat template");
    add_sampler_options(*command, generate);
    add_compute_options(*command, generate.model);
    add_json_option(*command, generate.model);
    command->callback([&] { status = offstage::cli::run_generate(generate); });

    GenerateOptions chat;
    command = app.add_subcommand("chat", "Talk in the terminal: a line is a message, Ctrl+C stops an answer");
    add_model_option(*command, chat.model);
    command->add_option("--prompt", chat.prompt, "First message");
    add_sampler_options(*command, chat);
    add_compute_options(*command, chat.model);
    command->callback([&] { status = offstage::cli::run_chat(chat); });

    LogitsOptions logits;
    command = app.add_subcommand("logits", "The model's raw output for given tokens (needs no tokenizer)");
    add_model_option(*command, logits.model);
    command->add_option("--tokens", logits.tokens, "Token ids, separated by commas")->required();
    command->add_flag("--all", logits.all, "After every token, not only after the last");
    add_compute_options(*command, logits.model);
    add_json_option(*command, logits.model);
    command->callback([&] { status = offstage::cli::run_logits(logits); });

    BenchOptions bench;
    command =
        app.add_subcommand("bench", "Speed of prefill and decode beside what the machine can do (needs no tokenizer)");
    add_model_option(*command, bench.model);
    command->add_option("--prompt", bench.prompt, "Tokens of the prompt")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--decode", bench.decode, "Tokens decoded after it")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--repeat", bench.repeats, "Repeats; medians are shown")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    add_compute_options(*command, bench.model);
    add_json_option(*command, bench.model);
    command->callback([&] { status = offstage::cli::run_bench(bench); });

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    return status;
}

int fail(const std::string& sentence) {
    std::cerr << "offstage-cli: " << sentence << std::endl;
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const offstage::engine::Error& error) {
        return fail(error.what());
    } catch (const std::bad_alloc&) {
        return fail("There is not enough memory for this; close other programs or choose a smaller model.");
    } catch (const std::exception& error) {
        return fail(std::string("Something went wrong inside Offstage: ") + error.what());
    }
}
