#include "engine/run/loaded_model.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <chrono>
#include <limits>

#include "engine/device/hardware.h"
#include "engine/device/host_buffer.h"
#include "engine/device/open_device.h"
#include "engine/error.h"
#include "engine/model/model_files.h"
#include "engine/model/synthetic.h"
#include "engine/plan/calibration.h"
#include "engine/plan/format_costs.h"
#include "engine/plan/routing_draw.h"
#include "engine/plan/sensitivity_measurement.h"
#include "engine/quant/quantize_dense.h"
#include "engine/run/dense_probe.h"
#include "engine/run/model_costs.h"
#include "engine/run/model_shape.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kSampleBytes = std::uint64_t{1} << 30;  // experts that costs are measured on

// Passes progress on at most about 30 times a second, and always the end.
BytesProgressFn throttled(const LoadProgressFn& progress, std::string stage) {
    if (!progress) return {};
    return [&progress, stage = std::move(stage), last = Clock::time_point{}](std::uint64_t done,
                                                                             std::uint64_t total) mutable {
        const auto now = Clock::now();
        if (done < total && now - last < std::chrono::milliseconds(33)) return;
        last = now;
        progress({stage, done, total});
    };
}

// Slots for experts on disk, as many and as large as the plan and what is in force want. Where RAM is full, copies that
// the plan does not keep make room: those of experts that the device has, then, as the slots are there at once, others.
void make_host_slots(ExpertStore& experts, ExpertSource& source, kernels::ThreadPool& pool, const Plan& plan,
                     std::uint64_t largest) {
    const std::int64_t n = std::max(plan.host_staging_slots, experts.disk_slots().size());
    const std::uint64_t bytes = std::max(largest, experts.disk_slots().slot_bytes());
    try {
        experts.disk_slots().resize(n, bytes);
        return;
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
    }
    const auto keeps = [&](std::size_t i) {
        return plan.places[i] == Place::kRam || (plan.places[i] == Place::kDevice && plan.duplicates);
    };
    std::vector<std::size_t> gone;
    std::uint64_t freed = 0;
    for (const bool on_device : {true, false}) {
        for (std::size_t i = 0; i < experts.size() && freed < static_cast<std::uint64_t>(n) * bytes; ++i) {
            if (keeps(i) || !experts.in_ram(i) || experts.on_device(i) != on_device) continue;
            experts.drop_ram(i);
            gone.push_back(i);
            freed += experts.expert_bytes(experts.format(i));
        }
    }
    experts.settle();
    try {
        experts.disk_slots().resize(n, bytes);
    } catch (const Error&) {
        for (const std::size_t i : gone) {
            if (experts.on_device(i) || experts.disk_slots().size() > 0) continue;
            const ExpertKey key = experts.key(i);
            std::byte* block = experts.copies().prepare_ram(i, experts.format(i));
            source.pack(LayerIndex{key.layer}, ExpertIndex{key.expert}, experts.format(i), block, pool);
            experts.copies().commit(i, true, false);
        }
        throw;
    }
}

}  // namespace

