#include "engine/run/model_costs.h"

#include <algorithm>
#include <chrono>

#include "engine/device/cpu_backend.h"
#include "engine/device/emulated_accelerator.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/error.h"
#include "engine/experts/disk_speed.h"
#include "engine/model/synthetic.h"
#include "engine/plan/calibrate_host.h"
#include "engine/plan/calibration.h"
#include "engine/plan/compute_choice.h"
#include "engine/plan/format_costs.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/repeated_time.h"
#include "engine/quant/random_rows.h"
#include "engine/run/dense_probe.h"
#include "engine/run/forward.h"
#include "engine/run/loaded_model.h"
#include "engine/run/run_messages.h"
#include "kernels/thread_pool.h"

namespace offstage::engine {
namespace {

constexpr double kDiskMeasuringS = 0.25, kDiskCheckS = 0.01, kLongestDiskCheckS = 0.05;

CalibrationCache cost_cache(const LoadRequest& request) {
    return CalibrationCache(calibration_directory(request.cache_directory));
}

DenseProbeModel dense_model(const CostedModel& model) {
    return {model.spec, model.master, model.request.quant.dense, model.request.kv};
}

// The form of products; nothing: that has to be measured as well.
std::optional<kernels::ProductForm> known_form(const CostedModel& model) {
    if (const auto asked = asked_form(model.request.compute)) return asked;
    const auto kept = kept_compute(model.master, cost_cache(model.request));
    return kept ? std::optional(kept->form) : std::nullopt;
}

// Allocates scratch memory for steps of `largest` tokens, or of as many as fit. Returns
// their number.
std::int64_t reserve_for_experts(Backend& device, const CostedModel& model, std::int64_t largest) {
    for (std::int64_t n = largest;; n /= 2) {
        try {
            device.reserve(Forward::step_shape(model.spec, model.master, n, n));
            return n;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory || n == 1) throw;
        }
    }
}

// The input for calibrations of the model's experts, with random weights.
FormatCalibration random_experts(const CostedModel& model, Backend& device) {
    FormatCalibration wanted;
    wanted.grid = model.spec.experts;
    wanted.checks = model.request.checks_costs;
    if (!device.shares_host_memory()) wanted.largest = reserve_for_experts(device, model, wanted.largest);
    return wanted;
}

void set_format(FormatCalibration& wanted, kernels::WeightType format) {
    wanted.format = format;
    wanted.pack = [layout = wanted.grid.layout(format)](std::int64_t, std::byte* block) {
        fill_random_expert(layout, block);
    };
}

std::function<void(double)> measuring(const LoadProgressFn& progress) {
    if (!progress) return {};
    return [&progress](double done) {
        progress({messages::measuring_this_machine, static_cast<std::uint64_t>(done * 1000), 1000, false});
    };
}

std::string disk_key(const CostedModel& model, const std::filesystem::path& folder, kernels::ProductForm form) {
    const std::string where = folder.empty() ? model.request.model : std::filesystem::weakly_canonical(folder).string();
    return CalibrationCache::key(CostPlace{cpu_info(), compute_threads(model.request.n_threads), form}, model.master,
                                 model.spec.experts) +
           "|disk " + where +
           (model.reads.directly     ? "|direct"
            : model.reads.from_cache ? "|cached"
                                     : "");
}

}  // namespace

std::vector<kernels::WeightType> formats_of(const LoadRequest& request, const ModelDemand& demand, bool all) {
    std::vector<kernels::WeightType> formats;
    for (std::size_t i = 1; i < demand.file_formats.size(); ++i) formats.push_back(demand.file_formats[i].format);
    for (std::size_t i = 1; i < demand.formats.size(); ++i) {  // the first is the master's
        const kernels::WeightType format = demand.formats[i].format;
        if (all || request.quality.allows_fewer_bits() || request.quant.experts == format) formats.push_back(format);
    }
    return formats;
}

void set_theta(CostModel& cost, const LoadRequest& request, const DeviceInfo& device,
               const NeuronThresholds& thresholds) {
    const bool copies = device.kind != DeviceKind::kCpu;
    ActiveShares prior = expected_shares(thresholds, request.theta, request.theta_loss);
    if (request.active_share > 0) prior = {request.active_share, {}};
    // As the kernels are given it.
    const double theta = request.theta_loss > 0 ? request.theta_loss : request.theta;
    cost.set_theta(static_cast<double>(static_cast<float>(theta)),
                   copies ? request.sparse_loading : SparseLoading::kOff, prior.of_model, prior.of_layers);
}

