#pragma once
// What a load and its estimate (engine/eval/fit_estimate.h) must agree on.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "engine/device/backend.h"
#include "engine/device/memory_size.h"
#include "engine/model/model_spec.h"
#include "engine/plan/compute_choice.h"
#include "engine/plan/load_request.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

// Largest context that may be asked for: the KV cache's size stays far from the end of 64 bits.
inline constexpr std::int64_t kLargestContext = std::int64_t{1} << 24;

// Throws Error (kInvalidInput) for what no model could be loaded with.
void check_request(const LoadRequest& request);

// Throws Error (kInvalidInput), naming the limit, when the RAM that a person allows is more than is free.
void check_ram_budget(std::uint64_t ram_bytes, const MemorySize& memory);

// How the products of prompts are formed: as the request says, or as is best on this machine.
ComputeChoice choose_compute(const LoadRequest& request, kernels::WeightType weights);

// Of free memory, what a plan may take: the system and other programs go on needing some.
std::uint64_t with_headroom(std::uint64_t available_bytes);

// What the model asks for as the request wants it; the others as demand_of().
ModelDemand demand_of_load(const LoadRequest& request, const ModelSpec& spec, kernels::WeightType type,
                           std::uint64_t dense_bytes, const DeviceInfo& device,
                           const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes);

// An emulated device's memory is the machine's own: what it takes is not there for the host. Lowers the budget
// accordingly; `plan` makes a plan for a budget. ram_available: bytes of the machine that are free.
Plan plan_in_one_memory(Budget& budget, std::uint64_t ram_available, const std::function<Plan(const Budget&)>& plan);

// RAM that a load takes at its most: what the plan keeps there, and an emulated device's memory. All dense weights pass
// through it.
std::uint64_t ram_demand(const Plan& plan, const DeviceInfo& device, std::uint64_t dense_bytes);

// A sentence for the person, to be said before anything is read, where a load takes nearly all that is free (above
// 80 %): the system ends a program that goes beyond a control group's limit. Empty where there is room.
std::string memory_note(std::uint64_t demand_bytes, const MemorySize& memory);

// What a sentence about too little memory ends with: the limit, where there is one that the person did not set with
// the RAM budget.
std::string named_limit(const LoadRequest& request, const MemorySize& memory);
// The plan; its error ends with the limit.
Plan plan_under_limit(const LoadRequest& request, const MemorySize& memory, const std::function<Plan()>& plan);

}  // namespace offstage::engine
