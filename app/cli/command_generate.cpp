#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/generation_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/replan_script.h"
#include "app/cli/reply_printer.h"
#include "app/cli/standard_output.h"
#include "app/cli/terminal_output.h"
#include "engine/eval/loading_report.h"
#include "engine/plan/plan.h"

namespace offstage::cli {

namespace {

nlohmann::ordered_json to_json(const std::vector<engine::Answer>& answers) {
    auto list = nlohmann::ordered_json::array();
    for (const engine::Answer& answer : answers) {
        list.push_back({{"text", answer.text},
                        {"thought", answer.thought},
                        {"tokens", answer.tokens},
                        {"log_probability", answer.log_probability},
                        {"score", answer.score},
                        {"finish", std::string(engine::name_of(answer.finish))}});
        if (answer.seed != 0) list.back()["seed"] = answer.seed;
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
    nlohmann::ordered_json json = {
        {"text", result.text},
        {"thought", result.thought},
        {"thought_is_open", result.thought_is_open},
        {"thought_tokens", result.thought_tokens},
        {"tokens", result.tokens},
        {"prompt_tokens", result.prompt_tokens},
        {"ttft_s", result.ttft_s},
        {"decode_tokens_per_s", result.decode_tokens_per_s},
        {"finish", std::string(engine::name_of(result.finish))},
        {"seed", result.seed},
        {"device", model.device},
        {"emulated", model.emulated},
        {"kv_type", model.kv_type},
        {"theta", model.theta},
        {"theta_loss", model.theta_loss},
        {"neuron_guesses", model.accepts_guesses ? "accept" : "correct"},
        {"compute", model.compute},
        {"compute_origin", model.compute_origin},
        {"device_compute", model.device_compute},
        {"device_compute_origin", model.device_compute_origin},
        {"n_threads", model.n_threads},
        {"instruction_set", model.instruction_set},
        {"policy", model.policy},
        {"resident_experts", resident_experts(now)},
        {"total_experts", model.total_experts},
        {"vram_budget_bytes", now.vram.budget},
        {"vram_high_water_bytes", device.vram_high_water_bytes},
        {"hit_rate", device.hit_rate},
        {"bytes_copied", device.bytes_copied},
        {"sparse_copies", device.sparse_copies},
        {"copy_bytes_saved", device.copy_bytes_saved},
        {"neuron_hit_rate", device.neuron_hit_rate},
        {"loading", engine::to_json(device.loading)},
        {"expected_hit_rate", model.expected_hit_rate},
        {"ram_budget_bytes", now.ram.budget},
        {"ram_high_water_bytes", device.ram_high_water_bytes},
        {"decode_policy", device.decode_policy},
        {"decisions", engine::english(device.decisions)},
        {"dispatch_overhead", device.dispatch_overhead},
        {"decision_overhead", device.decision_overhead},
        {"overheads_are", model.emulated ? "measured, of accounted step times" : "measured, of measured step times"},
        {"guessed_copies", device.guessed_copies},
        {"used_guesses", device.used_guesses},
        {"admissions", device.admissions},
        {"median_step_s", device.median_step_s},
        {"longest_step_s", device.longest_step_s},
        {"mean_bits", device.mean_bits},
        {"notes", engine::english(model.notes)}};
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
    CLI::Option* beam = command.add_option("--beam", options.beam.width, "Beam search of this width; 1: off")
                            ->check(CLI::Range(1, engine::kLargestBeamWidth))
                            ->capture_default_str();
    command
        .add_option("--length-penalty", options.beam.length_penalty,
                    "Of beam search: an answer's score is its log probability / length^PENALTY")
        ->capture_default_str();
    command
        .add_option("--answers", options.n_answers,
                    "Answers drawn side by side, each with a seed of its own made of --seed; the first has --seed "
                    "itself")
        ->check(CLI::Range(1, 16))
        ->excludes(beam)
        ->capture_default_str();
    command.add_option(
        "--replan-script", options.replan_script,
        "JSON lines {\"at_token\": N, \"vram\": \"8GiB\", ...}: budgets that move while the answer is made");
    command.add_option("--trace", options.trace, "Write the routing of every token to this file, for replay");
    add_node_options(command, options.model);
    add_run_options(command, options.model, false);
    add_json_option(command, options.model.json);
}

int run_generate(GenerateOptions& options) {
    if (!options.prompt && !options.prompt_file) throw CLI::RequiredError("--prompt or --prompt-file");
    options.prompt = prompt_of(options);
    const auto orders =
        options.replan_script.empty() ? std::vector<ReplanOrder>{} : read_replan_script(options.replan_script);
    const auto session = engine::Session::create();
    // Before the load, so that its thread's memory is not counted as free by the load.
    std::stop_source stop;
    const InterruptWatch watch(stop);
    const engine::ModelSummary model = session->load(load_request(options.model), progress_on_terminal(), {});
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
    request.trace_file = options.trace;

    const bool several = options.beam.width > 1 || options.n_answers > 1;
    // A file or another program gets only the answer.
    ReplyPrinter printer(ReplyPrinter::shown(options.hide_thinking, ReplyPrinter::Thoughts::kHidden));
    engine::TextDeltaFn stream;
    if (!options.model.json && !several) stream = [&](const engine::TextDelta& delta) { printer.print(delta); };
    std::size_t next_order = 0;
    std::exception_ptr output_failure;
    const auto carry_out_due = [&](std::int64_t n_tokens) {
        while (next_order < orders.size() && orders[next_order].at_token <= n_tokens) {
            carry_out(orders[next_order++], *session);
        }
    };
    carry_out_due(0);
    const auto on_delta = [&](const engine::TextDelta& delta) {
        carry_out_due(delta.n_tokens);
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
    if (!options.replan_script.empty() && !stop.stop_requested()) session->advance(stop.get_token());
    if (nodes != nullptr) nodes->print_notes();
    if (output_failure) std::rethrow_exception(output_failure);
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
