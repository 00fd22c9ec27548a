#include "engine/run/fit_estimate.h"

#include <algorithm>

#include "engine/device/cpu_backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/device_messages.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/model/file_formats.h"
#include "engine/model/synthetic.h"
#include "engine/model/tensor_types.h"
#include "engine/plan/plan_messages.h"
#include "engine/run/forward.h"
#include "engine/run/layer_drafter.h"
#include "engine/run/measurements.h"
#include "engine/run/model_defaults.h"
#include "engine/run/run_messages.h"
#include "engine/run/template_choice.h"
#include "engine/text/family_templates.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kEmulated = "emulated:";

// Others are not opened for an estimate, or compute with the opener's threads.
bool may_be_shared(const LoadRequest& request) {
    return request.opens_device || request.device.starts_with("cuda");
}

// Host and device as a load would open them.
struct EstimateMachine {
    EstimateMachine(const LoadRequest& request, std::uint64_t vram_bytes, const Measurements& measurements,
                    FitDevice* shared = nullptr)
        : pool(compute_threads(request.n_threads)),
          host(pool, measurements.compute().form),
          memory(memory_size()),  // threads take addresses and memory as well
          device((shared != nullptr && may_be_shared(request) ? *shared : own).open(request, vram_bytes, host)) {
        measurements.device_products(device);
    }
    kernels::ThreadPool pool;
    CpuOperations host;
    MemorySize memory;
    FitDevice own;
    Backend& device;
};

// A model without weights: float32 ones would be rounded where bf16 is requested.
kernels::WeightType type_read(const LoadRequest& request, const ModelShape& shape) {
    const bool rounds = !shape.directory.empty() && request.compute == ComputeMode::kBf16;
    return rounds && shape.type == kernels::WeightType::kF32 ? kernels::WeightType::kBf16 : shape.type;
}

// The least value in (lo, hi] for which `fits`, found by halving. Precondition: fits(hi),
// and a larger value fits if a smaller one does.
template <typename Fits>
std::uint64_t least(std::uint64_t lo, std::uint64_t hi, const Fits& fits) {
    while (hi - lo > 1) {
        const std::uint64_t middle = lo + (hi - lo) / 2;
        (fits(middle) ? hi : lo) = middle;
    }
    return hi;
}

// Which memory is short for a plan without a floor of quality, and by how much.
void find_shortage(FitEstimate& estimate) {
    const PlanInputs& inputs = estimate.inputs;
    const auto fits_in = [&](const Budget& budget) {
        try {
            static_cast<void>(make_plan(inputs, budget, placement_for(inputs.decode)));
            return true;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory) throw;
            return false;
        }
    };
    Budget budget = inputs.asked;
    budget.quality = {};
    const std::uint64_t peak = inputs.demand.dense_peak_bytes;
    if (peak > budget.ram_bytes && fits_in(budget)) {
        estimate.short_by = peak - budget.ram_bytes;
        return;
    }
    constexpr std::uint64_t kPlenty = std::uint64_t{1} << 50;
    const bool shared = inputs.demand.shares_host_memory;
    Budget roomy = budget;
    roomy.vram_bytes = kPlenty;
    estimate.vram_is_short = !shared && fits_in(roomy);
    std::uint64_t Budget::*const memory = estimate.vram_is_short ? &Budget::vram_bytes : &Budget::ram_bytes;
    roomy.ram_bytes = kPlenty;
    if (!estimate.vram_is_short && !shared) budget.vram_bytes = kPlenty;
    if (!fits_in(roomy)) return;
    const std::uint64_t had = budget.*memory;
    estimate.short_by = least(had, kPlenty, [&](std::uint64_t bytes) {
        budget.*memory = bytes;
        return fits_in(budget);
    });
    estimate.short_by -= had;
}

