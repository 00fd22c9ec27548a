#include "engine/eval/plan_report.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "engine/device/cpu_backend.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/device/host_buffer.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/run/forward.h"
#include "engine/run/model_demand.h"
#include "kernels/gemm.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {
namespace {

// Host and device as a load would open them.
struct Machine {
    std::unique_ptr<kernels::ThreadPool> pool;
    std::unique_ptr<CpuOperations> host;
    std::unique_ptr<Backend> device;
    kernels::WeightType type;
};

kernels::GemmMode mode_of(ComputeMode compute, kernels::WeightType type, kernels::ThreadPool& pool) {
    if (compute == ComputeMode::kF32) return kernels::GemmMode::kF32;
    if (compute == ComputeMode::kBf16) return kernels::GemmMode::kBf16;
    return type == kernels::WeightType::kF32 ? kernels::GemmMode::kF32 : kernels::Gemm(pool).faster_mode();
}

bool is_cpu(const LoadRequest& request) {
    return request.device.empty() || request.device == "cpu";
}

std::uint64_t ram_budget(const LoadRequest& request) {
    if (request.ram_bytes > 0) return request.ram_bytes;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory_size().available_bytes));
}

Machine open_machine(const LoadRequest& request, const ModelShape& shape) {
    if (is_cpu(request) && request.vram_bytes > 0) {
        throw Error(ErrorKind::kInvalidInput,
                    "A VRAM budget was given, but the device is the CPU; name a GPU as the device, or limit RAM.");
    }
    Machine machine;
    machine.pool = std::make_unique<kernels::ThreadPool>(request.n_threads);
    // Float32 weights are rounded where bf16 is asked for.
    machine.type = shape.type == kernels::WeightType::kF32 && request.compute == ComputeMode::kBf16
                       ? kernels::WeightType::kBf16
                       : shape.type;
    machine.host =
        std::make_unique<CpuOperations>(*machine.pool, mode_of(request.compute, machine.type, *machine.pool));
    machine.device = open_device(is_cpu(request) ? "cpu" : request.device,
                                 is_cpu(request) ? ram_budget(request) : request.vram_bytes, *machine.host);
    return machine;
}

CalibrationCache cache_of(const LoadRequest& request) {
    return CalibrationCache(request.cache_directory.empty() ? cache_directory() / "calibration"
                                                            : std::filesystem::path(request.cache_directory));
}

// Some experts of random weights, together larger than the caches where that takes no more than 64.
class DrawnExperts {
  public:
    DrawnExperts(kernels::WeightType type, std::int64_t hidden_dim, std::int64_t ffn_dim)
        : bytes_(static_cast<std::size_t>((kernels::expert_bytes(type, hidden_dim, ffn_dim) + 255) / 256 * 256)) {
        const std::size_t n = std::clamp<std::size_t>(kTogether / bytes_, 4, 64);
        require_ram(n * bytes_, "calibration");
        memory_ = HostBuffer(n * bytes_, "calibration");
        std::mt19937 random(5);
        const std::size_t n_weights = n * bytes_ / kernels::bytes_per_weight(type);
        // A stretch of random weights, repeated: what is computed does not matter, that it is no denormal does.
        const std::size_t stretch = std::min<std::size_t>(n_weights, 1 << 16);
        for (std::size_t i = 0; i < stretch; ++i) {
            const float value = (static_cast<float>(random() >> 8) / 8388608.0f - 1.0f) / 64.0f;
            if (type == kernels::WeightType::kF32) {
                std::memcpy(memory_.data() + 4 * i, &value, 4);
            } else {
                const std::uint16_t bits = type == kernels::WeightType::kBf16
                                               ? kernels::to_bf16(value).bits
                                               : static_cast<std::uint16_t>(0x2000u | (random() & 0x83ffu));
                std::memcpy(memory_.data() + 2 * i, &bits, 2);
            }
        }
        const std::size_t stretch_bytes = stretch * kernels::bytes_per_weight(type);
        for (std::size_t at = stretch_bytes; at < memory_.size(); at += stretch_bytes) {
            std::memcpy(memory_.data() + at, memory_.data(), std::min(stretch_bytes, memory_.size() - at));
        }
        for (std::size_t i = 0; i < n; ++i) {
            views_.push_back({memory_.data() + i * bytes_, type, hidden_dim, ffn_dim});
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
        progress({"Measuring this machine", static_cast<std::uint64_t>(done * 1000), 1000});
    };
}

// Scratch memory for steps of `largest` tokens, or of as many as there is room for. Returns how many.
std::int64_t reserve_for_experts(Backend& device, const ModelConfig& config, kernels::WeightType type,
                                 std::int64_t largest) {
    for (std::int64_t n = largest;; n /= 2) {
        try {
            device.reserve(Forward::step_shape(config, type, n, n));
            return n;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory || n == 1) throw;
        }
    }
}

