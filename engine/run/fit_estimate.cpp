#include "engine/run/fit_estimate.h"

#include <algorithm>
#include <functional>

#include "engine/device/cpu_backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/device/device_messages.h"
#include "engine/device/hardware.h"
#include "engine/device/hardware_profile.h"
#include "engine/device/host_buffer.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/model/file_formats.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/model/tensor_types.h"
#include "engine/plan/placer.h"
#include "engine/plan/planner.h"
#include "engine/quant/quantize_dense.h"
#include "engine/run/device_weights.h"
#include "engine/run/forward.h"
#include "engine/run/model_defaults.h"
#include "engine/run/model_shape.h"
#include "engine/run/template_choice.h"
#include "engine/text/tokenizer.h"

namespace offstage::engine {
namespace {

constexpr std::string_view kEmulated = "emulated:";

// The least value in (lo, hi] for which `fits`, found by halving. Precondition: fits(hi),
// and a larger value fits if a smaller one does.
std::uint64_t least(std::uint64_t lo, std::uint64_t hi, const std::function<bool(std::uint64_t)>& fits) {
    while (hi - lo > 1) {
        const std::uint64_t middle = lo + (hi - lo) / 2;
        (fits(middle) ? hi : lo) = middle;
    }
    return hi;
}

// Which memory is short for a plan without a floor of quality, and by how much.
void find_shortage(const PlanInputs& inputs, FitEstimate& estimate) {
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
    estimate.short_by = least(had, kPlenty,
                              [&](std::uint64_t bytes) {
                                  Budget tried = budget;
                                  tried.*memory = bytes;
                                  return fits_in(tried);
                              }) -
                        had;
}

// The plan's memory, in the form of Snapshot's ledgers.
void fill_ledgers(const PlanInputs& inputs, const ModelSpec& spec, FitEstimate& estimate) {
    const Plan& plan = estimate.plan;
    const ModelDemand& demand = inputs.demand;
    const bool shared = demand.shares_host_memory;
    MemoryLedger& vram = estimate.vram;
    MemoryLedger& ram = estimate.ram;
    const std::uint64_t kv_workspace = demand.kv_workspace_bytes(plan.max_step);
    MemoryLedger& own = shared ? ram : vram;
    own.dense = plan.dense_bytes;
    if (shared) own.dense -= std::min(own.dense, dense_vector_bytes(spec));
    own.kv_cache = plan.kv_bytes + kv_workspace;
    own.workspace = plan.workspace_bytes - std::min(plan.workspace_bytes, kv_workspace);
    if (!shared) {
        vram.staging = plan.staging_bytes;
        ram.kv_cache = plan.kv_host_bytes;
    }
    ram.staging = static_cast<std::uint64_t>(plan.host_staging_slots) * plan.slot_bytes + plan.disk_buffer_bytes;
    for (std::size_t i = 0; i < plan.places.size(); ++i) {
        const kernels::WeightType format = plan.format(i, inputs.master);
        const std::uint64_t bytes = demand.find(format)->expert_bytes;
        const bool on_device = plan.places[i] == Place::kDevice;
        if (on_device) vram.add_experts(format, bytes);
        if (plan.places[i] == Place::kRam || (on_device && plan.duplicates)) ram.add_experts(format, bytes);
    }
}

}  // namespace

FitEstimator::FitEstimator(const std::string& model, Text text)
    : model_(model), pool_(std::make_unique<kernels::ThreadPool>(1)) {
    if (is_synthetic(model)) {
        SyntheticModel synthetic = parse_synthetic(model);
        name_ = std::move(synthetic.name);
        spec_ = std::move(synthetic.spec);
        return;
    }
    directory_ = model_path(model);
    name_ = model_name(model);
    spec_ = read_model_spec(directory_, &notes_);
    if (text == Text::kWanted) {
        tokenizer_ = Tokenizer::open(directory_, spec_.vocab_size);
        advised_context_ = read_model_defaults(model).context;
        notes_.insert(notes_.end(), tokenizer_->notes().begin(), tokenizer_->notes().end());
    }
    source_ = open_weights(Checkpoint::open(directory_), spec_, false, *pool_);
    dense_types_ = dense_types(source_->types());
    for (Message& note : source_->notes()) notes_.push_back(std::move(note));
    for (const UnusedTensors& part : source_->unused()) notes_.push_back(describe(part));
}

const WeightSource& FitEstimator::source_for(const LoadRequest& request) {
    const bool rounded = request.compute == ComputeMode::kBf16;
    if (directory_.empty()) {
        if (source_ == nullptr) source_ = draw_weights(parse_synthetic(model_), *pool_, true);
    } else if (rounded != rounded_) {
        source_ = open_weights(Checkpoint::open(directory_), spec_, rounded, *pool_);
        rounded_ = rounded;
    }
    return *source_;
}

Measurements FitEstimator::measurements_of(const LoadRequest& request, const ExpertReads& reads) {
    return {request, spec_, source_for(request).expert_type(), name_, directory_, reads};
}

// A device's products depend on the requested arithmetic.
std::string FitEstimator::key_of_device(const LoadRequest& request) {
    return (runs_on_cpu(request) ? "cpu" : request.device) + " " + std::to_string(static_cast<int>(request.compute));
}

const FitEstimator::KnownDevice& FitEstimator::device_of(const LoadRequest& request) {
    const std::string name = runs_on_cpu(request) ? "cpu" : request.device;
    const auto known = devices_.find(key_of_device(request));
    if (known != devices_.end() && !request.opens_device) return known->second;
    KnownDevice found;
    std::uint64_t device_budget = 0;
    if (request.opens_device) {
        // Only tests use this; the device stays open for the queries below.
        const std::shared_ptr<Backend> device = request.opens_device(request.vram_bytes);
        measurements_of(request).known_device_products(*device);
        found.info = device->info();
        found.scratch_bytes = [device](const Backend::StepShape& shape) { return device->scratch_bytes(shape); };
    } else if (name == "cpu") {
        found.info = cpu_info();
    } else if (name.starts_with(kEmulated)) {
        const HardwareProfile profile = find_hardware_profile(name.substr(kEmulated.size()));
        found.info = emulated_info(profile);
        found.profile = profile.name;
    } else {
        CpuOperations host(*pool_, kernels::GemmMode::kF32);
        const std::unique_ptr<Backend> device = open_device(name, 0, host);
        measurements_of(request).known_device_products(*device);
        found.info = device->info();
        device_budget = device->memory().usage().budget_bytes;
        // Its scratch memory is queried now, because it does not stay open.
        std::map<std::int64_t, std::uint64_t> scratch;
        const kernels::WeightType type = source_for(request).expert_type();
        for (const std::int64_t n : kSampledSteps) {
            scratch[n] = device->scratch_bytes(Forward::step_shape(spec_, type, n, spec_.max_context));
        }
        found.scratch_bytes = [scratch](const Backend::StepShape& shape) {
            const auto of_step = scratch.lower_bound(shape.n_tokens);
            return of_step != scratch.end() ? of_step->second : scratch.rbegin()->second;
        };
    }
    if (found.info.kind == DeviceKind::kCuda && device_budget > 0) {
        found.reserve = found.info.available_bytes - std::min(found.info.available_bytes, device_budget);
    }
    return devices_.insert_or_assign(key_of_device(request), std::move(found)).first->second;
}

PlanInputs FitEstimator::inputs_for(const LoadRequest& request, const FitHeld& held) {
    const WeightSource& source = source_for(request);
    const KnownDevice& known = device_of(request);
    PlanInputs inputs;
    inputs.master = source.expert_type();
    inputs.memory = memory_size();
    inputs.memory.available_bytes += static_cast<std::int64_t>(held.ram_bytes);
    if (!request.dry) check_ram_budget(request.ram_bytes, inputs.memory);
    inputs.asked.ram_bytes = ram_budget(request, inputs.memory);
    inputs.device = known.info;
    DeviceInfo& device = inputs.device;
    const auto described = [&] {
        describe_load(inputs, request, spec_, source.dense_bytes(), known.scratch_bytes, advised_context_);
        return std::move(inputs);
    };
    if (device.kind == DeviceKind::kCpu) {
        device.available_bytes = 0;
        return described();
    }
    if (!device.emulated && held.device == device.id) {
        device.available_bytes = std::min(device.memory_bytes, device.available_bytes + held.vram_bytes);
    }
    const std::uint64_t free = device.available_bytes, wanted = request.vram_bytes;
    if (device.kind == DeviceKind::kCuda && wanted > device.memory_bytes) {
        throw Error(ErrorKind::kInvalidInput,
                    messages::device_memory_too_small(device.name, ByteSize{device.memory_bytes}, ByteSize{wanted}));
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
    return described();
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

FitEstimate FitEstimator::try_out(const LoadRequest& request, const FitHeld& held, const Costs& costs) {
    check_request(request);
    auto counted = popularity_.find(request.popularity_file);
    if (counted == popularity_.end()) {
        counted = popularity_.emplace(request.popularity_file, measurements_of(request).popularity()).first;
    }
    PlanInputs inputs = inputs_for(request, held);
    inputs.popularity = counted->second;
    inputs.thresholds = kept_thresholds(directory_);
    inputs.sensitivity = Sensitivity::typical(spec_.experts.n_layers, spec_.experts.n_experts);
    const DeviceInfo& device = inputs.device;

    FitEstimate estimate;
    estimate.device = device;
    estimate.vram_available = device.available_bytes;
    estimate.ram_available = static_cast<std::uint64_t>(inputs.memory.available_bytes);
    estimate.n_layers = spec_.experts.n_layers;
    estimate.n_experts = spec_.experts.n_experts;
    estimate.n_active = spec_.experts.n_active;
    estimate.max_context = spec_.max_context;
    estimate.expert_formats = expert_formats_of(inputs, spec_);
    estimate.dense_types = dense_types_;
    estimate.formats = format_rows_of(spec_.experts);
    MemoryLedger& vram = estimate.vram;
    MemoryLedger& ram = estimate.ram;
    if (!inputs.demand.shares_host_memory) {
        vram.total = device.memory_bytes;
        vram.budget = inputs.asked.vram_bytes;
        vram.others = device.memory_bytes - std::min(device.memory_bytes, device.available_bytes);
    }
    ram.total = static_cast<std::uint64_t>(inputs.memory.total_bytes);
    ram.budget = inputs.asked.ram_bytes;
    ram.others = ram.total - std::min(ram.total, estimate.ram_available);

    estimate.peak_ram_bytes = inputs.demand.dense_peak_bytes;
    Measurements measurements =
        measurements_of(request, expert_reads(request, spec_.experts, inputs.master, inputs.memory));
    const std::vector<kernels::WeightType> formats = formats_of(request, inputs.demand);
    bool measuring = false;  // a lack of memory is not the plan's then
    std::optional<DiskReadCost> read;
    const auto measured_disk = [&] {
        measuring = true;
        if (!read) read = measurements.disk(*source_, costs.machine->host, costs.machine->stop, costs.anew);
        measuring = false;
        return *read;
    };
    const auto cost_of_steps = [&](const Plan&) -> std::optional<CostModel> {
        if (costs.machine == nullptr) {
            return costs.kept ? kept_costs(measurements, request, device, formats) : std::nullopt;
        }
        measuring = true;
        CostModel found = measurements.costs(*costs.machine, formats, {.anew = costs.anew});
        // For other plans, which read experts from the disk.
        if (!directory_.empty() && measurements.kept_disk()) measured_disk();
        measuring = false;
        return found;
    };
    const auto cost_of_disk = [&] {
        if (costs.machine != nullptr && !directory_.empty()) return measured_disk();
        return measurements.kept_disk().value_or(DiskReadCost{});
    };
    Plan& plan = estimate.plan;
    try {
        plan = plan_load(inputs, spec_.experts, cost_of_steps, cost_of_disk);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory || measuring) throw;
        estimate.problem = error.message();
        find_shortage(inputs, estimate);
        return estimate;
    }
    estimate.fits = true;
    estimate.formats_assumed = request.quality.allows_fewer_bits() && !inputs.has_costs();
    if (inputs.has_costs() && !inputs.lacks_disk_cost(plan)) estimate.forecast = inputs.forecast(plan, prompt_tokens_);
    if (!plan.note.empty()) estimate.notes.push_back(plan.note);
    for (const Message& note : {memory_note(inputs, plan), load_note(inputs, request, spec_)}) {
        if (!note.empty()) estimate.notes.push_back(note);
    }
    estimate.notes.insert(estimate.notes.end(), notes_.begin(), notes_.end());
    fill_ledgers(inputs, spec_, estimate);
    estimate.peak_ram_bytes = std::max(estimate.peak_ram_bytes, ram.used());
    return estimate;
}

void FitEstimator::suggest(FitEstimate& estimate, const LoadRequest& request, const FitHeld& held) {
    const auto offer = [&](FitChange::Kind kind, const LoadRequest& changed) {
        try {
            if (!try_out(changed, held, {}).fits) return false;
        } catch (const Error&) {
            return false;
        }
        estimate.changes.push_back({kind, changed});
        return true;
    };
    // A little more than the missing amount, in whole MiB.
    const auto raised = [](std::uint64_t bytes) {
        constexpr std::uint64_t kStep = std::uint64_t{1} << 20;
        return (bytes + kStep - 1) / kStep * kStep;
    };
    if (estimate.short_by > 0 && estimate.vram_is_short && request.vram_bytes > 0) {
        LoadRequest more = request;
        more.vram_bytes = std::min(estimate.vram_available, raised(request.vram_bytes + estimate.short_by));
        offer(FitChange::Kind::kVram, more);
    }
    if (estimate.short_by == 0 && estimate.vram_is_short && request.vram_bytes > 0) {
        LoadRequest all = request;
        all.vram_bytes = 0;
        offer(FitChange::Kind::kVram, all);
    }
    if (estimate.short_by > 0 && !estimate.vram_is_short && request.ram_bytes > 0) {
        LoadRequest more = request;
        more.ram_bytes = std::min(estimate.ram_available, raised(request.ram_bytes + estimate.short_by));
        offer(FitChange::Kind::kRam, more);
    }
    // The longest context that fits, to within one block, by bisection: a shorter context
    // never needs more.
    const std::int64_t asked =
        request.context > 0 ? request.context : std::min(spec_.max_context, kDefaultContextLimit);
    const auto with_context = [&](std::int64_t tokens) {
        LoadRequest shorter = request;
        shorter.context = tokens;
        return shorter;
    };
    const auto fits = [&](std::int64_t tokens) {
        try {
            return try_out(with_context(tokens), held, {}).fits;
        } catch (const Error&) {
            return false;
        }
    };
    constexpr std::int64_t kStep = 256;  // tokens
    if (asked > kStep && fits(kStep)) {
        std::int64_t good = 1;
        std::int64_t bad = (asked + kStep - 1) / kStep;
        while (bad - good > 1) {
            const std::int64_t middle = good + (bad - good) / 2;
            (fits(middle * kStep) ? good : bad) = middle;
        }
        offer(FitChange::Kind::kContext, with_context(good * kStep));
    }
    if (!runs_on_cpu(request)) {
        LoadRequest on_cpu = request;
        on_cpu.device = "cpu";
        on_cpu.vram_bytes = 0;
        on_cpu.opens_device = nullptr;
        offer(FitChange::Kind::kCpu, on_cpu);
    }
}

FitEstimate FitEstimator::estimate(const LoadRequest& request, const FitHeld& held) {
    return estimate_by({.kept = true}, request, held);
}

FitEstimate FitEstimator::estimate_by(const Costs& costs, const LoadRequest& request, const FitHeld& held) {
    if (tokenizer_ != nullptr && !has_template_.contains(request.chat_template)) {
        has_template_[request.chat_template] =
            choose_chat_template(model_, request.chat_template, *tokenizer_).chat != nullptr;
    }
    FitEstimate estimate;
    try {
        estimate = try_out(request, held, costs);
    } catch (const Error& error) {
        // A GPU that has the memory, but not free.
        if (error.kind() != ErrorKind::kOutOfMemory || costs.machine != nullptr) throw;
        estimate.problem = error.message();
        estimate.vram_is_short = true;
        estimate.device = device_of(request).info;
    }
    if (!estimate.fits) suggest(estimate, request, held);
    estimate.has_chat_template = tokenizer_ == nullptr || has_template_[request.chat_template];
    return estimate;
}

FitEstimate FitEstimator::measure(const LoadRequest& request, const FitHeld& held, const LoadProgressFn& progress,
                                  const std::stop_token& stop, bool anew) {
    kernels::ThreadPool pool(compute_threads(request.n_threads));
    const Measurements measurements = measurements_of(request);
    CpuOperations host(pool, measurements.compute().form);
    const std::unique_ptr<Backend> device = open_device(runs_on_cpu(request) ? "cpu" : request.device, 0, host);
    measurements.device_products(*device);
    if (const auto known = devices_.find(key_of_device(request)); known != devices_.end()) {
        known->second.info.fingerprint = device->info().fingerprint;
    }
    costs_.clear();
    const Measurements::Machine machine{*device, host, progress, stop};
    return estimate_by({.machine = &machine, .anew = anew}, request, held);
}

std::string FitEstimator::fingerprint() {
    const auto found = source_ != nullptr ? source_->model_fingerprint() : std::nullopt;
    return found ? found->text() : std::string();
}

}  // namespace offstage::engine
