#include "engine/run/load_planner.h"

#include <algorithm>

#include "engine/device/hardware.h"
#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/experts/prefetcher.h"
#include "engine/experts/sparse_copies.h"
#include "engine/files/cache_folders.h"
#include "engine/model/file_formats.h"
#include "engine/model/kv_layout.h"
#include "engine/model/synthetic.h"
#include "engine/model/weights.h"
#include "engine/plan/plan_messages.h"
#include "engine/plan/planner.h"
#include "engine/quant/quantize_dense.h"
#include "engine/run/device_weights.h"
#include "engine/run/forward.h"
#include "engine/run/layer_drafter.h"
#include "engine/run/run_messages.h"

namespace offstage::engine {
namespace {

std::uint64_t free_bytes(const MemorySize& memory) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory.available_bytes));
}

// The part of free memory that a plan may take.
std::uint64_t with_headroom(std::uint64_t available_bytes) {
    return available_bytes - available_bytes / 10;
}

template <typename RowOf>
void list_file_formats(const ExpertGrid& grid, const RowOf& row_of, ModelDemand& demand) {
    constexpr auto kFirst = static_cast<std::uint8_t>(kernels::WeightType::kFile1);
    for (std::size_t i = 0; i < grid.file_layouts.size(); ++i) {
        demand.file_formats.push_back(row_of(static_cast<kernels::WeightType>(kFirst + i)));
    }
    ModelDemand::Format& file = demand.formats.front();
    double bits = 0;
    for (const kernels::WeightType format : grid.file_formats) {
        demand.layer_format.push_back(static_cast<std::uint8_t>(static_cast<std::uint8_t>(format) - kFirst));
        const ModelDemand::Format& row = demand.file_formats[demand.layer_format.back()];
        file.expert_bytes = std::max(file.expert_bytes, row.expert_bytes);
        bits += row.bits_per_weight;
    }
    file.bits_per_weight = bits / static_cast<double>(grid.file_formats.size());
}

// RAM that the dense weights take at once.
std::uint64_t dense_peak_bytes(const LoadRequest& request, const ModelSpec& spec, kernels::WeightType type,
                               std::uint64_t dense_bytes) {
    std::uint64_t n_matrices = 0;
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        n_matrices += tensor.kind == DenseTensor::Kind::kVector ? 0 : 1;
    }
    return dense_bytes - std::min(dense_bytes, dense_vector_bytes(spec)) + n_matrices * 256 +
           (request.quant.dense ? packing_bytes(spec, type, *request.quant.dense) : 0);
}

