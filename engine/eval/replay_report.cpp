#include "engine/eval/replay_report.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/eval/eval_messages.h"
#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

using nlohmann::ordered_json;

}  // namespace

ReplayReport compare_policies(const RoutingTrace& trace, const Popularity& popularity, const ReplayRequest& request) {
    const TraceHeader& header = trace.header;
    require_shapes(popularity, header);
    Speculation speculation;
    if (request.distance != 0) {
        if (std::find(header.distances.begin(), header.distances.end(), request.distance) == header.distances.end()) {
            throw Error(ErrorKind::kInvalidInput, messages::trace_without_distance(request.distance));
        }
        speculation = {&trace, request.distance, request.n_guesses};
    }
    ReplayReport report;
    report.model = header.model;
    report.n_layers = header.n_layers;
    report.n_experts = header.n_experts;
    report.n_active = header.n_active;
    report.expert_bytes = request.expert_bytes;
    report.distance = request.distance;
    report.policies = request.policies;
    const CacheCalls calls = cache_calls(trace);
    report.n_tokens = calls.n_tokens;
    report.n_steps = static_cast<std::int64_t>(calls.layers.size()) / std::max<std::int64_t>(1, calls.n_layers);
    for (const std::int64_t slots : request.sizes) {
        for (const CacheKind kind : request.policies) {
            const auto policy = make_cache_policy(kind, popularity, request.settings);
            auto residents = initial_residents(slots, kind == CacheKind::kLruLayer, popularity);
            report.results.push_back(replay(calls, *policy, slots, std::move(residents), speculation));
        }
        report.results.push_back(replay_oracle(calls, slots, initial_residents(slots, false, popularity)));
    }
    return report;
}

ordered_json to_json(const ReplayReport& report) {
    ordered_json json;
    ADD_FIELDS(json, report, model, n_layers, n_experts, n_active, n_tokens, n_steps);
    const auto total = static_cast<double>(report.n_layers * report.n_experts);
    json["results"] = ordered_json::array();
    for (const ReplayResult& r : report.results) {
        ordered_json layers = ordered_json::array();
        for (const HitCount& layer : r.layers) layers.push_back(rounded(layer.rate()));
        ordered_json row = {{"policy", r.policy},
                            {"slots", r.n_slots},
                            {"residency", rounded(static_cast<double>(r.n_slots) / total)},
                            {"hit_rate", rounded(r.all.rate())},
                            {"calls", r.all.calls},
                            {"hits", r.all.hits},
                            {"decode_hit_rate", r.decode.calls > 0 ? ordered_json(rounded(r.decode.rate())) : nullptr},
                            {"prompt_hit_rate", r.prompt.calls > 0 ? ordered_json(rounded(r.prompt.rate())) : nullptr},
                            {"admissions", r.admissions},
                            {"evictions", r.evictions}};
        if (report.distance > 0 && r.policy != "oracle") {
            row["guessed_copies"] = r.guessed_copies;
            row["guessed_used"] = r.guessed_used;
        }
        row["copies"] = r.copies();
        if (report.expert_bytes > 0) row["bytes_per_token"] = std::round(report.bytes_per_token(r));
        row["layers"] = std::move(layers);
        json["results"].push_back(std::move(row));
    }
    return json;
}

std::string to_text(const ReplayReport& report) {
    std::string text = shape_text(report) + "; " + std::to_string(report.n_tokens) + " tokens in " +
                       std::to_string(report.n_steps) + " steps\n";
    const auto total = static_cast<double>(report.n_layers * report.n_experts);
    const std::size_t n_columns = report.policies.size() + 1;
    const auto add = [&](const char* title, int digits, double factor, const auto& cell) {
        Table table({{"slots", 7}, {"residency", 10, 1, 100, " %"}});
        std::vector<Cell>* row = nullptr;
        for (std::size_t i = 0; i < report.results.size(); ++i) {
            const ReplayResult& r = report.results[i];
            if (i < n_columns) table.add_column({r.policy, 12, digits, factor});
            if (i % n_columns == 0) row = &table.add({r.n_slots, static_cast<double>(r.n_slots) / total});
            row->push_back(cell(r));
        }
        text += std::string("\n") + title + "\n" + table.text();
    };
    add("Hit rate, %", 1, 100, [](const ReplayResult& r) -> Cell { return r.all.rate(); });
    const double per_token = 1 / static_cast<double>(std::max<std::int64_t>(1, report.n_tokens));
    add("Experts admitted per token", 2, per_token, [](const ReplayResult& r) -> Cell { return r.admissions; });
    if (report.distance > 0) {
        add("Experts guessed, copied and used, % of those copied on a guess", 1, 100, [](const ReplayResult& r) {
            if (r.guessed_copies == 0) return Cell();
            return Cell(static_cast<double>(r.guessed_used) / static_cast<double>(r.guessed_copies));
        });
    }
    if (report.expert_bytes > 0) {
        add("Bytes copied per token", 0, 1, [&](const ReplayResult& r) -> Cell {
            return format_bytes(static_cast<std::uint64_t>(report.bytes_per_token(r)));
        });
    } else {
        add("Experts copied per token", 2, per_token, [](const ReplayResult& r) -> Cell { return r.copies(); });
    }
    return text;
}

}  // namespace offstage::engine
