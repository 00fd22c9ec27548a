// A plan and a calibration as JSON and text.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/model/file_formats.h"
#include "engine/print.h"
#include "engine/report_table.h"
#include "engine/run/fit_estimate.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {
namespace {

std::int64_t count(const Plan& plan, Place place) {
    return std::count(plan.places.begin(), plan.places.end(), place);
}

std::vector<std::int64_t> resident_per_layer(const FitEstimate& report) {
    std::vector<std::int64_t> resident(static_cast<std::size_t>(report.inputs.demand.n_layers), 0);
    for (std::int64_t layer = 0; layer < report.inputs.demand.n_layers; ++layer) {
        for (std::int64_t expert = 0; expert < report.inputs.demand.n_experts; ++expert) {
            if (report.plan.place(layer, report.inputs.demand.n_experts, expert) == Place::kDevice) {
                ++resident[static_cast<std::size_t>(layer)];
            }
        }
    }
    return resident;
}

// Experts of one format by place; unused formats are left out.
struct FormatCount {
    std::string name;
    std::int64_t device = 0, ram = 0, disk = 0;
};

std::vector<FormatCount> count_formats(const Plan& plan, const FitEstimate& report) {
    std::vector<FormatCount> counts(kernels::kWeightTypes);
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const kernels::WeightType format = plan.format(i, report.shape.type);
        FormatCount& count = counts[static_cast<std::size_t>(format)];
        const FormatRow& row = format_rows_of(report.shape.spec.experts)[static_cast<std::size_t>(format)];
        count.name = row.kind == FormatRow::Kind::kFile ? row.method : row.name;
        ++(plan.places[i] == Place::kDevice ? count.device : plan.places[i] == Place::kRam ? count.ram : count.disk);
    }
    std::erase_if(counts, [](const FormatCount& count) { return count.name.empty(); });
    return counts;
}

nlohmann::ordered_json formats_json(const Plan& plan, const FitEstimate& report) {
    auto list = nlohmann::ordered_json::array();
    for (const FormatCount& count : count_formats(plan, report))
        list.push_back({{"format", count.name}, {"device", count.device}, {"ram", count.ram}, {"disk", count.disk}});
    return list;
}

nlohmann::ordered_json forecast_json(const Forecast& f) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, f, decode_tokens_per_s, decode_layer_us, hit_rate, bytes_per_token, prompt_tokens, ttft_s,
               prefill_tokens_per_s, mean_bits, predicted_loss);
    return json;
}

nlohmann::ordered_json compared_json(const FitEstimate& report) {
    auto list = nlohmann::ordered_json::array();
    for (const FitEstimate::Compared& one : report.compared) {
        if (!one.failure.empty()) {
            list.push_back({{"name", one.name}, {"failure", one.failure}});
            continue;
        }
        list.push_back({{"name", one.name},
                        {"formats", formats_json(one.plan, report)},
                        {"vram_bytes", one.plan.vram_bytes()},
                        {"ram_bytes", one.plan.ram_bytes},
                        {"forecast", forecast_json(one.forecast)}});
    }
    return list;
}

std::string compared_text(const FitEstimate& report) {
    if (report.compared.empty()) return {};
    Table table({{"  compared", -30},
                 {"decode t/s", 12, 2},
                 {"TTFT s", 10, 2},
                 {"bits", 9, 2},
                 {"loss", 10, 5},
                 {"device", 8},
                 {"RAM", 5},
                 {"disk", 6}});
    for (const FitEstimate::Compared& one : report.compared) {
        if (!one.failure.empty()) {
            table.add({"    " + one.name, "does not fit"});
            continue;
        }
        table.add({"    " + one.name, one.forecast.decode_tokens_per_s, one.forecast.ttft_s, one.plan.mean_bits,
                   one.plan.predicted_loss, one.plan.n_resident(), count(one.plan, Place::kRam),
                   count(one.plan, Place::kDisk)});
    }
    return table.text();
}

nlohmann::ordered_json points_json(const std::vector<CostPoint>& points) {
    auto list = nlohmann::ordered_json::array();
    for (const CostPoint& point : points) list.push_back({{"n_tokens", point.n_tokens}, {"us", point.us}});
    return list;
}

Cell us_at(const std::vector<CostPoint>& points, std::int64_t n_tokens) {
    for (const CostPoint& point : points) {
        if (point.n_tokens == n_tokens) return point.us;
    }
    return {};
}

double gbps(const CostTable& table) {
    return table.weight_copy_us > 0 ? static_cast<double>(table.expert_bytes) / (table.weight_copy_us * 1e3) : 0;
}

bool copies_sparse(const FitEstimate& report) {
    const CostModel& cost = report.inputs.cost;
    return cost.copies_sparse(-1, 1, cost.master());
}

