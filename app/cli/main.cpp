// offstage-cli: the engine from a terminal. Exit status: 0 done, 1 failed (one line on
// stderr), 2 wrong usage; 130 after Ctrl+C in generate, evaluate and sensitivity, 141 if
// the output's reader has ended.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <new>
#include <string>
#include <system_error>

#include "app/cli/choice_task_files.h"
#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/near_names.h"
#include "app/cli/standard_output.h"
#include "app/process_setup.h"
#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/eval/activations.h"
#include "engine/eval/choice_task.h"
#include "engine/formats.h"
#include "engine/serve/access.h"
#include "engine/text/family_templates.h"

namespace {

using offstage::cli::AblationOptions;
using offstage::cli::ActivationOptions;
using offstage::cli::BenchOptions;
using offstage::cli::ChoiceOptions;
using offstage::cli::ClusterOptions;
using offstage::cli::EvaluateOptions;
using offstage::cli::FinderOptions;
using offstage::cli::GenerateOptions;
using offstage::cli::LogitsOptions;
using offstage::cli::ModelOptions;
using offstage::cli::NodesOptions;
using offstage::cli::PerplexityOptions;
using offstage::cli::PlanOptions;
using offstage::cli::PredictOptions;
using offstage::cli::ProfileOptions;
using offstage::cli::RecallOptions;
using offstage::cli::ReplayOptions;
using offstage::cli::SensitivityOptions;
using offstage::cli::ServeOptions;
using offstage::cli::TokenizeOptions;

constexpr const char* kModelHelp =
    "GGUF file, folder with config.json and *.safetensors, or synthetic:NAME?layers=N&seed=S "
    "(mixtral-8x7b, mixtral-mini, fine, qwen3-30b-a3b, deepseek-v2-lite, dbrx)";

void add_compute_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--compute", options.compute,
                    "How products are formed on the CPU: f32 throughout (exact is the same); bf16 for prompts, their "
                    "attention included; "
                    "int8: inputs in 8 bits for the "
                    "blocks of a GGUF file and for int8 and HQQ; or auto: bf16 and int8 each where it is faster by a "
                    "quarter on this machine, measured once and kept (offstage-cli info says which)")
        ->check(CLI::IsMember({"f32", "exact", "bf16", "int8", "auto"}))
        ->capture_default_str();
    command.add_option("--threads", options.n_threads, "Compute threads; 0: one per core that this program may use")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
}

// Returns the sentence of the Error that `parse` throws, or nothing: wrong values count
// as wrong usage.
template <typename Parse>
std::string complaint(const Parse& parse) {
    try {
        parse();
        return {};
    } catch (const offstage::engine::Error& error) {
        return error.what();
    }
}

std::string check_quant(const std::string& text) {
    return complaint([&] { offstage::engine::parse_quant(text); });
}

std::string check_size(const std::string& text) {
    return complaint([&] { offstage::engine::parse_bytes(text, "the size"); });
}

std::string check_policy(const std::string& text) {
    return complaint([&] { offstage::engine::parse_dispatch(text); });
}

std::string check_policies(const std::string& list) {
    std::string wrong;
    for (const std::string_view name : offstage::cli::split_list(list)) {
        if (wrong.empty()) wrong = check_policy(std::string(name));
    }
    return wrong;
}

std::string check_cache_kinds(const std::string& list) {
    return complaint([&] { offstage::cli::parse_cache_kinds(list); });
}

std::string check_network(const std::string& id) {
    return complaint([&] { offstage::engine::find_network(id); });
}

// The form only: whether there is such a device is found out when it is opened.
std::string check_device(const std::string& text) {
    const auto numbered = [](std::string_view rest) {
        return !rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos;
    };
    if (text == "cpu" || text == "cuda") return {};
    if (text.starts_with("cuda:") && numbered(std::string_view(text).substr(5))) return {};
    if (text.starts_with("emulated:") && text.size() > 9) return {};
    return "\"" + text + "\" is no device; expected cpu, cuda, cuda:N or emulated:PROFILE";
}

void add_quant_option(CLI::App& command, ModelOptions& options) {
    std::string formats;
    for (const offstage::engine::FormatRow& row : offstage::engine::format_rows()) {
        if (row.for_experts && row.bits < 16) formats += (formats.empty() ? "" : "|") + std::string(row.option);
    }
    command
        .add_option("--quant", options.quant,
                    "Weights in fewer bits: experts=" + formats + ", dense=16|8|4, or both, separated by a comma")
        ->check(check_quant);
}

std::string check_listen(const std::string& text) {
    return complaint([&] { offstage::engine::parse_listen_address(text); });
}

std::string check_origin(const std::string& text) {
    return complaint([&] { offstage::engine::parse_origin(text); });
}

std::string check_kv_type(const std::string& name) {
    return complaint([&] { offstage::engine::parse_kv_type(name); });
}

std::string check_residency(const std::string& text) {
    return complaint([&] { offstage::cli::parse_residency(text); });
}

std::string check_disk_reads(const std::string& name) {
    return complaint([&] { offstage::engine::parse_disk_reads(name); });
}

void add_device_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--device", options.device,
                    "cpu, cuda, cuda:N, or emulated:PROFILE (a name in resources/hardware, or a .json file)")
        ->check(check_device)
        ->capture_default_str();
    command.add_option("--vram", options.vram, "Memory to use of the device: 6GiB, 512MiB, bytes; all unless given")
        ->check(check_size);
    command.add_option("--ram", options.ram, "Memory to use of the machine; all that is free unless given")
        ->check(check_size);
    command
        .add_option("--disk-reads", options.disk_reads,
                    "How experts on disk are read: direct, past the system's cache, several at a time and beside what "
                    "is computed; cached, through the mapped file; auto (unless given): direct where free "
                    "memory has no room for all experts")
        ->check(check_disk_reads);
    command
        .add_option("--kv", options.kv,
                    "What keys and values of the context are kept in: bf16 (unless given), int8 (half of that), or f32 "
                    "(exact)")
        ->check(check_kv_type);
    command
        .add_option("--policy", options.policy,
                    "How experts are shared out: auto, balanced, static, threshold, transfer, layers, or "
                    "prefill=P,decode=P")
        ->check(check_policy)
        ->capture_default_str();
    command.add_option("--profile", options.profile, "Profile of expert use (offstage-cli profile), for placement");
}

