#include "engine/run/plan_report.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/device/hardware.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/model/checkpoint.h"
#include "engine/model/file_formats.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "engine/plan/calibration.h"
#include "engine/plan/device_products.h"
#include "engine/run/load_planner.h"
#include "engine/run/model_costs.h"
#include "engine/run/model_defaults.h"
#include "engine/run/run_messages.h"
#include "engine/text/tokenizer.h"
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
    machine.pool = std::make_unique<kernels::ThreadPool>(compute_threads(request.n_threads));
    // Float32 weights are rounded where bf16 is requested.
    machine.type = shape.type == kernels::WeightType::kF32 && request.compute == ComputeMode::kBf16
                       ? kernels::WeightType::kBf16
                       : shape.type;
    machine.host = std::make_unique<CpuOperations>(*machine.pool, choose_compute(request, machine.type).form);
    // Threads take addresses and memory as well.
    machine.memory = memory_size("/", shape.checkpoint_bytes);
    if (runs_on_cpu(request)) check_ram_budget(request.ram_bytes, machine.memory);
    machine.device =
        open_device(runs_on_cpu(request) ? "cpu" : request.device,
                    runs_on_cpu(request) ? ram_budget(request, machine.memory) : request.vram_bytes, *machine.host);
    choose_device_products(*machine.device, request.compute, machine.type,
                           CalibrationCache(calibration_directory(request.cache_directory)));
    return machine;
}

// The time of reading an expert from disk into RAM: measured if the model's weights
// exist. 0: not known.
DiskReadCost disk_read_of(const CostedModel& model, const ModelShape& shape, const Machine& machine,
                          const CalibrationCache& cache, const std::stop_token& stop) {
    const LoadRequest& request = model.request;
    try {
        std::unique_ptr<WeightSource> source;
        if (is_synthetic(request.model)) {
            source = draw_weights(parse_synthetic(request.model), *machine.pool, false);
        } else {
            ModelSpec spec = shape.spec;
            source = open_weights(Checkpoint::open(shape.directory), spec, request.compute == ComputeMode::kBf16,
                                  *machine.pool);
        }
        return disk_read(model, shape.directory, *source, *machine.host, cache, stop);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::kCancelled) throw;
        return {};  // a model without weights, or no room for one expert
    }
}

std::string source_of(const ModelCosts& costs, const DeviceInfo& device) {
    const std::string kept = "kept calibration of " + date_of(costs.cost.table().measured_at);
    std::string source = costs.measured ? "measured now" : kept;
    if (device.emulated) {
        source = "hardware profile " + device.id.substr(device.id.find(':') + 1) +
                 (device.emulated_host ? ""
                  : costs.measured     ? ", CPU measured now"
                                       : ", " + kept + " for the CPU");
    }
    for (const Message& note : costs.notes) source += ". " + note.english();
    return costs.not_kept.empty() ? source : source + ". " + costs.not_kept.english();
}