LoadedModel::LoadedModel(const LoadRequest& request, Text text, const LoadProgressFn& progress,
                         const std::stop_token& stop) {
    const auto start = Clock::now();
    request_ = request;
    check_request(request);
    pool_ = std::make_unique<kernels::ThreadPool>(request.n_threads);
    open_source(request, text);
    expert_source_->set_method(request.quant.method);
    compute_ = choose_compute(request, source_->expert_type());
    host_ = std::make_unique<CpuOperations>(*pool_, compute_.mode);
    basis_.popularity = popularity_of(summary_.name, directory_, spec_.experts, request.popularity_file);
    load_sensitivity(request, progress, stop);
    open_devices(request);
    make_plans(request);
    note_memory(progress);
    device_->memory().fail_allocation(request.drill.device_allocation);
    if (request.drill.ram_allocation > 0) ram_->fail_allocation(request.drill.ram_allocation);
    device_->fail_copy(request.drill.copy);

    measure_costs(request, progress, stop);
    source_->watch(throttled(progress, directory_.empty() ? "Drawing weights" : "Packing weights"), stop);
    DenseWeights dense = source_->load_dense(*ram_);
    if (request.quant.dense) quantize_dense(dense, *request.quant.dense, *ram_, *pool_, stop);
    dense_bytes_ = dense.bytes();
    dense_read_bytes_ = dense.decode_bytes();
    weights_ = DeviceWeights(std::move(dense), spec_.n_layers(), *device_);
    // Page-locked memory is taken from everybody: some stays free. Emulated devices lock nothing.
    const std::uint64_t pin_budget =
        device_->info().emulated
            ? std::numeric_limits<std::uint64_t>::max()
            : static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory_size().total_bytes / 4 * 3));
    ExpertStore::Options options;
    options.pin_budget_bytes = pin_budget;
    options.dry = request.dry;
    options.n_speculative = request.prefetch == PrefetchMode::kOff ? 0 : ExpertMover::kMostGuessedCopies;
    experts_ = std::make_unique<ExpertStore>(spec_.experts, *expert_source_, plan_, *device_, *ram_, *pool_, options);
    source_->watch({}, {});

    kv_ = std::make_unique<KvCache>(kv_layout_of(spec_, request.kv), demand().kv_rooms(plan_), *device_, *ram_);
    dispatcher_ = std::make_unique<Dispatcher>(basis_.cost, request.dispatch);
    forward_ = std::make_unique<Forward>(spec_, weights_, *experts_, *device_, *host_, *dispatcher_, plan_.max_step,
                                         plan_.context);
    cache_policy_ = make_cache_policy(request.cache, basis_.popularity);
    if (!device_->shares_host_memory()) {
        forward_->moe().mover().set_cache(cache_policy_.get());
        dispatcher_->set_prefetch(request.prefetch);
        forward_->moe().mover().set_prompt_loading(request.prompt_loading);
    }
    device_->memory().fail_allocation(0);
    ram_->fail_allocation(0);
    device_->fail_copy(0);
    if (request.learn_placement && !device_->shares_host_memory() && request.popularity_file.empty() &&
        basis_.popularity.n_tokens == 0) {
        learn_placement();
    }
    describe(request);
    summary_.load_s = std::chrono::duration<double>(Clock::now() - start).count();
}

void LoadedModel::open_source(const LoadRequest& request, Text text) {
    if (is_synthetic(request.model)) {
        const SyntheticModel model = parse_synthetic(request.model);
        spec_ = model.spec;
        source_ = draw_weights(model, *pool_, request.dry);
        expert_source_ = std::make_unique<ExpertSource>(spec_.experts, *source_, nullptr);
        summary_.name = model.name;
        return;
    }
    if (request.dry) {
        throw Error(ErrorKind::kInvalidInput,
                    "A dry run is for synthetic models; expected synthetic:NAME, not " + request.model + ".");
    }
    directory_ = model_directory(request.model);
    spec_ = read_model_spec(directory_);
    if (text == Text::kWanted) {
        tokenizer_ = Tokenizer::open(directory_, spec_.vocab_size);
        chat_template_ = ChatTemplate::read(directory_);
    }
    source_ = open_weights(Checkpoint::open(directory_), spec_, request.compute == ComputeMode::kBf16, *pool_);
    quant_cache_ =
        std::make_unique<QuantCache>(request.quant_cache_directory.empty() ? cache_directory() / "quantized"
                                                                           : fs::path(request.quant_cache_directory));
    quant_cache_->keep_reserve();
    expert_source_ = std::make_unique<ExpertSource>(spec_.experts, *source_, quant_cache_.get());
    summary_.name = fs::weakly_canonical(directory_).filename().string();
}