void add_node_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--node", options.nodes,
                    "Another machine that computes experts, by the name or address under which it is paired "
                    "(offstage-cli nodes pair); may be given more than once. Unless given: none, and no connection")
        ->expected(1)
        ->take_all();
    command
        .add_option("--node-shape", options.node_shape,
                    "Who does what: helpers, this machine makes every step and others compute experts for it; "
                    "decentralised, each machine makes every step and computes a share of the experts; auto, what is "
                    "forecast to be faster")
        ->check(CLI::IsMember({"helpers", "decentralised", "auto"}))
        ->capture_default_str();
    command
        .add_option("--node-use", options.node_use,
                    "When such a machine computes the experts that it holds: measured, where that is forecast to be "
                    "soonest; always, wherever they are not on this machine's accelerator (helpers)")
        ->check(CLI::IsMember({"measured", "always"}))
        ->capture_default_str();
    command
        .add_option("--node-activations", options.node_activations,
                    "What goes over the network: f32 (exact), or bf16 (half of that)")
        ->check(CLI::IsMember({"f32", "bf16"}))
        ->capture_default_str();
}

// For commands with several conversations, one after another.
void add_kept_context_option(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--kept-context", options.kept_context,
                    "Tokens of other conversations that stay in RAM beside the context, so that going back to one "
                    "does not read it again; without it they stay in what the running one leaves of the context")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
}

// Options for storing, moving and guessing experts during generation.
void add_expert_options(CLI::App& command, ModelOptions& options) {
    add_quant_option(command, options);
    command
        .add_option("--min-bits", options.min_bits,
                    "Lets each expert have the format that is best for speed, with so many bits per weight in the mean")
        ->check(CLI::PositiveNumber);
    command
        .add_option("--max-loss", options.max_loss,
                    "The same, up to so much predicted loss (squared relative error, weighted by use)")
        ->check(CLI::PositiveNumber);
    command
        .add_option(
            "--max-kl", options.max_kl,
            "One floor for bits and neurons: lets the planner choose formats and what is left out (as --theta "
            "does), whichever is forecast to be fastest, up to so many nats per token in sum. Only what was "
            "measured beside the model is chosen (quantize-report --keep, sensitivity --keep); each was "
            "measured alone, so that the sum is an estimate. With --theta: that one, and formats up to the rest")
        ->check(CLI::PositiveNumber);
    command
        .add_option(
            "--cache", options.cache,
            "Which experts copied on demand stay on the device: static, lru-layer, lru, lfu or slru. Unless given: "
            "slru; static where policies are compared, since each would find what the last one left")
        ->check(CLI::IsMember({"static", "lru-layer", "lru", "lfu", "slru"}))
        ->capture_default_str();
    command
        .add_option("--prefetch", options.prefetch,
                    "Speculative loading of the next layer's experts: off, always, or auto (while live tokens show a "
                    "gain). Unless given: auto; off where policies are compared")
        ->check(CLI::IsMember({"off", "auto", "always"}));
    command.add_flag("--no-cuda-graphs", options.no_cuda_graphs,
                     "On an NVIDIA GPU: start each kernel of a token by itself, for comparisons. Results are the same");
    command
        .add_option("--prompt-loading", options.prompt_loading,
                    "How a prompt's experts come to the device: on-demand, ahead (the next layer's before its router "
                    "has run), or lend (the same, with places of other experts as further buffers where that pays). "
                    "Unless given: lend")
        ->check(CLI::IsMember({"on-demand", "ahead", "lend"}));
}

void add_sparse_options(CLI::App& command, ModelOptions& options) {
    command
        .add_option("--sparse-loading", options.sparse_loading,
                    "With a theta: copy experts to the device without the neurons that are left out: off, always (for "
                    "measuring), or auto (where finding and gathering the others takes less time than it saves). "
                    "Unless given: auto")
        ->check(CLI::IsMember({"off", "auto", "always"}));
    command
        .add_option(
            "--neuron-guesses", options.neuron_guesses,
            "Where neurons were guessed for an expert and it needs others: correct (copy those that are missing) "
            "or accept (compute with the guess, as CORM does; results change). Unless given: correct")
        ->check(CLI::IsMember({"correct", "accept"}));
    command.add_option("--neuron-cache", options.neuron_cache,
                       "With a theta: so much of the device's memory keeps the neurons of experts that were copied, so "
                       "that those are not copied again, e.g. 500MiB. Unless given: none");
    command.add_option("--active-share", options.active_share,
                       "With a theta: the share of a token's neurons that is active, where none were counted yet "
                       "(forecasts, dry runs): a number above 0 and at most 1, or a report of sensitivity --json");
}

void add_theta_option(CLI::App& command, ModelOptions& options) {
    command
        .add_option_function<std::string>(
            "--theta",
            [&options](const std::string& text) {
                if (!offstage::cli::read_theta(text, options)) {
                    throw CLI::ValidationError("--theta", text + " is no number from 0 on, auto or auto:LOSS");
                }
            },
            "Leave out neurons of the experts whose activation |act(w1 . x)| is at most this: less is read and "
            "computed, and results are no longer the model's own; 0: none is left out. auto or auto:LOSS: for each "
            "expert the one that sensitivity --thresholds-for-loss --keep has chosen, for a loss of at most LOSS "
            "(0.01) "
            "nats per token")
        ->type_name("T|auto[:LOSS]")
        ->default_str("0");
    add_sparse_options(command, options);
}