// Totals, budgets and others of Snapshot's ledgers.
void begin_ledgers(FitEstimate& estimate) {
    const PlanInputs& inputs = estimate.inputs;
    const DeviceInfo& device = inputs.device;
    MemoryLedger& ram = estimate.ram;
    if (!inputs.demand.shares_host_memory) {
        estimate.vram.total = device.memory_bytes;
        estimate.vram.budget = inputs.asked.vram_bytes;
        estimate.vram.others = device.memory_bytes - std::min(device.memory_bytes, device.available_bytes);
    }
    ram.total = static_cast<std::uint64_t>(inputs.memory.total_bytes);
    ram.budget = inputs.asked.ram_bytes;
    ram.others = ram.total - std::min(ram.total, static_cast<std::uint64_t>(inputs.memory.available_bytes));
    estimate.peak_ram_bytes = inputs.demand.dense_peak_bytes;
}

// The plan's memory in them.
void fill_ledgers(FitEstimate& estimate) {
    const Plan& plan = estimate.plan;
    const ModelDemand& demand = estimate.inputs.demand;
    const bool shared = demand.shares_host_memory;
    MemoryLedger& vram = estimate.vram;
    MemoryLedger& ram = estimate.ram;
    const std::uint64_t kv_workspace = demand.kv_workspace_bytes(plan.max_step);
    MemoryLedger& own = shared ? ram : vram;
    if (plan.budget.ram_bytes > 0) ram.budget = plan.budget.ram_bytes;  // an emulated device's memory is RAM too
    own.dense = plan.dense_bytes;
    if (shared) own.dense -= std::min(own.dense, dense_vector_bytes(estimate.shape.spec));
    own.kv_cache = plan.kv_bytes + kv_workspace;
    own.workspace = plan.workspace_bytes - std::min(plan.workspace_bytes, kv_workspace);
    if (!shared) {
        vram.staging = plan.staging_bytes;
        ram.kv_cache = plan.kv_host_bytes;
    }
    ram.staging = static_cast<std::uint64_t>(plan.host_staging_slots) * plan.slot_bytes + plan.disk_buffer_bytes;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const kernels::WeightType format = plan.format(i, estimate.inputs.master);
        const std::uint64_t bytes = demand.find(format)->expert_bytes;
        const bool on_device = plan.places[i] == Place::kDevice;
        if (on_device) vram.add_experts(format, bytes);
        if (plan.places[i] == Place::kRam || (on_device && plan.duplicates)) ram.add_experts(format, bytes);
    }
    estimate.peak_ram_bytes = std::max(estimate.peak_ram_bytes, ram.used());
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
    const auto add = [&](const Message& note) {
        if (note.empty()) return;
        source += source.back() == '.' ? " " : ". ";
        source += note.english();
    };
    if (cost.table().disturbed || cost.table().dense.disturbed) add(messages::costs_were_disturbed);
    for (const Message& note : measurements.kept().notes()) add(note);
    add(measurements.kept().problem());
    return source;
}

// Typical plans set by hand, and the report's own.
void compare_plans(FitEstimate& estimate) {
    const PlanInputs& inputs = estimate.inputs;
    const QualityFloor& floor = estimate.plan.budget.quality;
    for (const ModelDemand::Format& f : inputs.demand.formats) {
        if (f.bits_per_weight < floor.min_mean_bits) continue;
        Budget budget = estimate.plan.budget;
        budget.quality = {};
        budget.uniform = f.format;
        for (const PlacementKind kind : {PlacementKind::kLayers, PlacementKind::kPopular}) {
            FitEstimate::Compared one;
            one.name = std::string(kind == PlacementKind::kLayers ? "whole layers, " : "popular experts, ") +
                       (kernels::traits_of(f.format).is_of_file()
                            ? stored_formats_of(estimate.shape.spec.experts, estimate.shape.type)
                            : std::string(kernels::name_of(f.format)));
            try {
                one.plan = make_plan(inputs, budget, kind);
                if (floor.max_loss > 0 && one.plan.predicted_loss > floor.max_loss) continue;
                // Plans set by hand leave out no neurons.
                if (floor.max_kl > 0 && inputs.kl_of(f.format) > floor.max_kl) continue;
                one.forecast = inputs.forecast(one.plan, estimate.forecast->prompt_tokens);
            } catch (const Error& error) {
                if (error.kind() != ErrorKind::kOutOfMemory) throw;
                one.failure = error.what();
            }
            estimate.compared.push_back(std::move(one));
        }
    }
    estimate.compared.push_back({"chosen", {}, estimate.plan, *estimate.forecast});
}

}  // namespace

