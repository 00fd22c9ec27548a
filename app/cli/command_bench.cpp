#include "app/cli/command_bench.h"

#include <cstdio>
#include <iostream>

#include "app/cli/commands.h"
#include "app/cli/nodes_joined.h"
#include "app/cli/terminal_output.h"
#include "app/read_option.h"
#include "engine/eval/bench.h"
#include "engine/eval/loading_report.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::cli {
namespace {

nlohmann::ordered_json to_json(const char* phase, const engine::BenchRate& rate) {
    nlohmann::ordered_json json = {{"phase", phase}};
    ADD_FIELDS(json, rate, what, unit, rate);
    if (rate.limit > 0) ADD_FIELDS(json, rate, limit, fraction);
    json["limit_is"] = rate.limit_is;
    return json;
}

// "  weights that the CPU reads: 26.3 GB/s, 82 % of 32.3 (read bandwidth of 1.00 GiB,
// measured in this run)"
std::string to_text(const engine::BenchRate& rate) {
    const std::string text = engine::print("  %s: %.1f %s", rate.what.c_str(), rate.rate, rate.unit.c_str());
    if (!(rate.limit > 0)) return text + " (" + rate.limit_is + ")";
    return text + engine::print(", %.0f %% of %.1f (%s)", 100 * rate.fraction, rate.limit, rate.limit_is.c_str());
}

nlohmann::ordered_json to_json(const engine::ThetaGain& row) {
    const std::optional<double> share = row.share_of_gain();
    nlohmann::ordered_json json = {{"theta", row.theta.theta}, {"theta_loss", row.theta.loss}};
    ADD_FIELDS(json, row, active_share, tokens_per_s, whole_tokens_per_s);
    json["weight_bytes_per_token"] = row.bytes_per_token;
    json["gain"] = row.gain;
    json["lower_quartile_gain"] = row.lower_gain;
    json["upper_quartile_gain"] = row.upper_gain;
    json["bytes_allow"] = row.bytes_allow;
    json["distinguishable"] = row.is_distinguishable();
    json["share_of_gain"] = share ? nlohmann::ordered_json(*share) : nlohmann::ordered_json();
    return json;
}

// "theta 0.257: 21.70 tokens/s, 49 % active, 1.304 times the 16.64 without (quartiles
// 1.271, 1.331), of 1.391 that the bytes allow: 78 % of that gain"
std::string to_text(const engine::ThetaGain& row) {
    const std::string name =
        row.theta.loss > 0 ? engine::print("auto:%g", row.theta.loss) : engine::print("%g", row.theta.theta);
    std::string text = engine::print(
        "theta %s: %.2f tokens/s, %.0f %% active, %.3f times the %.2f without (quartiles %.3f, %.3f)", name.c_str(),
        row.tokens_per_s, 100 * row.active_share, row.gain, row.whole_tokens_per_s, row.lower_gain, row.upper_gain);
    if (!row.is_distinguishable()) return text + ": not distinguishable from no gain";
    if (!(row.bytes_allow > 1)) return text;
    text += engine::print(", of %.3f that the bytes allow", row.bytes_allow);
    const std::optional<double> share = row.share_of_gain();
    if (share && *share < 0) return text + ": slower than without";
    return text + (share ? engine::print(": %.0f %% of that gain", 100 * *share)
                         : ": more than that, as other work disturbed the tokens without it");
}

void declare_bench(CLI::App& command, BenchOptions& options) {
    add_model_option(command, options.model.model);
    add_checked(command, "--prompt", options.prompt, CLI::PositiveNumber, "Tokens of the prompt");
    add_checked(command, "--decode", options.decode, CLI::PositiveNumber, "Tokens decoded after it");
    add_checked(command, "--repeat", options.repeats, CLI::Range(1, 1000), "Repeats; medians are shown");
    CLI::Option* scenario =
        command.add_option("--scenario", options.scenario, "Fiddler's scenarios: decode, prefill, beam, or all")
            ->check(CLI::IsMember({"decode", "prefill", "beam", "all"}));
    add_parsed(command, "--compare", options.compare, parse_policies,
               "Policies to compare in one run, separated by commas")
        ->needs(scenario);
    const auto lengths = [&](const char* name, std::vector<std::int64_t>& values, const char* help) {
        command.add_option(name, values, help)->delimiter(',')->check(CLI::PositiveNumber)->needs(scenario);
    };
    lengths("--in", options.in, "Prompt lengths of the scenario instead of the paper's");
    lengths("--out", options.out, "Answer lengths");
    command.add_option("--widths", options.widths, "Beam widths")
        ->delimiter(',')
        ->check(CLI::Range(1, engine::kLargestBeamWidth))
        ->needs(scenario);
    command
        .add_option("--text", options.text,
                    "Prompts from this text, or from conversations in a .jsonl or .json file (ShareGPT's form too) "
                    "instead of random tokens")
        ->needs(scenario);
    command.add_flag("--markdown", options.markdown, "With --json: the table as well, under \"markdown\"")
        ->needs(scenario);
    add_node_options(command, options.model);
    add_expert_options(command, options.model);
    add_theta_option(command, options.model);
    const auto parse_theta = [](const std::string& text) {
        engine::LoadRequest read;
        if (!read_theta(text, read) || !read.leaves_out()) {
            throw CLI::ValidationError("--compare-thetas", text + " is no number above 0, auto or auto:LOSS");
        }
        return read.theta_choice();
    };
    add_parsed_list(
        command, "--compare-thetas", options.compared_thetas, parse_theta,
        "After the repeats as many in which tokens are decoded with each of these thetas (as --theta, separated by "
        "commas) and without any in turn: what a theta gains, beside what the bytes of weights allow")
        ->delimiter(',')
        ->type_name("T|auto[:LOSS],..")
        ->excludes(scenario);
    add_device_options(command, options.model);
    add_paced_option(command, options.model);
    add_dry_options(command, options.model,
                    "Scenarios of a synthetic model on an emulated device with a host: account the time, compute "
                    "nothing; experts are drawn from --profile",
                    "speculative loading guesses an expert right");
    add_compute_options(command, options.model);
    add_drafts_option(command, options.model, engine::DraftMode::kOff);
    add_json_option(command, options.model.json);
}

const char* how_timed(const engine::BenchResult& r) {
    return r.accounted ? "accounted" : "measured";
}

nlohmann::ordered_json to_json(const engine::BenchResult& r, const engine::ModelSummary& summary, std::int64_t prompt) {
    const bool cpu = summary.device == "cpu";
    nlohmann::ordered_json json;
    ADD_FIELDS(json, r, prefill_tokens_per_s, decode_tokens_per_s);
    json["ttft_s"] = static_cast<double>(prompt) / r.prefill_tokens_per_s;
    json["times"] = how_timed(r);
    json["active_weight_bytes_per_token"] = r.active_weight_bytes_per_token;
    if (cpu) {  // the single rates of decode and of prefill, under separate names
        const engine::BenchRate& rate = r.decode.front();
        json["decode_gb_per_s"] = rate.rate;
        json.update({{"read_bandwidth_gb_per_s", nullptr}, {"decode_bandwidth_fraction", nullptr}});
        if (rate.limit > 0) json["read_bandwidth_gb_per_s"] = rate.limit;
        if (rate.limit > 0) json["decode_bandwidth_fraction"] = rate.fraction;
        ADD_FIELDS(json, r, peak_bf16_gflops, peak_f32_gflops, peak_int8_gops);
    }
    if (r.forecast.decode_tokens_per_s > 0) {
        ADD_FIELDS(json["forecast"], r.forecast, decode_tokens_per_s, ttft_s, hit_rate);
    }
    if (!r.note.empty()) json["note"] = r.note.english();
    json["prefill_gflops"] = r.prefill.rate;
    if (cpu && r.prefill.limit > 0) {
        json["prefill_peak_fraction"] = r.prefill.fraction;
        json["prefill_peak_is"] = r.prefill.limit_is;
    }
    json["prefill_products"] = r.prefill_products;
    for (const engine::BenchRate& rate : r.decode) json["rates"].push_back(to_json("decode", rate));
    json["rates"].push_back(to_json("prefill", r.prefill));
    ADD_FIELDS(json, r, repeats, dropped_repeats);
    ADD_FIELDS(json, summary, load_s, weight_bytes, n_threads, instruction_set, kv_type, theta, theta_loss);
    json["neuron_guesses"] = summary.accepts_guesses ? "accept" : "correct";
    ADD_FIELDS(json, r, active_share, sparse_copies_per_token, copied_bytes_per_token, copy_bytes_saved_per_token,
               neuron_hit_rate);
    json["loading_per_token"] = engine::to_json(r.loading);
    add_products(json, summary);
    ADD_FIELDS(json, summary, device, emulated);
    for (std::size_t i = 0; !cpu && i < r.host_us.size(); ++i) {
        json["host_us_per_token"][engine::HostTimes::kNames[i]] = r.host_us[i];
    }
    for (const engine::ThetaGain& row : r.thetas) json["thetas"].push_back(to_json(row));
    if (r.drafts) {
        json["drafts"] = drafts_json(r.drafts->drafts);
        json["drafts"].erase("more_experts");  // not counted there
        ADD_FIELDS(json["drafts"], *r.drafts, tokens_per_s, plain_tokens_per_s);
    }
    return json;
}

void print_text(const engine::BenchResult& r, const engine::ModelSummary& summary, const BenchOptions& options) {
    const auto prompt = static_cast<long long>(options.prompt);
    const auto decode = static_cast<long long>(options.decode);
    const bool cpu = summary.device == "cpu";
    if (cpu) {
        std::printf("%s, %s weights, %d threads, %s (loaded in %.1f s)\n", summary.name.c_str(),
                    summary.weight_type.c_str(), summary.n_threads, summary.instruction_set.c_str(), summary.load_s);
    } else {
        std::printf("%s, %s weights, on %s, %lld of %lld experts resident\n", summary.name.c_str(),
                    summary.weight_type.c_str(), summary.device_name.c_str(),
                    static_cast<long long>(summary.resident_experts), static_cast<long long>(summary.total_experts));
    }
    std::printf("prefill %lld: %8.1f tokens/s (%s), products in %s\n", prompt, r.prefill_tokens_per_s, how_timed(r),
                r.prefill_products.c_str());
    std::printf("%s\n", to_text(r.prefill).c_str());
    if (cpu) {
        std::printf("  peaks: f32 %.0f, bf16 %.0f GFLOP/s, int8 %.0f Gop/s\n", r.peak_f32_gflops, r.peak_bf16_gflops,
                    r.peak_int8_gops);
    }
    std::printf("decode %lld:  %8.2f tokens/s (%s), %s of weights read per token\n", decode, r.decode_tokens_per_s,
                how_timed(r), engine::format_bytes(r.active_weight_bytes_per_token).c_str());
    for (const engine::BenchRate& rate : r.decode) std::printf("%s\n", to_text(rate).c_str());
    if (!cpu) std::printf("  of a token: %s\n", engine::to_text(r.loading).c_str());
    if (summary.theta > 0 && !cpu) {
        std::printf(
            "  skipped neurons: %.0f %% active; %.2f experts per token copied without the others, %.0f %% of what "
            "they "
            "needed being there, %s instead of %s over the bus\n",
            100 * r.active_share, r.sparse_copies_per_token, 100 * r.neuron_hit_rate,
            engine::format_bytes(static_cast<std::uint64_t>(r.copied_bytes_per_token)).c_str(),
            engine::format_bytes(static_cast<std::uint64_t>(r.copied_bytes_per_token + r.copy_bytes_saved_per_token))
                .c_str());
    }
    std::printf("medians of %d repeats, %d dropped%s\n", r.repeats, r.dropped_repeats, theta_label(summary).c_str());
    for (const engine::ThetaGain& row : r.thetas) std::printf("%s\n", to_text(row).c_str());
    if (r.drafts) {
        const engine::DraftReport& drafts = r.drafts->drafts;
        std::printf(
            "greedy with drafts: %.2f tokens/s beside %.2f without, %.2f tokens a step, %lld of %lld drafted "
            "ones accepted\n",
            r.drafts->tokens_per_s, r.drafts->plain_tokens_per_s, drafts.tokens_per_step(),
            static_cast<long long>(drafts.accepted), static_cast<long long>(drafts.drafted));
    }
    print_notes(summary);
    if (!r.note.empty()) std::printf("%s\n", r.note.english().c_str());
}

int run_bench(const BenchOptions& options) {
    if (!options.scenario.empty()) return run_scenario_bench(options);
    engine::LoadRequest request = load_request(options.model);
    engine::BenchRequest bench{options.prompt, options.decode, options.repeats, options.compared_thetas};
    for (engine::ThetaChoice& theta : bench.compared) theta.guesses = request.neuron_guesses;
    // Otherwise the plan is the one that `plan` shows and a conversation gets.
    if (engine::context_of(bench) > engine::kShortestContext) request.context = engine::context_of(bench);
    request.learn_placement = false;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kNotNeeded, progress_on_terminal(), {});
    const auto nodes = join_nodes(model, options.model, true);
    const double node_forecast = nodes != nullptr ? nodes->forecast_tokens_per_s(options.prompt) : 0;
    const auto log = [](const std::string& line) { std::cerr << line << std::endl; };
    const engine::BenchResult r = engine::run_bench(model, bench, log);
    if (options.model.json) {
        nlohmann::ordered_json json = to_json(r, model.summary(), options.prompt);
        if (nodes != nullptr) {
            json["nodes"] = nodes->to_json();
            json["forecast_with_nodes_tokens_per_s"] = node_forecast;
        }
        print_json(json);
        return 0;
    }
    print_text(r, model.summary(), options);
    if (nodes != nullptr) {
        std::printf("forecast of decode with these machines: %.2f tokens/s\n", node_forecast);
        nodes->print_notes();
    }
    return 0;
}

}  // namespace

void add_bench(Commands& commands) {
    commands.add("bench", "Speed of prefill and decode beside what the machine can do (needs no tokenizer)",
                 declare_bench, run_bench);
}

}  // namespace offstage::cli
