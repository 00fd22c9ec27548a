#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"
#include "engine/message.h"
#include "engine/model/model_spec.h"
#include "engine/model/weights.h"
#include "engine/plan/cost_model.h"
#include "engine/plan/load_request.h"
#include "engine/plan/neuron_thresholds.h"
#include "engine/plan/planner.h"
#include "engine/run/load_planner.h"

namespace offstage::engine {

class CalibrationCache;
class LoadedModel;

// A model whose steps are to be costed: only sizes and formats count.
struct CostedModel {
    const LoadRequest& request;
    const ModelSpec& spec;
    kernels::WeightType master = kernels::WeightType::kBf16;  // of the checkpoint's experts, as they are read
    std::vector<kernels::WeightType> formats;                 // besides the master's: those that plans may choose
    ExpertReads reads{};
};

// The formats besides the master's that a plan of this request may choose, or all;
// including those that the file has besides the first layer's.
std::vector<kernels::WeightType> formats_of(const LoadRequest& request, const ModelDemand& demand, bool all = false);

// The costs of a model's steps on a device: experts in each format, and everything else.
struct ModelCosts {
    CostModel cost;
    bool measured = false;         // now, those of the master's format
    Message not_kept;              // a sentence if measured costs could not be stored
    std::vector<Message> notes{};  // about stored costs that did not hold
};

// Sets the request's thresholds of neurons. thresholds: those measured for the model.
void set_theta(CostModel& cost, const LoadRequest& request, const DeviceInfo& device,
               const NeuronThresholds& thresholds = {});

// Without measuring anything: costs stored for this machine, or derived from a profile.
// Nothing where a part is missing. The disk's are those of known_disk_read().
std::optional<ModelCosts> known_costs(const CostedModel& model, const DeviceInfo& device);

// Unknown costs (`anew`: all) are measured now, with random weights, and stored; also
// stored ones that did not hold (LoadRequest::checks_costs). Throws Error.
ModelCosts measured_costs(const CostedModel& model, Backend& device, CpuOperations& host,
                          const LoadProgressFn& progress, const std::stop_token& stop, bool anew = false);

// Called when a run was far from its forecast: marks the stored costs of this model as
// doubtful, and the disk's if its plan reads experts from there, so that the next load
// measures them again. Returns whether any of them is newly in doubt.
bool doubt_costs(LoadedModel& model);

// Costs of the master's experts measured anew and kept. An emulated device's are
// accounted by it; of these only the CPU's part is kept, where the profile does not have
// it. `not_kept` (may be nullptr): a sentence where they could not be.
CostTable remeasured_table(const CostedModel& model, Backend& device, CpuOperations& host,
                           const LoadProgressFn& progress, const std::stop_token& stop, Message* not_kept);

bool reads_disk(const Plan& plan);  // whether it leaves experts on disk
// Whether the plan leaves experts on disk and the cost of reading one is unknown.
bool lacks_disk_cost(const CostedModel& model, const DeviceInfo& device, const CostModel& cost, const Plan& plan);
// From disk into RAM, for an expert of the master, where no profile has it:
// kept for this machine and this model's folder (empty: synthetic).
std::optional<DiskReadCost> known_disk_read(const CostedModel& model, const std::filesystem::path& folder);
// Like known_disk_read(), or else (`anew`: always) measured now with these weights and
// stored. A stored cost is measured again if it is old, in doubt, or unlike one or two
// reads now (LoadRequest::checks_costs); in the last case the cache gets a note. 0: not
// known.
DiskReadCost disk_read(const CostedModel& model, const std::filesystem::path& folder, WeightSource& source,
                       CpuOperations& host, const CalibrationCache& cache, const std::stop_token& stop,
                       bool anew = false);
// Whether those reads run beside the CPU's work (ExpertStore::reads_ahead()).
bool disk_reads_beside(const CostedModel& model, const DeviceInfo& device);

}  // namespace offstage::engine