WeightReads FitEstimate::reads() const {
    return expected_reads(shape.spec.experts, inputs.demand.dense_read_bytes, inputs.popularity, inputs.master,
                          plan.formats, &plan, &inputs.cost);
}

ThetaChoice FitEstimate::theta() const {
    return plan.theta ? *plan.theta : inputs.asked.theta.value_or(ThetaChoice());
}

std::string FitEstimate::active_share_is() const {
    if (!theta().leaves_out()) return "of all neurons";
    if (inputs.active_share > 0) return "given";
    return expected_shares(inputs.thresholds, theta()).of_model > 0 ? "measured" : "assumed";
}

ExpertFormats FitEstimate::expert_formats() const {
    return inputs.demand.formats.empty() ? ExpertFormats() : expert_formats_of(inputs, shape.spec);
}

std::span<const FormatRow> FitEstimate::formats() const {
    return format_rows_of(shape.spec.experts);
}

std::vector<Message> FitEstimate::all_notes() const {
    std::vector<Message> all(plan.note.empty() ? 0 : 1, plan.note);
    if (Message note = fits ? memory_note(inputs, plan) : Message(); !note.empty()) all.push_back(std::move(note));
    all.insert(all.end(), notes.begin(), notes.end());
    return all;
}

struct FitEstimator::Terms {
    FitHeld held{};
    bool kept = true;                                // stored costs count
    const Measurements::Machine* machine = nullptr;  // missing costs are measured there; nullptr: they stay unknown
    MemorySize memory{};                             // with a machine: before its device was opened
    bool anew = false;                               // all costs are measured
    // plan_model()'s: a plan may be for another computer, and too little memory is an
    // error.
    bool for_any_computer = false;
    bool compares = false;
};

FitEstimator::FitEstimator(const std::string& model, Text text, FitDevice* shared)
    : model_(model),
      shared_(shared),
      pool_(std::make_unique<kernels::ThreadPool>(1)),
      shape_(read_model_shape(model, *pool_, source_)) {
    const std::filesystem::path& files = shape_.directory;
    has_weights_ = text != Text::kHeadersAlone;
    if (files.empty()) return;
    if (text == Text::kWanted || (text == Text::kIfThere && Tokenizer::is_in(files))) {
        tokenizer_ = Tokenizer::open(files, shape_.spec.vocab_size);
        text_notes_ = tokenizer_->notes();
        advised_context_ = read_model_defaults(model).context;
    } else if (text == Text::kIfThere) {
        text_notes_.push_back(messages::model_without_tokenizer(shape_.name));
    }
    if (source_ == nullptr && text != Text::kIfThere) {
        source_ = open_weights(Checkpoint::open(files), shape_.spec, false, *pool_);
    }
    if (source_ != nullptr) dense_types_ = dense_types(source_->types());
}

WeightSource* FitEstimator::source_for(const LoadRequest& request) {
    const bool rounded = request.compute == ComputeMode::kBf16;
    if (source_ != nullptr && rounded != rounded_) {
        prediction_.reset();
        source_ = open_weights(Checkpoint::open(shape_.directory), shape_.spec, rounded, *pool_);
        rounded_ = rounded;
    }
    return source_.get();
}

const PredictionLayer* FitEstimator::prediction_for(const LoadRequest& request) {
    WeightSource* const source = request.drafts == DraftMode::kOff ? nullptr : source_for(request);
    if (source == nullptr) return nullptr;
    std::vector<Message> notes;  // a load's
    if (prediction_ == nullptr) prediction_ = LayerDrafter::open(request, *source, *pool_, notes);
    return prediction_.get();
}

kernels::WeightType FitEstimator::type_for(const LoadRequest& request) {
    const WeightSource* const source = source_for(request);
    return source != nullptr ? source->expert_type() : type_read(request, shape_);
}

