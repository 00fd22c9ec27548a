#pragma once
// A family of models: how its configuration reads, and where its tensors lie in a
// checkpoint. One file each beside this one; families.cpp lists them.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/config_fields.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// A tensor of the checkpoint that is a part of one of ours: its rows follow those of the
// part before.
struct TensorPart {
    std::string name;
    std::vector<std::int64_t> shape;  // as in the checkpoint: (rows, columns), or (values)
    // Of every `block` rows (0: the whole tensor is one block) those from `first` on,
    // `count` of them (0: all).
    std::int64_t block = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    // The last so many rows of each block's choice pair as neighbours for rotary
    // positions (2 i, 2 i + 1), ours as halves (i, i + n / 2): they are reordered.
    std::int64_t interleaved = 0;
    bool transposed = false;  // each block's choice (count, columns) becomes (columns, count)
};

struct Family {
    std::string_view architecture;  // "MixtralForCausalLM"
    std::string_view model_type;    // "mixtral"
    // Throws Error as parse_model_spec() does.
    void (*read)(const ConfigFields& config, ModelSpec& spec);
    // In a checkpoint of safetensors. A network has three parts: gate, up (ffn_dim,
    // hidden_dim each) and down (hidden_dim, ffn_dim).
    std::vector<TensorPart> (*parts)(const ModelSpec& spec, const DenseTensor& tensor);
    // The names of a routed expert's gate, up and down; `layer` counts all layers.
    std::array<std::string, 3> (*expert)(std::int64_t layer, std::int64_t expert);
};

extern const Family kMixtral;
extern const Family kQwen2Moe;
extern const Family kQwen3Moe;
extern const Family kDeepseekMoe;
extern const Family kDeepseekV2;
extern const Family kDeepseekV3;
extern const Family kOlmoe;
extern const Family kGlm4Moe;
extern const Family kMinimaxM2;
extern const Family kPhiMoe;
extern const Family kPhimoe;

std::span<const Family* const> families();

// ---- what most families share: names as transformers gives them
inline std::string layer_prefix(std::int64_t layer) {
    return "model.layers." + std::to_string(layer) + ".";
}
// Norms, embedding, head, grouped-query attention; a router named `router` ("mlp.gate")
// and networks below `network` ("mlp."). Empty: a role that these names do not cover.
std::vector<TensorPart> standard_parts(const ModelSpec& spec, const DenseTensor& tensor, const std::string& router,
                                       const std::string& network);
// mlp.experts.N.gate_proj, up_proj and down_proj.
std::array<std::string, 3> standard_expert(std::int64_t layer, std::int64_t expert);
// block_sparse_moe.experts.N.w1, w3 and w2.
std::array<std::string, 3> mixtral_expert(std::int64_t layer, std::int64_t expert);
// gate_proj, up_proj and down_proj below `prefix`.
std::vector<TensorPart> network_parts(const DenseTensor& tensor, const std::string& prefix);

}  // namespace offstage::engine