ModelDemand demand_of(const LoadRequest& request, const PlanInputs& inputs, const ModelSpec& spec,
                      std::uint64_t dense_bytes,
                      const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes,
                      std::int64_t advised_context) {
    const kernels::WeightType type = inputs.master;
    const ExpertGrid& grid = spec.experts;
    ModelDemand demand;
    demand.dense_file_bytes = dense_bytes;
    demand.dense_peak_bytes = dense_peak_bytes(request, spec, type, dense_bytes);
    if (request.quant.dense) dense_bytes = quantized_dense_bytes(spec, dense_bytes, type, *request.quant.dense);
    demand.hidden_dim = grid.hidden_dim;
    demand.n_layers = grid.n_layers;
    demand.n_experts = grid.n_experts;
    demand.n_active = grid.n_active;
    const auto row_of = [&](kernels::WeightType format) {
        return ModelDemand::Format{
            format, (grid.expert_bytes(format) + 255) / 256 * 256,
            8.0 * static_cast<double>(grid.layout(format).weight_bytes()) / static_cast<double>(grid.expert_weights())};
    };
    demand.formats.push_back(row_of(type));
    if (grid.file_layouts.size() > 1) list_file_formats(grid, row_of, demand);
    demand.expert_bytes = demand.formats.front().expert_bytes;
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        if (!format.for_experts || (format.is_packed() && grid.hidden_dim % kernels::kPackedBlock != 0)) continue;
        // A copy in no fewer bits than the master's has no use.
        const ModelDemand::Format row = row_of(format.type);
        if (row.bits_per_weight < demand.formats.front().bits_per_weight) demand.formats.push_back(row);
    }
    demand.file_blocks = block_formats_of(grid);
    demand.dense_bytes = DeviceWeights::device_bytes(spec, dense_bytes);
    demand.dense_read_bytes = dense_bytes_read(spec, dense_bytes, type);
    const std::int64_t usual = advised_context > 0 ? advised_context : kDefaultContextLimit;
    demand.max_context = std::max(std::min(spec.max_context, usual), request.context);
    demand.short_context = spec.rope().original_context;
    demand.kv = request.kv;
    demand.kept_context = request.kept_context;
    for (const KvType kv : kKvTypes) {
        const KvLayout layout = kv_layout_of(spec, kv);
        demand.kv_groups.resize(layout.groups.size());
        for (std::size_t g = 0; g < layout.groups.size(); ++g) {
            // A window that no context outgrows keeps everything.
            const std::int64_t window = layout.groups[g].window;
            demand.kv_groups[g].window = window < demand.max_context ? window : 0;
            demand.kv_groups[g].is_state = layout.groups[g].is_state;
            demand.kv_groups[g].token_bytes[static_cast<std::size_t>(kv)] =
                static_cast<std::uint64_t>(layout.groups[g].shape.token_bytes());
        }
    }
    demand.shares_host_memory = inputs.device.kind == DeviceKind::kCpu;
    demand.kv_may_lie_in_ram = !demand.shares_host_memory;
    demand.residents_change = request.cache != CacheKind::kStatic && !demand.shares_host_memory;
    demand.ends_with_experts = Forward::ends_with_experts(spec);
    demand.loads_ahead = request.prompt_loading != PromptLoading::kOnDemand && !demand.shares_host_memory;
    if (request.prefetch != PrefetchMode::kOff) demand.staging_slots = kDemandSlots + Prefetcher::kMostGuessedCopies;

    const bool may_leave_out = request.leaves_out() || request.quality.max_kl > 0;
    if (may_leave_out && request.sparse_loading != SparseLoading::kOff && !demand.shares_host_memory) {
        demand.host_fixed_bytes += SparseCopies::kBuffers * SparseCopies::buffer_bytes(demand.expert_bytes);
    }

    demand.reads_directly = expert_reads(request, grid, type, inputs.memory).directly;
    if (demand.reads_directly && request.prefetch != PrefetchMode::kOff && !inputs.device.emulated) {
        demand.disk_guess_slots = grid.n_active;
    }

    const std::int64_t context = spec.max_context;
    // The line of the largest steps' slope that no step passes.
    std::uint64_t scratch_fixed = 0;
    std::uint64_t scratch_slope = 0;
    if (scratch_bytes) {
        const auto at = [&](std::int64_t n) { return scratch_bytes(Forward::step_shape(spec, type, n, context)); };
        const std::uint64_t small = at(512), large = at(4096);
        scratch_slope = (std::max(small, large) - small) / (4096 - 512) + 1;
        for (const std::int64_t n : kSampledSteps) {
            const std::uint64_t along = scratch_slope * static_cast<std::uint64_t>(n);
            scratch_fixed = std::max(scratch_fixed, std::max(at(n), along) - along);
        }
    }
    demand.workspace_fixed_bytes =
        Forward::workspace_bytes(spec, context) + scratch_fixed + demand.kv_workspace_bytes(0);
    if (!demand.shares_host_memory) demand.workspace_fixed_bytes += (request.neuron_cache_bytes + 255) / 256 * 256;
    demand.workspace_bytes_per_token = Forward::workspace_bytes_per_token(spec) + scratch_slope +
                                       demand.kv_workspace_bytes(1) - demand.kv_workspace_bytes(0);
    return demand;
}