Measurements FitEstimator::measurements_of(const LoadRequest& request, const ExpertReads& reads) {
    return {request, shape_.spec, type_for(request), shape_.name, shape_.directory, reads};
}

// A device's products depend on the requested arithmetic.
std::string FitEstimator::key_of_device(const LoadRequest& request) {
    return (runs_on_cpu(request) ? "cpu" : request.device) + " " + std::to_string(static_cast<int>(request.compute));
}

// Its scratch memory is queried now, because it does not stay open.
FitEstimator::KnownDevice FitEstimator::known_by(Backend& device, const LoadRequest& request) {
    KnownDevice found;
    found.info = device.info();
    const std::uint64_t budget = device.memory().usage().budget_bytes;
    if (budget > 0) found.reserve = found.info.available_bytes - std::min(found.info.available_bytes, budget);
    std::map<std::int64_t, std::uint64_t> scratch;
    const kernels::WeightType type = type_for(request);
    for (const std::int64_t n : kSampledSteps) {
        scratch[n] = device.scratch_bytes(Forward::step_shape(shape_.spec, type, n, shape_.spec.max_context));
    }
    found.scratch_bytes = [scratch](const Backend::StepShape& shape) {
        const auto of_step = scratch.lower_bound(shape.n_tokens);
        return of_step != scratch.end() ? of_step->second : scratch.rbegin()->second;
    };
    return found;
}

const FitEstimator::KnownDevice& FitEstimator::device_of(const LoadRequest& request) {
    const std::string name = runs_on_cpu(request) ? "cpu" : request.device;
    const auto known = devices_.find(key_of_device(request));
    if (known != devices_.end() && !request.opens_device) return known->second;
    KnownDevice found;
    if (name == "cpu" && !request.opens_device) {
        found.info = cpu_info();
    } else if (name.starts_with(kEmulated) && !request.opens_device) {
        const HardwareProfile profile = find_hardware_profile(name.substr(kEmulated.size()));
        found.info = emulated_info(profile);
        found.profile = profile.name;
    } else {
        CpuOperations host(*pool_, kernels::GemmMode::kF32);
        FitDevice own;
        Backend& device =
            (shared_ != nullptr ? *shared_ : own).open(request, request.opens_device ? request.vram_bytes : 0, host);
        measurements_of(request).known_device_products(device);
        found = known_by(device, request);
    }
    return devices_.insert_or_assign(key_of_device(request), std::move(found)).first->second;
}

PlanInputs FitEstimator::inputs_for(const LoadRequest& request, const Terms& terms) {
    auto counted = popularity_.find(request.popularity_file);
    if (counted == popularity_.end()) {
        counted = popularity_.emplace(request.popularity_file, measurements_of(request).popularity()).first;
    }
    const KnownDevice& known = device_of(request);
    const ModelSpec& spec = shape_.spec;
    PlanInputs inputs;
    inputs.popularity = counted->second;
    inputs.thresholds = kept_thresholds(shape_.directory);
    // Weights are not read, so the model's own sensitivity is unknown.
    inputs.sensitivity = Sensitivity::typical(spec.experts.n_layers, spec.experts.n_experts);
    inputs.may_be_elsewhere = terms.for_any_computer;
    inputs.master = type_for(request);
    inputs.memory = terms.machine != nullptr ? terms.memory : memory_size();
    inputs.memory.available_bytes += static_cast<std::int64_t>(terms.held.ram_bytes);
    const bool here = !terms.for_any_computer || runs_on_cpu(request);
    if (here && !request.dry) check_ram_budget(request.ram_bytes, inputs.memory);
    inputs.asked.ram_bytes = ram_budget(request, inputs.memory);
    inputs.device = known.info;
    DeviceInfo& device = inputs.device;
    if (device.kind == DeviceKind::kCpu) {
        device.available_bytes = 0;
    } else {
        if (!device.emulated && terms.held.device == device.id) {
            device.available_bytes = std::min(device.memory_bytes, device.available_bytes + terms.held.vram_bytes);
        }
        const std::uint64_t free = device.available_bytes, wanted = request.vram_bytes;
        if (device.kind == DeviceKind::kCuda && wanted > device.memory_bytes) {
            throw Error(ErrorKind::kInvalidInput, messages::device_memory_too_small(
                                                      device.name, ByteSize{device.memory_bytes}, ByteSize{wanted}));
        }
        if (device.kind == DeviceKind::kCuda && wanted > free) {
            throw Error(ErrorKind::kOutOfMemory,
                        messages::device_memory_not_free(device.name, ByteSize{free}, ByteSize{wanted}));
        }
        if (known.profile.empty()) {
            check_vram_budget(device.name, wanted, free);
        } else {
            check_emulated_vram_budget(known.profile, wanted, free);
        }
        inputs.asked.vram_bytes = wanted > 0 ? wanted : free - std::min(known.reserve, free / 8);
    }
    const WeightSource* const source = source_for(request);
    describe_load(inputs, request, spec,
                  source != nullptr ? source->dense_bytes() : dense_bytes_in(spec, inputs.master), known.scratch_bytes,
                  advised_context_, prediction_for(request));
    return inputs;
}

