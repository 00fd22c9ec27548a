#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <iostream>

#include "app/cli/command_messages.h"
#include "app/cli/commands.h"
#include "app/cli/generation_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/manual.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/replan_script.h"
#include "app/cli/reply_printer.h"
#include "app/cli/standard_output.h"
#include "app/cli/terminal_output.h"
#include "app/cli/text_input.h"
#include "app/read_option.h"
#include "engine/error.h"
#include "engine/eval/loading_report.h"
#include "engine/json.h"
#include "engine/manual/demo_model.h"
#include "engine/plan/plan.h"
#include "engine/report_table.h"
#include "engine/run/prefix_file.h"
#include "engine/run/run_messages.h"
#include "engine/text/gbnf.h"
#include "engine/text/json_schema_grammar.h"

namespace offstage::cli {

namespace {

nlohmann::ordered_json to_json(const std::vector<engine::Answer>& answers) {
    auto list = nlohmann::ordered_json::array();
    for (const engine::Answer& answer : answers) {
        nlohmann::ordered_json& json = list.emplace_back();
        ADD_FIELDS(json, answer, text, thought, tokens, log_probability, score);
        json["finish"] = engine::name_of(answer.finish);
        if (answer.seed != 0) json["seed"] = answer.seed;
    }
    return list;
}

// The number with the fewest digits that is this float: 0.7 rather than 0.699999988.
double shortest(float value) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
    double same = 0;
    std::from_chars(text.data(), end, same);
    return same;
}

nlohmann::ordered_json to_json(const engine::SamplerSettings& sampler) {
    return {{"temperature", shortest(sampler.temperature)},
            {"top_k", sampler.top_k},
            {"top_p", shortest(sampler.top_p)},
            {"min_p", shortest(sampler.min_p)},
            {"repeat_penalty", shortest(sampler.repeat_penalty)},
            {"repeat_window", sampler.repeat_window}};
}

// On the accelerator; on the CPU all that are in RAM.
std::int64_t resident_experts(const engine::Snapshot& now) {
    const engine::Place place = now.vram.total > 0 ? engine::Place::kDevice : engine::Place::kRam;
    return std::count(now.experts.place.begin(), now.experts.place.end(), static_cast<std::uint8_t>(place));
}

// now: the state after the answer, including re-plans since the load.
nlohmann::ordered_json to_json(const engine::GenerationResult& result, const engine::ModelSummary& model,
                               const engine::Snapshot& now) {
    const engine::DeviceReport& device = result.device;
    nlohmann::ordered_json json;
    ADD_FIELDS(json, result, text, thought, thought_is_open, thought_tokens, tokens, prompt_tokens, reused_tokens,
               ttft_s, decode_tokens_per_s);
    json["finish"] = engine::name_of(result.finish);
    json["seed"] = result.seed;
    ADD_FIELDS(json, model, device, emulated, kv_type);
    add_products(json, model);
    ADD_FIELDS(json, model, n_threads, instruction_set, policy);
    json["resident_experts"] = resident_experts(now);
    json["total_experts"] = model.total_experts;
    json["vram_budget_bytes"] = now.vram.budget;
    ADD_FIELDS(json, device, vram_high_water_bytes, hit_rate, bytes_copied, sparse_copies, copy_bytes_saved,
               neuron_hit_rate);
    json["loading"] = engine::to_json(device.loading);
    json["expected_hit_rate"] = model.expected_hit_rate;
    json["ram_budget_bytes"] = now.ram.budget;
    ADD_FIELDS(json, device, ram_high_water_bytes, decode_policy);
    json["decisions"] = engine::english(device.decisions);
    ADD_FIELDS(json, device, dispatch_overhead, decision_overhead);
    json["overheads_are"] = model.emulated ? "measured, of accounted step times" : "measured, of measured step times";
    ADD_FIELDS(json, device, guessed_copies, used_guesses, admissions, median_step_s, longest_step_s);
    json["drafts"] = drafts_json(result.drafts);
    json["mean_bits"] = now.mean_bits;
    json["notes"] = engine::english(model.notes);
    for (const engine::Message& note : result.notes) json["notes"].push_back(note.english());
    if (!result.answers.empty()) json["answers"] = to_json(result.answers);
    return json;
}

void print_answers(const engine::GenerationResult& result, bool beams) {
    for (std::size_t i = 0; i < result.answers.size(); ++i) {
        const engine::Answer& answer = result.answers[i];
        std::cout << "[" << i + 1;
        if (beams) std::cout << ", score " << answer.score;
        std::cout << "] " << answer.text << "\n";
    }
    std::cout << std::flush;
}

// A stopped answer's part of the trace.
std::string kept_trace(const GenerateOptions& options, const engine::GenerationResult& result) {
    if (options.trace.empty()) return {};
    return "; " + options.trace + " holds the routing of the " + std::to_string(result.traced_tokens) +
           " tokens up to then";
}

void make_kept_file(const std::string& name) {
    const std::string reason = engine::PrefixFile::prepare(name);
    if (reason.empty()) return;
    throw engine::Error(engine::ErrorKind::kInvalidInput,
                        engine::messages::kept_conversation_not_written(name, reason));
}

// The form that --grammar or --json-schema asks for; nullptr: any text.
std::shared_ptr<const engine::Grammar> form_of_answer(const GenerateOptions& options) {
    const std::string& file = options.grammar.empty() ? options.json_schema : options.grammar;
    if (file.empty()) return nullptr;
    const std::string text = read_long_text(file);
    if (options.grammar.empty()) engine::parse_json(text, file);
    try {
        return std::make_shared<const engine::Grammar>(
            options.grammar.empty() ? engine::json_schema_grammar(nlohmann::ordered_json::parse(text))
                                    : engine::parse_gbnf(text));
    } catch (const engine::Error& error) {
        throw engine::Error(error.kind(), engine::messages::form_of_answer_rejected(file, error.message()));
    }
}

constexpr int kInterrupted = 130;  // the status that shells show for a program ended by Ctrl+C

void declare_generate(CLI::App& command, GenerateOptions& options) {
    add_model_option(command, options.model.model);
    add_prompt_options(command, options, "What to answer");
    CLI::Option* raw =
        command.add_flag("--raw", options.raw, "Continue the prompt as it is, without the chat template");
    command
        .add_flag("--special", options.special,
                  "With --raw: special tokens written out in the prompt (<s>, <|user|> ...) count as tokens")
        ->needs(raw);
    add_sampler_options(command, options);
    command.get_option("--thinking")->excludes(raw);
    CLI::Option* beam = add_checked(command, "--beam", options.beam.width, CLI::Range(1, engine::kLargestBeamWidth),
                                    "Beam search of this width; 1: off");
    command
        .add_option("--length-penalty", options.beam.length_penalty,
                    "Of beam search: an answer's score is its log probability / length^PENALTY")
        ->capture_default_str();
    add_checked(command, "--answers", options.n_answers, CLI::Range(1, 16),
                "Answers drawn side by side, each with a seed of its own made of --seed; the first has --seed "
                "itself")
        ->excludes(beam);
    CLI::Option* grammar =
        command.add_option("--grammar", options.grammar, "The answer is a text of this grammar: a file in GBNF")
            ->excludes(beam);
    command.add_option("--json-schema", options.json_schema, "The answer is JSON of this schema: a file")
        ->excludes(beam)
        ->excludes(grammar);
    command.add_option(
        "--replan-script", options.replan_script,
        "JSON lines {\"at_token\": N, \"vram\": \"8GiB\", ...}: budgets that move while the answer is made");
    command.add_option("--trace", options.trace, "Write the routing of every token to this file, for replay");
    command.add_option("--prompt-cache", options.prompt_cache,
                       "Keep keys and values of prompt and answer in FILE.kv and FILE.end; the beginning that a later "
                       "prompt has in common with them is read from there instead of computed");
    add_node_options(command, options.model);
    add_run_options(command, options.model, false);
    add_drafts_option(command, options.model);
    add_json_option(command, options.model.json);
}

int run_generate(GenerateOptions& options) {
    if (!options.prompt && !options.prompt_file) throw CLI::RequiredError("--prompt or --prompt-file");
    options.prompt = prompt_of(options);
    const auto orders =
        options.replan_script.empty() ? std::vector<ReplanOrder>{} : read_replan_script(options.replan_script);
    const std::shared_ptr<const engine::Grammar> form = form_of_answer(options);
    const auto session = engine::Session::create();
    // Before the load, so that its thread's memory is not counted as free by the load.
    std::stop_source stop;
    const InterruptWatch watch(stop);
    engine::LoadRequest load = load_request(options.model);
    load.text_needs = options.raw ? engine::TextNeeds::kTokenizer : engine::TextNeeds::kChatTemplate;
    const engine::ModelSummary model = session->load(load, progress_on_terminal(), {});
    check_experts(orders, model);
    const auto nodes = join_nodes(*session, options.model);
    apply_defaults(model, options);

    engine::GenerationRequest request;
    request.raw = options.raw;
    request.raw_special = options.special;
    request.raw_prompt = *options.prompt;
    if (!options.system.empty()) request.messages.push_back({engine::Role::kSystem, options.system});
    request.messages.push_back({engine::Role::kUser, *options.prompt});
    request.sampler = options.sampler;
    request.max_tokens = options.max_tokens;
    request.thinking = options.thinking;
    request.beam = options.beam;
    request.n_answers = options.n_answers;
    request.grammar = form;
    request.trace_file = options.trace;
    request.kept_in = options.prompt_cache;
    if (!request.kept_in.empty()) make_kept_file(request.kept_in);

    const bool several = options.beam.width > 1 || options.n_answers > 1;
    // A file or another program gets only the answer.
    ReplyPrinter printer(ReplyPrinter::shown(options.hide_thinking, ReplyPrinter::Thoughts::kHidden));
    engine::TextDeltaFn stream;
    if (!options.model.json && !several) stream = [&](const engine::TextDelta& delta) { printer.print(delta); };
    std::size_t next_order = 0;
    std::int64_t n_made = 0;
    std::exception_ptr output_failure;
    const auto carry_out_due = [&](std::int64_t n_tokens) {
        while (next_order < orders.size() && orders[next_order].at_token <= n_tokens) {
            carry_out(orders[next_order++], *session);
        }
    };
    carry_out_due(0);
    const auto on_delta = [&](const engine::TextDelta& delta) {
        n_made = delta.n_tokens;
        carry_out_due(n_made);
        if (!stream || output_failure) return;
        try {
            stream(delta);
        } catch (const OutputFailed&) {  // the output has no reader; the session ends the answer and the trace in order
            output_failure = std::current_exception();
            stop.request_stop();
        }
    };
    engine::GenerationResult result;
    {
        catch_interrupts(true);
        result = session->generate(request, on_delta, stop.get_token());
    }
    const bool has_work = !options.replan_script.empty() || !options.prompt_cache.empty();
    if (has_work && !stop.stop_requested()) session->advance(stop.get_token());
    if (engine::Message note = session->take_note(); !note.empty()) result.notes.push_back(std::move(note));
    if (!options.raw && engine::is_demo_model(model)) {
        if (const auto known = manual_answers().answer_of(*options.prompt)) {
            result.notes.push_back(engine::messages::manual_answers_this(known->page));
        }
    }
    if (nodes != nullptr) nodes->print_notes();
    if (output_failure) std::rethrow_exception(output_failure);
    for (; next_order < orders.size(); ++next_order) {
        const ReplanOrder& order = orders[next_order];
        result.notes.push_back(engine::messages::order_not_reached(order.place, order.at_token, n_made));
    }
    const int status = stop.stop_requested() ? kInterrupted : 0;
    if (options.model.json) {
        nlohmann::ordered_json json = to_json(result, model, session->snapshot());
        json["sampler"] = to_json(options.sampler);
        if (nodes != nullptr) json["nodes"] = nodes->to_json();
        json["replans"] = nlohmann::ordered_json::array();
        for (const engine::ReplanReport& report : session->replans()) json["replans"].push_back(cli::to_json(report));
        print_json(json);
    } else {
        if (several) {
            print_answers(result, options.beam.width > 1);
        } else {
            printer.finish();
            std::cout << std::endl;
        }
        const bool cut =
            result.finish == engine::FinishReason::kMaxTokens || result.finish == engine::FinishReason::kContextFull;
        if (result.thought_is_open && result.finish == engine::FinishReason::kEndOfTurn) {
            std::cerr << "The model ended its turn within the thought before the answer." << std::endl;
        } else if (result.thought_is_open && cut) {
            std::cerr << "Ended within the thought before the answer, after " << result.thought_tokens
                      << " tokens of it: raise --max-tokens or --context"
                      << (model.thinking_choices.empty() ? "" : ", or choose less with --thinking") << "." << std::endl;
        }
        print_notes(model);
        print_notes(result);
        for (const engine::ReplanReport& report : session->replans()) {
            if (report.state != engine::ReplanState::kFailed) continue;
            std::cerr << "The re-plan at token " << report.at_token << " failed: " << report.problem.english()
                      << std::endl;
        }
    }
    if (status == kInterrupted) std::cerr << "Stopped by Ctrl+C" << kept_trace(options, result) << "." << std::endl;
    return status;
}

}  // namespace

void add_generate(Commands& commands) {
    commands.add("generate", "Answer one prompt", declare_generate, run_generate);
}

}  // namespace offstage::cli
