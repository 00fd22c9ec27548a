#include "engine/run/load_plan.h"

#include <algorithm>
#include <utility>

#include "engine/device/host_buffer.h"
#include "engine/error.h"
#include "engine/plan/calibration.h"
#include "engine/run/model_demand.h"
#include "engine/experts/expert_mover.h"

namespace offstage::engine {

void check_request(const LoadRequest& request) {
    if (request.quant.experts.has_value() && request.quality.allows_fewer_bits()) {
        throw Error(ErrorKind::kInvalidInput,
                    "One format for all experts was asked for and a floor of quality as well; choose one of them.");
    }
    if (request.context < 0 || request.context > kLargestContext) {
        throw Error(ErrorKind::kInvalidInput, "The context is " + std::to_string(request.context) +
                                                  " tokens; expected 1 to " + std::to_string(kLargestContext) +
                                                  ", or 0 for the model's own.");
    }
}

void check_ram_budget(std::uint64_t ram_bytes, const MemorySize& memory) {
    if (std::cmp_less_equal(ram_bytes, std::max<std::int64_t>(0, memory.available_bytes))) return;
    throw Error(ErrorKind::kInvalidInput, "The RAM budget is " + format_bytes(ram_bytes) + ", but only " +
                                              free_memory_text(memory) + " are free; lower it.");
}

ComputeChoice choose_compute(const LoadRequest& request, kernels::WeightType weights) {
    std::optional<kernels::GemmMode> asked;
    if (request.compute == ComputeMode::kF32) asked = kernels::GemmMode::kF32;
    if (request.compute == ComputeMode::kBf16) asked = kernels::GemmMode::kBf16;
    return choose_compute(asked, weights, CalibrationCache(calibration_directory(request.cache_directory)),
                          request.times_product);
}

std::uint64_t with_headroom(std::uint64_t available_bytes) {
    return available_bytes - available_bytes / 10;
}

ModelDemand demand_of_load(const LoadRequest& request, const ModelSpec& spec, kernels::WeightType type,
                           std::uint64_t dense_bytes, const DeviceInfo& device,
                           const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes) {
    ModelDemand demand = demand_of(spec, type, dense_bytes, device, request.kv, scratch_bytes);
    demand.loads_ahead = request.prompt_loading != PromptLoading::kOnDemand && device.kind != DeviceKind::kCpu;
    demand.kv_may_lie_in_ram = device.kind != DeviceKind::kCpu;
    // Two slots for copies on demand, and as many as may be guessed at once.
    if (request.prefetch != PrefetchMode::kOff) demand.staging_slots = 2 + ExpertMover::kMostGuessedCopies;
    if (request.context > 0) demand.max_context = std::max(demand.max_context, request.context);
    return demand;
}

Plan plan_in_one_memory(Budget& budget, std::uint64_t ram_available, const std::function<Plan(const Budget&)>& plan) {
    const std::uint64_t available = with_headroom(ram_available);
    budget.vram_bytes = std::min(budget.vram_bytes, available);
    Plan made = plan(budget);
    const std::uint64_t left = available - std::min(available, made.vram_bytes());
    if (budget.ram_bytes > left) {
        budget.ram_bytes = std::max<std::uint64_t>(left, 1);  // 0 would mean no limit
        made = plan(budget);
    }
    return made;
}

std::uint64_t ram_demand(const Plan& plan, const DeviceInfo& device, std::uint64_t dense_bytes) {
    const std::uint64_t kept = plan.ram_bytes + (device.kind == DeviceKind::kEmulated ? plan.vram_bytes() : 0);
    return std::max(kept, dense_bytes);
}

std::string memory_note(std::uint64_t demand_bytes, const MemorySize& memory) {
    const auto available = static_cast<std::uint64_t>(std::max<std::int64_t>(0, memory.available_bytes));
    if (demand_bytes <= available / 5 * 4 || demand_bytes > available) return {};
    return "The model takes " + format_bytes(demand_bytes) + " of RAM and " + free_memory_text(memory) +
           " are free: little is left for anything else.";
}

std::string named_limit(const LoadRequest& request, const MemorySize& memory) {
    if (memory.limit.empty() || request.ram_bytes > 0) return {};
    return " Free memory: " + free_memory_text(memory) + ".";
}

Plan plan_under_limit(const LoadRequest& request, const MemorySize& memory, const std::function<Plan()>& plan) {
    try {
        return plan();
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::kOutOfMemory) throw;
        throw Error(error.kind(), error.what() + named_limit(request, memory), error.detail());
    }
}

}  // namespace offstage::engine
