#include "engine/run/expert_host.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "engine/device/hardware.h"
#include "engine/device/host_buffer.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/experts/interleave_expert.h"
#include "engine/experts/prefetcher.h"
#include "engine/files/cache_folders.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/plan/popularity.h"
#include "engine/run/layer_drafter.h"
#include "engine/run/measurements.h"
#include "engine/run/model_shape.h"
#include "engine/run/run_messages.h"
#include "kernels/short_turns.h"

namespace offstage::engine {

namespace fs = std::filesystem;

ExpertHost::ExpertHost(const LoadRequest& request, const LoadProgressFn& progress, const std::stop_token& stop)
    : request_(request) {
    check_request(request_);
    kernels::ask_for_short_turns();  // steps are run by this thread, in the window as well
    pool_ = std::make_unique<kernels::ThreadPool>(compute_threads(request_.n_threads));
    open_source();
    expert_source_->set_method(request_.quant.method);
    plan_inputs_.master = source_->expert_type();
    const Measurements known = measurements();
    compute_ = known.compute();
    host_ = std::make_unique<CpuOperations>(*pool_, compute_.form);
    plan_inputs_.popularity = known.popularity();
    Message problem;
    plan_inputs_.sensitivity = known.sensitivity(*source_, *pool_, progress, stop, problem);
    if (!problem.empty()) notes_.push_back(std::move(problem));
    open_devices();
}

void ExpertHost::open_source() {
    if (is_synthetic(request_.model)) {
        const SyntheticModel model = parse_synthetic(request_.model);
        spec_ = model.spec;
        source_ = draw_weights(model, *pool_, request_.dry);
        expert_source_ = std::make_unique<ExpertSource>(spec_.experts, *source_, nullptr);
        name_ = model.name;
        return;
    }
    if (request_.dry) {
        throw Error(ErrorKind::kInvalidInput, messages::dry_run_needs_synthetic(request_.model));
    }
    directory_ = model_path(request_.model);
    spec_ = read_model_spec(directory_, &notes_);
    source_ = open_weights(Checkpoint::open(directory_), spec_, request_.compute == ComputeMode::kBf16, *pool_,
                           TiedCheck::kEveryValue);
    for (Message& note : source_->notes()) notes_.push_back(std::move(note));
    prediction_ = LayerDrafter::open(request_, *source_, *pool_, notes_);
    for (const UnusedTensors& part : source_->unused()) {
        if (prediction_ != nullptr && part.part == UnusedTensors::Part::kPredictionLayers) continue;
        notes_.push_back(describe(part));
    }
    quant_cache_ =
        std::make_unique<QuantCache>(request_.quant_cache_directory.empty() ? cache_directory() / "quantized"
                                                                            : fs::path(request_.quant_cache_directory));
    quant_cache_->keep_reserve();
    expert_source_ = std::make_unique<ExpertSource>(spec_.experts, *source_, quant_cache_.get());
    name_ = model_name(request_.model);
}

void ExpertHost::open_devices() {
    if (request_.dry) {
        device_ = open_dry_device(
            request_.device, request_.vram_bytes, *host_,
            PositionRouting(plan_inputs_.popularity, 1, {request_.dry_repeat, request_.dry_guess_recall}));
        own_ram_ = std::make_unique<Arena>("RAM", addresses_, ram_budget(request_, memory_));
        ram_ = own_ram_.get();
        return;
    }
    memory_ = memory_size();  // the checkpoint is mapped by now
    check_ram_budget(request_.ram_bytes, memory_);
    const std::uint64_t ram = ram_budget(request_, memory_);
    const bool cpu = runs_on_cpu(request_);
    device_ = request_.opens_device
                  ? request_.opens_device(request_.vram_bytes)
                  : open_device(cpu ? "cpu" : request_.device, cpu ? ram : request_.vram_bytes, *host_);
    device_->set_graphs(request_.cuda_graphs);
    device_products_ = measurements().device_products(*device_);
    if (auto* emulated = dynamic_cast<EmulatedAccelerator*>(device_.get())) emulated->set_paced(request_.paced);
    if (device_->shares_host_memory()) {
        ram_ = &device_->memory();
        return;
    }
    own_ram_ = std::make_unique<Arena>("RAM", host_memory_, ram);
    ram_ = own_ram_.get();
}

void ExpertHost::fill(const Plan& plan) {
    assert(experts_ == nullptr);
    expert_source_->set_helper(device_->row_quantizer());
    // Page-locked memory is lost to all other programs, so a quarter stays unlocked.
    // Emulated devices lock nothing.
    const std::uint64_t pin_budget =
        device_->info().emulated
            ? std::numeric_limits<std::uint64_t>::max()
            : static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory_size().total_bytes / 4 * 3));
    ExpertStore::Options options;
    options.pin_budget_bytes = pin_budget;
    options.dry = request_.dry;
    if (expert_reads(request_, spec_.experts, source_->expert_type(), memory_).directly) {
        options.reads = DirectReads::Kind::kBest;
    }
    options.interleaves = host_->wants_interleaved();
    options.n_speculative = request_.prefetch == PrefetchMode::kOff ? 0 : Prefetcher::kMostGuessedCopies;
    experts_ = std::make_unique<ExpertStore>(spec_.experts, *expert_source_, plan, *device_, *ram_, *pool_, options);
    dispatcher_ = std::make_unique<Dispatcher>(plan_inputs_.cost, request_.dispatch);
}

