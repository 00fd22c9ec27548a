#include "engine/run/measurements.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/error.h"
#include "engine/experts/disk_speed.h"
#include "engine/files/cache_folders.h"
#include "engine/model/file_formats.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/plan/sensitivity.h"
#include "engine/quant/quantizer.h"
#include "engine/run/forward.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {
namespace {

constexpr double kDiskMeasuringS = 0.25, kDiskCheckS = 0.01, kLongestDiskCheckS = 0.05;

// The CPU's part of the costs, for a device that is accounted.
void take_cpu_part(CostTable& table, CostTable cpu) {
    table.cpu_expert = std::move(cpu.cpu_expert);
    table.sparse_cpu = std::move(cpu.sparse_cpu);
    table.measured_at = cpu.measured_at;
    table.disturbed = cpu.disturbed;
}

// Allocates scratch memory for steps of `largest` tokens, or of as many as fit. Returns
// their number.
std::int64_t reserve_for_experts(Backend& device, const ModelSpec& spec, kernels::WeightType master,
                                 std::int64_t largest) {
    for (std::int64_t n = largest;; n /= 2) {
        try {
            device.reserve(Forward::step_shape(spec, master, n, n));
            return n;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory || n == 1) throw;
        }
    }
}

std::optional<kernels::ProductForm> asked_form(ComputeMode compute) {
    switch (compute) {
        case ComputeMode::kF32:
            return kernels::GemmMode::kF32;
        case ComputeMode::kBf16:
            return kernels::GemmMode::kBf16;
        case ComputeMode::kInt8:
            return kernels::ProductForm(kernels::GemmMode::kF32, true);
        case ComputeMode::kAuto:
            break;
    }
    return {};
}

std::string habits_key(const std::string& model, const ExpertGrid& grid) {
    return "habits|" + model + "|" + std::to_string(grid.n_layers) + "x" + std::to_string(grid.n_experts) + "x" +
           std::to_string(grid.n_active);
}

std::function<void(double)> measuring(const LoadProgressFn& progress) {
    if (!progress) return {};
    return [&progress](double done) {
        progress({messages::measuring_this_machine, static_cast<std::uint64_t>(done * 1000), 1000, false});
    };
}

}  // namespace

CostTable costs_of(const HardwareProfile& profile, kernels::WeightType format, const ExpertGrid& grid,
                   bool interleaves) {
    kernels::ExpertLayout in_ram = grid.layout(format);
    in_ram.interleaved = interleaves;
    CostTable table;
    table.device = profile.name;
    table.weight_type = format_name(format, in_ram);
    table.hidden_dim = grid.hidden_dim;
    table.ffn_dim = grid.ffn_dim;
    table.n_matrices = grid.expert.n_matrices();
    table.expert_bytes = grid.expert_bytes(format);
    table.pinned = true;
    table.emulated = true;
    table.sync_us = profile.sync_us + profile.launch_us;  // work after a host wait needs a launch
    const auto bytes = static_cast<double>(table.expert_bytes);
    table.weight_copy_us = in_ram.has_strips() ? profile.strips_copy_us(bytes) : profile.copy_us(bytes);
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
        if (lies_by_neurons(format)) table.sparse_cpu = accounted_sparse_factors(grid.expert);
        table.disk.us = profile.host->disk_us(bytes);
        // Together they get the memory's bandwidth, in proportion to what each uses
        // alone.
        const double wanted = profile.host->read_gbps + bytes / (table.weight_copy_us * 1e3);
        table.cpu_slowdown = table.copy_slowdown = std::max(1.0, wanted / profile.host->dram_gbps);
    }
    return table;
}

std::vector<kernels::WeightType> formats_of(const LoadRequest& request, const ModelDemand& demand, bool all) {
    std::vector<kernels::WeightType> formats;
    for (std::size_t i = 1; i < demand.file_formats.size(); ++i) formats.push_back(demand.file_formats[i].format);
    for (std::size_t i = 1; i < demand.formats.size(); ++i) {  // the first is the master's
        const kernels::WeightType format = demand.formats[i].format;
        if (all || request.quality.allows_fewer_bits() || request.quant.experts == format) formats.push_back(format);
    }
    return formats;
}

