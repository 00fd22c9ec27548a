#pragma once
// Where the tensors of a family lie in GGUF files; for gguf_families.cpp.

#include <cstdint>
#include <vector>

#include "engine/model/families/family.h"

namespace offstage::engine {

// A Family whose tensors have the names of GGUF: ModelSpec::family of a model from such a
// file. What its names differ in.
struct GgufNamedFamily : Family {
    bool interleaved = false;  // rows of q and k pair as neighbours
    const char* ffn_norm = "ffn_norm";
    const char* selection_bias = "exp_probs_b.bias";
    const char* shared_network = "_shexp";  // follows ffn_gate in a layer with experts
};

// Family::parts and Family::expert.
std::vector<TensorPart> gguf_dense_parts(const ModelSpec& spec, const DenseTensor& tensor);
ExpertParts gguf_expert_parts(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);

}  // namespace offstage::engine
