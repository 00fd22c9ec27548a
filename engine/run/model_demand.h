#pragma once

#include <cstdint>
#include <functional>

#include "engine/device/backend.h"
#include "engine/model/model_spec.h"
#include "engine/plan/planner.h"

namespace offstage::engine {

// Largest context that is taken unless the person asks for another, in tokens.
inline constexpr std::int64_t kDefaultContextLimit = 32768;

// Steps of so many tokens are what demand_of() asks scratch_bytes for, ascending.
inline constexpr std::int64_t kSampledSteps[] = {1, 2, 4, 8, 9, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096};

// What a model asks of a device. `dense_bytes`: of the dense weights (0: counted from the spec, norms and routers in
// float32, the rest as the experts). `scratch_bytes`: Backend::scratch_bytes for steps of n tokens; may be empty.
ModelDemand demand_of(const ModelSpec& spec, kernels::WeightType type, std::uint64_t dense_bytes,
                      const DeviceInfo& device, kernels::KvType kv,
                      const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes);

}  // namespace offstage::engine