// The smallest format that the floor allows for all experts; the master's if there is none.
kernels::WeightType smallest_allowed(const PlanInputs& inputs, const QualityFloor& floor) {
    const ModelDemand& demand = inputs.demand;
    const auto n_experts = static_cast<std::size_t>(demand.n_layers * demand.n_experts);
    const ModelDemand::Format* best = nullptr;
    for (const ModelDemand::Format& f : demand.formats) {
        if (f.bits_per_weight < floor.min_mean_bits) continue;
        if (floor.max_kl > 0 && inputs.kl_of(f.format) > floor.max_kl) continue;
        const auto loss = [&] {
            return predicted_loss(std::vector(n_experts, f.format), inputs.sensitivity, inputs.popularity);
        };
        if (floor.max_loss > 0 && loss() > floor.max_loss) continue;
        if (best == nullptr || f.expert_bytes < best->expert_bytes) best = &f;
    }
    return best != nullptr ? best->format : inputs.master;
}

Plan plan_within(const PlanInputs& inputs, Budget budget) {
    const auto made = [&] { return make_plan(inputs, budget, placement_for(inputs.decode)); };
    if (inputs.device.kind != DeviceKind::kEmulated || inputs.dry || inputs.is_elsewhere) return made();
    const std::uint64_t available = with_headroom(free_bytes(inputs.memory));
    budget.vram_bytes = std::min(budget.vram_bytes, available);
    Plan plan = made();
    const std::uint64_t left = available - std::min(available, plan.vram_bytes());
    if (budget.ram_bytes <= left) return plan;
    budget.ram_bytes = std::max<std::uint64_t>(left, 1);  // 0 would mean no limit
    return made();
}

Plan plan_here(const PlanInputs& inputs, const Budget& asked) {
    const std::uint64_t peak = inputs.demand.dense_peak_bytes;
    try {
        Plan made = plan_within(inputs, asked);
        if (asked.ram_bytes == 0 || peak <= asked.ram_bytes) return made;
        throw Error(ErrorKind::kOutOfMemory,
                    messages::dense_weights_pass_ram(ByteSize{peak}, ByteSize{asked.ram_bytes},
                                                     ByteSize{peak - asked.ram_bytes, ByteSize::Style::kExact}));
    } catch (const Error& error) {
        // The limit is named, if there is one besides the user's RAM budget.
        if (error.kind() != ErrorKind::kOutOfMemory || inputs.memory.limit.empty() || inputs.ram_is_asked) throw;
        throw Error(error.kind(), joined(error.message(), messages::free_memory(free_memory_text(inputs.memory))),
                    error.detail());
    }
}

Plan plan_assumed(const PlanInputs& inputs) {
    const QualityFloor& floor = inputs.asked.quality;
    const double most_bits = inputs.demand.formats.front().bits_per_weight;
    if (floor.min_mean_bits > most_bits) {
        throw Error(ErrorKind::kInvalidInput, messages::no_format_of_so_many_bits(floor.min_mean_bits, most_bits));
    }
    Budget assumed = inputs.asked;
    assumed.quality = {};
    assumed.uniform = smallest_allowed(inputs, floor);
    return plan_here(inputs, assumed);
}

// A default context takes the room of experts: says how much faster the shortest one
// would be.
void note_context_cost(const PlanInputs& inputs, Plan& plan) {
    const Place best = inputs.demand.shares_host_memory ? Place::kRam : Place::kDevice;
    const auto n_all = static_cast<std::int64_t>(plan.places.size());
    if (inputs.asked.context > 0 || plan.context <= kShortestContext || plan.n_in(best) == n_all ||
        !inputs.has_costs() || inputs.asked.quality.allows_fewer_bits() || inputs.lacks_disk_cost(plan)) {
        return;
    }
    Budget shorter = inputs.asked;
    shorter.context = kShortestContext;
    const double here = inputs.forecast(plan).decode_tokens_per_s;
    const double there = inputs.forecast(plan_here(inputs, shorter)).decode_tokens_per_s;
    constexpr double kWorthSaying = 1.01;
    if (there < kWorthSaying * here) return;
    plan.note =
        joined(std::move(plan.note), messages::context_costs(Decimal{here, 1}, Decimal{there, 1}, kShortestContext));
}

}  // namespace

void check_theta(double theta) {
    if (theta >= 0 && theta <= kLargestTheta) return;
    throw Error(ErrorKind::kInvalidInput, messages::theta_out_of_range(theta, kLargestTheta));
}

void check_theta_loss(double loss) {
    if (loss > 0 && loss <= kLargestThetaLoss) return;
    throw Error(ErrorKind::kInvalidInput, messages::theta_loss_out_of_range(loss, kLargestThetaLoss));
}