void LoadedModel::open_devices(const LoadRequest& request) {
    if (request.dry) {
        device_ =
            open_dry_device(request.device, request.vram_bytes, *host_,
                            PositionRouting(basis_.popularity, 1, {request.dry_repeat, request.dry_guess_recall}));
        own_ram_ = std::make_unique<Arena>("RAM", addresses_, ram_budget(request, memory_));
        ram_ = own_ram_.get();
        return;
    }
    memory_ = memory_size();  // the checkpoint is mapped by now
    check_ram_budget(request.ram_bytes, memory_);
    const std::uint64_t ram = ram_budget(request, memory_);
    const bool cpu = runs_on_cpu(request);
    device_ = request.opens_device ? request.opens_device(request.vram_bytes)
                                   : open_device(cpu ? "cpu" : request.device, cpu ? ram : request.vram_bytes, *host_);
    if (auto* emulated = dynamic_cast<EmulatedAccelerator*>(device_.get())) emulated->set_paced(request.paced);
    if (device_->shares_host_memory()) {
        ram_ = &device_->memory();
        return;
    }
    own_ram_ = std::make_unique<Arena>("RAM", host_memory_, ram);
    ram_ = own_ram_.get();
}

void LoadedModel::make_plans(const LoadRequest& request) {
    basis_.master = source_->expert_type();
    basis_.hidden_dim = spec_.hidden_dim;
    basis_.decode = request.dispatch.decode;
    basis_.dry = request.dry;
    basis_.calibrations = calibration_directory(request.cache_directory).string();
    planner_.emplace(request, LoadInputs{spec_, source_->expert_type(), source_->dense_bytes(), device_->info(),
                                         [&](const Backend::StepShape& shape) { return device_->scratch_bytes(shape); },
                                         memory_, device_->memory().usage().budget_bytes, ram_->usage().budget_bytes});
    basis_.demand = planner_->demand();
    plan_ = planner_->plan(basis_.popularity, basis_.costs());
}

void LoadedModel::note_memory(const LoadProgressFn& progress) {
    std::string note = planner_->memory_note(plan_);
    if (note.empty()) return;
    summary_.notes.push_back(note);
    if (!progress) return;
    summary_.n_early_notes = summary_.notes.size();
    LoadProgress said;
    said.note = std::move(note);
    progress(said);
}

void LoadedModel::measure_costs(const LoadRequest& request, const LoadProgressFn& progress,
                                const std::stop_token& stop) {
    const bool host_only = device_->shares_host_memory();
    const CostedModel costed{request, spec_, source_->expert_type(), formats_of(request, basis_.demand)};
    // One place: there is something to decide only between formats, and nothing is worth the time otherwise. What is
    // kept serves forecasts.
    if (host_only && (request.dry || !request.quality.allows_fewer_bits())) {
        if (auto known = request.dry ? std::nullopt : known_costs(costed, device_->info())) {
            basis_.cost = std::move(known->cost);
            basis_.cost.set_disk_read_us(known_disk_read_us(costed, directory_).value_or(0));
            for (const FormatDemand& format : basis_.demand.formats)
                basis_.cost.set_expert_bytes(format.format, expert_source_->expert_bytes(format.format));
        }
        return;
    }
    const CalibrationCache cache(calibration_directory(request.cache_directory));
    if (!host_only) {
        device_->reserve(Forward::step_shape(spec_, source_->expert_type(), plan_.max_step, plan_.context));
        expert_source_->set_helper(device_->row_quantizer());
    }
    const auto told = [&](double done) {
        if (progress) progress({"Measuring this machine", static_cast<std::uint64_t>(done * 1000), 1000, false});
    };
    FormatCalibration wanted;
    wanted.grid = spec_.experts;
    wanted.largest = std::min<std::int64_t>(
        1024, static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(plan_.max_step))));
    if (host_only) {  // what a format costs one token
        wanted.largest = 2;
        wanted.budget_s = 0.2;
    }
    const auto measure = [&](kernels::WeightType format) {
        wanted.format = format;
        wanted.pack = [&](std::int64_t n, std::byte* block) { pack_sample(format, n, block); };
        return format_costs(*device_, *host_, wanted, cache, told, stop).table;
    };
    CostTable table = measure(source_->expert_type());
    const bool has_disk = std::find(plan_.places.begin(), plan_.places.end(), Place::kDisk) != plan_.places.end();
    if (const auto* emulated = dynamic_cast<const EmulatedAccelerator*>(device_.get());
        emulated != nullptr && emulated->profile().host) {
        table.disk_read_us = emulated->profile().host->disk_us(static_cast<double>(table.expert_bytes));
    } else if (has_disk) {
        table.disk_read_us = disk_read_us(costed, directory_, *source_, *host_, stop);
    }
    table.dense =
        dense_costs({spec_, source_->expert_type(), request.quant.dense, request.kv}, *device_, *host_, cache, stop);
    basis_.cost = CostModel(table);
    basis_.cost.set_master(source_->expert_type());
    // For who asks what a re-plan takes. A dry run never quantizes.
    if (!request.dry) {
        basis_.quantizing_speeds =
            quantizing_speeds(spec_.hidden_dim, cache, stop, device_->row_quantizer(), device_->info().fingerprint);
    }
    for (const FormatDemand& format : basis_.demand.formats) {
        basis_.cost.set_expert_bytes(format.format, expert_source_->expert_bytes(format.format));
        const bool asked = request.quality.allows_fewer_bits() || request.quant.experts == format.format;
        if (asked && format.format != source_->expert_type())
            basis_.cost.set_table(format.format, measure(format.format));
    }
    if (request.quality.allows_fewer_bits()) plan_ = planner_->plan(basis_.popularity, basis_.costs());
    if (!cache.problem().empty()) summary_.notes.push_back(cache.problem());
}

