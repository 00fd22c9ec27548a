#include "engine/eval/ablation.h"

#include "engine/device/byte_size.h"
#include "engine/error.h"
#include "engine/eval/bench.h"
#include "engine/eval/eval_messages.h"
#include "engine/print.h"
#include "engine/report_table.h"
#include "engine/run/loaded_model.h"

namespace offstage::engine {
namespace {

// A row's request, and the paper's gain with Mixtral at that point (figure 8).
struct Variant {
    const char* name;
    double paper_gain;
    bool sparse, prefetch, cache, mixed, cpu;
};
constexpr Variant kVariants[] = {
    {"every expert on demand", 1, false, false, false, false, false},
    {"+ sparse neurons", 1.25, true, false, false, false, false},
    {"+ prefetch", 1.59, true, true, false, false, false},
    {"+ experts kept", 2.07, true, true, true, false, false},
    {"+ mixed precision", 0, true, true, true, true, false},
    {"+ the CPU", 0, true, true, true, true, true},
};

LoadRequest request_of(const Variant& variant, LoadRequest request) {
    if (!variant.sparse) request.theta = 0;
    // If the CPU computes too, copies of guesses cost as much memory bandwidth as they
    // save: kAuto makes none where they do not pay.
    const PrefetchMode guesses = variant.cpu ? PrefetchMode::kAuto : PrefetchMode::kAlways;
    request.prefetch = variant.prefetch ? guesses : PrefetchMode::kOff;
    request.cache = variant.cache ? CacheKind::kSlru : CacheKind::kStatic;
    request.dispatch = parse_dispatch(variant.cpu ? "balanced" : "transfer");
    return request;
}

// Device memory for so many experts beside all else.
std::uint64_t vram_for(LoadedModel& whole, std::int64_t n_experts, const LoadRequest& request) {
    constexpr std::uint64_t kAlignment = 1 << 16;
    const Plan& plan = whole.plan();
    const std::int64_t staging = request.prefetch == PrefetchMode::kOff ? 2 : 4;
    const std::uint64_t expert_bytes = whole.experts().expert_bytes(whole.experts().format(0));
    return plan.dense_bytes + plan.kv_bytes + plan.workspace_bytes + kAlignment +
           static_cast<std::uint64_t>(n_experts + staging) * expert_bytes;
}

}  // namespace

AblationReport measure_ablation(const LoadRequest& request, const AblationSettings& settings,
                                const std::function<void(const std::string& line)>& progress,
                                const std::stop_token& stop) {
    if (request.theta <= 0) throw Error(ErrorKind::kInvalidInput, messages::ablation_without_theta);
    LoadRequest base = request;
    base.context = settings.prompt_tokens + settings.decode_tokens;
    base.learn_placement = false;
    const auto open = [&](const LoadRequest& wanted) {
        return std::make_unique<LoadedModel>(wanted, LoadedModel::Text::kNotNeeded, LoadProgressFn{}, stop);
    };
    AblationReport report;
    report.theta = request.theta;
    report.resident_per_layer = settings.resident_per_layer;
    report.prompt_tokens = settings.prompt_tokens;
    report.decode_tokens = settings.decode_tokens;
    for (const Variant& variant : kVariants) {
        const bool only_mixes = variant.mixed && !variant.cpu;
        if (only_mixes && settings.mean_bits <= 0) continue;
        LoadRequest wanted = request_of(variant, base);
        {
            LoadRequest unbounded = wanted;
            unbounded.vram_bytes = 0;
            const auto whole = open(unbounded);
            if (whole->device().shares_host_memory()) {
                throw Error(ErrorKind::kInvalidInput, messages::ablation_on_the_cpu);
            }
            const ExpertGrid& grid = whole->spec().experts;
            if (settings.resident_per_layer < 0 || settings.resident_per_layer >= grid.n_experts) {
                throw Error(ErrorKind::kInvalidInput,
                            messages::ablation_residents(settings.resident_per_layer, grid.n_experts - 1));
            }
            wanted.vram_bytes =
                vram_for(*whole, variant.cache ? settings.resident_per_layer * grid.n_layers : 0, wanted);
        }
        if (variant.mixed && settings.mean_bits > 0) {
            wanted.quant.experts.reset();
            wanted.quality.min_mean_bits = settings.mean_bits;
        }
        const auto model = open(wanted);
        const BenchResult run = run_bench(*model, {settings.prompt_tokens, settings.decode_tokens, 3}, {});
        if (report.rows.empty()) report.model = model->summary().name + ", " + model->summary().weight_type;
        report.device = model->summary().device_name;
        report.accounted = run.accounted;
        AblationRow& row = report.rows.emplace_back();
        row.name = variant.name;
        row.tokens_per_s = run.decode_tokens_per_s;
        row.gain = row.tokens_per_s / report.rows.front().tokens_per_s;
        const double whole_s = static_cast<double>(settings.prompt_tokens) / run.prefill_tokens_per_s +
                               static_cast<double>(settings.decode_tokens) / run.decode_tokens_per_s;
        row.whole_tokens_per_s = static_cast<double>(settings.decode_tokens) / whole_s;
        row.whole_gain = row.whole_tokens_per_s / report.rows.front().whole_tokens_per_s;
        row.hidden_computing = run.loading.hidden_computing();
        row.paper_gain = variant.paper_gain;
        row.forecast_tokens_per_s = run.forecast.decode_tokens_per_s;
        row.hit_rate = run.decode_hit_rate;
        row.active_share = run.active_share > 0 ? run.active_share : model->cost().active_share(-1, 1);
        row.copied_bytes_per_token = run.copied_bytes_per_token;
        row.copy_bytes_saved_per_token = run.copy_bytes_saved_per_token;
        row.mean_bits = model->plan().mean_bits;
        if (progress) progress(row.name + print(": %.2f tokens/s, %.2f times the first", row.tokens_per_s, row.gain));
    }
    return report;
}

nlohmann::ordered_json to_json(const AblationReport& report) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, report, model, device);
    json["times"] = report.accounted ? "accounted" : "measured";
    ADD_FIELDS(json, report, theta, resident_per_layer, prompt_tokens, decode_tokens);
    json["rows"] = nlohmann::ordered_json::array();
    for (const AblationRow& row : report.rows) {
        nlohmann::ordered_json& of_row = json["rows"].emplace_back();
        ADD_FIELDS(of_row, row, name, tokens_per_s, gain, whole_tokens_per_s, whole_gain);
        of_row["paper_gain"] = nullptr;
        if (row.paper_gain > 0) of_row["paper_gain"] = row.paper_gain;
        ADD_FIELDS(of_row, row, forecast_tokens_per_s, hit_rate, active_share, hidden_computing, mean_bits,
                   copied_bytes_per_token, copy_bytes_saved_per_token);
    }
    return json;
}