Measurements::Measurements(const LoadRequest& request, const ModelSpec& spec, kernels::WeightType master,
                           std::string name, std::filesystem::path folder, const ExpertReads& reads)
    : request_(request),
      spec_(spec),
      master_(master),
      name_(std::move(name)),
      folder_(std::move(folder)),
      reads_(reads),
      kept_(calibration_directory(request.cache_directory)) {}

ComputeChoice Measurements::compute() const {
    return choose_compute(asked_form(request_.compute), master_, kept_, request_.times_product);
}

DeviceProducts Measurements::device_products(Backend& device) const {
    return choose_device_products(device, request_.compute, master_, kept_);
}

DeviceProducts Measurements::known_device_products(Backend& device) const {
    return engine::known_device_products(device, request_.compute, master_, kept_);
}

Popularity Measurements::popularity() const {
    const ExpertGrid& grid = spec_.experts;
    RoutingHabits habits;
    static_cast<void>(kept_.load(habits_key(name_, grid), habits));
    std::filesystem::path path = request_.popularity_file;
    if (path.empty()) {
        if (!folder_.empty()) path = popularity_file(folder_);
        if (path.empty() || !std::filesystem::exists(path)) {
            Popularity none = Popularity::uniform(grid.n_layers, grid.n_experts, grid.n_active);
            none.habits = std::move(habits);
            return none;
        }
    }
    Popularity read = read_popularity(path);
    if (read.n_layers == grid.n_layers && read.n_experts == grid.n_experts) {
        read.n_active = grid.n_active;  // shares are of this model's calls
        read.habits = std::move(habits);
        return read;
    }
    throw Error(ErrorKind::kInvalidInput,
                messages::popularity_of_other_model(path.string(), read.n_layers, read.n_experts, name_, grid.n_layers,
                                                    grid.n_experts));
}

void Measurements::keep_habits(const RoutingHabits& habits) const {
    kept_.store(habits_key(name_, spec_.experts), habits);
}

Sensitivity Measurements::sensitivity(WeightSource& source, kernels::ThreadPool& pool, const LoadProgressFn& progress,
                                      const std::stop_token& stop, Message& problem) const {
    const ExpertGrid& grid = spec_.experts;
    const auto typical = [&] { return Sensitivity::typical(grid.n_layers, grid.n_experts); };
    if (request_.dry) return typical();
    const auto fingerprint = source.model_fingerprint();
    const std::filesystem::path asked = request_.cache_directory;
    const MeasurementStore store(asked.empty() ? cache_directory() : asked, "sensitivity");
    std::string key;
    if (fingerprint) {
        key = "sensitivity|" + fingerprint->text() + "|version " + std::to_string(kQuantizerVersion) + "|" +
              std::to_string(kernels::kWeightTypes) + " formats";
        Sensitivity kept;
        if (store.load(key, kept) && kept.n_layers == grid.n_layers && kept.n_experts == grid.n_experts) return kept;
    }
    if (!request_.quality.allows_fewer_bits()) return typical();
    Sensitivity measured = measure_sensitivity(
        grid, source, pool,
        [&](std::int64_t done, std::int64_t all) {
            if (!progress) return;
            progress({messages::measuring_what_fewer_bits_cost, static_cast<std::uint64_t>(done),
                      static_cast<std::uint64_t>(all)});
        },
        stop);
    if (fingerprint) store.store(key, measured);
    problem = store.problem();
    return measured;
}

QuantizingSpeeds Measurements::quantizing_speeds(Backend& device, const std::stop_token& stop) const {
    return engine::quantizing_speeds(spec_.experts.hidden_dim, kept_, stop, device.row_quantizer(),
                                     device.info().fingerprint);
}

// How products would be formed; nothing: that is to be measured as well.
std::optional<kernels::ProductForm> Measurements::known_form() const {
    if (const auto asked = asked_form(request_.compute)) return asked;
    const auto kept = kept_compute(master_, kept_);
    return kept ? std::optional(kept->form) : std::nullopt;
}

bool Measurements::interleaves(std::optional<kernels::ProductForm> form) const {
    return !request_.dry && form && form->wants_interleaved();
}

// What calibrations of the model's experts are asked with, on random weights.
FormatCalibration Measurements::random_experts(const Machine& machine, const Effort& effort) const {
    FormatCalibration wanted;
    wanted.format = master_;
    wanted.grid = spec_.experts;
    wanted.checks = request_.checks_costs;
    wanted.anew = effort.anew;
    wanted.budget_s = effort.budget_s;
    wanted.largest = machine.device.shares_host_memory() || effort.reserved
                         ? effort.largest
                         : reserve_for_experts(machine.device, spec_, master_, effort.largest);
    return wanted;
}