// The key contains everything that a request's costs depend on. Unknown costs are looked
// up again each time.
std::optional<CostModel> FitEstimator::kept_costs(const Measurements& measurements, const LoadRequest& request,
                                                  const DeviceInfo& device,
                                                  const std::vector<kernels::WeightType>& formats) {
    std::string key = request.device + " " + std::to_string(request.n_threads) + " " +
                      std::to_string(static_cast<int>(request.compute)) + " " +
                      std::to_string(static_cast<int>(request.kv));
    if (request.quant.dense) key += std::string(" dense ") + kernels::name_of(*request.quant.dense);
    for (const kernels::WeightType format : formats) key += std::string(" ") + kernels::name_of(format);
    const auto found = costs_.find(key);
    if (found != costs_.end()) return found->second;
    std::optional<CostModel> known = measurements.kept_costs(device, formats);
    if (known) costs_.emplace(key, *known);
    return known;
}

// The time of reading an expert from disk into RAM: measured if the model's weights
// exist. 0: not known.
DiskReadCost FitEstimator::disk_cost(Measurements& measurements, const LoadRequest& request, const Terms& terms) {
    if (terms.machine == nullptr || !has_weights_) return measurements.kept_disk().value_or(DiskReadCost{});
    CpuOperations& host = terms.machine->host;
    try {
        std::unique_ptr<WeightSource> drawn;
        if (shape_.directory.empty()) drawn = draw_weights(parse_synthetic(model_), host.pool(), false);
        WeightSource* const source = drawn != nullptr ? drawn.get() : source_for(request);
        if (source != nullptr) return measurements.disk(*source, host, terms.machine->stop, terms.anew);
    } catch (const Error& error) {  // e.g. no room for one expert
        if (error.kind() == ErrorKind::kCancelled) throw;
    }
    return {};
}

