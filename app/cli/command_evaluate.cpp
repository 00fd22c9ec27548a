#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>

#include "app/cli/choice_task_files.h"
#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/evaluation_line.h"
#include "app/cli/interrupt.h"
#include "app/cli/model_options.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/read_option.h"
#include "engine/error.h"
#include "engine/eval/choice_evaluation.h"
#include "engine/eval/chunk_perplexity.h"
#include "engine/eval/kl_divergence.h"
#include "engine/eval/logit_file.h"
#include "engine/eval/perplexity.h"
#include "engine/files/mapped_file.h"
#include "engine/files/text_file.h"
#include "engine/print.h"
#include "engine/report_table.h"
#include "engine/run/model_shape.h"

namespace offstage::cli {
namespace {

struct EvaluateOptions : ChoiceOptions {
    ModelOptions model;
    bool results = false;  // each task's in the JSON
    bool special = false;
    std::int64_t window = 512;  // perplexity: tokens of a chunk or a window
    std::int64_t stride = 256;
    std::string kl_base;        // file to compare with
    std::string kl_base_write;  // file to write
};

constexpr const char* kPerplexity = "perplexity";
constexpr const char* kStridedPerplexity = "perplexity-strided";
constexpr const char* kKlDivergence = "kl-divergence";

// ---- files

const std::string& only_file(const EvaluateOptions& options) {
    if (options.data.size() == 1) return options.data.front();
    throw engine::Error(engine::ErrorKind::kInvalidInput,
                        engine::messages::task_takes_one_file(options.task, options.data.size()));
}

// ---- results

nlohmann::ordered_json with_model(nlohmann::ordered_json json, const engine::ModelSummary& model,
                                  const EvaluateOptions& options) {
    json["model"] = model.name;
    json["data"] = options.data;
    ADD_FIELDS(json, model, weight_type, weight_bytes);
    json["quant"] = options.model.quant_text;
    ADD_FIELDS(json, model, kv_type, theta, theta_loss);
    json["neuron_guesses"] = model.accepts_guesses ? "accept" : "correct";
    ADD_FIELDS(json, model, compute, device, context);
    return json;
}

// Prints the result; the exit status.
int report_result(const engine::ModelSummary& model, const EvaluateOptions& options, nlohmann::ordered_json json,
                  const std::string& text, bool partial) {
    print_notes(model);
    if (options.model.json) {
        print_json(with_model(std::move(json), model, options));
    } else {
        std::cout << model.name << ", " << model.weight_type << ", products " << model.compute << ", context "
                  << model.kv_type << theta_label(model) << "\n"
                  << text << std::flush;
    }
    if (!partial) return 0;
    std::cerr << "Stopped by Ctrl+C: the result is partial, of what was done until then." << std::endl;
    return kStoppedStatus;
}

engine::LoadRequest evaluation_request(const EvaluateOptions& options, std::int64_t context) {
    engine::LoadRequest request = load_request(options.model);
    if (request.context == 0) {
        request.context = std::min(context, engine::read_model_shape(options.model.model).spec.max_context);
    }
    request.learn_placement = false;
    request.text_needs = engine::TextNeeds::kTokenizer;
    return request;
}

int run_choices(engine::ChoiceFormat format, const EvaluateOptions& options, const std::stop_token& stop) {
    const std::vector<engine::ChoiceTask> tasks = read_choice_tasks(format, options);
    engine::LoadedModel model(evaluation_request(options, kChoiceContext), engine::LoadedModel::Text::kWanted,
                              progress_on_terminal(), stop);
    EvaluationLine line;
    const engine::ChoiceReport report =
        engine::evaluate_choices(model, format, tasks, {options.limit, options.special}, line.callback(), stop);
    line.finish();
    nlohmann::ordered_json json = to_json(report, tasks, options.results);
    if (format == engine::ChoiceFormat::kMmlu) json["n_shots"] = options.shots.empty() ? 0 : options.n_shots;
    return report_result(model.summary(), options, std::move(json), to_text(report), report.partial);
}

int run_chunks(const EvaluateOptions& options, const std::stop_token& stop) {
    const std::string text = read_long_text(only_file(options));
    engine::LoadedModel model(evaluation_request(options, options.window), engine::LoadedModel::Text::kWanted,
                              progress_on_terminal(), stop);
    const std::vector<engine::TokenId> tokens =
        engine::chunk_tokens(model, text, options.window, options.limit, options.special);
    std::optional<engine::LogitFileWriter> base;
    std::function<void(std::span<const float>)> rows;
    if (!options.kl_base_write.empty()) {
        base.emplace(options.kl_base_write, engine::LogitFileHeader{options.window, model.spec().vocab_size, tokens});
        rows = [&](std::span<const float> logits) { base->add(logits); };
    }
    EvaluationLine line;
    const engine::ChunkPerplexity result =
        engine::measure_chunk_perplexity(model, tokens, options.window, rows, line.callback(), stop);
    line.finish();
    nlohmann::ordered_json json = to_json(result);
    if (base) {
        if (result.partial) {
            std::cerr << "note: " << options.kl_base_write
                      << " was not written: a base must hold all its chunks; --limit makes a shorter one" << std::endl;
        } else {
            base->commit();
        }
        json["kl_base_written"] = result.partial ? "" : options.kl_base_write;
    }
    return report_result(model.summary(), options, std::move(json), to_text(result), result.partial);
}

int run_strided(const EvaluateOptions& options, const std::stop_token& stop) {
    const std::string text = read_long_text(only_file(options));
    engine::LoadedModel model(evaluation_request(options, options.window), engine::LoadedModel::Text::kWanted,
                              progress_on_terminal(), stop);
    std::vector<engine::TokenId> tokens = engine::tokens_of_text(model, text, options.special);
    if (options.limit > 0) tokens.resize(std::min(tokens.size(), static_cast<std::size_t>(options.limit)));
    const auto n_all = static_cast<std::int64_t>(tokens.size());
    EvaluationLine line;
    const engine::EvaluationProgressFn show = line.callback();
    const auto start = std::chrono::steady_clock::now();
    std::int64_t n_done = 0;
    bool partial = false;
    const engine::Perplexity sums = engine::measure_perplexity(
        model, tokens, {}, {options.window, options.stride},
        [&](std::int64_t done, std::int64_t all) {
            n_done = done;
            const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
            show({"Token", done, all, {}, seconds});
        },
        stop, &partial);
    line.finish();
    constexpr const char* kRule =
        "transformers: sliding windows, of which the overlap with the one before is context only";
    nlohmann::ordered_json json = {
        {"task", kStridedPerplexity}, {"rule", kRule},
        {"window", options.window},   {"stride", options.stride},
        {"n_tasks", n_all},           {"n_done", n_done},
        {"partial", partial},         {"perplexity", sums.value()},
        {"n_tokens", sums.n_tokens},  {"negative_log_likelihood", sums.negative_log_likelihood},
        {"seconds", sums.seconds}};
    const std::string words =
        std::string(kStridedPerplexity) + ": " + std::to_string(n_done) + " of " + std::to_string(n_all) + " tokens" +
        (partial ? ", stopped: partial" : "") + "\n" +
        engine::print("  PPL = %.4f over %lld tokens\n", sums.value(), static_cast<long long>(sums.n_tokens)) +
        "Rule: " + kRule + "; windows of " + std::to_string(options.window) + ", stride " +
        std::to_string(options.stride) + ".\n";
    return report_result(model.summary(), options, std::move(json), words, partial);
}

int run_kl(const EvaluateOptions& options, const std::stop_token& stop) {
    if (options.kl_base.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::kl_base_missing);
    }
    const engine::MappedFile file{std::filesystem::path(options.kl_base)};
    const std::uint64_t n_lost = file.n_lost();
    file.require_readable(file.bytes());
    const engine::LogitFile base(file.bytes(), options.kl_base);
    engine::LoadRequest request = evaluation_request(options, base.header().n_context);
    request.text_needs = engine::TextNeeds::kNothing;  // the base has tokens
    engine::LoadedModel model(request, engine::LoadedModel::Text::kWanted, progress_on_terminal(), stop);
    EvaluationLine line;
    const engine::KlDivergence result =
        engine::measure_kl_divergence(model, base, options.limit, line.callback(), stop);
    line.finish();
    file.require_nothing_lost(n_lost);
    nlohmann::ordered_json json = to_json(result);
    json["kl_base"] = options.kl_base;
    return report_result(model.summary(), options, std::move(json), to_text(result), result.partial);
}

int run_task(const EvaluateOptions& options, const std::stop_token& stop) {
    if (options.task == kKlDivergence) return run_kl(options, stop);
    if (options.data.empty()) {
        throw engine::Error(engine::ErrorKind::kInvalidInput, engine::messages::task_needs_data(options.task));
    }
    if (options.task == kPerplexity) return run_chunks(options, stop);
    if (options.task == kStridedPerplexity) return run_strided(options, stop);
    return run_choices(choice_format_of(options.task), options, stop);
}

std::vector<std::string> evaluation_tasks() {
    std::vector<std::string> names = choice_tasks();
    for (const char* name : {kPerplexity, kStridedPerplexity, kKlDivergence}) names.emplace_back(name);
    return names;
}

void declare_evaluate(CLI::App& command, EvaluateOptions& options) {
    add_model_option(command, options.model.model);
    command
        .add_option("--task", options.task,
                    "What is measured. Multiple choice, by the log-likelihood of the choices: mmlu, piqa, winogrande, "
                    "hellaswag and arc as lm-eval scores them; llama-hellaswag, llama-winogrande and llama-choices as "
                    "llama.cpp does. perplexity: as llama.cpp, in chunks; perplexity-strided: as transformers, in "
                    "sliding windows; kl-divergence: from a --kl-base, as llama.cpp")
        ->check(CLI::IsMember(evaluation_tasks()))
        ->required();
    command.add_option("--data", options.data,
                       "The file; of mmlu also several, or a folder. " + choice_file_help() + "perplexity: UTF-8 text");
    add_choice_file_options(command, options);
    add_checked(command, "--limit", options.limit, CLI::NonNegativeNumber,
                "Tasks, chunks or (perplexity-strided) tokens at most; 0: all. Which tasks, is as the rule's "
                "origin takes them: lm-eval the first, llama.cpp random ones");
    command.add_flag("--results", options.results, "With --json: each task's log-likelihoods too, under \"results\"");
    command.add_flag("--special", options.special,
                     "Special tokens written out in the texts (<s>, <|user|> ...) count as tokens");
    add_checked(command, "--window", options.window, CLI::Range(std::int64_t{4}, std::int64_t{1} << 24),
                "perplexity: tokens of a chunk or window");
    add_checked(command, "--stride", options.stride, CLI::PositiveNumber,
                "perplexity-strided: tokens from one window to the next");
    command.add_option("--kl-base", options.kl_base,
                       "kl-divergence: the logits of the model to compare with, in llama.cpp's format");
    command.add_option("--kl-base-write", options.kl_base_write,
                       "perplexity: write the logits to this file, for --kl-base here or --kl-divergence-base there");
    add_context_option(command, options.model, "Tokens of context; 0: as many as the task takes, at most 4096");
    add_device_options(command, options.model);
    add_quant_option(command, options.model);
    add_theta_option(command, options.model);
    add_compute_options(command, options.model);
    add_json_option(command, options.model.json);
}

int run_evaluate(const EvaluateOptions& options) {
    return run_until_interrupt([&](const std::stop_token& stop) { return run_task(options, stop); });
}

}  // namespace

void add_evaluate(Commands& commands) {
    commands.add(
        "evaluate",
        "Accuracy, perplexity and KL divergence as the field measures them; every figure names its rule. Ctrl+C keeps "
        "what is done",
        declare_evaluate, run_evaluate);
}

}  // namespace offstage::cli
