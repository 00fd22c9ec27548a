#include "engine/plan/format_costs.h"

#include <algorithm>
#include <utility>

#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"

namespace offstage::engine {

void take_cpu_part(CostTable& table, CostTable cpu) {
    table.cpu_expert = std::move(cpu.cpu_expert);
    table.sparse_cpu = std::move(cpu.sparse_cpu);
    table.measured_at = cpu.measured_at;
}

CostTable costs_of(const HardwareProfile& profile, kernels::WeightType format, const ExpertGrid& grid) {
    CostTable table;
    table.device = profile.name;
    table.weight_type = kernels::name_of(format);
    table.hidden_dim = grid.hidden_dim;
    table.ffn_dim = grid.ffn_dim;
    table.expert_bytes = grid.expert_bytes(format);
    table.pinned = true;
    table.emulated = true;
    table.sync_us = profile.sync_us + profile.launch_us;  // work after a host wait needs a launch
    const auto bytes = static_cast<double>(table.expert_bytes);
    table.weight_copy_us = profile.copy_us(bytes);
    for (std::int64_t n = 1; n <= 1024; n *= 2) {
        const double row_bytes = static_cast<double>(n * grid.hidden_dim) * 4;
        const double flops = 2.0 * static_cast<double>(grid.expert_weights()) * static_cast<double>(n);
        table.activation_copy.push_back({n, 2 * profile.copy_us(row_bytes)});
        table.gpu_expert.push_back({n, profile.operation_us(bytes + 2 * row_bytes, flops)});
        if (!profile.host) continue;
        table.cpu_expert.push_back(
            {n, std::max(bytes / (profile.host->read_gbps * 1e3), flops / (profile.host->gflops * 1e3))});
    }
    if (profile.host) {
        if (lies_by_neurons(format)) table.sparse_cpu = accounted_sparse_factors();
        table.disk.us = profile.host->disk_us(bytes);
        // Together they get the memory's bandwidth, in proportion to what each uses
        // alone.
        const double wanted = profile.host->read_gbps + bytes / (table.weight_copy_us * 1e3);
        table.cpu_slowdown = table.copy_slowdown = std::max(1.0, wanted / profile.host->dram_gbps);
    }
    return table;
}

std::optional<FormatCosts> known_format_costs(const CostPlace& place, const HardwareProfile* emulated,
                                              kernels::WeightType format, const ExpertGrid& grid,
                                              const CalibrationCache& cache) {
    FormatCosts costs;
    if (emulated != nullptr) {
        costs.table = costs_of(*emulated, format, grid);
        if (emulated->host) return costs;
        const CostPlace here{cpu_info(), place.n_threads, place.form};
        CostTable cpu;
        if (!cache.load(CalibrationCache::key(here, format, grid, false), cpu)) return {};
        take_cpu_part(costs.table, std::move(cpu));
        return costs;
    }
    for (const bool pinned : {true, false}) {
        if (cache.load(CalibrationCache::key(place, format, grid, pinned), costs.table)) return costs;
    }
    return {};
}

FormatCosts format_costs(Backend& device, CpuOperations& host, const FormatCalibration& wanted,
                         const CalibrationCache& cache, const std::function<void(double)>& progress,
                         const std::stop_token& stop) {
    FormatCosts costs;
    const auto* const emulated = dynamic_cast<const EmulatedAccelerator*>(&device);
    if (emulated == nullptr) {
        costs.table = calibrate_format(device, host, wanted, cache, progress, stop, &costs.measured);
        return costs;
    }
    const HardwareProfile& profile = emulated->profile();
    costs.table = costs_of(profile, wanted.format, wanted.grid);
    if (profile.host) return costs;
    CpuBackend cpu(host.pool(), host.form(), 0);
    FormatCalibration whole = wanted;
    whole.largest = kFullCalibration;
    take_cpu_part(costs.table, calibrate_format(cpu, host, whole, cache, progress, stop, &costs.measured));
    return costs;
}

}  // namespace offstage::engine