std::optional<CostTable> Measurements::kept_table(const CostPlace& place, const HardwareProfile* emulated,
                                                  kernels::WeightType format) const {
    CostTable table;
    if (emulated != nullptr) {
        table = costs_of(*emulated, format, spec_.experts, interleaves(place.form));
        if (emulated->host) return table;
        const CostPlace here{cpu_info(), place.n_threads, place.form};
        CostTable cpu;
        if (!kept_.load(cost_key(here, format, spec_.experts, false), cpu)) return {};
        take_cpu_part(table, std::move(cpu));
        return table;
    }
    for (const bool pinned : {true, false}) {
        if (kept_.load(cost_key(place, format, spec_.experts, pinned), table)) return table;
    }
    return {};
}

std::optional<CostModel> Measurements::kept_costs(const DeviceInfo& device,
                                                  const std::vector<kernels::WeightType>& formats) const {
    constexpr std::string_view kEmulatedId = "emulated:";
    std::optional<HardwareProfile> profile;
    if (device.kind == DeviceKind::kEmulated && !request_.device.starts_with(kEmulatedId)) return {};
    if (device.kind == DeviceKind::kEmulated)
        profile = find_hardware_profile(request_.device.substr(kEmulatedId.size()));
    const bool accounted = profile && profile->host;
    const std::optional<kernels::ProductForm> form = known_form();
    if (!form && !accounted) return {};
    const CostPlace place{device, compute_threads(request_.n_threads), form.value_or(kernels::ProductForm())};
    const HardwareProfile* const emulated = profile ? &*profile : nullptr;
    std::optional<CostTable> master = kept_table(place, emulated, master_);
    if (!master) return {};
    const auto dense = known_dense_costs(dense_model(), place, emulated, kept_);
    if (!dense) return {};
    master->dense = *dense;
    CostModel cost(*std::move(master));
    cost.set_master(master_);
    for (const kernels::WeightType format : formats) {
        std::optional<CostTable> other = kept_table(place, emulated, format);
        if (!other) return {};
        cost.set_table(format, *std::move(other));
    }
    return cost;
}

CostModel Measurements::costs(const Machine& machine, const std::vector<kernels::WeightType>& formats,
                              const Effort& effort) {
    FormatCalibration wanted = random_experts(machine, effort);
    const auto* const emulated = dynamic_cast<const EmulatedAccelerator*>(&machine.device);
    const auto table_of = [&](kernels::WeightType format, bool* measured) {
        wanted.format = format;
        const auto calibrated = [&](Backend& device) {
            return calibrate_format(device, machine.host, wanted, kept_, measuring(machine.progress), machine.stop,
                                    measured);
        };
        if (emulated == nullptr) return calibrated(machine.device);
        CostTable table = costs_of(emulated->profile(), format, wanted.grid, interleaves(machine.host.form()));
        if (emulated->profile().host) return table;
        CpuBackend cpu(machine.host.pool(), machine.host.form(), 0);
        wanted.largest = kFullCalibration;
        take_cpu_part(table, calibrated(cpu));
        return table;
    };
    measured_ = false;
    CostTable master = table_of(master_, &measured_);
    if (effort.dense) {
        DenseProbeModel model = dense_model();
        model.experts = &master;
        master.dense = dense_costs(model, machine.device, machine.host, kept_, machine.stop, effort.anew || measured_,
                                   request_.checks_costs);
    }
    CostModel cost(std::move(master));
    cost.set_master(master_);
    for (const kernels::WeightType format : formats) {
        if (format != master_) cost.set_table(format, table_of(format, nullptr));
    }
    return cost;
}

bool Measurements::doubt(const Backend& device, const CpuOperations& host, const Plan& plan) {
    const auto* const emulated = dynamic_cast<const EmulatedAccelerator*>(&device);
    if (emulated != nullptr && emulated->profile().host) return false;  // nothing was measured
    CostPlace place = place_of(device, host);
    bool raised = emulated == nullptr && doubt_dense_costs(dense_model(), place, kept_);
    if (emulated != nullptr) place.device = cpu_info();
    for (const bool pinned : {true, false}) {
        const std::string key = cost_key(place, master_, spec_.experts, pinned);
        raised = raise_doubt<CostTable>(key, kept_) || raised;
    }
    if (plan.n_in(Place::kDisk) > 0) raised = raise_doubt<DiskReadCost>(disk_key(place.form), kept_) || raised;
    return raised;
}

