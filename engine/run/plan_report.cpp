#include "engine/run/plan_report.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/hardware_profile.h"
#include "engine/device/host_buffer.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/model/checkpoint.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "engine/plan/calibrate_host.h"
#include "engine/quant/random_rows.h"
#include "engine/run/dense_probe.h"
#include "engine/run/forward.h"
#include "engine/run/load_planner.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {
namespace {

// Host and device as a load would open them.
struct Machine {
    std::unique_ptr<kernels::ThreadPool> pool;
    std::unique_ptr<CpuOperations> host;
    std::unique_ptr<Backend> device;
    kernels::WeightType type;
    MemorySize memory;  // when the device was opened, with the checkpoint mapped
};

Machine open_machine(const LoadRequest& request, const ModelShape& shape) {
    check_request(request);
    Machine machine;
    machine.pool = std::make_unique<kernels::ThreadPool>(request.n_threads);
    // Float32 weights are rounded where bf16 is asked for.
    machine.type = shape.type == kernels::WeightType::kF32 && request.compute == ComputeMode::kBf16
                       ? kernels::WeightType::kBf16
                       : shape.type;
    machine.host = std::make_unique<CpuOperations>(*machine.pool, choose_compute(request, machine.type).mode);
    // Threads take addresses and memory as well.
    machine.memory = memory_size("/", shape.checkpoint_bytes);
    if (runs_on_cpu(request)) check_ram_budget(request.ram_bytes, machine.memory);
    machine.device =
        open_device(runs_on_cpu(request) ? "cpu" : request.device,
                    runs_on_cpu(request) ? ram_budget(request, machine.memory) : request.vram_bytes, *machine.host);
    return machine;
}

CalibrationCache cache_of(const LoadRequest& request) {
    return CalibrationCache(calibration_directory(request.cache_directory));
}

// Some experts of random weights, together larger than the caches where that takes no more than 64.
class DrawnExperts {
  public:
    explicit DrawnExperts(const kernels::ExpertLayout& layout) : bytes_((layout.bytes() + 255) / 256 * 256) {
        const std::size_t n = std::clamp<std::size_t>(kTogether / bytes_, 4, 64);
        require_ram(n * bytes_, "calibration");
        memory_ = HostBuffer(n * bytes_, "calibration");
        fill_random_expert(layout, memory_.data());
        for (std::size_t i = 0; i < n; ++i) {
            std::byte* const expert = memory_.data() + i * bytes_;
            if (i > 0) std::memcpy(expert, memory_.data(), layout.bytes());
            views_.push_back({expert, layout});
        }
    }

    std::span<const kernels::ExpertView> views() const { return views_; }
    std::span<std::byte> memory() { return {memory_.data(), memory_.size()}; }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t kTogether = std::size_t{512} << 20;

    std::size_t bytes_;
    HostBuffer memory_;
    std::vector<kernels::ExpertView> views_;
};

std::function<void(double)> measuring(const LoadProgressFn& progress) {
    if (!progress) return {};
    return [&progress](double done) {
        progress({"Measuring this machine", static_cast<std::uint64_t>(done * 1000), 1000, false});
    };
}

// Scratch memory for steps of `largest` tokens, or of as many as there is room for. Returns how many.
std::int64_t reserve_for_experts(Backend& device, const ModelSpec& spec, kernels::WeightType type,
                                 std::int64_t largest) {
    for (std::int64_t n = largest;; n /= 2) {
        try {
            device.reserve(Forward::step_shape(spec, type, n, n));
            return n;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory || n == 1) throw;
        }
    }
}

// `device` nullptr: the CPU alone.
CostTable measure(Backend* device, kernels::WeightType format, Machine& machine, const ModelSpec& spec,
                  const LoadProgressFn& progress, const std::stop_token& stop) {
    DrawnExperts experts(spec.experts.layout(format));
    CalibrationRequest wanted;
    wanted.experts = experts.views();
    wanted.format = format;
    wanted.n_active = spec.experts.n_active;
    const bool accelerator = device != nullptr && !device->shares_host_memory();
    if (!accelerator) {
        CpuBackend cpu(*machine.pool, machine.host->mode(), 0);
        return calibrate(cpu, *machine.host, wanted, measuring(progress), stop);
    }
    const DeviceBlock slot = device->memory().allocate(experts.bytes(), MemoryUse::kStaging, "calibration");
    wanted.device_slot = slot.data();
    wanted.largest = reserve_for_experts(*device, spec, format, wanted.largest);
    wanted.pinned = device->pin(experts.memory());
    struct Unpin {
        Backend* device;
        std::span<std::byte> memory;
        ~Unpin() {
            if (device != nullptr) device->unpin(memory);
        }
    };
    const Unpin unpin{wanted.pinned ? device : nullptr, experts.memory()};
    return calibrate(*device, *machine.host, wanted, measuring(progress), stop);
}

