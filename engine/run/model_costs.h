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

// A model whose steps cost something: only sizes and formats count.
struct CostedModel {
    const LoadRequest& request;
    const ModelSpec& spec;
    kernels::WeightType master = kernels::WeightType::kBf16;  // of the checkpoint's experts, as they are read
    std::vector<kernels::WeightType> formats;                 // beside the master's: what plans may choose
    ExpertReads reads{};
};

// The formats beside the master's that a plan of this request may choose, or all that
// there are; with those that the file has beside the first layer's.
std::vector<kernels::WeightType> formats_of(const LoadRequest& request, const ModelDemand& demand, bool all = false);

// What steps of a model cost on a device: experts in each format, and all else.
struct ModelCosts {
    CostModel cost;
    bool measured = false;         // now, those of the master's format
    Message not_kept;              // a sentence where what was measured could not be
    std::vector<Message> notes{};  // of what was kept and did not hold
};

// What the request leaves out of the experts. thresholds: what was measured of the model.
void set_theta(CostModel& cost, const LoadRequest& request, const DeviceInfo& device,
               const NeuronThresholds& thresholds = {});

// Without measuring anything: kept for this machine, or following from a profile. Nothing
// where something is missing. A disk counts as known_disk_read() says.
std::optional<ModelCosts> known_costs(const CostedModel& model, const DeviceInfo& device);

// What is not known (`anew`: everything) is measured now, on random weights, and kept.
// So is what did not hold (LoadRequest::checks_costs). Throws Error.
ModelCosts measured_costs(const CostedModel& model, Backend& device, CpuOperations& host,
                          const LoadProgressFn& progress, const std::stop_token& stop, bool anew = false);

// A run was far from its forecast: what is kept of these costs is in doubt, and the next
// load measures it again. Returns whether any of it was not in doubt yet.
bool doubt_costs(const CostedModel& model, const Backend& device, const CpuOperations& host);

// Costs of the master's experts measured anew and kept. An emulated device's are
// accounted by it; of these only the CPU's part is kept, where the profile does not have
// it. `not_kept` (may be nullptr): a sentence where they could not be.
CostTable remeasured_table(const CostedModel& model, Backend& device, CpuOperations& host,
                           const LoadProgressFn& progress, const std::stop_token& stop, Message* not_kept);

// Whether the plan leaves experts on disk and nobody has said yet what reading one takes.
bool lacks_disk_cost(const CostedModel& model, const DeviceInfo& device, const CostModel& cost, const Plan& plan);
// From disk into RAM, for an expert of the master, where no profile has it:
// kept for this machine and this model's folder (empty: synthetic).
std::optional<DiskReadCost> known_disk_read(const CostedModel& model, const std::filesystem::path& folder);
// The same, else (`anew`: always) measured now on these weights, and kept. 0: not known.
DiskReadCost disk_read(const CostedModel& model, const std::filesystem::path& folder, WeightSource& source,
                       CpuOperations& host, const std::stop_token& stop, bool anew = false);
// Whether those reads run beside the CPU's work (ExpertStore::reads_ahead()).
bool disk_reads_beside(const CostedModel& model, const DeviceInfo& device);

}  // namespace offstage::engine