std::uint64_t LoadedModel::largest_expert_of(const Plan& plan) const {
    if (plan.formats.empty()) return expert_source_->expert_bytes(source_->expert_type());
    std::uint64_t largest = 0;
    for (const kernels::WeightType format : plan.formats) {
        largest = std::max(largest, expert_source_->expert_bytes(format));
    }
    return largest;
}

void LoadedModel::make_room_for(const Plan& plan, const Budget& budget) {
    const auto grow = [](Arena& arena, std::uint64_t bytes) {
        if (bytes > arena.usage().budget_bytes) arena.set_budget(bytes);
    };
    if (!device_->shares_host_memory()) grow(device_->memory(), budget.vram_bytes);
    grow(*ram_, budget.ram_bytes);
    if (plan.host_staging_slots > 0 || experts_->disk_slots().size() > 0) {
        make_host_slots(*experts_, *expert_source_, *pool_, plan, largest_expert_of(plan));
    }
    // Less staging makes room for experts at once, more comes when everything else is in its place. Experts that are
    // still in a larger format than the slots run on the CPU until then.
    Staging& staging = experts_->staging();
    const std::uint64_t slot_bytes = largest_expert_of(plan);
    const auto n_slots = static_cast<std::uint64_t>(plan.staging_slots);
    if (n_slots * slot_bytes < static_cast<std::uint64_t>(staging.n_slots()) * staging.slot_bytes()) {
        experts_->set_staging(plan.staging_slots, slot_bytes);
    }
}

bool LoadedModel::frees_device_of_kv(const Plan& plan) const {
    const std::vector<KvRoom> rooms = demand().kv_rooms(plan);
    std::int64_t before = 0, after = 0;
    for (std::size_t g = 0; g < rooms.size(); ++g) {
        kernels::KvShape shape = kv_->pool(g).shape();
        before += kv_->pool(g).room().device_blocks * shape.block_bytes();
        shape.type = plan.kv;
        after += rooms[g].device_blocks * shape.block_bytes();
    }
    return after < before;
}

bool LoadedModel::resize_kv(const Plan& plan) {
    const std::uint64_t expert_bytes = expert_source_->expert_bytes(source_->expert_type());
    const std::vector<KvRoom> rooms = demand().kv_rooms(plan);
    if (plan.kv != kv_->type()) {
        // All of the room at once: the next step may want any number of blocks.
        experts_->settle();
        const kernels::KvType type = kv_->type();
        std::vector<KvRoom> before;
        for (std::size_t group = 0; group < kv_->n_groups(); ++group) before.push_back(kv_->pool(group).room());
        kv_->retype(plan.kv);
        try {
            kv_->resize(rooms);
        } catch (const Error&) {
            kv_->retype(type);
            kv_->resize(before);
            throw;
        }
        return true;
    }
    try {
        return kv_->approach(rooms, expert_bytes);
    } catch (const Error& error) {
        // Experts that have gone may still hold their memory.
        if (error.kind() != ErrorKind::kOutOfMemory || !experts_->settle()) throw;
    }
    return kv_->approach(rooms, expert_bytes);
}

