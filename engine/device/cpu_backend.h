#pragma once

#include <memory>

#include "engine/device/backend.h"
#include "engine/device/cpu_operations.h"

namespace offstage::engine {

// The host as a device: its memory is the host's, its operations run on the compute pool and are done when they return.
class CpuBackend final : public Backend {
  public:
    // The pool must outlive the backend. `budget_bytes`: of memory().
    CpuBackend(kernels::ThreadPool& pool, kernels::GemmMode mode, std::uint64_t budget_bytes);
    ~CpuBackend() override;
    // ... every operation of Backend

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace offstage::engine