// From the request to the plan and its forecast.
FitEstimate FitEstimator::make(const LoadRequest& request, const Terms& terms) {
    check_request(request);
    FitEstimate estimate;
    estimate.inputs = inputs_for(request, terms);
    estimate.shape = shape_;
    estimate.dense_types = dense_types_;
    estimate.notes = shape_.notes;
    for (const std::vector<Message>& list : {request_notes(request, shape_.spec.max_context), text_notes_}) {
        estimate.notes.insert(estimate.notes.end(), list.begin(), list.end());
    }
    PlanInputs& inputs = estimate.inputs;
    begin_ledgers(estimate);
    Measurements measurements =
        measurements_of(request, expert_reads(request, shape_.spec.experts, inputs.master, inputs.memory));
    bool measuring = false;  // a lack of memory is not the plan's then
    const auto cost_of_steps = [&](const Plan&) -> std::optional<CostModel> {
        const auto formats = formats_of(request, inputs.demand, terms.compares);
        if (terms.machine == nullptr) {
            return terms.kept ? kept_costs(measurements, request, inputs.device, formats) : std::nullopt;
        }
        measuring = true;
        CostModel found = measurements.costs(*terms.machine, formats, {.anew = terms.anew});
        measuring = false;
        return found;
    };
    std::optional<DiskReadCost> read;
    const auto cost_of_disk = [&] {
        if (!read) read = disk_cost(measurements, request, terms);
        return *read;
    };
    // As a load does (LoadedModel).
    const bool may_leave_out = request.drafts == DraftMode::kAuto && prediction_for(request) != nullptr;
    LoadRequest without = request;
    without.drafts = DraftMode::kOff;
    try {
        estimate.plan = plan_load(inputs, shape_.spec.experts, cost_of_steps, cost_of_disk);
        if (may_leave_out && estimate.plan.n_in(Place::kDisk) > 0) return make(without, terms);
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::kOutOfMemory && !measuring && may_leave_out) return make(without, terms);
        if (error.kind() != ErrorKind::kOutOfMemory || measuring || terms.for_any_computer) throw;
        estimate.problem = error.message();
        find_shortage(estimate);
        return estimate;
    }
    // For other plans, which read experts from the disk.
    if (terms.anew && measurements.kept_disk()) cost_of_disk();
    estimate.fits = true;
    estimate.plan.note = joined(std::move(estimate.plan.note), load_note(inputs, request, shape_.spec));
    if (inputs.has_costs()) estimate.cost_source = source_of(measurements, inputs.cost, inputs.device);
    if (inputs.has_costs() && (terms.for_any_computer || !inputs.lacks_disk_cost(estimate.plan))) {
        estimate.forecast = inputs.forecast(estimate.plan, prompt_tokens_);
    }
    if (terms.compares) compare_plans(estimate);
    fill_ledgers(estimate);
    return estimate;
}

void FitEstimator::suggest(FitEstimate& estimate, const LoadRequest& request, const FitHeld& held) {
    const auto fits = [&](const LoadRequest& changed) {
        try {
            return make(changed, {.held = held, .kept = false}).fits;
        } catch (const Error&) {
            return false;
        }
    };
    const auto offer = [&](FitChange::Kind kind, const LoadRequest& changed) {
        if (fits(changed)) estimate.changes.push_back({kind, changed});
    };
    // A little more than the missing amount, in whole MiB.
    const auto raised = [](std::uint64_t bytes) {
        constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
        return (bytes + kStep - 1) / kStep * kStep;
    };
    LoadRequest more = request;
    if (estimate.vram_is_short && request.vram_bytes > 0) {
        more.vram_bytes = estimate.short_by == 0 ? 0
                                                 : std::min(estimate.inputs.device.available_bytes,
                                                            raised(request.vram_bytes + estimate.short_by));
        offer(FitChange::Kind::kVram, more);
    }
    if (estimate.short_by > 0 && !estimate.vram_is_short && request.ram_bytes > 0) {
        more.ram_bytes = std::min(static_cast<std::uint64_t>(estimate.inputs.memory.available_bytes),
                                  raised(request.ram_bytes + estimate.short_by));
        offer(FitChange::Kind::kRam, more);
    }
    // The longest context that fits, to within one block: a shorter context never needs
    // more.
    constexpr std::int64_t kStep = 256;  // tokens
    const std::int64_t asked =
        request.context > 0 ? request.context : std::min(shape_.spec.max_context, kDefaultContextLimit);
    LoadRequest shorter = request;
    const auto fits_shorter_by = [&](std::uint64_t blocks) {  // of kStep tokens
        shorter.context = (asked + kStep - 1) / kStep * kStep - static_cast<std::int64_t>(blocks) * kStep;
        return fits(shorter);
    };
    const auto most = static_cast<std::uint64_t>((asked + kStep - 1) / kStep);
    if (asked > kStep && fits_shorter_by(most - 1)) {
        fits_shorter_by(least(0, most - 1, fits_shorter_by));
        estimate.changes.push_back({FitChange::Kind::kContext, shorter});
    }
    if (!runs_on_cpu(request)) {
        LoadRequest on_cpu = request;
        on_cpu.device = "cpu";
        on_cpu.vram_bytes = 0;
        on_cpu.opens_device = nullptr;
        offer(FitChange::Kind::kCpu, on_cpu);
    }
}