void check_request(const LoadRequest& request) {
    if (request.quant.experts.has_value() && request.quality.allows_fewer_bits()) {
        throw Error(ErrorKind::kInvalidInput, messages::format_and_quality_asked);
    }
    if (runs_on_cpu(request) && request.vram_bytes > 0 && !request.dry) {
        throw Error(ErrorKind::kInvalidInput, messages::vram_budget_without_gpu);
    }
    if (request.context < 0 || request.context > kLargestContext) {
        throw Error(ErrorKind::kInvalidInput, messages::context_out_of_range(request.context, kLargestContext));
    }
    if (!(request.quality.max_kl >= 0 && request.quality.max_kl <= kLargestThetaLoss)) {
        throw Error(ErrorKind::kInvalidInput, messages::max_kl_out_of_range(request.quality.max_kl, kLargestThetaLoss));
    }
    check_theta(request.theta);
    if (request.theta_loss != 0) check_theta_loss(request.theta_loss);
    if (!(request.active_share >= 0 && request.active_share <= 1)) {
        throw Error(ErrorKind::kInvalidInput, messages::active_share_not_a_share(request.active_share));
    }
    check_kept_context(request.kept_context);
}

std::vector<Message> request_notes(const LoadRequest& request, std::int64_t max_context) {
    std::vector<Message> notes;
    const int threads = compute_threads(request.n_threads);
    if (const int cores = cores_to_use(); threads > cores) {
        notes.push_back(messages::more_threads_than_cores(threads, cores));
    }
    if (request.context > max_context) notes.push_back(messages::context_beyond_trained(request.context, max_context));
    return notes;
}

void check_kept_context(std::int64_t tokens) {
    if (tokens < 0 || tokens > kLargestContext) {
        throw Error(ErrorKind::kInvalidInput, messages::kept_context_out_of_range(tokens, kLargestContext));
    }
}

bool runs_on_cpu(const LoadRequest& request) {
    return request.device.empty() || request.device == "cpu";
}

void check_ram_budget(std::uint64_t ram_bytes, const MemorySize& memory) {
    if (ram_bytes <= free_bytes(memory)) return;
    throw Error(ErrorKind::kInvalidInput, messages::ram_budget_not_free(ByteSize{ram_bytes}, free_memory_text(memory)));
}

std::uint64_t ram_budget(const LoadRequest& request, const MemorySize& memory) {
    constexpr std::uint64_t kDryBytes = std::uint64_t{1} << 42;  // addresses only
    if (request.ram_bytes > 0) return request.ram_bytes;
    return request.dry ? kDryBytes : with_headroom(free_bytes(memory));
}

ExpertReads expert_reads(const LoadRequest& request, const ExpertGrid& grid, kernels::WeightType master,
                         const MemorySize& memory) {
    if (request.dry || is_synthetic(request.model)) return {};
    std::uint64_t bytes = 0;
    for (std::int64_t l = 0; l < grid.n_layers; ++l) {
        bytes += static_cast<std::uint64_t>(grid.n_experts) * grid.expert_bytes(grid.stored(master, l));
    }
    const bool fits = memory.total_bytes == 0 || bytes <= with_headroom(free_bytes(memory));  // 0: unknown
    const bool directly = request.disk_reads == DiskReads::kAuto ? !fits : request.disk_reads == DiskReads::kDirect;
    return {directly, fits && !directly};
}

std::uint64_t dense_vector_bytes(const ModelSpec& spec) {
    std::uint64_t bytes = 0;
    for (const DenseTensor& tensor : dense_tensors(spec)) {
        if (tensor.kind == DenseTensor::Kind::kVector) bytes += tensor.bytes(kernels::WeightType::kF32);
    }
    return bytes;
}

