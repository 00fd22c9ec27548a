#include "engine/run/model_demand.h"

#include <algorithm>

#include "engine/model/weights.h"
#include "engine/run/device_weights.h"
#include "engine/run/forward.h"
#include "engine/run/kv_pool.h"

namespace offstage::engine {

ModelDemand demand_of(const ModelSpec& spec, kernels::WeightType type, std::uint64_t dense_bytes,
                      const DeviceInfo& device, kernels::KvType kv,
                      const std::function<std::uint64_t(const Backend::StepShape&)>& scratch_bytes) {
    const ExpertGrid& grid = spec.experts;
    if (dense_bytes == 0) dense_bytes = dense_bytes_in(spec, type);
    ModelDemand demand;
    demand.hidden_dim = grid.hidden_dim;
    demand.n_layers = grid.n_layers;
    demand.n_experts = grid.n_experts;
    demand.n_active = grid.n_active;
    demand.expert_bytes = (grid.expert_bytes(type) + 255) / 256 * 256;
    const auto add = [&](kernels::WeightType format) {
        demand.formats.push_back({format, (grid.expert_bytes(format) + 255) / 256 * 256,
                                  8.0 * static_cast<double>(kernels::row_bytes(format, grid.hidden_dim)) /
                                      static_cast<double>(grid.hidden_dim)});
    };
    add(type);
    for (const kernels::FormatTraits& format : kernels::kFormats) {
        // A copy in no fewer bits than the master's says nothing more.
        if (!format.for_experts || format.bits >= kernels::traits_of(type).bits) continue;
        if (!format.is_packed() || grid.hidden_dim % kernels::kPackedBlock == 0) add(format.type);
    }
    demand.dense_bytes = DeviceWeights::device_bytes(spec, dense_bytes);
    demand.dense_read_bytes = dense_bytes_read(spec, dense_bytes, type);
    demand.kv_bytes_per_token = static_cast<std::uint64_t>(spec.kv_shape(kv).token_bytes());
    demand.max_context = std::min(spec.max_context, kDefaultContextLimit);
    demand.shares_host_memory = device.kind == DeviceKind::kCpu;

    const std::int64_t context = spec.max_context;
    // The line of the largest steps' slope that no step passes.
    std::uint64_t scratch_fixed = 0;
    std::uint64_t scratch_slope = 0;
    if (scratch_bytes) {
        const auto at = [&](std::int64_t n) { return scratch_bytes(Forward::step_shape(spec, type, n, context)); };
        const std::uint64_t small = at(512), large = at(4096);
        scratch_slope = (std::max(small, large) - small) / (4096 - 512) + 1;
        for (const std::int64_t n : kSampledSteps) {
            const std::uint64_t along = scratch_slope * static_cast<std::uint64_t>(n);
            scratch_fixed = std::max(scratch_fixed, std::max(at(n), along) - along);
        }
    }
    // The KV pool's spare blocks count as workspace.
    demand.workspace_fixed_bytes =
        Forward::workspace_bytes(spec, context) + scratch_fixed +
        static_cast<std::uint64_t>(KvPool::kSpareBlocks * kernels::kKvBlockTokens) * demand.kv_bytes_per_token;
    demand.workspace_bytes_per_token = Forward::workspace_bytes_per_token(spec) + scratch_slope;
    return demand;
}

}  // namespace offstage::engine