std::optional<ModelCosts> known_costs(const CostedModel& model, const DeviceInfo& device) {
    const CalibrationCache cache = cost_cache(model.request);
    constexpr std::string_view kEmulatedId = "emulated:";
    std::optional<HardwareProfile> profile;
    if (device.kind == DeviceKind::kEmulated && !model.request.device.starts_with(kEmulatedId)) return {};
    if (device.kind == DeviceKind::kEmulated)
        profile = find_hardware_profile(model.request.device.substr(kEmulatedId.size()));
    const bool accounted = profile && profile->host;
    const std::optional<kernels::ProductForm> form = known_form(model);
    if (!form && !accounted) return {};
    const CostPlace place{device, compute_threads(model.request.n_threads), form.value_or(kernels::ProductForm())};
    const auto find = [&](kernels::WeightType format) {
        return known_format_costs(place, profile ? &*profile : nullptr, format, model.spec.experts, cache);
    };
    std::optional<FormatCosts> master = find(model.master);
    if (!master) return {};
    const auto dense = known_dense_costs(dense_model(model), place, profile ? &*profile : nullptr, cache);
    if (!dense) return {};
    master->table.dense = *dense;
    ModelCosts costs{CostModel(std::move(master->table)), false, {}};
    costs.cost.set_master(model.master);
    for (const kernels::WeightType format : model.formats) {
        std::optional<FormatCosts> other = find(format);
        if (!other) return {};
        costs.cost.set_table(format, std::move(other->table));
    }
    set_theta(costs.cost, model.request, device);
    return costs;
}

ModelCosts measured_costs(const CostedModel& model, Backend& device, CpuOperations& host,
                          const LoadProgressFn& progress, const std::stop_token& stop, bool anew) {
    const CalibrationCache cache = cost_cache(model.request);
    FormatCalibration wanted = random_experts(model, device);
    wanted.anew = anew;
    const auto find = [&](kernels::WeightType format) {
        set_format(wanted, format);
        return format_costs(device, host, wanted, cache, measuring(progress), stop);
    };
    FormatCosts master = find(model.master);
    master.table.dense = dense_costs(dense_model(model), device, host, cache, stop, anew, model.request.checks_costs);
    ModelCosts costs{CostModel(std::move(master.table)), master.measured, {}};
    costs.cost.set_master(model.master);
    for (const kernels::WeightType format : model.formats) costs.cost.set_table(format, find(format).table);
    costs.not_kept = cache.problem();
    costs.notes = cache.notes();
    set_theta(costs.cost, model.request, device.info());
    return costs;
}

bool doubt_costs(LoadedModel& model) {
    const LoadRequest& request = model.request();
    const CostedModel costed{request,
                             model.spec(),
                             model.basis().master,
                             {},
                             expert_reads(request, model.spec().experts, model.basis().master, model.memory())};
    const CalibrationCache cache = cost_cache(request);
    const auto* const emulated = dynamic_cast<const EmulatedAccelerator*>(&model.device());
    if (emulated != nullptr && emulated->profile().host) return false;  // nothing was measured
    CostPlace place = place_of(model.device(), model.host());
    bool raised = emulated == nullptr && doubt_dense_costs(dense_model(costed), place, cache);
    if (emulated != nullptr) place.device = cpu_info();
    for (const bool pinned : {true, false}) {
        const std::string key = CalibrationCache::key(place, costed.master, costed.spec.experts, pinned);
        raised = raise_doubt<CostTable>(key, cache) || raised;
    }
    if (reads_disk(model.plan())) {
        raised = raise_doubt<DiskReadCost>(disk_key(costed, model.directory(), place.form), cache) || raised;
    }
    return raised;
}