CostTable Measurements::remeasured(const Machine& machine) {
    FormatCalibration wanted = random_experts(machine, {.anew = true});
    const auto calibrated = [&](Backend& device, const MeasurementStore& store) {
        return calibrate_format(device, machine.host, wanted, store, measuring(machine.progress), machine.stop);
    };
    const DeviceInfo device = machine.device.info();
    CostTable table = calibrated(machine.device, device.emulated ? MeasurementStore({}) : kept_);
    if (device.emulated && !device.emulated_host) {
        // Its profile has all but the CPU's part, which plans find as that of the CPU.
        CpuBackend cpu(machine.host.pool(), machine.host.form(), 0);
        wanted.largest = kFullCalibration;
        take_cpu_part(table, calibrated(cpu, kept_));
    }
    return table;
}

std::string Measurements::disk_key(kernels::ProductForm form) const {
    const std::string where = folder_.empty() ? request_.model : std::filesystem::weakly_canonical(folder_).string();
    return cost_key(CostPlace{cpu_info(), compute_threads(request_.n_threads), form}, master_, spec_.experts) +
           "|disk " + where +
           (reads_.directly     ? "|direct"
            : reads_.from_cache ? "|cached"
                                : "");
}

std::optional<DiskReadCost> Measurements::kept_disk() const {
    const std::optional<kernels::ProductForm> form = known_form();
    DiskReadCost read;
    if (!form || !kept_.load(disk_key(*form), read)) return {};
    return read;
}

DiskReadCost Measurements::disk(WeightSource& source, CpuOperations& host, const std::stop_token& stop, bool anew) {
    const std::string key = disk_key(host.form());
    const ExpertGrid& grid = spec_.experts;
    std::uint64_t most_bytes = 0;  // layers of a file may differ
    for (std::int64_t layer = 0; layer < grid.n_layers; ++layer) {
        most_bytes = std::max(most_bytes, grid.expert_bytes(grid.stored(master_, layer)));
    }
    const auto through_pages_us = [&](double seconds) {
        return measure_disk_read_us(source, grid.n_layers, grid.n_experts, most_bytes, host.pool(), stop,
                                    !reads_.from_cache, seconds);
    };
    const auto alone_us = [&](double seconds) {
        const double us = reads_.directly ? direct_read_alone_us(source, grid, host.pool(), stop, seconds) : 0;
        return us > 0 ? us : through_pages_us(seconds);
    };
    // A cost that seems wrong is measured longer.
    const auto is_like = [&](const DiskReadCost& kept) {
        const auto check = [&](bool& quiet) -> std::optional<CostDrift> {
            double now_us = 0;
            for (const double seconds : {kDiskCheckS, kLongestDiskCheckS}) {
                const auto begin = std::chrono::steady_clock::now();
                const double waited_before = waited_us();
                now_us = alone_us(seconds);
                const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
                quiet = !is_disturbed(us.count(), waited_us() - waited_before);
                if (!has_drifted(kept.check_us, now_us, !quiet)) return {};
            }
            return CostDrift{messages::an_expert_from_the_disk, kept.check_us, now_us};
        };
        bool quiet = false;
        const std::optional<CostDrift> drift = lasting_drift(check, quiet);
        if (drift) kept_.add_note(cost_measured_again(*drift));
        return !drift;
    };
    std::optional<DiskReadCost> kept;
    if (DiskReadCost found; !anew && kept_.load(key, found)) kept = found;
    return kept_or_measured(kept, request_.checks_costs, is_like, [&](CostDoubt doubt) {
        DiskReadCost read;
        if (reads_.directly) read = measure_direct_read(source, grid, host.pool(), stop);
        if (read.us == 0) {
            read.us = through_pages_us(kDiskMeasuringS);
            read.check_us = through_pages_us(kDiskCheckS);
        }
        read.measured_at = seconds_since_1970();
        read.doubt = doubt;
        if (read.us > 0) kept_.store(key, read);
        return read;
    });
}

}  // namespace offstage::engine
