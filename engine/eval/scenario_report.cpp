#include "engine/eval/scenario_report.h"

#include <nlohmann/json.hpp>

#include "engine/print.h"
#include "engine/report_table.h"

namespace offstage::engine {
namespace {

std::string heading(const ScenarioReport& report) {
    const ModelSummary& m = report.model;
    std::string text = "### " + m.name + " on " + m.device_name + "\n\n";
    const std::string notice = emulation_notice(m);
    if (!notice.empty()) text += "**" + notice + "**\n\n";
    text += print("%s weights, %lld of %lld experts resident, ", m.weight_type.c_str(),
                  static_cast<long long>(m.resident_experts), static_cast<long long>(m.total_experts));
    if (m.vram_budget_bytes > 0) text += "VRAM budget " + format_bytes(m.vram_budget_bytes) + ", ";
    if (m.emulated_host) {
        text += "CPU accounted from the profile";  // this machine's has no part in the figures
    } else {
        text += print("CPU %s with %d threads", m.instruction_set.c_str(), m.n_threads);
        if (report.read_gbps > 0) text += print(", read bandwidth %.1f GB/s (measured)", report.read_gbps);
    }
    if (report.bus_gbps > 0) {
        text += print(", bus %.1f GB/s (%s)", report.bus_gbps, m.emulated ? "accounted" : "measured");
    }
    text += ".";
    if (!report.left_out.empty()) text += " " + report.left_out;
    return text + "\n";
}

Cell milliseconds(double us) {
    return us > 0 ? Cell(us / 1e3) : Cell();
}

constexpr std::string_view kCaptions[] = {"Decode: one answer after a short prompt; tokens/s of the whole request",
                                          "Prefill: the first token after a long prompt; tokens/s of the prompt",
                                          "Beam search: tokens/s of one answer, whatever the width"};

}  // namespace

std::string emulation_notice(const ModelSummary& model) {
    if (!model.emulated) return {};
    // The device's name ends in " (emulated)".
    const std::string name = model.device_name.substr(0, model.device_name.find(" (emulated)"));
    return "emulated " + name + ": accounted time, not a measurement" +
           (model.emulated_host ? "; the CPU's part is accounted from the profile too"
                                : "; the CPU's part is this machine's");
}

nlohmann::ordered_json to_json(const ScenarioReport& report) {
    const ModelSummary& m = report.model;
    auto rows = nlohmann::ordered_json::array();
    for (const ScenarioRow& row : report.rows) {
        nlohmann::ordered_json& json = rows.emplace_back();
        json["scenario"] = name_of(row.kind);
        ADD_FIELDS(json, row, policy, in, out, width);
        json["ttft_s"] = row.ttft_us / 1e6;
        json["itl_median_s"] = row.itl_median_us / 1e6;
        json["itl_p95_s"] = row.itl_p95_us / 1e6;
        json["total_s"] = row.total_us / 1e6;
        ADD_FIELDS(json, row, tokens_per_s, hit_rate, bytes_copied, resident_calls, copied_calls, cpu_calls, repeats);
    }
    nlohmann::ordered_json json = {{"model", m.name}};
    ADD_FIELDS(json, m, weight_type, n_layers, device, device_name, emulated, emulated_host);
    json["notice"] = emulation_notice(m);
    ADD_FIELDS(json, m, resident_experts, total_experts, vram_budget_bytes, ram_budget_bytes, expected_hit_rate,
               popularity, n_threads, instruction_set);
    json["left_out"] = report.left_out;
    json["notes"] = english(m.notes);
    json["rows"] = std::move(rows);
    if (report.read_gbps > 0) {
        json["read_bandwidth_gb_per_s"] = report.read_gbps;
        json["read_bandwidth_is"] = "of the host's memory, measured in this run";
    }
    if (report.bus_gbps > 0) {
        json["bus_gb_per_s"] = report.bus_gbps;
        json["bus_is"] = m.emulated ? "one expert's copy, accounted" : "one expert's copy, measured";
    }
    return json;
}

std::string to_markdown(const ScenarioReport& report) {
    const bool cpu = report.model.device == "cpu";  // nothing is copied there, and every expert is at hand
    std::string text = heading(report);
    for (const ScenarioKind kind : {ScenarioKind::kDecode, ScenarioKind::kPrefill, ScenarioKind::kBeam}) {
        Table table({{"in", 1},
                     {"out", 1},
                     {"width", 1},
                     {"policy", -1},
                     {"TTFT ms", 1, 2},
                     {"ITL ms", 1, 3},
                     {"ITL p95 ms", 1, 3},
                     {"tokens/s", 1, 2},
                     {"hit rate", 1, 1, 100, " %"},
                     {"copied", 1}});
        bool any = false;
        for (const ScenarioRow& row : report.rows) {
            if (row.kind != kind) continue;
            any = true;
            const Cell copied = format_bytes(static_cast<std::uint64_t>(row.bytes_copied));
            table.add({row.in, row.out, row.width, row.policy, row.ttft_us / 1e3, milliseconds(row.itl_median_us),
                       milliseconds(row.itl_p95_us), row.tokens_per_s, cpu ? Cell() : Cell(row.hit_rate),
                       cpu ? Cell() : copied});
        }
        if (any) text += "\n" + std::string(kCaptions[static_cast<std::size_t>(kind)]) + "\n\n" + table.markdown();
    }
    return text;
}

}  // namespace offstage::engine
