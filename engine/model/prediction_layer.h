#pragma once
// The layer behind a model's last one that predicts further tokens (multi-token
// prediction, MTP; in GGUF nextn): DeepSeek-V3's report, section 2.2. For token t + 1 and
// the model's state behind token t it has a state and logits like the model's, of token
// t + 2; with its own state in the place of the model's it is run again for t + 3.
//
//   x = W [norm(embedding of token t + 1); norm(state)]
//   a decoder layer of the family's, with keys and values of its own
//   state = norm(x), logits = head(state)
//
// Embedding and head are the model's. A model's state is that behind its final norm, and
// so is the layer's own: llama.cpp (src/models/glm4-moe.cpp, deepseek2.cpp,
// qwen3next.cpp, qwen35moe.cpp: h_nextn), which also has the order of the two halves.
//
// Such a layer is here a model of one layer (ModelSpec::predicts), so that loading,
// placing and computing are the same. Files may have several; the first is used.

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/model/checkpoint.h"
#include "engine/model/families/family.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// Its sequences have no more tokens.
inline constexpr std::int64_t kMostPredictionContext = 16384;

// The tensors of the model's first such layer, named as those of a model's layer 0;
// nullptr: the files have none, or the family's are not known here. Throws Error
// (kUnsupported) for blocks across the two halves. `whole` must outlive the result.
std::unique_ptr<Checkpoint> prediction_tensors(const Checkpoint& whole, const ModelSpec& model);
ModelSpec prediction_spec(const ModelSpec& model);

// Family::parts for the roles that only such a layer has.
std::vector<TensorPart> prediction_parts(const ModelSpec& spec, const DenseTensor& tensor);

}  // namespace offstage::engine
