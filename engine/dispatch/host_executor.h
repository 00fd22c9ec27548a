#pragma once

#include <vector>

#include "engine/device/cpu_operations.h"
#include "engine/dispatch/expert_executor.h"
#include "engine/experts/expert_store.h"

namespace offstage::engine {

// ExecutionTarget::kCpu: this machine's CPU, with experts in RAM, and with those from
// disk as they come. It computes in complete(), while the others work.
class HostExecutor final : public ExpertExecutor {
  public:
    // The referents must outlive this object.
    HostExecutor(const ExpertGrid& grid, ExpertStore& experts, Backend& device, CpuOperations& operations)
        : grid_(grid), experts_(experts), device_(device), operations_(operations) {}
    void submit(LayerWork& /*work*/, std::span<const std::size_t> /*groups*/) override {}
    void complete(LayerWork& work, std::span<const std::size_t> groups) override;
    bool needs_host_inputs() const override { return true; }

  private:
    void add_call(const LayerWork& work, const RowGroup& group);
    void run_calls(LayerWork& work, const float* inputs);
    void compute_in_turn(LayerWork& work, const float* inputs);
    void compute_as_they_come(LayerWork& work, const float* inputs);

    const ExpertGrid& grid_;
    ExpertStore& experts_;
    Backend& device_;
    CpuOperations& operations_;
    std::vector<ExpertCall> calls_;
    std::vector<HostWork> amounts_;
    std::vector<std::size_t> in_ram_;     // groups
    std::vector<std::size_t> on_disk_;    // groups that are still to be computed
    std::vector<std::size_t> computing_;  // experts in slots, indices in the store
};

}  // namespace offstage::engine
