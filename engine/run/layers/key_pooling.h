#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/kv_layout.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// Makes the pooled keys of a layer's attention, or of its indexer (PooledSpec).
class KeyPooling {
  public:
    // key_dim: of the layer's keys, or of its indexer's. rotation: of pooled keys.
    KeyPooling(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer, const KvLayout& layout,
               std::size_t rotation, bool of_indexer);
    // Floats of workspace for one token.
    static std::int64_t workspace(const PooledSpec& spec, std::int64_t key_dim);

    // Of StepContext::normalised.
    void run(const StepContext& step, WorkspacePieces& pieces) const;

  private:
    const KvLayout::Place sources_;
    const KvLayout::Place pooled_;
    const std::size_t rotation_;
    const kernels::WeightView values_;
    const kernels::WeightView scores_;
    ops::PoolKeys op_;  // but for what a step has
};

}  // namespace offstage::engine
