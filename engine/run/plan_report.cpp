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
#include "engine/plan/planner.h"
#include "engine/run/load_planner.h"
#include "engine/run/measurements.h"
#include "engine/run/model_defaults.h"
#include "engine/run/run_messages.h"
#include "engine/run/template_choice.h"
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

// Float32 weights are rounded where bf16 is requested.
kernels::WeightType type_read(const LoadRequest& request, const ModelShape& shape) {
    return shape.type == kernels::WeightType::kF32 && request.compute == ComputeMode::kBf16 ? kernels::WeightType::kBf16
                                                                                            : shape.type;
}

Measurements measurements_of(const LoadRequest& request, const ModelShape& shape, const ExpertReads& reads = {}) {
    return {request, shape.spec, type_read(request, shape), shape.name, shape.directory, reads};
}

Machine open_machine(const LoadRequest& request, const ModelShape& shape) {
    check_request(request);
    Machine machine;
    machine.pool = std::make_unique<kernels::ThreadPool>(compute_threads(request.n_threads));
    machine.type = type_read(request, shape);
    const Measurements measurements = measurements_of(request, shape);
    machine.host = std::make_unique<CpuOperations>(*machine.pool, measurements.compute().form);
    // Threads take addresses and memory as well.
    machine.memory = memory_size("/", shape.checkpoint_bytes);
    if (runs_on_cpu(request)) check_ram_budget(request.ram_bytes, machine.memory);
    machine.device =
        open_device(runs_on_cpu(request) ? "cpu" : request.device,
                    runs_on_cpu(request) ? ram_budget(request, machine.memory) : request.vram_bytes, *machine.host);
    measurements.device_products(*machine.device);
    return machine;
}

// The time of reading an expert from disk into RAM: measured if the model's weights
// exist. 0: not known.
DiskReadCost disk_read_of(Measurements& measurements, const LoadRequest& request, const ModelShape& shape,
                          const Machine& machine, const std::stop_token& stop) {
    try {
        std::unique_ptr<WeightSource> source;
        if (is_synthetic(request.model)) {
            source = draw_weights(parse_synthetic(request.model), *machine.pool, false);
        } else {
            ModelSpec spec = shape.spec;
            source = open_weights(Checkpoint::open(shape.directory), spec, request.compute == ComputeMode::kBf16,
                                  *machine.pool);
        }
        return measurements.disk(*source, *machine.host, stop);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::kCancelled) throw;
        return {};  // a model without weights, or no room for one expert
    }
}

std::string source_of(const Measurements& measurements, const CostModel& cost, const DeviceInfo& device) {
    const std::string kept = "kept calibration of " + date_of(cost.table().measured_at);
    std::string source = measurements.measured() ? "measured now" : kept;
    if (device.emulated) {
        source = "hardware profile " + device.id.substr(device.id.find(':') + 1) +
                 (device.emulated_host      ? ""
                  : measurements.measured() ? ", CPU measured now"
                                            : ", " + kept + " for the CPU");
    }
    for (const Message& note : measurements.kept().notes()) source += ". " + note.english();
    const Message& problem = measurements.kept().problem();
    return problem.empty() ? source : source + ". " + problem.english();
}