CostTable remeasured_table(const CostedModel& model, Backend& device, CpuOperations& host,
                           const LoadProgressFn& progress, const std::stop_token& stop, Message* not_kept) {
    FormatCalibration wanted = random_experts(model, device);
    set_format(wanted, model.master);
    const CalibrationCache cache = cost_cache(model.request);
    const auto keep = [&](const Backend& of, const CostTable& table) {
        cache.store(CalibrationCache::key(of, host, model.master, wanted.grid, table.pinned), table);
        if (not_kept != nullptr) *not_kept = cache.problem();
    };
    CostTable table = calibrate_format(device, host, wanted, CalibrationCache({}), measuring(progress), stop);
    if (!table.emulated) {
        if (table.has_accelerator() || device.shares_host_memory()) keep(device, table);
    } else if (!device.info().emulated_host) {
        // Its profile has all but the CPU's part, which plans find as that of the CPU.
        CpuBackend cpu(host.pool(), host.form(), 0);
        const CostTable own = calibrate_format(cpu, host, wanted, CalibrationCache({}), measuring(progress), stop);
        take_cpu_part(table, own);
        keep(cpu, own);
    }
    return table;
}

bool reads_disk(const Plan& plan) {
    return std::find(plan.places.begin(), plan.places.end(), Place::kDisk) != plan.places.end();
}

bool lacks_disk_cost(const CostedModel& model, const DeviceInfo& device, const CostModel& cost, const Plan& plan) {
    // A synthetic model on an emulated device has no file: the time to draw its weights
    // is not that of a disk.
    if (device.emulated && (device.emulated_host || is_synthetic(model.request.model))) return false;
    return cost.table().disk.us == 0 && reads_disk(plan);
}

bool disk_reads_beside(const CostedModel& model, const DeviceInfo& device) {
    return !device.emulated && model.reads.directly;
}

std::optional<DiskReadCost> known_disk_read(const CostedModel& model, const std::filesystem::path& folder) {
    const std::optional<kernels::ProductForm> form = known_form(model);
    DiskReadCost read;
    if (!form || !cost_cache(model.request).load(disk_key(model, folder, *form), read)) return {};
    return read;
}

DiskReadCost disk_read(const CostedModel& model, const std::filesystem::path& folder, WeightSource& source,
                       CpuOperations& host, const CalibrationCache& cache, const std::stop_token& stop, bool anew) {
    const std::string key = disk_key(model, folder, host.form());
    const ExpertGrid& grid = model.spec.experts;
    const auto through_pages_us = [&](double seconds) {
        return measure_disk_read_us(source, grid.n_layers, grid.n_experts, grid.expert_bytes(model.master), host.pool(),
                                    stop, !model.reads.from_cache, seconds);
    };
    const auto alone_us = [&](double seconds) {
        const double us = model.reads.directly ? direct_read_alone_us(source, grid, host.pool(), stop, seconds) : 0;
        return us > 0 ? us : through_pages_us(seconds);
    };
    // A cost that seems wrong is measured longer.
    const auto is_like = [&](const DiskReadCost& kept) {
        double now_us = 0;
        for (const double seconds : {kDiskCheckS, kLongestDiskCheckS}) {
            const auto begin = std::chrono::steady_clock::now();
            const double waited_before = waited_us();
            now_us = alone_us(seconds);
            const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - begin;
            const bool disturbed = is_disturbed(us.count(), waited_us() - waited_before);
            if (!has_drifted(kept.check_us, now_us, disturbed)) return true;
        }
        cache.add_note(cost_measured_again({messages::an_expert_from_the_disk, kept.check_us, now_us}));
        return false;
    };
    DiskReadCost read;
    CostDoubt doubt = CostDoubt::kNone;
    if (!anew && cache.load(key, read) && !are_old(read.measured_at)) {
        const bool doubted = read.doubt == CostDoubt::kRaised;
        if (!doubted && (!model.request.checks_costs || is_like(read))) return read;
        if (read.doubt != CostDoubt::kNone) doubt = CostDoubt::kAnswered;
    }
    read = {};
    if (model.reads.directly) read = measure_direct_read(source, grid, host.pool(), stop);
    if (read.us == 0) {
        read.us = through_pages_us(kDiskMeasuringS);
        read.check_us = through_pages_us(kDiskCheckS);
    }
    read.measured_at = seconds_since_1970();
    read.doubt = doubt;
    if (read.us > 0) cache.store(key, read);
    return read;
}

}  // namespace offstage::engine