std::string to_text(const AblationReport& report) {
    Table table({{"", -24},
                 {"tokens/s", 10, 2},
                 {"gain", 8, 2},
                 {"paper", 8, 2},
                 {"forecast", 10, 2},
                 {"hits", 7, 0, 100, "%"},
                 {"active", 8, 0, 100, "%"},
                 {"hidden", 8, 0, 100, "%"},
                 {"bits", 7, 2},
                 {"MB copied", 15, 1, 1e-6}});
    for (const AblationRow& row : report.rows) {
        table.add({row.name, row.tokens_per_s, row.gain, row.paper_gain > 0 ? Cell(row.paper_gain) : Cell(),
                   row.forecast_tokens_per_s, row.hit_rate, row.active_share, row.hidden_computing, row.mean_bits,
                   row.copied_bytes_per_token});
    }
    return print("theta %g, prompt ", report.theta) + std::to_string(report.prompt_tokens) + ", " +
           std::to_string(report.decode_tokens) + " tokens decoded, times " +
           (report.accounted ? "accounted\n" : "measured\n") + table.text();
}

std::string gains_by_length(const std::vector<AblationReport>& reports) {
    Table table({{"", -24}});
    for (const AblationReport& report : reports) table.add_column({std::to_string(report.decode_tokens), 8, 2});
    for (std::size_t i = 0; i < reports.front().rows.size(); ++i) {
        std::vector<Cell>& row = table.add({reports.front().rows[i].name});
        for (const AblationReport& report : reports) row.emplace_back(report.rows[i].whole_gain);
    }
    return "gain of the whole answer after a prompt of " + std::to_string(reports.front().prompt_tokens) +
           ", by tokens decoded\n" + table.text();
}

}  // namespace offstage::engine