// Kept, else of the profile, else measured now; `source` says which.
CostTable costs_in(kernels::WeightType format, std::string& source, const LoadRequest& request, Machine& machine,
                   const ModelSpec& spec, const LoadProgressFn& progress, const std::stop_token& stop) {
    const CalibrationCache cache = cache_of(request);
    const std::string key = CalibrationCache::key(*machine.device, *machine.host, format, spec.experts);
    CostTable table;
    if (cache.load(key, table)) {
        source = "kept calibration";
    } else if (machine.device->info().kind == DeviceKind::kEmulated) {
        const std::string id = request.device.substr(request.device.find(':') + 1);
        table = costs_of(find_hardware_profile(id), format, spec.experts);
        source = "hardware profile " + id;
        if (table.cpu_expert.empty()) {
            table.cpu_expert = measure(nullptr, format, machine, spec, progress, stop).cpu_expert;
            source += ", CPU measured now";
        }
    } else {
        table = measure(machine.device.get(), format, machine, spec, progress, stop);
        const std::string why = table.has_accelerator() ? cache.store(key, table) : std::string();
        source = why.empty() ? "measured now" : "measured now, could not be kept: " + why;
    }
    return table;
}

// What an expert on disk takes to come into RAM: measured where the model's weights are
// there. 0: not known.
double disk_read_us_of(const LoadRequest& request, const ModelShape& shape, const Machine& machine,
                       const std::stop_token& stop) {
    try {
        std::unique_ptr<WeightSource> source;
        if (is_synthetic(request.model)) {
            source = draw_weights(parse_synthetic(request.model), *machine.pool, false);
        } else {
            source = open_weights(Checkpoint::open(shape.directory), shape.spec, request.compute == ComputeMode::kBf16,
                                  *machine.pool);
        }
        const ExpertGrid& grid = shape.spec.experts;
        return measure_disk_read_us(*source, grid.n_layers, grid.n_experts, grid.expert_bytes(machine.type),
                                    *machine.pool, stop);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::kCancelled) throw;
        return 0;  // shapes alone, or no room for one expert
    }
}

// The plans that a person would set by hand, and the report's own.
void compare_plans(PlanReport& report, const PlanCosts& costs, std::int64_t prompt_tokens) {
    const QualityFloor& floor = report.budget.quality;
    const auto foretell = [&](const Plan& plan) {
        return forecast(plan, report.demand, report.popularity, *costs.cost, report.dispatch.prefill,
                        report.dispatch.decode, prompt_tokens);
    };
    for (const FormatDemand& f : report.demand.formats) {
        if (f.bits_per_weight < floor.min_mean_bits) continue;
        Budget budget = report.budget;
        budget.quality = {};
        budget.uniform = f.format;
        for (const PlacementKind kind : {PlacementKind::kLayers, PlacementKind::kPopular}) {
            PlanReport::Compared one;
            one.name = std::string(kind == PlacementKind::kLayers ? "whole layers, " : "popular experts, ") +
                       kernels::name_of(f.format);
            try {
                one.plan = make_plan(report.demand, budget, report.popularity, kind, costs);
                if (floor.max_loss > 0 && one.plan.predicted_loss > floor.max_loss) continue;
                one.forecast = foretell(one.plan);
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::kOutOfMemory) throw;
                one.failure = error.what();
            }
            report.compared.push_back(std::move(one));
        }
    }
    report.compared.push_back({"chosen", {}, report.plan, report.forecast});
}

}  // namespace

CostTable costs_of(const HardwareProfile& profile, kernels::WeightType format, const ExpertGrid& grid) {
    CostTable table;
    table.device = profile.name;
    table.weight_type = kernels::name_of(format);
    table.hidden_dim = grid.hidden_dim;
    table.ffn_dim = grid.ffn_dim;
    table.expert_bytes = grid.expert_bytes(format);
    table.pinned = true;
    table.emulated = true;
    table.sync_us = profile.sync_us;
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
        table.disk_read_us = profile.host->disk_us(bytes);
        // Both at once get what the memory gives, in proportion to what each takes alone.
        const double wanted = profile.host->read_gbps + bytes / (table.weight_copy_us * 1e3);
        table.cpu_slowdown = table.copy_slowdown = std::max(1.0, wanted / profile.host->dram_gbps);
    }
    return table;
}

CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop,
                          std::string* not_kept) {
    const ModelShape shape = read_model_shape(request.model);
    Machine machine = open_machine(request, shape);
    CostTable table = measure(machine.device.get(), machine.type, machine, shape.spec, progress, stop);
    if (table.has_accelerator()) {
        const CalibrationCache cache = cache_of(request);
        cache.store(CalibrationCache::key(*machine.device, *machine.host, machine.type, shape.spec.experts), table);
        if (not_kept != nullptr) *not_kept = cache.problem();
    }
    return table;
}

PlanReport plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                      const std::stop_token& stop, bool compare) {
    PlanReport report;
    report.shape = read_model_shape(request.model);
    const ModelSpec& spec = report.shape.spec;
    report.popularity = popularity_of(report.shape.name, report.shape.directory, spec.experts, request.popularity_file);
    report.dispatch = request.dispatch;
    Machine machine = open_machine(request, report.shape);
    report.memory = machine.memory;
    Backend& device = *machine.device;
    report.device = device.info();

    LoadPlanner planner(request,
                        {spec, machine.type, dense_bytes_in(spec, machine.type), report.device,
                         [&](const Backend::StepShape& step) { return device.scratch_bytes(step); }, report.memory,
                         device.memory().usage().budget_bytes, ram_budget(request, report.memory)});
    report.demand = planner.demand();
    const bool any_format = compare || request.quality.allows_fewer_bits();
    std::string apart_note;
    const auto plan_by = [&](const PlanCosts& costs) {
        try {
            return planner.plan(report.popularity, costs);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory || !report.device.emulated || !apart_note.empty()) throw;
        }
        planner.count_device_memory_apart();
        apart_note =
            "This computer has not enough memory to emulate the device; the plan is for one that has the device.";
        return planner.plan(report.popularity, costs);
    };
    // What does not fit is found out before anything is measured; in fewer bits it might.
    if (!any_format) static_cast<void>(plan_by({}));

    report.costs = costs_in(machine.type, report.cost_source, request, machine, spec, progress, stop);
    report.costs.dense = dense_costs({spec, machine.type, request.quant.dense, request.kv}, device, *machine.host,
                                     cache_of(request), stop);
    CostModel cost(report.costs);
    cost.set_master(machine.type);
    for (const FormatDemand& f : report.demand.formats) {
        if (f.format == machine.type || (!any_format && request.quant.experts != f.format)) continue;
        std::string source;
        cost.set_table(f.format, costs_in(f.format, source, request, machine, spec, progress, stop));
    }
    // Weights are not read, so nobody knows this model's own.
    const Sensitivity sensitivity = Sensitivity::typical(spec.experts.n_layers, spec.experts.n_experts);
    report.sensitivity_source = sensitivity.source;
    const PlanCosts costs{&cost, &sensitivity, request.dispatch.decode};
    report.plan = plan_by(costs);
    const bool has_disk =
        std::find(report.plan.places.begin(), report.plan.places.end(), Place::kDisk) != report.plan.places.end();
    const auto* const emulated = dynamic_cast<const EmulatedAccelerator*>(&device);
    // A shape on a device that is not there stands for a model that is not here: drawing
    // its weights would say nothing.
    const bool has_no_disk = emulated != nullptr && (emulated->profile().host || is_synthetic(request.model));
    if (has_disk && report.costs.disk_read_us == 0 && !has_no_disk) {
        report.costs.disk_read_us = disk_read_us_of(request, report.shape, machine, stop);
        cost.set_disk_read_us(report.costs.disk_read_us);
        report.plan = plan_by(costs);
    }
    report.budget = planner.budget();
    for (const std::string& note : {planner.dense_note(), apart_note}) {
        if (!note.empty()) report.plan.note += (report.plan.note.empty() ? "" : " ") + note;
    }
    report.forecast = forecast(report.plan, report.demand, report.popularity, cost, request.dispatch.prefill,
                               request.dispatch.decode, prompt_tokens);
    report.memory_note = planner.memory_note(report.plan);
    report.reads = expected_reads(spec.experts, report.demand.dense_read_bytes, report.popularity, machine.type,
                                  report.plan.formats);
    if (compare) compare_plans(report, costs, prompt_tokens);
    return report;
}

}  // namespace offstage::engine