// Typical plans set by hand, and the report's own.
void compare_plans(PlanReport& report, std::int64_t prompt_tokens) {
    const PlanInputs& inputs = report.inputs;
    const QualityFloor& floor = report.plan.budget.quality;
    // Plans set by hand leave out no neurons; the file's own format has no loss.
    const auto kl_of = [&](kernels::WeightType format) {
        if (format == inputs.demand.formats.front().format) return 0.0;
        for (const FormatLoss& known : inputs.thresholds.formats) {
            if (known.format == format) return known.mean_kl;
        }
        return std::numeric_limits<double>::infinity();
    };
    for (const ModelDemand::Format& f : inputs.demand.formats) {
        if (f.bits_per_weight < floor.min_mean_bits) continue;
        Budget budget = report.plan.budget;
        budget.quality = {};
        budget.uniform = f.format;
        for (const PlacementKind kind : {PlacementKind::kLayers, PlacementKind::kPopular}) {
            PlanReport::Compared one;
            one.name = std::string(kind == PlacementKind::kLayers ? "whole layers, " : "popular experts, ") +
                       (kernels::traits_of(f.format).is_of_file()
                            ? stored_formats_of(report.shape.spec.experts, report.shape.type)
                            : std::string(kernels::name_of(f.format)));
            try {
                one.plan = make_plan(inputs, budget, kind);
                if (floor.max_loss > 0 && one.plan.predicted_loss > floor.max_loss) continue;
                if (floor.max_kl > 0 && kl_of(f.format) > floor.max_kl) continue;
                one.forecast = inputs.forecast(one.plan, prompt_tokens);
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

WeightReads PlanReport::reads() const {
    return expected_reads(shape.spec.experts, inputs.demand.dense_read_bytes, inputs.popularity, inputs.master,
                          plan.formats, &plan, &inputs.cost);
}

ThetaChoice PlanReport::theta() const {
    return plan.theta ? *plan.theta : inputs.asked.theta.value_or(ThetaChoice());
}

std::string PlanReport::active_share_is() const {
    if (!theta().leaves_out()) return "of all neurons";
    if (inputs.active_share > 0) return "given";
    return expected_shares(inputs.thresholds, theta()).of_model > 0 ? "measured" : "assumed";
}

CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop,
                          Message* not_kept) {
    const ModelShape shape = read_model_shape(request.model);
    Machine machine = open_machine(request, shape);
    Measurements measurements = measurements_of(request, shape);
    CostTable table = measurements.remeasured({*machine.device, *machine.host, progress, stop});
    if (not_kept != nullptr) *not_kept = measurements.kept().problem();
    return table;
}

PlanReport plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                      const std::stop_token& stop, bool compare) {
    PlanReport report;
    report.shape = read_model_shape(request.model);
    const ModelSpec& spec = report.shape.spec;
    report.notes = report.shape.notes;
    for (Message& note : request_notes(request, spec.max_context)) report.notes.push_back(std::move(note));
    std::int64_t advised_context = 0;
    if (!report.shape.directory.empty() && Tokenizer::is_in(report.shape.directory)) {
        const auto tokenizer = Tokenizer::open(report.shape.directory, spec.vocab_size);
        report.notes.insert(report.notes.end(), tokenizer->notes().begin(), tokenizer->notes().end());
        const Message problem = try_chat_template(request.model, request.chat_template, *tokenizer).problem;
        if (!problem.empty()) report.notes.push_back(problem);
        advised_context = read_model_defaults(request.model).context;
    } else if (!report.shape.directory.empty()) {
        report.notes.push_back(messages::model_without_tokenizer(report.shape.name));
    }
    PlanInputs& inputs = report.inputs;
    inputs.popularity = measurements_of(request, report.shape).popularity();
    inputs.thresholds = kept_thresholds(report.shape.directory);
    // Weights are not read, so the model's own sensitivity is unknown.
    inputs.sensitivity = Sensitivity::typical(spec.experts.n_layers, spec.experts.n_experts);
    Machine machine = open_machine(request, report.shape);
    Backend& device = *machine.device;
    inputs.master = machine.type;
    inputs.device = device.info();
    inputs.memory = machine.memory;
    inputs.asked.vram_bytes = device.memory().usage().budget_bytes;
    inputs.asked.ram_bytes = ram_budget(request, inputs.memory);
    inputs.may_be_elsewhere = true;
    describe_load(
        inputs, request, spec, dense_bytes_in(spec, machine.type),
        [&](const Backend::StepShape& step) { return device.scratch_bytes(step); }, advised_context);
    Measurements measurements =
        measurements_of(request, report.shape, expert_reads(request, spec.experts, machine.type, inputs.memory));
    report.plan = plan_load(
        inputs, spec.experts,
        [&](const Plan&) {
            return measurements.costs({device, *machine.host, progress, stop},
                                      formats_of(request, inputs.demand, compare), {});
        },
        [&] { return disk_read_of(measurements, request, report.shape, machine, stop); });
    report.cost_source = source_of(measurements, inputs.cost, inputs.device);
    report.plan.note = joined(std::move(report.plan.note), load_note(inputs, request, spec));
    report.forecast = inputs.forecast(report.plan, prompt_tokens);
    if (compare) compare_plans(report, prompt_tokens);
    return report;
}

}  // namespace offstage::engine