// Typical plans set by hand, and the report's own.
void compare_plans(PlanReport& report, const PlanCosts& costs, std::int64_t prompt_tokens) {
    const QualityFloor& floor = report.budget.quality;
    const auto foretell = [&](const Plan& plan) {
        return forecast(plan, report.demand, report.popularity, *costs.cost, report.dispatch.prefill,
                        report.dispatch.decode, prompt_tokens);
    };
    // Plans set by hand leave out no neurons; the file's own format has no loss.
    const auto kl_of = [&](kernels::WeightType format) {
        if (format == report.demand.formats.front().format) return 0.0;
        for (const FormatLoss& known : costs.thresholds->formats) {
            if (known.format == format) return known.mean_kl;
        }
        return std::numeric_limits<double>::infinity();
    };
    for (const FormatDemand& f : report.demand.formats) {
        if (f.bits_per_weight < floor.min_mean_bits) continue;
        Budget budget = report.budget;
        budget.quality = {};
        budget.uniform = f.format;
        for (const PlacementKind kind : {PlacementKind::kLayers, PlacementKind::kPopular}) {
            PlanReport::Compared one;
            one.name = std::string(kind == PlacementKind::kLayers ? "whole layers, " : "popular experts, ") +
                       (kernels::traits_of(f.format).is_of_file()
                            ? stored_formats_of(report.shape.spec.experts, report.shape.type)
                            : std::string(kernels::name_of(f.format)));
            try {
                one.plan = make_plan(report.demand, budget, report.popularity, kind, costs);
                if (floor.max_loss > 0 && one.plan.predicted_loss > floor.max_loss) continue;
                if (floor.max_kl > 0 && kl_of(f.format) > floor.max_kl) continue;
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

CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop,
                          Message* not_kept) {
    const ModelShape shape = read_model_shape(request.model);
    Machine machine = open_machine(request, shape);
    return remeasured_table({request, shape.spec, machine.type, {}}, *machine.device, *machine.host, progress, stop,
                            not_kept);
}

PlanReport plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                      const std::stop_token& stop, bool compare) {
    PlanReport report;
    report.shape = read_model_shape(request.model);
    const ModelSpec& spec = report.shape.spec;
    report.notes = report.shape.notes;
    std::int64_t advised_context = 0;
    if (!report.shape.directory.empty() && Tokenizer::is_in(report.shape.directory)) {
        const auto tokenizer = Tokenizer::open(report.shape.directory, spec.vocab_size);
        report.notes.insert(report.notes.end(), tokenizer->notes().begin(), tokenizer->notes().end());
        advised_context = read_model_defaults(report.shape.directory).context;
    }
    report.popularity = popularity_of(report.shape.name, report.shape.directory, spec.experts, request.popularity_file,
                                      CalibrationCache(calibration_directory(request.cache_directory)));
    report.dispatch = request.dispatch;
    Machine machine = open_machine(request, report.shape);
    report.memory = machine.memory;
    Backend& device = *machine.device;
    report.device = device.info();

    LoadPlanner planner(request,
                        {spec, machine.type, dense_bytes_in(spec, machine.type), report.device,
                         [&](const Backend::StepShape& step) { return device.scratch_bytes(step); }, report.memory,
                         device.memory().usage().budget_bytes, ram_budget(request, report.memory), advised_context});
    report.demand = planner.demand();
    const bool any_format = compare || request.quality.allows_fewer_bits();
    Message apart_note;
    const auto plan_by = [&](const PlanCosts& costs) {
        try {
            Plan plan = planner.plan(report.popularity, costs);
            // If the user names more RAM than this computer has, the plan is for another
            // computer.
            if (!planner.lowered_asked_ram()) return plan;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory || !report.device.emulated || !apart_note.empty()) throw;
        }
        planner.count_device_memory_apart();
        apart_note = messages::emulation_counted_apart;
        return planner.plan(report.popularity, costs);
    };
    // A plan that does not fit fails before anything is measured; with fewer bits it
    // might fit.
    if (!any_format) static_cast<void>(plan_by({}));

    const CostedModel costed{request, spec, machine.type, formats_of(request, report.demand, compare), planner.reads()};
    ModelCosts found = measured_costs(costed, device, *machine.host, progress, stop);
    CostModel& cost = found.cost;
    const NeuronThresholds thresholds = kept_thresholds(report.shape.directory);
    set_theta(cost, request, device.info(), thresholds);
    report.costs = cost.table();
    report.cost_source = source_of(found, report.device);
    // Weights are not read, so the model's own sensitivity is unknown.
    const Sensitivity sensitivity = Sensitivity::typical(spec.experts.n_layers, spec.experts.n_experts);
    report.sensitivity_source = sensitivity.source;
    PlanCosts costs{&cost, &sensitivity, request.dispatch.decode, &thresholds,
                    report.demand.shares_host_memory ? SparseLoading::kOff : request.sparse_loading};
    if (request.leaves_out()) costs.theta = request.theta_choice();
    report.plan = plan_by(costs);
    if (lacks_disk_cost(costed, report.device, cost, report.plan)) {
        const CalibrationCache cache(calibration_directory(request.cache_directory));
        report.costs.disk = disk_read_of(costed, report.shape, machine, cache, stop);
        for (const Message& note : cache.notes()) report.cost_source += ". " + note.english();
        report.costs.disk_beside = disk_reads_beside(costed, report.device);
        cost.set_disk(report.costs.disk, report.costs.disk_beside);
        report.plan = plan_by(costs);
    }
    LoadRequest planned = request;  // with the plan's thresholds
    if (report.plan.theta) {
        planned.theta = report.plan.theta->theta;
        planned.theta_loss = report.plan.theta->loss;
        set_theta(cost, planned, device.info(), thresholds);
    }
    report.theta = planned.theta;
    report.theta_loss = planned.theta_loss;
    report.active_share = cost.active_share(-1, 1);
    report.share_is_given = !planned.leaves_out() || request.active_share > 0;
    report.share_is_measured =
        !report.share_is_given && expected_shares(thresholds, planned.theta, planned.theta_loss).of_model > 0;
    report.copies_sparse = cost.copies_sparse(-1, 1, cost.master());
    report.budget = planner.budget();
    for (const Message& note : {planner.dense_note(), apart_note}) {
        report.plan.note = joined(std::move(report.plan.note), note);
    }
    report.forecast = forecast(report.plan, report.demand, report.popularity, cost, request.dispatch.prefill,
                               request.dispatch.decode, prompt_tokens);
    report.memory_note = planner.memory_note(report.plan);
    report.reads = expected_reads(spec.experts, report.demand.dense_read_bytes, report.popularity, machine.type,
                                  report.plan, cost);
    if (compare) compare_plans(report, costs, prompt_tokens);
    report.cost = cost;
    return report;
}

}  // namespace offstage::engine