std::uint64_t ExpertHost::largest_expert_of(const Plan& plan) const {
    if (plan.formats.empty()) return expert_source_->expert_bytes(source_->expert_type());
    std::uint64_t largest = 0;
    for (const kernels::WeightType format : plan.formats) {
        largest = std::max(largest, expert_source_->expert_bytes(format));
    }
    return largest;
}

// Makes the plan's number of slots for experts on disk, large enough for both the plan
// and the present formats. Slots beyond the number that a token needs, and buffers of
// reads, are released at once: experts for RAM need the room. Where RAM is full, copies
// that the plan does not keep make room: first those of experts that the device has, then
// others.
void ExpertHost::make_disk_slots(const Plan& plan) {
    DiskSlots& slots = experts_->disk_slots();
    const std::int64_t n =
        plan.host_staging_slots > 0 ? plan.host_staging_slots : std::min(slots.size(), spec().experts.n_active);
    const std::uint64_t bytes = std::max(largest_expert_of(plan), slots.slot_bytes());
    const bool buffered = plan.disk_buffer_bytes > 0;
    slots.shrink(n, slots.slot_bytes(), buffered);
    try {
        slots.resize(n, bytes, buffered);
        return;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
    }
    const auto keeps = [&](std::size_t i) {
        return plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
    };
    std::vector<std::pair<std::size_t, kernels::WeightType>> gone;
    const std::uint64_t wanted = static_cast<std::uint64_t>(n) * bytes + plan.disk_buffer_bytes;
    std::uint64_t freed = 0;
    for (const bool on_device : {true, false}) {
        for (std::size_t i = 0; i < experts_->size() && freed < wanted; ++i) {
            if (keeps(i) || !experts_->in_ram(i) || experts_->on_device(i) != on_device) continue;
            freed += experts_->bytes(i);
            gone.emplace_back(i, experts_->format(i));
            if (!on_device) experts_->copies().prepare_format(i, plan.format(i, experts_->stored(i)));
            experts_->copies().commit(i, false, on_device);
        }
    }
    experts_->settle();
    try {
        slots.resize(n, bytes, buffered);
    } catch (const Error&) {
        for (const auto& [i, format] : gone) {
            if (experts_->on_device(i) || (slots.size() > 0 && experts_->bytes(i) <= slots.slot_bytes())) continue;
            const ExpertKey key = experts_->key(i);
            std::byte* block = experts_->copies().prepare_ram(i, format);
            expert_source_->pack(LayerIndex{key.layer}, ExpertIndex{key.expert}, format, block, *pool_);
            interleave_expert(experts_->ram_layout(format), block, *pool_);
            experts_->copies().commit(i, true, false);
        }
        throw;
    }
}

Measurements ExpertHost::measurements() const {
    return {request_, spec_,      plan_inputs_.master,
            name_,    directory_, expert_reads(request_, spec_.experts, plan_inputs_.master, memory_)};
}

void ExpertHost::describe_load(const LoadRequest& request, std::int64_t advised_context) {
    plan_inputs_.device = device_->info();
    plan_inputs_.memory = memory_;
    plan_inputs_.asked.vram_bytes = device_->memory().usage().budget_bytes;
    plan_inputs_.asked.ram_bytes = ram_->usage().budget_bytes;
    engine::describe_load(
        plan_inputs_, request, spec_, source_->dense_bytes(),
        [this](const Backend::StepShape& shape) { return device_->scratch_bytes(shape); }, advised_context,
        prediction_.get());
}

void ExpertHost::grow_for(const Plan& plan) {
    const auto grow = [](Arena& arena, std::uint64_t bytes) {
        if (bytes > arena.usage().budget_bytes) arena.set_budget(bytes);
    };
    if (!device_->shares_host_memory()) grow(device_->memory(), plan.budget.vram_bytes);
    grow(*ram_, plan.budget.ram_bytes);
    if (plan.host_staging_slots > 0 || experts_->disk_slots().size() > 0) make_disk_slots(plan);
    // Shrinks staging at once, to make room for experts; enlarges it when everything else
    // is in its place. Until then, experts in a larger format than the slots run on the
    // CPU.
    Staging& staging = experts_->staging();
    const std::uint64_t slot_bytes = largest_expert_of(plan);
    const auto n_slots = static_cast<std::uint64_t>(plan.staging_slots);
    if (n_slots * slot_bytes < static_cast<std::uint64_t>(staging.n_slots()) * staging.slot_bytes()) {
        experts_->set_staging(plan.staging_slots, slot_bytes);
    }
}

void ExpertHost::shrink_to(const Plan& plan) {
    experts_->settle();
    const bool shared = device_->shares_host_memory();
    if (!shared) experts_->set_staging(plan.staging_slots, largest_expert_of(plan));
    experts_->disk_slots().shrink(plan.host_staging_slots, largest_expert_of(plan), plan.disk_buffer_bytes > 0);
    experts_->settle();
    const auto check = [](const Arena& arena, std::uint64_t bytes, const std::string& place) {
        const std::uint64_t used = arena.usage().used_bytes;
        if (bytes == 0 || used <= bytes) return;
        throw Error(ErrorKind::kOutOfMemory, messages::budget_kept(place, ByteSize{used}, ByteSize{bytes}));
    };
    if (!shared) check(device_->memory(), plan.budget.vram_bytes, device_->info().name);
    check(*ram_, plan.budget.ram_bytes, "RAM");
    const auto shrink = [](Arena& arena, std::uint64_t bytes) {
        if (bytes > 0 && bytes < arena.usage().budget_bytes) arena.set_budget(bytes);
    };
    if (!shared) shrink(device_->memory(), plan.budget.vram_bytes);
    shrink(*ram_, plan.budget.ram_bytes);
}

}  // namespace offstage::engine
