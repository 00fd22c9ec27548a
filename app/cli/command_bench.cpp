#include <cstdio>
#include <iostream>

#include "app/cli/commands.h"
#include "engine/eval/bench.h"

namespace offstage::cli {

int run_bench(const BenchOptions& options) {
    if (!options.scenario.empty()) return run_scenario_bench(options);
    engine::LoadRequest request = load_request(options.model);
    request.context = options.prompt + options.decode;
    request.learn_placement = false;
    engine::LoadedModel model(request, engine::LoadedModel::Text::kNotNeeded, progress_on_terminal(), {});
    const auto log = [](const std::string& line) { std::cerr << line << std::endl; };
    const engine::BenchResult r = engine::run_bench(model, {options.prompt, options.decode, options.repeats}, log);
    const engine::ModelSummary& summary = model.summary();
    if (options.model.json) {
        print_json({{"prefill_tokens_per_s", r.prefill_tokens_per_s},
                    {"decode_tokens_per_s", r.decode_tokens_per_s},
                    {"active_weight_bytes_per_token", r.active_weight_bytes_per_token},
                    {"decode_gb_per_s", r.decode_gb_per_s},
                    {"read_bandwidth_gb_per_s", r.read_bandwidth_gb_per_s},
                    {"decode_bandwidth_fraction", r.decode_bandwidth_fraction},
                    {"prefill_gflops", r.prefill_gflops},
                    {"peak_bf16_gflops", r.peak_bf16_gflops},
                    {"peak_f32_gflops", r.peak_f32_gflops},
                    {"prefill_peak_fraction", r.prefill_peak_fraction},
                    {"prefill_products", r.prefill_products},
                    {"repeats", r.repeats},
                    {"dropped_repeats", r.dropped_repeats},
                    {"load_s", summary.load_s},
                    {"weight_bytes", summary.weight_bytes},
                    {"n_threads", summary.n_threads},
                    {"instruction_set", summary.instruction_set},
                    {"compute", summary.compute},
                    {"compute_origin", summary.compute_origin},
                    {"device", summary.device},
                    {"emulated", summary.emulated}});
        return 0;
    }
    const auto prompt = static_cast<long long>(options.prompt);
    const auto decode = static_cast<long long>(options.decode);
    if (summary.device != "cpu") {
        // This machine's CPU is no limit of what another device does.
        std::printf("%s, %s weights, on %s, %lld of %lld experts resident\n", summary.name.c_str(),
                    summary.weight_type.c_str(), summary.device_name.c_str(),
                    static_cast<long long>(summary.resident_experts), static_cast<long long>(summary.total_experts));
        const char* const how = summary.emulated ? "accounted" : "measured";
        std::printf("prefill %lld: %8.1f tokens/s (%s)\n", prompt, r.prefill_tokens_per_s, how);
        std::printf("decode %lld:  %8.2f tokens/s (%s)\n", decode, r.decode_tokens_per_s, how);
        std::printf("medians of %d repeats\n", r.repeats);
        print_notes(summary);
        return 0;
    }
    std::printf("%s, %s weights, %d threads, %s (loaded in %.1f s)\n", summary.name.c_str(),
                summary.weight_type.c_str(), summary.n_threads, summary.instruction_set.c_str(), summary.load_s);
    std::printf(
        "prefill %lld: %8.1f tokens/s  %6.0f GFLOP/s, %.0f %% of the bf16 peak of %.0f (f32 peak %.0f; products in "
        "%s)\n",
        prompt, r.prefill_tokens_per_s, r.prefill_gflops, 100 * r.prefill_peak_fraction, r.peak_bf16_gflops,
        r.peak_f32_gflops, r.prefill_products.c_str());
    std::printf("decode %lld:  %8.2f tokens/s  %6.1f GB/s, %.0f %% of the read bandwidth of %.1f\n", decode,
                r.decode_tokens_per_s, r.decode_gb_per_s, 100 * r.decode_bandwidth_fraction, r.read_bandwidth_gb_per_s);
    std::printf("medians of %d repeats, %d dropped\n", r.repeats, r.dropped_repeats);
    print_notes(summary);
    return 0;
}

}  // namespace offstage::cli