void add_paced_option(CLI::App& command, ModelOptions& options) {
    command.add_flag("--paced", options.paced, "An emulated device answers no faster than the device would");
}

void add_json_option(CLI::App& command, bool& json) {
    command.add_flag("--json", json, "Print one JSON object on stdout and nothing else there");
}

constexpr const char* kModelContext =
    "Tokens of context; 0: the model's own, at most 32768, and from 2048 on where memory is short";
constexpr const char* kTextContext = "Tokens of the windows that the text is fed in; 0: 2048";

void add_context_option(CLI::App& command, ModelOptions& options, const char* help) {
    command.add_option("--context", options.context, help)->check(CLI::NonNegativeNumber)->capture_default_str();
}

void add_model_option(CLI::App& command, ModelOptions& options) {
    command.add_option("--model", options.model, kModelHelp)->required();
}

void add_template_option(CLI::App& command, std::string& chat_template) {
    command.add_option("--chat-template", chat_template,
                       "Chat template in the place of the model's own, or where it has none: a file, in Jinja or as "
                       "Ollama writes them, or a family's: " +
                           offstage::engine::family_template_names());
}

// A prompt, or where it is.
CLI::Option* add_prompt_options(CLI::App& command, GenerateOptions& options, const char* help) {
    CLI::Option* const prompt =
        command.add_option("--prompt", options.prompt, std::string(help) + "; -: standard input");
    command
        .add_option("--prompt-file", options.prompt_file,
                    "The same from a UTF-8 text file of many lines, or from standard input: -")
        ->excludes(prompt);
    return prompt;
}

