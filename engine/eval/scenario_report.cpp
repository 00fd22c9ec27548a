#include "engine/eval/scenario_report.h"

#include <nlohmann/json.hpp>

#include "engine/device/host_buffer.h"
#include "engine/print.h"

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

std::string milliseconds(double us) {
    return us > 0 ? print("%.3f", us / 1e3) : "-";
}

const char* caption(ScenarioKind kind) {
    switch (kind) {
        case ScenarioKind::kDecode:
            return "Decode: one answer after a short prompt; tokens/s of the whole request";
        case ScenarioKind::kPrefill:
            return "Prefill: the first token after a long prompt; tokens/s of the prompt";
        case ScenarioKind::kBeam:
            return "Beam search: tokens/s of one answer, whatever the width";
    }
    return "";
}

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
        rows.push_back({{"scenario", name_of(row.kind)},
                        {"policy", row.policy},
                        {"in", row.in},
                        {"out", row.out},
                        {"width", row.width},
                        {"ttft_s", row.ttft_us / 1e6},
                        {"itl_median_s", row.itl_median_us / 1e6},
                        {"itl_p95_s", row.itl_p95_us / 1e6},
                        {"total_s", row.total_us / 1e6},
                        {"tokens_per_s", row.tokens_per_s},
                        {"hit_rate", row.hit_rate},
                        {"bytes_copied", row.bytes_copied},
                        {"resident_calls", row.resident_calls},
                        {"copied_calls", row.copied_calls},
                        {"cpu_calls", row.cpu_calls},
                        {"repeats", row.repeats}});
    }
    nlohmann::ordered_json json = {{"model", m.name},
                                   {"weight_type", m.weight_type},
                                   {"n_layers", m.n_layers},
                                   {"device", m.device},
                                   {"device_name", m.device_name},
                                   {"emulated", m.emulated},
                                   {"emulated_host", m.emulated_host},
                                   {"notice", emulation_notice(m)},
                                   {"resident_experts", m.resident_experts},
                                   {"total_experts", m.total_experts},
                                   {"vram_budget_bytes", m.vram_budget_bytes},
                                   {"ram_budget_bytes", m.ram_budget_bytes},
                                   {"expected_hit_rate", m.expected_hit_rate},
                                   {"popularity", m.popularity},
                                   {"n_threads", m.n_threads},
                                   {"instruction_set", m.instruction_set},
                                   {"left_out", report.left_out},
                                   {"notes", english(m.notes)},
                                   {"rows", rows}};
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
        bool first = true;
        for (const ScenarioRow& row : report.rows) {
            if (row.kind != kind) continue;
            if (first) {
                text +=
                    std::string("\n") + caption(kind) +
                    "\n\n| in | out | width | policy | TTFT ms | ITL ms | ITL p95 ms | tokens/s | hit rate | copied "
                    "|\n|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|\n";
                first = false;
            }
            text +=
                print("| %lld | %lld | %lld | %s | %.2f | %s | %s | %.2f | %s | %s |\n", static_cast<long long>(row.in),
                      static_cast<long long>(row.out), static_cast<long long>(row.width), row.policy.c_str(),
                      row.ttft_us / 1e3, milliseconds(row.itl_median_us).c_str(), milliseconds(row.itl_p95_us).c_str(),
                      row.tokens_per_s, cpu ? "-" : print("%.1f %%", 100 * row.hit_rate).c_str(),
                      cpu ? "-" : format_bytes(static_cast<std::uint64_t>(row.bytes_copied)).c_str());
        }
    }
    return text;
}

}  // namespace offstage::engine
