#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/memory_size.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/plan/load_request.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

struct PredictionLayer;

// Largest context that a request may set: the KV cache's size stays far from the end of
// 64 bits.
inline constexpr std::int64_t kLargestContext = std::int64_t{1} << 24;
// Largest context unless the user sets another, in tokens.
inline constexpr std::int64_t kDefaultContextLimit = 32768;
// Step sizes in tokens for which a planner queries scratch_bytes, ascending.
inline constexpr std::int64_t kSampledSteps[] = {1, 2, 4, 8, 9, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};

// Throws Error (kInvalidInput) for what no model could be loaded with.
void check_request(const LoadRequest& request);
// What a model of this trained context, in tokens, is opened with all the same.
std::vector<Message> request_notes(const LoadRequest& request, std::int64_t max_context);
// Throws Error (kInvalidInput) unless LoadRequest::theta may be this: 0 .. kLargestTheta.
inline constexpr double kLargestTheta = 1e6;
void check_theta(double theta);
// LoadRequest::theta_loss may be up to this.
inline constexpr double kLargestThetaLoss = 100;
void check_theta_loss(double loss);  // above 0
// LoadRequest::kept_context and ReplanRequest's. Throws Error (kInvalidInput).
void check_kept_context(std::int64_t tokens);
// "cpu" also where no device is named.
bool runs_on_cpu(const LoadRequest& request);

// Throws Error (kInvalidInput), naming the limit, when the user's RAM budget is larger
// than the free RAM.
void check_ram_budget(std::uint64_t ram_bytes, const MemorySize& memory);
// The RAM that a load may take: the request's budget, or else the free RAM without a
// reserve for the system and other programs. A dry run takes none.
std::uint64_t ram_budget(const LoadRequest& request, const MemorySize& memory);

// How experts on disk are read into RAM. Neither: nothing is read, or each read goes
// through the system's cache, which has no room for all experts.
struct ExpertReads {
    bool directly = false;    // past the system's cache
    bool from_cache = false;  // from that cache, except for the first time
};
// The reads for LoadRequest::disk_reads. `master`: WeightSource::expert_type(). `memory`:
// before the load takes any.
ExpertReads expert_reads(const LoadRequest& request, const ExpertGrid& grid, kernels::WeightType master,
                         const MemorySize& memory);

// Bytes of the dense weights, norms and routers that are stored separately, in float32,
// and not in an arena while they are in RAM.
std::uint64_t dense_vector_bytes(const ModelSpec& spec);

// What a load of this request asks of plans: fills in the demand, the policies and the
// limits of inputs that have their master, device, memory and the arenas' budgets
// (PlanInputs::asked). dense_bytes: of the dense weights as they are read. scratch_bytes:
// Backend's; empty: none. advised_context: ModelDefaults::context. prediction: of
// LayerDrafter; nullptr: none.
void describe_load(PlanInputs& inputs, const LoadRequest& request, const ModelSpec& spec, std::uint64_t dense_bytes,
                   const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes,
                   std::int64_t advised_context = 0, const PredictionLayer* prediction = nullptr);

// Makes the plan of a load; the load, its estimate, its report and forecasts for other
// machines all do it here, so that they agree. Always in this order: a plan without
// costs, which fails before anything is measured if it does not fit; the costs; what the
// request leaves out; with a floor of quality the plan by costs; the disk's cost, and the
// plan by that; and what the plan leaves out. Where the costs come from is the only
// difference between the callers: what is not kept on this computer is measured, or stays
// unknown. costs: of the model's steps, called with the plan without costs; nothing:
// unknown, and all experts get the smallest format that the floor of quality allows.
// disk: of reading an expert, called if a plan needs it; a time of 0: unknown. Throws
// Error as make_plan() does, with the limit named; kOutOfMemory also if the dense weights
// exceed the RAM budget while they are loaded. An emulated device's memory is part of the
// machine's, so the host cannot use it: Plan::budget is reduced by it. Any thread.
Plan plan_load(PlanInputs& inputs, const ExpertGrid& grid,
               const std::function<std::optional<CostModel>(const Plan& first)>& costs,
               const std::function<DiskReadCost()>& disk);
// One plan by these inputs, and what was asked. Throws Error as above.
Plan plan_load(PlanInputs& inputs);

// A sentence for the user, to be shown before anything is read, where a load takes
// nearly all free memory (above 80 %): the system ends a program that exceeds a
// control group's limit. Empty where there is room, and for a dry run. The peak
// counts: dense weights pass through RAM, and an emulated device's memory is RAM too.
Message memory_note(const PlanInputs& inputs, const Plan& plan);
// Names the matrices that keep their format although fewer bits were requested, and
// says whether the plan is for another machine.
Message load_note(const PlanInputs& inputs, const LoadRequest& request, const ModelSpec& spec);
// The formats that the experts are in, and may get.
ExpertFormats expert_formats_of(const PlanInputs& inputs, const ModelSpec& spec);

}  // namespace offstage::engine
