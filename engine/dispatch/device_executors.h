#pragma once

#include "engine/dispatch/expert_executor.h"
#include "engine/experts/expert_mover.h"

namespace offstage::engine {

// ExecutionTarget::kResident: experts whose weights are on the device.
class ResidentExecutor final : public ExpertExecutor {
  public:
    // The referents must outlive this object.
    ResidentExecutor(Backend& device, ExpertMover& mover) : device_(device), mover_(mover) {}
    // `prefill`: compute experts that were copied early first, to free their slots for
    // waiting copies.
    void set_prefill(bool prefill) { prefill_ = prefill; }
    void submit(LayerWork& work, std::span<const std::size_t> groups) override;

  private:
    Backend& device_;
    ExpertMover& mover_;
    bool prefill_ = false;
    std::vector<ExpertCall> calls_;
};

// ExecutionTarget::kCopy: experts that are copied to the device, each computed when its
// copy is whole.
class CopiedExecutor final : public ExpertExecutor {
  public:
    // The referents must outlive this object.
    CopiedExecutor(Backend& device, ExpertMover& mover) : device_(device), mover_(mover) {}
    void submit(LayerWork& work, std::span<const std::size_t> groups) override;
    bool needs_host_inputs() const override { return mover_.copier().copies_sparse(); }

  private:
    Backend& device_;
    ExpertMover& mover_;
};

}  // namespace offstage::engine