void describe_load(PlanInputs& inputs, const LoadRequest& request, const ModelSpec& spec, std::uint64_t dense_bytes,
                   const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes,
                   std::int64_t advised_context, const PredictionLayer* prediction) {
    inputs.demand = demand_of(request, inputs, spec, dense_bytes, scratch_bytes, advised_context);
    if (prediction != nullptr) LayerDrafter::add_to(inputs.demand, *prediction, request.kv);
    inputs.prefill = request.dispatch.prefill;
    inputs.decode = request.dispatch.decode;
    inputs.dry = request.dry;
    inputs.sparse_loading = inputs.demand.shares_host_memory ? SparseLoading::kOff : request.sparse_loading;
    inputs.active_share = request.active_share;
    inputs.calibrations = calibration_directory(request.cache_directory).string();
    inputs.ram_is_asked = request.ram_bytes > 0;
    inputs.drawn = is_synthetic(request.model);
    inputs.asked.context = request.context;
    inputs.asked.kv = request.kv;
    inputs.asked.quality = request.quality;
    inputs.asked.uniform = request.quant.experts;
    if (request.leaves_out()) inputs.asked.theta = request.theta_choice();
}

Plan plan_load(PlanInputs& inputs, const ExpertGrid& grid,
               const std::function<std::optional<CostModel>(const Plan& first)>& costs,
               const std::function<DiskReadCost()>& disk) {
    const bool by_costs = inputs.asked.quality.allows_fewer_bits();
    Plan made = plan_load(inputs);
    std::optional<CostModel> cost = costs(made);
    if (!cost) return by_costs ? plan_assumed(inputs) : made;
    inputs.cost = *std::move(cost);
    for (const std::vector<ModelDemand::Format>* const list : {&inputs.demand.formats, &inputs.demand.file_formats}) {
        for (const ModelDemand::Format& row : *list) {
            inputs.cost.set_expert_bytes(row.format, grid.expert_bytes(row.format));
        }
    }
    inputs.set_theta(inputs.asked.theta.value_or(ThetaChoice()));
    bool lacks_disk = inputs.lacks_disk_cost(made);
    const auto plan_by_costs = [&] {
        if (by_costs) made = plan_load(inputs);
    };
    plan_by_costs();
    lacks_disk |= inputs.lacks_disk_cost(made);
    if (lacks_disk) {
        inputs.set_disk(disk());
        plan_by_costs();
    }
    if (made.theta) inputs.set_theta(*made.theta);
    note_context_cost(inputs, made);
    return made;
}

Plan plan_load(PlanInputs& inputs) {
    if (inputs.may_be_elsewhere && !inputs.is_elsewhere && inputs.device.kind == DeviceKind::kEmulated) {
        try {
            Plan made = plan_here(inputs, inputs.asked);
            // RAM that the person names and this computer has not is another computer's.
            if (!inputs.ram_is_asked || made.budget.ram_bytes >= inputs.asked.ram_bytes) return made;
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::kOutOfMemory) throw;
        }
        inputs.is_elsewhere = true;
    }
    return plan_here(inputs, inputs.asked);
}

Message memory_note(const PlanInputs& inputs, const Plan& plan) {
    const bool emulated = inputs.device.kind == DeviceKind::kEmulated;
    const std::uint64_t peak =
        std::max(plan.ram_bytes + (emulated ? plan.vram_bytes() : 0), inputs.demand.dense_file_bytes);
    const std::uint64_t available = free_bytes(inputs.memory);
    if (inputs.dry || peak <= available / 5 * 4 || peak > available) return {};
    return messages::little_ram_left(ByteSize{peak}, free_memory_text(inputs.memory));
}

Message load_note(const PlanInputs& inputs, const LoadRequest& request, const ModelSpec& spec) {
    Message note = request.quant.dense ? dense_note(spec, inputs.master, *request.quant.dense) : Message();
    return inputs.is_elsewhere ? joined(std::move(note), messages::emulation_counted_apart) : note;
}

ExpertFormats expert_formats_of(const PlanInputs& inputs, const ModelSpec& spec) {
    const std::vector<ModelDemand::Format>& formats = inputs.demand.formats;
    ExpertFormats found = {stored_formats_of(spec.experts, inputs.master),
                           !spec.experts.file_layouts.empty(),
                           formats.front().bits_per_weight,
                           {}};
    for (std::size_t i = 1; i < formats.size(); ++i) found.smaller.push_back(formats[i].format);
    return found;
}

}  // namespace offstage::engine
