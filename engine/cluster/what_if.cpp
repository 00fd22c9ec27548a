#include "engine/cluster/what_if.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/cluster/cluster_forecast.h"
#include "engine/cluster/cluster_messages.h"
#include "engine/error.h"
#include "engine/plan/forecast.h"
#include "engine/report_table.h"
#include "engine/run/dense_costs.h"
#include "engine/run/measurements.h"

namespace offstage::engine {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The largest profile without a host: it leaves the CPU's costs to be measured, which are
// needed here.
std::string profile_without_host() {
    std::string found;
    std::uint64_t largest = 0;
    for (const std::string& id : hardware_profile_ids()) {
        const HardwareProfile profile = find_hardware_profile(id);
        if (profile.host || profile.memory_bytes <= largest) continue;
        found = id;
        largest = profile.memory_bytes;
    }
    if (!found.empty()) return found;
    throw Error(ErrorKind::kNotFound, messages::no_profile_for_forecasts((resource_directory() / "hardware").string()));
}

}  // namespace

WhatIf::WhatIf(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop)
    : request_(request) {
    request_.device = "emulated:" + profile_without_host();
    request_.vram_bytes = 0;
    request_.quality = {};
    request_.quant = {};
    request_.opens_device = nullptr;
    request_.drill = {};
    base_ = plan_model(request_, kPromptTokens, progress, stop);
    const ModelShape& shape = base_.shape;
    interleaves_ = Measurements(request_, shape.spec, base_.inputs.master, shape.name, shape.directory).interleaves();
}

WhatIfRow WhatIf::on(const HardwareProfile& profile, std::uint64_t vram_bytes, const Cluster& cluster) const {
    const ExpertGrid& grid = base_.shape.spec.experts;
    WhatIfRow row;
    row.id = profile.id;
    row.name = profile.name;
    row.n_machines = cluster.n_machines;
    row.memory_bytes = profile.memory_bytes;
    row.vram_bytes = vram_bytes > 0 ? vram_bytes : profile.memory_bytes - profile.reserved_bytes;
    row.own_host = profile.host.has_value();
    row.total = grid.n_layers * grid.n_experts;

    CostTable table = costs_of(profile, base_.inputs.master, grid, interleaves_);
    if (!profile.host) table.cpu_expert = base_.inputs.cost.table().cpu_expert;
    table.dense = account_dense({base_.shape.spec, base_.inputs.master, request_.quant.dense, request_.kv}, profile);
    PlanInputs inputs = base_.inputs;
    inputs.cost = CostModel(table);
    inputs.cost.set_master(inputs.master);

    Budget budget = base_.plan.budget;
    budget.vram_bytes = row.vram_bytes;
    try {
        const ClusterPlan plan = make_cluster_plan(inputs, budget, cluster.n_machines);
        const double exchange_bytes = static_cast<double>(grid.n_active * grid.hidden_dim) * sizeof(float);
        ClusterForecast told = forecast_cluster(plan, inputs, cluster.network, exchange_bytes, kPromptTokens);
        add_overhead(told.whole, overhead_us_);
        row.resident = plan.n_resident();
        row.tokens_per_s = told.whole.decode_tokens_per_s;
        row.ttft_s = told.whole.ttft_s;
        row.hit_rate = told.whole.hit_rate;
        row.bytes_per_token = told.whole.bytes_per_token;
        row.busiest_experts = told.busiest_experts;
        row.network_share = told.network_us * row.tokens_per_s / 1e6;
    } catch (const Error& error) {
        // Too little memory, or more machines than experts. Other parts of the request
        // were checked by the constructor.
        if (error.kind() != ErrorKind::kOutOfMemory && error.kind() != ErrorKind::kInvalidInput) throw;
        row.failure = error.message();
        row.lacks_memory = error.kind() == ErrorKind::kOutOfMemory;
    }
    return row;
}

std::uint64_t WhatIf::enough_vram_bytes(std::int64_t n_machines) const {
    const ModelDemand& demand = base_.inputs.demand;
    const std::int64_t context = base_.plan.context;
    const std::int64_t n = std::max<std::int64_t>(1, n_machines);
    const std::int64_t n_experts = (demand.n_experts + n - 1) / n;  // of a layer, on one machine
    const std::uint64_t all =
        demand.dense_bytes + demand.expert_bytes * static_cast<std::uint64_t>(demand.n_layers * n_experts) +
        demand.kv_bytes(context) + demand.workspace_fixed_bytes + demand.workspace_bytes_per_token * 512;
    return (all + kMiB - 1) / kMiB * kMiB;
}

std::vector<WhatIfRow> WhatIf::curve(const HardwareProfile& profile, int n, const Cluster& cluster,
                                     const std::stop_token& stop) const {
    const std::uint64_t most = enough_vram_bytes(cluster.n_machines);
    const std::uint64_t least = base_.inputs.demand.dense_bytes;
    std::vector<WhatIfRow> rows;
    for (int i = 0; i < n && !stop.stop_requested(); ++i) {
        const double share = n > 1 ? static_cast<double>(i) / (n - 1) : 1;
        const auto bytes =
            least + static_cast<std::uint64_t>(share * static_cast<double>(most - std::min(most, least)));
        rows.push_back(on(profile, std::max<std::uint64_t>(bytes, 1), cluster));
    }
    return rows;
}

std::vector<WhatIfRow> WhatIf::machines(const HardwareProfile& profile, const Network& network, std::int64_t most,
                                        const std::stop_token& stop) const {
    std::vector<WhatIfRow> rows;
    for (std::int64_t n = 1; n <= most && !stop.stop_requested(); ++n) rows.push_back(on(profile, 0, {n, network}));
    return rows;
}

std::string to_json(const HardwareProfile& profile) {
    nlohmann::ordered_json json;
    ADD_FIELDS(json, profile, name, memory_bytes, reserved_bytes, memory_gbps, memory_efficiency, tflops,
               compute_efficiency, bus_gbps, bus_efficiency, launch_us, sync_us, copy_latency_us);
    if (profile.host) {
        ADD_FIELDS(json["host"], (*profile.host), name, read_gbps, dram_gbps, gflops);
        if (profile.host->disk_gbps > 0) json["host"]["disk_gbps"] = profile.host->disk_gbps;
    }
    json["source"] = profile.source;
    return json.dump(2) + "\n";
}

}  // namespace offstage::engine