std::string device_line(const FitEstimate& report) {
    const DeviceInfo& device = report.inputs.device;
    if (!device.emulated) return device.name;
    return device.name + ": accounted time, not a measurement";
}

}  // namespace

nlohmann::ordered_json to_json(const FitEstimate& r) {
    const Plan& plan = r.plan;
    const ModelDemand& demand = r.inputs.demand;
    nlohmann::ordered_json json = {
        {"model", r.shape.name},
        {"weight_type", stored_formats_of(r.shape.spec.experts, r.shape.type)},
        {"device", r.inputs.device.id},
        {"device_name", r.inputs.device.name},
        {"emulated", r.inputs.device.emulated},
        {"policy", {{"prefill", name_of(r.inputs.prefill)}, {"decode", name_of(r.inputs.decode)}}},
        {"context", plan.context},
        {"chat_template", r.has_chat_template},
        {"vram_budget_bytes", demand.shares_host_memory ? 0 : plan.budget.vram_bytes},
        {"vram_bytes", plan.vram_bytes()}};
    ADD_FIELDS(json, plan, dense_bytes, kv_bytes, expert_bytes, staging_bytes, workspace_bytes);
    json["ram_budget_bytes"] = plan.budget.ram_bytes;
    json["ram_bytes"] = plan.ram_bytes;
    json["ram_available_bytes"] = r.inputs.memory.available_bytes;
    json["ram_limit"] = r.inputs.memory.limit;
    json["ram_limit_bytes"] = r.inputs.memory.limit_bytes;
    ADD_FIELDS(json, plan, max_step, staging_slots, host_staging_slots);
    json["bytes_per_expert"] = demand.expert_bytes;
    json["resident_experts"] = plan.n_resident();
    json["ram_experts"] = count(plan, Place::kRam);
    json["disk_experts"] = count(plan, Place::kDisk);
    json["total_experts"] = demand.n_layers * demand.n_experts;
    json["resident_per_layer"] = resident_per_layer(r);
    json["expected_hit_rate"] = plan.expected_hit_rate;
    json["popularity"] = r.inputs.popularity.n_tokens > 0 ? r.inputs.popularity.source : std::string();
    json["cost_source"] = r.cost_source;
    json["costs"] = report_json(r.inputs.cost.table());
    json["formats"] = formats_json(plan, r);
    ADD_FIELDS(json, plan, mean_bits, predicted_loss);
    json["sensitivity"] = r.inputs.sensitivity.source;
    json.update({{"format_kl", nullptr}, {"neuron_kl", nullptr}});
    if (plan.theta) ADD_FIELDS(json, plan, format_kl, neuron_kl);
    json["kv_host_bytes"] = plan.kv_host_bytes;
    json["active_weight_bytes_per_token"] = r.reads().total();
    json["theta"] = r.theta().theta;
    json["theta_loss"] = r.theta().loss;
    json["active_share"] = r.inputs.cost.active_share(-1, 1);
    json["active_share_is"] = r.active_share_is();
    json["copies_sparse"] = copies_sparse(r);
    json["forecast"] = forecast_json(*r.forecast);
    json["compared"] = compared_json(r);
    json["note"] = plan.note.english();
    json["memory_note"] = memory_note(r.inputs, r.plan).english();
    json["notes"] = english(r.notes);
    return json;
}