void LoadedModel::put_in_force(const Plan& plan, const Budget& budget) {
    assert(plan.kv == kv_->type());
    experts_->settle();
    forward_->set_context(plan.context);
    if (!device_->shares_host_memory()) {
        experts_->set_staging(plan.staging_slots, largest_expert_of(plan));
    }
    experts_->disk_slots().shrink(plan.host_staging_slots, largest_expert_of(plan));
    const auto check = [](const Arena& arena, std::uint64_t bytes, const std::string& place) {
        const std::uint64_t used = arena.usage().used_bytes;
        if (bytes == 0 || used <= bytes) return;
        throw Error(ErrorKind::kOutOfMemory, place + " keeps its budget: " + format_bytes(used) +
                                                 " are needed with everything in its place, but only " +
                                                 format_bytes(bytes) + " were allowed.");
    };
    const bool shared = device_->shares_host_memory();
    if (!shared) check(device_->memory(), budget.vram_bytes, device_->info().name);
    check(*ram_, budget.ram_bytes, "RAM");
    const auto shrink = [](Arena& arena, std::uint64_t bytes) {
        if (bytes > 0 && bytes < arena.usage().budget_bytes) arena.set_budget(bytes);
    };
    if (!shared) shrink(device_->memory(), budget.vram_bytes);
    shrink(*ram_, budget.ram_bytes);
    plan_ = plan;
}

// What fewer bits cost in quality: this model's own errors where they are known or asked for, else those of HQQ on
// normally distributed weights.
void LoadedModel::load_sensitivity(const LoadRequest& request, const LoadProgressFn& progress,
                                   const std::stop_token& stop) {
    basis_.sensitivity = Sensitivity::typical(spec_.experts.n_layers, spec_.experts.n_experts);
    if (request.dry) return;
    const auto fingerprint = source_->model_fingerprint();
    const SensitivityCache cache(request.cache_directory.empty() ? cache_directory()
                                                                 : fs::path(request.cache_directory));
    if (fingerprint) {
        if (auto kept = cache.load(*fingerprint, spec_.experts)) {
            basis_.sensitivity = std::move(*kept);
            return;
        }
    }
    if (!request.quality.allows_fewer_bits()) return;
    basis_.sensitivity = measure_sensitivity(
        spec_.experts, *source_, *pool_,
        [&](std::int64_t done, std::int64_t all) {
            if (!progress) return;
            progress(
                {"Measuring what fewer bits cost", static_cast<std::uint64_t>(done), static_cast<std::uint64_t>(all)});
        },
        stop);
    if (!fingerprint) return;
    if (const std::string why = cache.store(*fingerprint, summary_.name, basis_.sensitivity); !why.empty())
        summary_.notes.push_back(measurements_not_kept(cache.directory(), why));
}

// Some expert in the format; what it says does not matter for what it costs, so that rounding to nearest will do.
void LoadedModel::pack_sample(kernels::WeightType format, std::int64_t n, std::byte* block) {
    const std::int64_t i = n % (spec_.experts.n_layers * spec_.experts.n_experts);
    const LayerIndex layer{static_cast<std::int32_t>(i / spec_.experts.n_experts)};
    const ExpertIndex expert{static_cast<std::int32_t>(i % spec_.experts.n_experts)};
    if (format == source_->expert_type() || request_.dry) {
        source_->pack_expert(layer, expert, block, *pool_);
        return;
    }
    HostBuffer master(spec_.experts.expert_bytes(source_->expert_type()), "measuring");
    source_->pack_expert(layer, expert, master.data(), *pool_);
    Quantizer(*pool_, QuantMethod::kNearest)
        .quantize_expert({master.data(), spec_.experts.layout(source_->expert_type())}, spec_.experts.layout(format),
                         block);
}

void LoadedModel::set_resting(bool rests) {
    rests_ = rests;
    forward_->moe().mover().set_cache_resting(rests);
}

WeightReads LoadedModel::reads() const {
    return expected_reads(spec_.experts, dense_read_bytes_, basis_.popularity, source_->expert_type(),
                          experts_->formats());
}

