#pragma once
// The names of a family's tensors in GGUF files; for gguf_families.cpp.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/gguf.h"
#include "engine/model/families/family.h"

namespace offstage::engine {

// A tensor of a block, after "blk.N.", or of none: its name in other converters' files and in
// llama.cpp's.
struct GgufOtherName {
    std::string_view theirs;
    std::string_view ours;
};

// A Family whose tensors have the names of GGUF: ModelSpec::family of a model from such a
// file. The fields are the differences between families.
struct GgufNamedFamily : Family {
    bool interleaved = false;  // rows of q and k pair as neighbours
    bool gate_apart = false;   // a head's output gate is attn_gate, and not among attn_q's rows
    const char* ffn_norm = "ffn_norm";
    const char* selection_bias = "exp_probs_b.bias";
    const char* shared_network = "_shexp";  // follows ffn_gate in a layer with experts
    std::span<const GgufOtherName> other_names;
};

// By general.architecture; nullptr: none, or not supported.
const GgufNamedFamily* find_gguf_family(const GgufMetadata& metadata);

// The name here of a tensor in a file. nullptr: it keeps its own.
std::string gguf_tensor_name(const GgufNamedFamily* family, std::string_view in_file);

// Family::parts and Family::expert.
std::vector<TensorPart> gguf_dense_parts(const ModelSpec& spec, const DenseTensor& tensor);
ExpertParts gguf_expert_parts(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);

}  // namespace offstage::engine