std::string to_text(const FitEstimate& r) {
    const Plan& plan = r.plan;
    std::string text = r.shape.name + " on " + device_line(r) + "\n";
    if (!r.inputs.demand.shares_host_memory) {
        text += "  VRAM       " + format_bytes(plan.vram_bytes()) + " of " + format_bytes(plan.budget.vram_bytes) +
                "\n" + "    dense    " + format_bytes(plan.dense_bytes) + "\n" + "    KV cache " +
                format_bytes(plan.kv_bytes) + print(", %lld tokens\n", static_cast<long long>(plan.context)) +
                "    workspace " + format_bytes(plan.workspace_bytes) +
                print(", steps of %lld tokens\n", static_cast<long long>(plan.max_step)) + "    staging  " +
                format_bytes(plan.staging_bytes) +
                print(", %lld experts\n", static_cast<long long>(plan.staging_slots)) + "    experts  " +
                format_bytes(plan.expert_bytes) + "\n";
    }
    text += "  RAM        " + format_bytes(plan.ram_bytes) + " of " + format_bytes(plan.budget.ram_bytes) + "\n";
    if (!r.inputs.memory.limit.empty()) text += "  free RAM   " + free_memory_text(r.inputs.memory).english() + "\n";
    text += print("  experts    %lld of %lld on the device, %lld in RAM alone, %lld on disk; %s each at most\n",
                  static_cast<long long>(plan.n_resident()), static_cast<long long>(r.plan.places.size()),
                  static_cast<long long>(count(plan, Place::kRam)), static_cast<long long>(count(plan, Place::kDisk)),
                  format_bytes(plan.slot_bytes).c_str());
    for (const FormatCount& f : count_formats(plan, r)) {
        text += print("    %-12s %lld on the device, %lld in RAM alone, %lld on disk\n", f.name.c_str(),
                      static_cast<long long>(f.device), static_cast<long long>(f.ram), static_cast<long long>(f.disk));
    }
    text += print("  quality    %.2f bits per weight, predicted loss %.5f (%s)\n", plan.mean_bits, plan.predicted_loss,
                  r.inputs.sensitivity.source.c_str());
    if (plan.theta) {
        text += print("             %.3g nats per token counted for the formats, %.3g for the neurons\n",
                      plan.format_kl, plan.neuron_kl);
    }
    text += "  per layer ";
    for (const std::int64_t n : resident_per_layer(r)) text += print(" %lld", static_cast<long long>(n));
    text += print(
        "\n  hit rate   %.1f %% expected (%s)\n", 100 * plan.expected_hit_rate,
        r.inputs.popularity.n_tokens > 0 ? r.inputs.popularity.source.c_str() : "no profile: all experts count alike");
    text += print("  forecast   decode %.2f tokens/s (%s), %s read and %s copied per token\n",
                  r.forecast->decode_tokens_per_s, std::string(name_of(r.inputs.decode)).c_str(),
                  format_bytes(r.reads().total()).c_str(),
                  format_bytes(static_cast<std::uint64_t>(r.forecast->bytes_per_token)).c_str());
    text += print("             prefill %.1f tokens/s (%s): a prompt of %lld answers after %.2f s\n",
                  r.forecast->prefill_tokens_per_s, std::string(name_of(r.inputs.prefill)).c_str(),
                  static_cast<long long>(r.forecast->prompt_tokens), r.forecast->ttft_s);
    if (r.theta().leaves_out()) {
        const std::string is = r.active_share_is();
        const std::string theta = r.theta().loss > 0 ? print("auto:%g", r.theta().loss) : print("%g", r.theta().theta);
        text += print("  theta      %s skips neurons: %.0f %% of a token's are taken for active (%s); copies %s\n",
                      theta.c_str(), 100 * r.inputs.cost.active_share(-1, 1),
                      is == "given"      ? "as given"
                      : is == "measured" ? "as measured of this model"
                                         : "assumed, nobody has counted them: --active-share says how many are",
                      copies_sparse(r) ? "go without the others" : "go whole");
    }
    text += compared_text(r);
    text += "  costs      " + r.cost_source + "\n";
    std::vector<std::string> notes = {plan.note.english(), memory_note(r.inputs, r.plan).english()};
    for (const std::string& note : english(r.notes)) notes.push_back(note);
    for (const std::string& note : notes) {
        if (!note.empty()) text += "  note       " + note + "\n";
    }
    return text;
}

nlohmann::ordered_json report_json(const CostTable& t) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, t, device, emulated, weight_type, hidden_dim, ffn_dim, expert_bytes, pinned, weight_copy_us);
    json["bus_gb_per_s"] = gbps(t);
    json["activation_copy"] = points_json(t.activation_copy);
    json["gpu_expert"] = points_json(t.gpu_expert);
    json["cpu_expert"] = points_json(t.cpu_expert);
    ADD_FIELDS(json, t, sync_us, cpu_slowdown, copy_slowdown);
    return json;
}

// Fiddler's figure 7 as a table.
std::string to_text(const CostTable& t) {
    std::string text = t.device + (t.emulated ? ": accounted time, not a measurement" : "") + "\nexpert " +
                       std::to_string(t.hidden_dim) + " x " + std::to_string(t.ffn_dim) + ", " + t.weight_type + ", " +
                       format_bytes(t.expert_bytes) + "\n";
    Table table({{"tokens", 8}, {"CPU us", 12, 1}});
    if (t.has_accelerator()) {
        text += print("W copy  %12.1f us  (%.1f GB/s, %s)\n", t.weight_copy_us, gbps(t),
                      t.pinned ? "page-locked" : "not page-locked");
        table = Table({{"tokens", 8}, {"A copy us", 12, 1}, {"GPU us", 12, 1}, {"CPU us", 12, 1}});
    }
    for (const CostPoint& point : t.cpu_expert) {
        std::vector<Cell>& cells = table.add({point.n_tokens});
        if (t.has_accelerator()) {
            cells.insert(cells.end(), {us_at(t.activation_copy, point.n_tokens), us_at(t.gpu_expert, point.n_tokens)});
        }
        cells.emplace_back(point.us);
    }
    text += table.text();
    if (t.has_accelerator()) {
        text += print("hand-over %.1f us; side by side, CPU experts take %.2f times and copies %.2f times as long\n",
                      t.sync_us, t.cpu_slowdown, t.copy_slowdown);
    }
    return text;
}

}  // namespace offstage::engine
