#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/model/kv_layout.h"
#include "engine/run/device_weights.h"
#include "engine/run/layers/key_pooling.h"
#include "engine/run/layers/step_context.h"

namespace offstage::engine {

// The indexer of one layer (IndexerSpec), with its keys where the layout has them.
class Indexer {
  public:
    // The layer must have an indexer of its own. pooled_rotation: if its keys are pooled.
    Indexer(const ModelSpec& spec, const DeviceWeights& weights, std::int64_t layer, const KvLayout& layout,
            std::size_t rotation, std::size_t pooled_rotation);
    // Floats of workspace for one token.
    static std::int64_t workspace(const IndexerSpec& indexer);

    // Stores the step's keys. Where a row sees more keys than it may attend to, the
    // choice goes to StepContext::chosen; otherwise nothing else is computed.
    // query_input: a row for each token; the keys' input is StepContext::normalised.
    void run(const StepContext& step, const float* query_input, WorkspacePieces& pieces) const;

  private:
    void store_key(const StepContext& step, float* queries, WorkspacePieces& pieces) const;

    const KvLayout::Place place_;
    const std::size_t rotation_;
    const kernels::AttentionShape shape_;
    const kernels::WeightView query_;
    const kernels::WeightView key_;
    const kernels::WeightView weights_;  // without data: each head chooses
    NormWeights query_norm_;             // without a dimension: there is none
    NormWeights key_norm_;
    std::optional<KeyPooling> pooling_;
};

}  // namespace offstage::engine