// `device` nullptr: the CPU alone.
CostTable measure(Backend* device, Machine& machine, const ModelConfig& config, const LoadProgressFn& progress,
                  const std::stop_token& stop) {
    DrawnExperts experts(machine.type, config.hidden_dim, config.ffn_dim);
    CalibrationRequest wanted;
    wanted.experts = experts.views();
    wanted.n_active = config.n_active;
    const bool accelerator = device != nullptr && !device->shares_host_memory();
    if (!accelerator) {
        CpuBackend cpu(*machine.pool, machine.host->mode(), 0);
        return calibrate(cpu, *machine.host, wanted, measuring(progress), stop);
    }
    const DeviceBlock slot = device->memory().allocate(experts.bytes(), MemoryUse::kStaging, "calibration");
    wanted.device_slot = slot.data();
    wanted.largest = reserve_for_experts(*device, config, machine.type, wanted.largest);
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

// The dense part is bound as an expert is: by memory for one token, by arithmetic for many.
void add_dense_costs(const ModelDemand& demand, CostTable& table) {
    const CostModel bare(table);
    const double experts =
        static_cast<double>(demand.dense_bytes) / static_cast<double>(std::max<std::uint64_t>(1, demand.expert_bytes));
    const auto us = [&](std::int64_t n) { return table.has_accelerator() ? bare.gpu_us(n) : bare.cpu_us(n); };
    if (table.dense_us == 0) table.dense_us = experts * us(1) + static_cast<double>(demand.n_layers) * table.sync_us;
    if (table.dense_us_per_token == 0) table.dense_us_per_token = experts * us(1024) / 1024;
}

}  // namespace

CostTable costs_of(const HardwareProfile& profile, kernels::WeightType type, std::int64_t hidden_dim,
                   std::int64_t ffn_dim) {
    CostTable table;
    table.device = profile.name;
    table.weight_type = kernels::name_of(type);
    table.hidden_dim = hidden_dim;
    table.ffn_dim = ffn_dim;
    table.expert_bytes = kernels::expert_bytes(type, hidden_dim, ffn_dim);
    table.pinned = true;
    table.emulated = true;
    table.sync_us = profile.sync_us;
    const auto bytes = static_cast<double>(table.expert_bytes);
    table.weight_copy_us = profile.copy_us(bytes);
    for (std::int64_t n = 1; n <= 1024; n *= 2) {
        const double row_bytes = static_cast<double>(n * hidden_dim) * 4;
        const double flops = 6.0 * static_cast<double>(hidden_dim * ffn_dim) * static_cast<double>(n);
        table.activation_copy.push_back({n, 2 * profile.copy_us(row_bytes)});
        table.gpu_expert.push_back({n, profile.operation_us(bytes + 2 * row_bytes, flops)});
        if (!profile.host) continue;
        table.cpu_expert.push_back(
            {n, std::max(bytes / (profile.host->read_gbps * 1e3), flops / (profile.host->gflops * 1e3))});
    }
    if (profile.host) {
        // Both at once get what the memory gives, in proportion to what each takes alone.
        const double wanted = profile.host->read_gbps + bytes / (table.weight_copy_us * 1e3);
        table.cpu_slowdown = table.copy_slowdown = std::max(1.0, wanted / profile.host->dram_gbps);
    }
    return table;
}

CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop) {
    const ModelShape shape = read_model_shape(request.model);
    Machine machine = open_machine(request, shape);
    CostTable table = measure(machine.device.get(), machine, shape.config, progress, stop);
    if (table.has_accelerator()) {
        cache_of(request).store(CalibrationCache::key(*machine.device, *machine.host, machine.type,
                                                      shape.config.hidden_dim, shape.config.ffn_dim),
                                table);
    }
    return table;
}

PlanReport plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                      const std::stop_token& stop) {
    PlanReport report;
    report.shape = read_model_shape(request.model);
    const ModelConfig& config = report.shape.config;
    report.popularity = popularity_of(report.shape, request.popularity_file);
    report.dispatch = request.dispatch;
    Machine machine = open_machine(request, report.shape);
    Backend& device = *machine.device;
    report.device = device.info();

    report.demand = demand_of(config, machine.type, 0, report.device,
                              [&](const Backend::StepShape& step) { return device.scratch_bytes(step); });
    if (request.context > 0) report.demand.max_context = std::max(report.demand.max_context, request.context);
    report.budget.context = request.context;
    report.budget.vram_bytes = device.memory().usage().budget_bytes;
    report.budget.ram_bytes = ram_budget(request);
    report.plan =
        make_plan(report.demand, report.budget, report.popularity,
                  request.dispatch.decode == PolicyKind::kLayers ? PlacementKind::kLayers : PlacementKind::kPopular);

    const std::string key =
        CalibrationCache::key(device, *machine.host, machine.type, config.hidden_dim, config.ffn_dim);
    if (cache_of(request).load(key, report.costs)) {
        report.cost_source = "kept calibration";
    } else if (report.device.kind == DeviceKind::kEmulated) {
        const std::string id = request.device.substr(request.device.find(':') + 1);
        report.costs = costs_of(find_hardware_profile(id), machine.type, config.hidden_dim, config.ffn_dim);
        report.cost_source = "hardware profile " + id;
        if (report.costs.cpu_expert.empty()) {
            report.costs.cpu_expert = measure(nullptr, machine, config, progress, stop).cpu_expert;
            report.cost_source += ", CPU measured now";
        }
    } else {
        report.costs = measure(&device, machine, config, progress, stop);
        if (report.costs.has_accelerator()) cache_of(request).store(key, report.costs);
        report.cost_source = "measured now";
    }
    add_dense_costs(report.demand, report.costs);
    report.forecast = forecast(report.plan, report.demand, report.popularity, CostModel(report.costs),
                               request.dispatch.prefill, request.dispatch.decode, prompt_tokens);
    return report;
}

}  // namespace offstage::engine