std::uint64_t LoadedModel::expert_bytes_of(const Plan& plan) const {
    if (plan.formats.empty()) return plan.places.size() * expert_source_->expert_bytes(source_->expert_type());
    std::uint64_t bytes = 0;
    for (const kernels::WeightType format : plan.formats) bytes += expert_source_->expert_bytes(format);
    return bytes;
}

void LoadedModel::learn_placement() {
    learner_ =
        std::make_unique<PlacementLearner>(spec_.experts.n_layers, spec_.experts.n_experts, spec_.experts.n_active);
}

void LoadedModel::learn(std::span<const std::int32_t> routing, std::int64_t n_tokens) {
    experts_->places().poll();
    if (learner_ == nullptr || rests_) return;
    learner_->observe(routing, n_tokens);
    if (experts_->places().exchanging()) return;
    experts_->residency(resident_);
    const auto exchange = learner_->propose(resident_);
    if (exchange.has_value()) experts_->places().begin(*exchange);
}

void LoadedModel::describe(const LoadRequest& request) {
    summary_.source = request.model;
    summary_.architecture = spec_.architecture;
    summary_.n_layers = spec_.experts.n_layers;
    for (std::int64_t i = 0; i < summary_.n_layers; ++i)
        summary_.layer_numbers.push_back(static_cast<std::int32_t>(spec_.layer_of(i)));
    summary_.n_experts = spec_.experts.n_experts;
    summary_.n_active = spec_.experts.n_active;
    summary_.hidden_dim = spec_.hidden_dim;
    summary_.ffn_dim = spec_.experts.ffn_dim;
    summary_.vocab_size = spec_.vocab_size;
    const kernels::AttentionShape attention = spec_.attention_shape(0);
    summary_.n_heads = attention.n_heads;
    summary_.n_kv_heads = attention.n_kv_heads;
    summary_.head_dim = attention.key_dim;
    summary_.max_context = spec_.max_context;
    summary_.context = plan_.context;
    summary_.total_weights = spec_.total_weights();
    summary_.active_weights = spec_.active_weights();
    summary_.weight_bytes = dense_bytes_ + expert_bytes_of(plan_);
    summary_.active_bytes = reads().total();
    summary_.weight_type = kernels::name_of(source_->expert_type());
    if (request.quant.experts.has_value()) summary_.weight_type = kernels::name_of(*request.quant.experts);
    summary_.kv_type = name_of(request.kv);
    summary_.compute = kernels::name_of(compute_.mode);
    summary_.compute_origin = engine::describe(compute_);
    summary_.instruction_set = kernels::name_of(kernels::cpu_kernels().instruction_set);
    summary_.n_threads = pool_->n_threads();
    summary_.has_tokenizer = tokenizer_ != nullptr;
    summary_.has_chat_template = chat_template_ != nullptr;

    summary_.device = device_->info().id;
    summary_.device_name = device_->info().name;
    summary_.emulated = device_->info().emulated;
    summary_.emulated_host = device_->info().emulated_host;
    summary_.policy = engine::describe(request.dispatch);
    summary_.resident_experts = experts_->n_resident();
    summary_.ram_experts = experts_->n_in_ram();
    summary_.total_experts = spec_.experts.n_layers * spec_.experts.n_experts;
    summary_.vram_budget_bytes = device_->shares_host_memory() ? 0 : device_->memory().usage().budget_bytes;
    summary_.ram_budget_bytes = ram_->usage().budget_bytes;
    summary_.pinned_bytes = experts_->pinned_bytes();
    experts_->residency(resident_);
    summary_.expected_hit_rate = expected_hit_rate(basis_.popularity, resident_);
    if (basis_.popularity.n_tokens > 0) summary_.popularity = basis_.popularity.source;
    if (!plan_.note.empty()) summary_.notes.push_back(plan_.note);
    if (std::string note = planner_->dense_note(); !note.empty()) summary_.notes.push_back(std::move(note));
    for (const std::string& note : experts_->notes()) summary_.notes.push_back(note);
    if (std::string note = expert_source_->take_cache_problem(); !note.empty()) summary_.notes.push_back(note);
}

}  // namespace offstage::engine