void add_sampler_options(CLI::App& command, GenerateOptions& options) {
    auto& s = options.sampler;
    const std::size_t n_before = command.get_options().size();
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
    command
        .add_option("--repeat-window", s.repeat_window,
                    "Tokens back that count as recent for --repeat-penalty, the prompt's included; 0: all")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        .add_option("--seed", s.seed,
                    "Same seed, same answer: with the same build, model, prompt, sampling, --quant, --compute and "
                    "instruction set or GPU, whatever the threads, budgets and policy; 0: a new one each time")
        ->capture_default_str();
    // Which of these are named, by SamplerSettings' fields: "repeat_penalty".
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

std::string choice_file_help() {
    std::string files;
    for (const offstage::engine::ChoiceFormatRow& row : offstage::engine::choice_formats()) {
        files += std::string(row.name) + ": " + row.file + ". ";
    }
    return files;
}

// All but --task, --data and the limit.
void add_choice_file_options(CLI::App& command, ChoiceOptions& options) {
    command.add_option("--labels", options.labels, "piqa, winogrande, hellaswag: file with a label per line");
    CLI::Option* shots =
        command.add_option("--shots", options.shots,
                           "mmlu: solved questions to begin with: the dev csv, or a folder with that of each subject");
    command.add_option("--n-shots", options.n_shots, "So many of them, the first")
        ->check(CLI::Range(0, 100))
        ->needs(shots)
        ->capture_default_str();
    command.add_option("--subject", options.subject, "mmlu: the subject's name; by the file's name unless given");
}

void add_evaluate_options(CLI::App& command, EvaluateOptions& options) {
    add_model_option(command, options.model);
    command
        .add_option("--task", options.task,
                    "What is measured. Multiple choice, by the log-likelihood of the choices: mmlu, piqa, winogrande, "
                    "hellaswag and arc as lm-eval scores them; llama-hellaswag, llama-winogrande and llama-choices as "
                    "llama.cpp does. perplexity: as llama.cpp, in chunks; perplexity-strided: as transformers, in "
                    "sliding windows; kl-divergence: from a --kl-base, as llama.cpp")
        ->check(CLI::IsMember(offstage::cli::evaluation_tasks()))
        ->required();
    command.add_option("--data", options.data,
                       "The file; of mmlu also several, or a folder. " + choice_file_help() + "perplexity: UTF-8 text");
    add_choice_file_options(command, options);
    command
        .add_option("--limit", options.limit,
                    "Tasks, chunks or (perplexity-strided) tokens at most; 0: all. Which tasks, is as the rule's "
                    "origin takes them: lm-eval the first, llama.cpp random ones")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command.add_flag("--results", options.results, "With --json: each task's log-likelihoods too, under \"results\"");
    command.add_flag("--special", options.special,
                     "Special tokens written out in the texts (<s>, <|user|> ...) count as tokens");
    command.add_option("--window", options.window, "perplexity: tokens of a chunk or window")
        ->check(CLI::Range(std::int64_t{4}, std::int64_t{1} << 24))
        ->capture_default_str();
    command.add_option("--stride", options.stride, "perplexity-strided: tokens from one window to the next")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
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

// The message for a word in the place of a command that is none; empty: there is no such
// word.
std::string unknown_command(const CLI::App& app, int argc, char** argv) {
    const CLI::App* at = &app;
    for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; ++i) {
        const std::string word = argv[i];
        if (word.starts_with('-')) return {};
        std::vector<std::string> names;
        const CLI::App* next = nullptr;
        for (const CLI::App* const command : at->get_subcommands({})) {
            names.push_back(command->get_name());
            if (word == command->get_name()) next = command;
        }
        if (next != nullptr) {
            at = next;
            continue;
        }
        std::string text =
            "\"" + word + "\" is no command of " + (at == &app ? "" : app.get_name() + " ") + at->get_name() + "; ";
        const std::vector<std::string> near = offstage::cli::near_names(word, names);
        for (std::size_t n = 0; n < near.size(); ++n) text += (n == 0 ? "is " : " or ") + near[n];
        return text + (near.empty() ? "--help lists them" : " meant?");
    }
    return {};
}

int run(int argc, char** argv) {
    CLI::App app(
        "Offstage on the command line: Mixture-of-Experts models, run and measured.\n"
        "Exit status: 0 done, 1 failed (one line on stderr), 2 wrong usage, 130 stopped by Ctrl+C,\n"
        "141 nobody reads the output.");
    app.name("offstage-cli");
    app.set_version_flag("--version", std::string("offstage-cli ") + OFFSTAGE_VERSION);
    app.require_subcommand(1);
    int status = 0;

    ModelOptions info;
    CLI::App* command = app.add_subcommand("info", "What a model is: shapes, sizes, files checked");
    command->add_option("MODEL", info.model, kModelHelp)->required();
    add_compute_options(*command, info);
    command
        ->add_option("--device", info.device,
                     "Say too how this device forms products: cuda, cuda:N or emulated:PROFILE, which is opened")
        ->check(check_device);
    add_json_option(*command, info.json);
    command->callback([&] { status = offstage::cli::run_info(info); });

    GenerateOptions generate;
    command = app.add_subcommand("generate", "Answer one prompt");
    add_model_option(*command, generate.model);
    add_prompt_options(*command, generate, "What to answer");
    CLI::Option* raw =
        command->add_flag("--raw", generate.raw, "Continue the prompt as it is, without the chat template");
    add_sampler_options(*command, generate);
    command->get_option("--thinking")->excludes(raw);
    CLI::Option* beam = command->add_option("--beam", generate.beam.width, "Beam search of this width; 1: off")
                            ->check(CLI::Range(1, offstage::engine::kLargestBeamWidth))
                            ->capture_default_str();
    command
        ->add_option("--length-penalty", generate.beam.length_penalty,
                     "Of beam search: an answer's score is its log probability / length^PENALTY")
        ->capture_default_str();
    command
        ->add_option("--answers", generate.n_answers,
                     "Answers drawn side by side, each with a seed of its own made of --seed; the first has --seed "
                     "itself")
        ->check(CLI::Range(1, 16))
        ->excludes(beam)
        ->capture_default_str();
    command->add_option(
        "--replan-script", generate.replan_script,
        "JSON lines {\"at_token\": N, \"vram\": \"8GiB\", ...}: budgets that move while the answer is made");
    command->add_option("--trace", generate.trace, "Write the routing of every token to this file, for replay");
    add_node_options(*command, generate.model);
    add_expert_options(*command, generate.model);
    add_theta_option(*command, generate.model);
    add_device_options(*command, generate.model);
    add_paced_option(*command, generate.model);
    add_compute_options(*command, generate.model);
    add_json_option(*command, generate.model.json);
    command->callback([&, command] {
        if (command->count("--prompt") + command->count("--prompt-file") == 0) {
            throw CLI::RequiredError("--prompt or --prompt-file");
        }
        status = offstage::cli::run_generate(generate);
    });

    FinderOptions finder;
    command = app.add_subcommand(
        "models", "The models in the caches of Hugging Face, LM Studio, llama.cpp and Ollama on this computer");
    command->add_option("--folder", finder.folders, "Look here too; may be given more than once");
    add_json_option(*command, finder.json);
    command->callback([&] { status = offstage::cli::run_models(finder); });

    NodesOptions nodes;
    CLI::App* const nodes_app =
        app.add_subcommand("nodes", "Other machines that compute experts: those that are paired with this one");
    nodes_app->require_subcommand(1);
    command = nodes_app->add_subcommand("list", "Their names, addresses and keys");
    add_json_option(*command, nodes.json);
    command->callback([&] { status = offstage::cli::run_nodes_list(nodes); });
    command = nodes_app->add_subcommand(
        "pair", "Pair with the machine on which offstage-node pair shows a code; asks for its eight words");
    command->add_option("ADDRESS", nodes.machine, "HOST or HOST:PORT, as that command shows it")->required();
    command->add_option("--name", nodes.name, "What to call it here; its own name unless given");
    add_json_option(*command, nodes.json);
    command->callback([&] { status = offstage::cli::run_nodes_pair(nodes); });
    command = nodes_app->add_subcommand("remove", "Forget a machine and its key");
    command->add_option("MACHINE", nodes.machine, "Its name or address")->required();
    command->callback([&] { status = offstage::cli::run_nodes_remove(nodes); });
    command = nodes_app->add_subcommand("test", "Latency and rate of the connection to a machine");
    command->add_option("MACHINE", nodes.machine, "Its name or address")->required();
    add_json_option(*command, nodes.json);
    command->callback([&] { status = offstage::cli::run_nodes_test(nodes); });

    GenerateOptions chat;
    command = app.add_subcommand(
        "chat",
        "Talk in the terminal: a line is a message, and so are lines that are pasted together; Ctrl+C stops an answer. "
        "Where standard input is no terminal, each of its lines is a message (--prompt-file -: all of it is one)");
    add_model_option(*command, chat.model);
    add_prompt_options(*command, chat, "First message");
    add_sampler_options(*command, chat);
    add_node_options(*command, chat.model);
    add_expert_options(*command, chat.model);
    add_theta_option(*command, chat.model);
    add_device_options(*command, chat.model);
    add_kept_context_option(*command, chat.model);
    add_paced_option(*command, chat.model);
    add_compute_options(*command, chat.model);
    command->callback([&] { status = offstage::cli::run_chat(chat); });

    ServeOptions serve;
    command = app.add_subcommand(
        "serve", "Answer other programs of this computer over HTTP, by a part of OpenAI's API, until Ctrl+C");
    add_model_option(*command, serve.model);
    command
        ->add_option("--listen", serve.listen,
                     "ADDRESS:PORT, numeric; other addresses than 127.0.0.1 and [::1] can be reached from other "
                     "computers")
        ->check(check_listen)
        ->capture_default_str();
    command->add_option("--token-file", serve.token_file,
                        "File with the token that every request must bring; made with a new one where there is none. "
                        "Unless given: a new token for each start, printed");
    command
        ->add_option("--allow-origin", serve.origins,
                     "Web pages of this origin, like http://localhost:3000, may use the server too; may be given more "
                     "than once. Unless given: none")
        ->check(check_origin);
    command->add_option("--queue", serve.queue, "Requests that may wait while one is answered; further ones get 503")
        ->check(CLI::Range(0, 1000))
        ->capture_default_str();
    add_context_option(*command, serve.model, kModelContext);
    add_template_option(*command, serve.model.chat_template);
    add_expert_options(*command, serve.model);
    add_theta_option(*command, serve.model);
    add_device_options(*command, serve.model);
    add_kept_context_option(*command, serve.model);
    add_paced_option(*command, serve.model);
    add_compute_options(*command, serve.model);
    add_node_options(*command, serve.model);
    command->callback([&] { status = offstage::cli::run_serve(serve); });

    LogitsOptions logits;
    command = app.add_subcommand("logits", "The model's raw output for given tokens (needs no tokenizer)");
    add_model_option(*command, logits.model);
    command->add_option("--tokens", logits.tokens, "Token ids, separated by commas")->required();
    command->add_flag("--all", logits.all, "After every token, not only after the last");
    add_expert_options(*command, logits.model);
    add_theta_option(*command, logits.model);
    add_device_options(*command, logits.model);
    add_paced_option(*command, logits.model);
    add_compute_options(*command, logits.model);
    add_json_option(*command, logits.model.json);
    command->callback([&] { status = offstage::cli::run_logits(logits); });

    TokenizeOptions tokenize;
    command = app.add_subcommand("tokenize", "Ids and pieces of a text or of a rendered conversation");
    command->add_option("--model", tokenize.model, "Folder with a tokenizer")->required();
    CLI::Option* chat_turns = command->add_option(
        "--chat", tokenize.chat,
        "Turns as ROLE:TEXT (system, user, assistant), rendered with the chat template; -: a list of {\"role\", "
        "\"content\"} in JSON on standard input");
    add_template_option(*command, tokenize.chat_template);
    command->add_option("--text", tokenize.text, "The text; standard input unless given")->excludes(chat_turns);
    command->add_flag("--special", tokenize.special, "Special tokens written in the text are taken as such")
        ->excludes(chat_turns);
    command->add_flag("--no-answer", tokenize.no_answer, "Without the beginning of the answer after the last turn")
        ->needs(chat_turns);
    add_json_option(*command, tokenize.json);
    command->callback([&] { status = offstage::cli::run_tokenize(tokenize); });

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
    CLI::Option* scenario =
        command->add_option("--scenario", bench.scenario, "Fiddler's scenarios: decode, prefill, beam, or all")
            ->check(CLI::IsMember({"decode", "prefill", "beam", "all"}));
    command->add_option("--compare", bench.compare, "Policies to compare in one run, separated by commas")
        ->check(check_policies)
        ->needs(scenario);
    const auto lengths = [&](const char* name, std::vector<std::int64_t>& values, const char* help) {
        command->add_option(name, values, help)->delimiter(',')->check(CLI::PositiveNumber)->needs(scenario);
    };
    lengths("--in", bench.in, "Prompt lengths of the scenario instead of the paper's");
    lengths("--out", bench.out, "Answer lengths");
    command->add_option("--widths", bench.widths, "Beam widths")
        ->delimiter(',')
        ->check(CLI::Range(1, offstage::engine::kLargestBeamWidth))
        ->needs(scenario);
    command
        ->add_option("--text", bench.text,
                     "Prompts from this text, or from conversations in a .jsonl or .json file (ShareGPT's form too) "
                     "instead of random tokens")
        ->needs(scenario);
    command->add_flag("--markdown", bench.markdown, "With --json: the table as well, under \"markdown\"")
        ->needs(scenario);
    add_node_options(*command, bench.model);
    add_expert_options(*command, bench.model);
    add_theta_option(*command, bench.model);
    command
        ->add_option_function<std::vector<std::string>>(
            "--compare-thetas",
            [&bench](const std::vector<std::string>& texts) {
                for (const std::string& text : texts) {
                    ModelOptions options;
                    if (!offstage::cli::read_theta(text, options) || options.theta + options.theta_loss == 0) {
                        throw CLI::ValidationError("--compare-thetas",
                                                   text + " is no number above 0, auto or auto:LOSS");
                    }
                    bench.compared_thetas.emplace_back(options.theta, options.theta_loss,
                                                       offstage::engine::NeuronGuesses::kCorrect);
                }
            },
            "After the repeats as many in which tokens are decoded with each of these thetas (as --theta, separated by "
            "commas) and without any in turn: what a theta gains, beside what the bytes of weights allow")
        ->delimiter(',')
        ->type_name("T|auto[:LOSS],..")
        ->excludes(scenario);
    add_device_options(*command, bench.model);
    add_paced_option(*command, bench.model);
    command->add_flag("--dry", bench.model.dry,
                      "Scenarios of a synthetic model on an emulated device with a host: account the time, compute "
                      "nothing; experts are drawn from --profile");
    command
        ->add_option("--dry-repeat", bench.model.dry_repeat,
                     "Of the drawn routing: chance that a token's choice is the one of the token before")
        ->check(CLI::Range(0.0, 0.99))
        ->capture_default_str();
    command
        ->add_option("--dry-guess-recall", bench.model.dry_guess_recall,
                     "Of the drawn routing: chance that speculative loading guesses an expert right")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    add_compute_options(*command, bench.model);
    add_json_option(*command, bench.model.json);
    command->callback([&] { status = offstage::cli::run_bench(bench); });

    ProfileOptions profile;
    command = app.add_subcommand("profile", "Count which experts a text is routed to, for placement");
    add_model_option(*command, profile.model);
    command->add_option("--text", profile.text, "UTF-8 text, or conversations in a .jsonl or .json file, as for recall")
        ->required();
    command->add_option("--out", profile.out, "The profile to write (JSON)")->required();
    add_context_option(*command, profile.model, kTextContext);
    add_device_options(*command, profile.model);
    add_compute_options(*command, profile.model);
    add_json_option(*command, profile.model.json);
    command->callback([&] { status = offstage::cli::run_profile(profile); });

    ModelOptions calibrate;
    command = app.add_subcommand("calibrate", "Measure what copies and experts take on this machine");
    add_model_option(*command, calibrate);
    add_device_options(*command, calibrate);
    add_compute_options(*command, calibrate);
    add_json_option(*command, calibrate.json);
    command->callback([&] { status = offstage::cli::run_calibrate(calibrate); });

    PlanOptions plan;
    command = app.add_subcommand("plan", "What would go where, and how fast that would be; reads no weights");
    add_model_option(*command, plan.model);
    command->add_option("--prompt", plan.prompt, "Tokens of the prompt that is forecast")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20))
        ->capture_default_str();
    add_context_option(*command, plan.model, kModelContext);
    add_device_options(*command, plan.model);
    add_theta_option(*command, plan.model);
    add_kept_context_option(*command, plan.model);
    add_compute_options(*command, plan.model);
    add_json_option(*command, plan.model.json);
    add_node_options(*command, plan.model);
    add_expert_options(*command, plan.model);
    command->add_flag("--compare", plan.compare,
                      "List what the same budgets allow in one format for all, by popularity and in whole layers");
    command->callback([&] { status = offstage::cli::run_plan(plan); });

    PerplexityOptions perplexity;
    PerplexityOptions report;
    const auto text_options = [](CLI::App& c, PerplexityOptions& options) {
        add_model_option(c, options.model);
        CLI::Option* const text = c.add_option("--text", options.text, "UTF-8 text");
        c.add_flag("--special", options.special,
                   "Special tokens written out in the text (<s>, <|user|> ...) count as tokens, as in a chat");
        c.add_option("--answers-after", options.answers_after,
                     "Only answers count: what follows this special token (<|assistant|>), up to the end of text; for "
                     "models that were taught answers alone. Goes with --special")
            ->needs("--special");
        c.add_option("--window", options.window, "Tokens the model sees at once")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        c.add_option("--stride", options.stride,
                     "Tokens from one window to the next: each is scored with at least WINDOW - STRIDE before it")
            ->check(CLI::PositiveNumber)
            ->capture_default_str();
        add_device_options(c, options.model);
        add_compute_options(c, options.model);
        add_json_option(c, options.model.json);
        return text;
    };
    command =
        app.add_subcommand("perplexity", "How well the model foretells a text: e^(mean of -ln p), sliding window");
    text_options(*command, perplexity)->required();
    add_quant_option(*command, perplexity.model);
    add_theta_option(*command, perplexity.model);
    command->callback([&] { status = offstage::cli::run_perplexity(perplexity); });

    command = app.add_subcommand("quantize-report",
                                 "What formats of fewer bits would save and lose: size, squared error and, with a "
                                 "text, perplexity and distance to the model as it is");
    CLI::Option* const report_text = text_options(*command, report);
    command->add_option("--formats", report.formats, "Experts in these only, separated by commas: hqq4,hqq3")
        ->delimiter(',');
    command
        ->add_flag("--keep", report.keep,
                   "Keep what each format of experts costs beside the model (neuron_thresholds.json): --max-kl and the "
                   "window's measured loss choose by it")
        ->needs(report_text);
    command->callback([&] { status = offstage::cli::run_quantize_report(report); });

    EvaluateOptions evaluate;
    command = app.add_subcommand(
        "evaluate",
        "Accuracy, perplexity and KL divergence as the field measures them; every figure names its rule. Ctrl+C keeps "
        "what is done");
    add_evaluate_options(*command, evaluate);
    command->callback([&] { status = offstage::cli::run_evaluate(evaluate); });

    RecallOptions recall;
    command = app.add_subcommand(
        "recall",
        "How often the expert that is wanted is there already: in an LRU cache, and among guesses made ahead");
    add_model_option(*command, recall.model);
    command
        ->add_option(
            "--text", recall.text,
            "UTF-8 text, or a .jsonl or .json file of conversations, {\"messages\": [{\"role\", \"content\"}]} "
            "or {\"conversations\": [{\"from\", \"value\"}]} as ShareGPT's")
        ->required();
    command->add_option("--out", recall.out, "Picture to draw (SVG)");
    command->add_option("--trace-out", recall.trace_out, "Routing trace to write, for offstage-cli replay");
    command
        ->add_option("--ahead", recall.distances, "Layers ahead that are guessed; those the model has not are left out")
        ->delimiter(',')
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    add_context_option(*command, recall.model, kTextContext);
    add_device_options(*command, recall.model);
    add_compute_options(*command, recall.model);
    add_json_option(*command, recall.model.json);
    command->callback([&] {
        std::sort(recall.distances.begin(), recall.distances.end());
        recall.distances.erase(std::unique(recall.distances.begin(), recall.distances.end()), recall.distances.end());
        status = offstage::cli::run_recall(recall);
    });

    ActivationOptions activations;
    activations.bounds.assign(offstage::engine::kActivationBounds.begin(), offstage::engine::kActivationBounds.end());
    command = app.add_subcommand("activations",
                                 "How near to zero the experts' neurons are: share of |act(w1 . x)| below some bounds");
    add_model_option(*command, activations.model);
    command
        ->add_option("--text", activations.text,
                     "UTF-8 text, or conversations in a .jsonl or .json file, as for recall")
        ->required();
    command->add_option("--below", activations.bounds, "The bounds")
        ->delimiter(',')
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_context_option(*command, activations.model, kTextContext);
    add_device_options(*command, activations.model);
    add_compute_options(*command, activations.model);
    add_quant_option(*command, activations.model);
    add_json_option(*command, activations.model.json);
    command->callback([&] { status = offstage::cli::run_activations(activations); });

    PredictOptions predict;
    command = app.add_subcommand(
        "predict",
        "How well a layer's experts and their active neurons are known one layer ahead: recall and precision by layer");
    add_model_option(*command, predict.model);
    command->add_option("--text", predict.text, "UTF-8 text, or conversations in a .jsonl or .json file, as for recall")
        ->required();
    command->add_option("--theta", predict.thetas, "The thetas, separated by commas: below one a neuron is not active")
        ->delimiter(',')
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    add_context_option(*command, predict.model, kTextContext);
    add_device_options(*command, predict.model);
    add_compute_options(*command, predict.model);
    add_quant_option(*command, predict.model);
    add_json_option(*command, predict.model.json);
    command->callback([&] { status = offstage::cli::run_predict(predict); });

    AblationOptions ablation;
    ablation.model.device = "emulated:corm";
    command =
        app.add_subcommand("ablation",
                           "What decoding gains by sparse neurons, by copying ahead, by experts that are kept, by "
                           "formats of their own, and by the CPU, one after the other");
    add_model_option(*command, ablation.model);
    command->add_option("--prompt", ablation.prompt, "Tokens of the prompt")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--decode", ablation.decode, "Tokens decoded after it")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command
        ->add_option("--resident", ablation.resident_per_layer,
                     "Experts of each layer that have a place on the device where experts are kept")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        ->add_option("--mean-bits", ablation.mean_bits,
                     "A row more, in which each expert has a format of its own, with so many bits per weight in the "
                     "mean, as --min-bits lets the plan choose them; 0: none")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--device", ablation.model.device, "As for bench")->capture_default_str();
    command->add_option("--ram", ablation.model.ram, "RAM budget, as for bench");
    command->add_option("--profile", ablation.model.profile, "Popularity profile that dry runs draw experts from");
    add_theta_option(*command, ablation.model);
    command->add_flag("--dry", ablation.model.dry,
                      "A synthetic model on an emulated device with a host: account the time, compute nothing");
    command
        ->add_option("--dry-repeat", ablation.model.dry_repeat,
                     "Of the drawn routing: chance that a token's choice is the one of the token before")
        ->check(CLI::Range(0.0, 0.99))
        ->capture_default_str();
    command
        ->add_option("--dry-guess-recall", ablation.model.dry_guess_recall,
                     "Of the drawn routing: chance that an expert is guessed right")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    add_compute_options(*command, ablation.model);
    add_quant_option(*command, ablation.model);
    add_json_option(*command, ablation.model.json);
    command->callback([&] { status = offstage::cli::run_ablation(ablation); });

    SensitivityOptions sensitivity;
    command = app.add_subcommand(
        "sensitivity",
        "What leaving out neurons below a theta saves and costs: active share by layer, perplexity, distance to theta "
        "0, right answers to a --task, tokens/s");
    add_model_option(*command, sensitivity.model);
    command->add_option("--text", sensitivity.text, "UTF-8 text")->required();
    command->add_option("--theta", sensitivity.thetas, "The thetas, separated by commas; 0 comes besides")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        ->add_option("--thresholds-for-loss", sensitivity.losses,
                     "Choose a theta for each expert, so that each of these losses (nats per token from theta 0, "
                     "separated by commas) buys the most neurons left out; scored and, with --keep, kept as well")
        ->delimiter(',')
        ->check(CLI::PositiveNumber);
    command->add_flag("--kept-thresholds", sensitivity.kept_thresholds,
                      "Score the thresholds that are kept beside the model as well");
    CLI::Option* const task =
        command
            ->add_option("--task", sensitivity.choices.task,
                         "Multiple choice that each theta is asked as well, scored as by evaluate: mmlu, piqa, "
                         "winogrande, hellaswag, arc, llama-hellaswag, llama-winogrande or llama-choices")
            ->check(CLI::IsMember(offstage::cli::choice_tasks()));
    CLI::Option* const data = command->add_option("--data", sensitivity.choices.data,
                                                  "Its file; of mmlu also several, or a folder. " + choice_file_help());
    task->needs(data);
    data->needs(task);
    add_choice_file_options(*command, sensitivity.choices);
    command
        ->add_option("--task-limit", sensitivity.choices.limit,
                     "Tasks at most; 0: all. Which ones, is as the rule's origin takes them")
        ->check(CLI::NonNegativeNumber)
        ->needs(task)
        ->capture_default_str();
    command->add_flag("--special", sensitivity.special,
                      "Special tokens written out in the texts (<s>, <|user|> ...) count as tokens");
    command->add_option("--window", sensitivity.window, "Tokens the model sees at once")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--stride", sensitivity.stride, "Tokens from one window to the next")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--limit", sensitivity.limit, "Tokens of the text at most; 0: all")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--decode", sensitivity.decode, "Tokens that are decoded for the speed; 0: none")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_option("--csv", sensitivity.csv, "Table to write");
    command->add_option("--svg", sensitivity.svg, "Picture to draw");
    command->add_flag("--keep", sensitivity.keep,
                      "Keep the table beside the model (neuron_thresholds.json): the Budget panel tells by it what a "
                      "theta costs");
    add_sparse_options(*command, sensitivity.model);
    add_device_options(*command, sensitivity.model);
    add_expert_options(*command, sensitivity.model);
    add_compute_options(*command, sensitivity.model);
    add_json_option(*command, sensitivity.model.json);
    command->callback([&] { status = offstage::cli::run_sensitivity(sensitivity); });

    ClusterOptions cluster;
    command = app.add_subcommand(
        "cluster", "The least that a token can take with the experts on several machines; reads no weights");
    command->add_option("--model", cluster.model, kModelHelp)->required();
    command->add_option("--machines", cluster.n_machines, "Machines at most: a row for each number from 1 on")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    command->add_option("--network", cluster.network, "What joins them: 1gbe, 10gbe, rocev2 or infiniband")
        ->check(check_network)
        ->capture_default_str();
    command
        ->add_option("--node-memory", cluster.memory,
                     "Memory of a machine: 128GiB, bytes; 192000000000 unless given, a Mac Studio's as the rest")
        ->check(check_size);
    command->add_option("--node-gbps", cluster.node.memory_gbps, "Its bandwidth in 1e9 bytes per second")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_option("--node-tflops", cluster.node.tflops, "Its products of bf16 in 1e12 operations per second")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    CLI::Option* const price = command
                                   ->add_option("--node-price", cluster.node.price_usd,
                                                "What a machine costs, in USD: a column says the speed for 1000 USD")
                                   ->check(CLI::PositiveNumber);
    command
        ->add_option("--nic-price", cluster.card_usd,
                     "What a machine's network card costs, in USD; rocev2 339, infiniband 1267, others 0 unless given")
        ->check(CLI::NonNegativeNumber)
        ->needs(price);
    CLI::Option* const helpers =
        command->add_flag("--helpers", cluster.helpers,
                          "Beside the shape in which every machine has attention and router: one desktop with helpers, "
                          "and from which latency of a message on it is the slower one");
    command->add_option("--desktop-gbps", cluster.desktop_gbps, "That desktop's bandwidth; a node's unless given")
        ->check(CLI::PositiveNumber)
        ->needs(helpers);
    command->add_option("--desktop-tflops", cluster.desktop_tflops, "Its products; a node's unless given")
        ->check(CLI::PositiveNumber)
        ->needs(helpers);
    command->add_option("--measured", cluster.measured,
                        "What a token took on some of them, MACHINES:EXPERTS,EXCHANGE,REST in seconds: a column says "
                        "what to expect of the others");
    add_json_option(*command, cluster.json);
    command->callback([&] { status = offstage::cli::run_cluster(cluster); });

    ReplayOptions replay;
    command = app.add_subcommand("replay", "Cache policies on a recorded routing trace, without the model");
    command->add_option("--trace", replay.trace, "The trace (offstage-cli recall --trace-out, generate --trace)")
        ->required();
    command->add_option("--policy,--policies", replay.policies, "all, or some of static, lru-layer, lru, lfu, slru")
        ->check(check_cache_kinds)
        ->capture_default_str();
    CLI::Option* slots =
        command->add_option("--slots", replay.slots, "Experts that the cache holds: a number or several")
            ->delimiter(',')
            ->check(CLI::NonNegativeNumber);
    command
        ->add_option("--residency", replay.residency,
                     "The same in per cent of all experts, 25% or 25, or as a share below 1, 0.25; 10,25,40,60 unless "
                     "given")
        ->delimiter(',')
        ->check(check_residency)
        ->excludes(slots);
    command->add_option(
        "--profile", replay.profile,
        "Profile of expert use: what is resident at the beginning, and what lfu and slru begin to count from");
    command->add_option("--expert-bytes", replay.expert_bytes, "Size of an expert, to say bytes instead of copies")
        ->check(check_size);
    command->add_option("--half-life", replay.settings.half_life, "Steps after which lfu and slru count a use half")
        ->check(CLI::Range(0.1, 1e9))
        ->capture_default_str();
    command->add_option("--protected", replay.settings.protected_share, "Share of the residents that slru protects")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command
        ->add_option("--margin", replay.settings.margin,
                     "slru: how many times hotter an expert must be than the one that goes")
        ->check(CLI::Range(1.0, 1000.0))
        ->capture_default_str();
    command
        ->add_option("--ahead", replay.ahead,
                     "Speculative loading so many layers ahead, by the trace's guesses; 0: none")
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
    command->add_option("--guesses", replay.guesses, "Experts guessed per layer")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    CLI::Option* const picture =
        command->add_option("--svg", replay.svg,
                            "A picture of one policy and size: experts over tokens, which were used and which were in "
                            "the cache");
    command->add_option("--layers", replay.layers, "Layers that it shows; first, middle and last unless given")
        ->delimiter(',')
        ->check(CLI::NonNegativeNumber)
        ->needs(picture);
    command->add_option("--from", replay.from, "Its first token")->check(CLI::NonNegativeNumber)->needs(picture);
    command->add_option("--tokens", replay.tokens, "How many tokens it shows")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str()
        ->needs(picture);
    add_json_option(*command, replay.json);
    command->callback([&] {
        if (replay.slots.empty() && replay.residency.empty()) replay.residency = {"10", "25", "40", "60"};
        status = offstage::cli::run_replay(replay);
    });

    if (const std::string unknown = unknown_command(app, argc, argv); !unknown.empty()) {
        std::cerr << "offstage-cli: " << unknown << std::endl;
        return 2;
    }
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
