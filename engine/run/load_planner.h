#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/memory_size.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/plan/load_request.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

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
// The inputs of a plan for a load.
struct LoadInputs {
    const ModelSpec& spec;
    kernels::WeightType type = kernels::WeightType::kBf16;  // of the checkpoint's experts, as they are read
    std::uint64_t dense_bytes = 0;                          // the dense weights as they are read
    DeviceInfo device;
    std::function<std::uint64_t(const Backend::StepShape&)> scratch_bytes{};  // Backend's; empty: none
    MemorySize memory{};           // of the machine, before the load takes any
    std::uint64_t vram_bytes = 0;  // the budgets that the arenas get
    std::uint64_t ram_bytes = 0;
    std::int64_t advised_context = 0;  // ModelDefaults::context

    bool shares_host_memory() const { return device.kind == DeviceKind::kCpu; }
};

bool reads_disk(const Plan& plan);  // whether it leaves experts on disk
// Whether the plan leaves experts on disk, and the costs lack the time of reading one.
bool lacks_disk_cost(const LoadRequest& request, const DeviceInfo& device, const CostModel& cost, const Plan& plan);
// Whether those reads run beside the CPU's work (ExpertStore::reads_ahead()).
bool disk_reads_beside(const ExpertReads& reads, const DeviceInfo& device);

// Where a plan's costs come from. It is the only difference between a load, its estimate
// and its report: a cost that is not stored on this computer is measured, or it stays
// unknown.
struct CostSource {
    // The costs of the model's steps; nothing: they stay unknown. Called with the plan
    // without costs, after that plan fits.
    std::function<std::optional<CostModel>(const Plan& plan)> costs;
    // The cost of reading an expert from the disk; a time of 0: unknown. Called if a plan
    // needs it.
    std::function<DiskReadCost()> disk;
};

// The only planner of loads: a load, its estimate, its report and forecasts for other
// machines all use it, so that they agree with the load. The spec must outlive it. Any
// thread.
class LoadPlanner {
  public:
    LoadPlanner(const LoadRequest& request, const LoadInputs& inputs);

    const ModelDemand& demand() const { return demand_; }
    const ExpertReads& reads() const { return reads_; }
    const ExpertFormats& expert_formats() const { return expert_formats_; }
    const Budget& budget() const { return asked_; }  // as requested

    // For reports: if this machine cannot emulate the device beside the RAM that the
    // request names, the plan is for a machine that has both memories.
    void may_plan_for_another_machine() { may_be_elsewhere_ = true; }

    // RAM that the dense weights take at once, in the checkpoint's format, before the
    // device has its copy.
    std::uint64_t dense_peak_bytes() const { return dense_peak_bytes_; }

    // Makes a plan, always in this order: a plan without costs, which fails before
    // anything is measured if it does not fit; the costs; what the request leaves out; with
    // a floor of quality the plan by costs; the disk's cost, and the plan by that; and what
    // the plan leaves out. `inputs` holds popularity, sensitivity and thresholds; this
    // function fills in everything else. If costs stay unknown, all experts get the
    // smallest format that the floor of quality allows. Throws Error as make_plan() does,
    // with the limit named; kOutOfMemory also if the dense weights exceed the RAM budget
    // while they are loaded. An emulated device's memory is part of the machine's, so the
    // host cannot use it: Plan::budget is reduced by it.
    Plan plan(PlanInputs& inputs, const CostSource& source);
    // One plan by these inputs, whose demand is demand(). Throws Error as above.
    Plan plan(const PlanInputs& inputs);

    // A sentence for the user, to be shown before anything is read, where a load takes
    // nearly all free memory (above 80 %): the system ends a program that exceeds a
    // control group's limit. Empty where there is room, and for a dry run. The peak
    // counts: dense weights pass through RAM, and an emulated device's memory is RAM too.
    Message memory_note(const Plan& plan) const;
    // Names the matrices that keep their format although fewer bits were requested, and
    // says whether the plan is for another machine.
    Message note() const;

  private:
    Plan plan_assumed(const PlanInputs& inputs) const;
    Plan plan_here(const PlanInputs& inputs, const Budget& asked) const;
    Plan plan_within(const PlanInputs& inputs, Budget budget) const;
    void note_context_cost(const PlanInputs& inputs, Plan& plan) const;

    const LoadRequest request_;
    const LoadInputs load_;
    ExpertReads reads_;
    ModelDemand demand_;
    ExpertFormats expert_formats_;
    Budget asked_;
    std::uint64_t dense_peak_bytes_ = 0;
    bool may_be_elsewhere_ = false, is_elsewhere_ = false;
    Message dense_note_;
};

}  // namespace offstage::engine
