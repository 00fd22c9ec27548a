#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/dispatch/device_executors.h"
#include "engine/dispatch/expert_executor.h"
#include "engine/dispatch/host_executor.h"

namespace offstage::engine {

// All executors of a layer's experts: the device with experts that it has, the device
// with copied ones, the CPU, and machines elsewhere. It hands each its part of a
// schedule, and what a machine elsewhere did not deliver to another executor. One thread,
// the engine's.
class ExecutorList {
  public:
    // The referents must outlive this object.
    ExecutorList(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& host, ExpertMover& mover,
                 const CostModel& cost);

    // At most kMostElsewhere; between two steps, as remove_elsewhere(), which removes all
    // that were added.
    void add(std::unique_ptr<ElsewhereExecutor> executor);
    void remove_elsewhere();
    // See ResidentExecutor.
    void set_prefill(bool prefill) { resident_.set_prefill(prefill); }

    bool any_elsewhere() const { return !elsewhere_.empty(); }
    bool any_insists() const;
    ElsewhereCosts costs() const { return costs_; }
    // The machines that can take the expert, as ExpertLoad::elsewhere.
    std::uint32_t takers(std::int64_t layer, std::int64_t expert) const;
    // A machine elsewhere computes the expert, unless it is on the device.
    bool is_preferred(std::int64_t layer, std::int64_t expert) const;
    // Before anything is begun with the experts: those that a machine insists on go
    // there.
    void apply_machine_choice(std::int64_t layer, std::span<Assignment> assignments) const;

    // All executors begin with their groups of work.assignments, except those that were
    // looked up. work.layer, .normalised, .assignments and .rows are set; the outputs of
    // all groups are on the device, or will be before later work, after complete().
    void submit(LayerWork& work);
    void complete(LayerWork& work);

  private:
    void redirect_to_machines(LayerWork& work, std::size_t first);

    const CostModel& cost_;
    ResidentExecutor resident_;
    CopiedExecutor copied_;
    HostExecutor host_;
    std::vector<ExpertExecutor*> executors_;  // by ExecutionTarget
    std::vector<std::unique_ptr<ElsewhereExecutor>> elsewhere_;
    std::vector<const ExecutorCost*> costs_;  // of those elsewhere
};

}  // namespace offstage::engine