FitEstimate FitEstimator::make_with_changes(const LoadRequest& request, const Terms& terms) {
    if (tokenizer_ != nullptr && !has_template_.contains(request.chat_template)) {
        has_template_[request.chat_template] =
            choose_chat_template(model_, request.chat_template, *tokenizer_).chat != nullptr;
    }
    FitEstimate estimate;
    try {
        estimate = make(request, terms);
    } catch (const Error& error) {
        // A GPU that has the memory, but not free.
        if (error.kind() != ErrorKind::kOutOfMemory || terms.machine != nullptr) throw;
        estimate.shape = shape_;
        estimate.problem = error.message();
        estimate.vram_is_short = true;
        estimate.inputs.device = device_of(request).info;
        estimate.inputs.device.available_bytes = 0;
    }
    if (!estimate.fits) suggest(estimate, request, terms.held);
    estimate.has_chat_template = tokenizer_ == nullptr || has_template_[request.chat_template];
    return estimate;
}

FitEstimate FitEstimator::make_measured(const LoadRequest& request, Terms terms, const LoadProgressFn& progress,
                                        const std::stop_token& stop) {
    check_request(request);
    const Measurements measurements = measurements_of(request);
    EstimateMachine opened(request, 0, measurements, shared_);
    if (opened.device.info().kind == DeviceKind::kCuda) {
        devices_.insert_or_assign(key_of_device(request), known_by(opened.device, request));
    }
    costs_.clear();
    const Measurements::Machine machine{opened.device, opened.host, progress, stop};
    terms.machine = &machine;
    terms.memory = opened.memory;
    return terms.for_any_computer ? make(request, terms) : make_with_changes(request, terms);
}

FitEstimate FitEstimator::estimate(const LoadRequest& request, const FitHeld& held) {
    return make_with_changes(request, {.held = held});
}

FitEstimate FitEstimator::measure(const LoadRequest& request, const FitHeld& held, const LoadProgressFn& progress,
                                  const std::stop_token& stop, bool anew) {
    return make_measured(request, {.held = held, .anew = anew}, progress, stop);
}

std::string FitEstimator::fingerprint() {
    const auto found = source_ != nullptr ? source_->model_fingerprint() : std::nullopt;
    return found ? found->text() : std::string();
}

FitEstimate plan_model(const LoadRequest& request, std::int64_t prompt_tokens, const LoadProgressFn& progress,
                       const std::stop_token& stop, bool compare) {
    FitEstimator model(request.model, FitEstimator::Text::kIfThere);
    model.set_prompt(prompt_tokens);
    FitEstimate estimate =
        model.make_measured(request, {.for_any_computer = true, .compares = compare}, progress, stop);
    if (model.tokenizer_ == nullptr) return estimate;
    TemplateChoice choice = try_chat_template(request.model, request.chat_template, *model.tokenizer_);
    estimate.has_chat_template = choice.chat != nullptr;
    if (choice.chat == nullptr && choice.problem.empty()) {
        choice.problem = messages::model_without_template(estimate.shape.name, family_template_names());
    }
    if (!choice.problem.empty()) estimate.notes.push_back(std::move(choice.problem));
    return estimate;
}

CostTable calibrate_model(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop,
                          Message* not_kept) {
    check_request(request);
    const ModelShape shape = read_model_shape(request.model);
    Measurements measurements(request, shape.spec, type_read(request, shape), shape.name, shape.directory);
    if (runs_on_cpu(request)) check_ram_budget(request.ram_bytes, memory_size());
    EstimateMachine machine(request, request.vram_bytes, measurements);
    CostTable table = measurements.remeasured({machine.device, machine.host, progress, stop});
    if (not_kept != nullptr) *not_kept = measurements.kept().problem();
    return table;
}

}  // namespace offstage::engine
