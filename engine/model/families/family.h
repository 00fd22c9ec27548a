#pragma once
// A family of models: reads its configuration and finds its tensors in a checkpoint. Each
// family has a file beside this one; families.cpp lists them.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/checkpoint.h"
#include "engine/model/config_fields.h"
#include "engine/model/dense_tensors.h"
#include "engine/model/model_spec.h"

namespace offstage::engine {

// A tensor of the checkpoint that is a part of one of ours: its rows follow those of the
// part before.
struct TensorPart {
    std::string name;
    std::vector<std::int64_t> shape;  // as in the checkpoint: (rows, columns), or (values)
    // From every `block` rows (0: the whole tensor is one block) those from `first` on,
    // `count` of them (0: all).
    std::int64_t block = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    // The number of last rows of each block's choice (or of first ones, see below) that
    // the file pairs as neighbours for rotary positions (2 i, 2 i + 1). Ours are halves
    // (i, i + n / 2): these rows are reordered.
    std::int64_t interleaved = 0;
    bool transposed = false;  // each block's choice (count, columns) becomes (columns, count)
    // A matrix's weights are multiplied by this tensor's one number, where the file has
    // it.
    std::string scale = {};
    // For a vector: the change of its values.
    enum class Change : std::uint8_t { kNone, kPlusOne, kMinusExp };  // x, 1 + x, -exp(x)
    Change change = Change::kNone;
    bool is_optional = false;        // of a vector: zeros where the checkpoint lacks it
    float factor = 1;                // for a vector's values after that
    bool interleaved_first = false;  // the rows that pair as neighbours are the first ones
    // A vector of integers (I32, I64), each from 0 to below this; 0: of weights.
    std::int64_t integers_below = 0;
};

// A matrix of a routed expert, or one of its biases, as a part of a tensor of the
// checkpoint: the value of neuron j and hidden value h is the element first + j *
// neuron_stride + h * hidden_stride. So a tensor may hold one expert's matrix, transposed
// or not, or those of many, with the rows of gate and up interleaved or below each other.
struct ExpertPart {
    std::string name;
    std::vector<std::int64_t> shape;  // of the whole tensor, as in the checkpoint
    std::int64_t first = 0;
    std::int64_t neuron_stride = 0;
    std::int64_t hidden_stride = 0;
    // MXFP4 as transformers writes it: `name` has the codes as bytes, two in each, and
    // this tensor the exponents of 32 weights each. Elements are counted in weights.
    std::string exponents = {};
    std::vector<std::int64_t> exponents_shape = {};
    // A matrix's weights are multiplied by this tensor's number for the expert, of
    // n_experts, where the file has it.
    std::string scale = {};
};

// Gate, up and down; gate counts if ExpertSpec::has_gate(). Biases if ExpertSpec::biases is
// set: for gate and up one for each neuron, for down one for each hidden value.
struct ExpertParts {
    std::array<ExpertPart, 3> matrices;
    std::array<ExpertPart, 3> biases;
};

struct Family {
    std::string_view architecture;  // "MixtralForCausalLM"
    std::string_view model_type;    // "mixtral"
    // Throws Error as parse_model_spec() does.
    void (*read)(const ConfigFields& config, ModelSpec& spec);
    // In a checkpoint of safetensors. A network's parts: gate, up (ffn_dim, hidden_dim
    // each) and down (hidden_dim, ffn_dim); without a gate two.
    std::vector<TensorPart> (*parts)(const ModelSpec& spec, const DenseTensor& tensor);
    // The place of a routed expert; `layer` counts all layers.
    ExpertParts (*expert)(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);
    // If checkpoints of one family differ: sets ModelSpec::safetensors. nullptr: they do
    // not.
    void (*look)(const Checkpoint& checkpoint, ModelSpec& spec) = nullptr;
};

extern const Family kMixtral;
extern const Family kQwen2Moe;
extern const Family kQwen3Moe;
extern const Family kQwen3Next;
extern const Family kQwen35Moe;
extern const Family kQwen35MoeText;
extern const Family kDeepseekMoe;
extern const Family kDeepseekV2;
extern const Family kDeepseekV3;
extern const Family kOlmoe;
extern const Family kDots1;
extern const Family kErnie45Moe;
extern const Family kExaoneMoe;
extern const Family kBailingMoe2;
extern const Family kSarvamMoe;
extern const Family kSolarOpen;
extern const Family kHunyuanMoe;
extern const Family kHy3;
extern const Family kMistral4;
extern const Family kDeepseekV32;
extern const Family kGlmMoeDsa;
extern const Family kDeepseekV4;
extern const Family kMinimaxM3;
extern const Family kMinimaxM3Text;
extern const Family kGlm4Moe;
extern const Family kGlm4MoeLite;
extern const Family kMinimaxM2;
extern const Family kPhiMoe;
extern const Family kPhimoe;
extern const Family kDbrx;
extern const Family kGraniteMoe;
extern const Family kGraniteMoeShared;
extern const Family kGraniteMoeHybrid;
extern const Family kLfm2Moe;
extern const Family kNemotronH;
extern const Family kAfmoe;
extern const Family kGlm4vMoe;
extern const Family kQwen3VlMoe;
extern const Family kLlama4;
extern const Family kLlama4Text;
extern const Family kStep35;
extern const Family kStep37;
extern const Family kKimiK25;
extern const Family kKimi25;
extern const Family kMistral3;
extern const Family kMimoV2Flash;
extern const Family kMimoV2;
extern const Family kGemma4;
extern const Family kGemma4Text;
extern const Family kGptOss;
extern const Family kGptOssMxfp4;  // kGptOss turns into it

std::span<const Family* const> families();

// For a class or model type of config.json, or an architecture of GGUF, that is not among
// families(): throws Error (kUnsupported) with what it needs, if that is known.
void refuse_by_name(const std::string& source, std::string_view name);

// The number of a layer's experts in separate tensors: all of them, or 1 if each tensor
// holds a matrix of every expert. Code that looks up tensors looks up those.
std::int64_t experts_apart(const ModelSpec& spec, std::int64_t layer);

// Family::parts(), but that the embedding may be the head (SafetensorsVariant).
std::vector<TensorPart> parts_in_checkpoint(const ModelSpec& spec, const DenseTensor& tensor);

// ---- what most families share: names as transformers gives them
inline std::string layer_prefix(std::int64_t layer) {
    return "model.layers." + std::to_string(layer) + ".";
}
// Norms, embedding, head, grouped-query attention; a router named `router` ("mlp.gate")
// and networks below `network` ("mlp."). Empty: a role that these names do not cover.
std::vector<TensorPart> standard_parts(const ModelSpec& spec, const DenseTensor& tensor, const std::string& router,
                                       const std::string& network);
// Queries, or the gates of a head's output, where a head has the rows of both: first
// those.
TensorPart query_or_gate(std::string name, const GroupedQuerySpec& attention, std::int64_t n_cols, bool gate);
// What one tensor has together for each key head of a delta net: `projections` the rows of
// query, key, values and output gate, `rates` those of beta and decay. Empty: another role.
std::vector<TensorPart> parts_by_key_head(const DeltaNetSpec& delta_net, const DenseTensor& tensor,
                                          const std::string& projections, const std::string& rates);
// Mamba-2's projections where one tensor has the rows of z, x, B, C and dt. Empty: another
// role.
std::vector<TensorPart> mamba2_projections(const Mamba2Spec& mamba, const DenseTensor& tensor, const std::string& name);
// All of a Mamba-2 layer but its norm, below `prefix`. Empty: another role.
std::vector<TensorPart> mamba2_parts(const Mamba2Spec& mamba, const DenseTensor& tensor, const std::string& prefix);
// Its sizes; Granite 4's keys, and what they default to.
struct Mamba2Keys {
    const char* groups = "mamba_n_groups";
    std::int64_t n_groups = 1;
    const char* heads = "mamba_n_heads";
    const char* head_dim = "mamba_d_head";
    const char* state = "mamba_d_state";
    std::int64_t state_dim = 256;
    const char* kernel = "mamba_d_conv";
};
Mamba2Spec read_mamba2(const ConfigFields& config, const ModelSpec& spec, const RopeSpec& rope, const Mamba2Keys& keys);
// DeepSeek's models: latent attention, groups of experts, shared experts, leading dense
// layers. What the configuration may leave out, here mostly as V3's derivatives have it:
struct DeepseekDefaults {
    bool latent = true;
    bool is_v3 = true;            // weights are renormalised and scaled
    bool may_be_halves = true;    // rope_interleave counts
    bool lists_networks = false;  // mlp_layer_types counts
    const char* choice = "noaux_tc";
    const char* scoring = "sigmoid";
    kernels::GroupScore group_score = kernels::GroupScore::kLargest;  // without a bias for the choice
    double eps = 1e-6;
    std::int64_t query_rank = 1536, latent_dim = 512, nope_dim = 128, value_dim = 128;
    std::int64_t n_experts = 256, n_active = 8, n_shared = 1, n_groups = 1, n_groups_used = 1;
    std::int64_t ffn_dim = 2048, dense_dim = 12288, n_dense = 0;
    double scale = 1;
};
inline constexpr DeepseekDefaults kDeepseekV3Defaults = {
    .n_groups = 8, .n_groups_used = 4, .dense_dim = 18432, .n_dense = 3, .scale = 2.5};
void read_deepseek(const ConfigFields& config, ModelSpec& spec, const DeepseekDefaults& defaults);
std::vector<TensorPart> deepseek_parts(const ModelSpec& spec, const DenseTensor& tensor);
// An indexer's tensors below `prefix`, which are weights but for the bias of the key's
// norm. Empty: another role.
struct IndexerNames {
    const char* query = "";
    const char* query_norm = "";
    const char* key = "";
    const char* key_norm = "";
    const char* weights = "";
};
std::vector<TensorPart> indexer_parts(const IndexerSpec& indexer, std::int64_t rotary_dim, const DenseTensor& tensor,
                                      const std::string& prefix, const IndexerNames& names);
// mlp.experts.N.gate_proj, up_proj and down_proj, or fused below mlp.experts.
ExpertParts standard_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);
// block_sparse_moe.experts.N.w1, w3 and w2, or fused below mlp.experts.
ExpertParts mixtral_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);
// PREFIXgate_up_proj has every expert's gate and, after it, up; PREFIXdown_proj every
// expert's down.
ExpertParts fused_expert(const ModelSpec& spec, const std::string& prefix, std::int64_t expert);
// The same with inputs before outputs: gate_up_proj (n_experts, hidden_dim, 2 * ffn_dim),
// down_proj (n_experts, ffn_dim, hidden_dim).
ExpertParts transposed_expert(const ModelSpec& spec, const std::string& prefix, std::int64_t expert);
// Finds whether a checkpoint has fused experts; to be called by `look`, after
// look_for_language_model().
void look_for_fused_experts(const Checkpoint& checkpoint, ModelSpec& spec);
// gate_proj (if there is one), up_proj and down_proj below `prefix`.
std::vector<TensorPart> network_parts(const DenseTensor& tensor, const std::string& prefix);
// Qwen3.5's text model, which Qwen3-Next has in most parts, too.
void read_qwen35_text(const ConfigFields& config, ModelSpec& spec);
std::vector<TensorPart> qwen35_text_parts(const ModelSpec& spec, const DenseTensor& tensor);
// GLM-4.5's layers, which dots.llm1, EXAONE, Ling 2 and others have, too: dense ones,
// then sigmoid scores with a bias for the choice, and shared experts. What the
// configuration may leave out:
struct Glm4Defaults {
    std::int64_t n_active = 8;
    bool renormalise = true;
    std::int64_t n_shared = 1;
    std::int64_t n_dense = 1;
    const char* shared_key = "n_shared_experts";
    const char* scale_key = "routed_scaling_factor";
    double scale = 1;
    const char* dense_key = "first_k_dense_replace";
    const char* renormalise_key = "norm_topk_prob";
};
void read_glm4_layers(const ConfigFields& config, ModelSpec& spec, const GroupedQuerySpec& attention,
                      const Glm4Defaults& defaults);
std::vector<TensorPart> glm4_parts(const ModelSpec& spec, const DenseTensor& tensor);
// Granite-MoE, of which Granite 4 has all but some layers' attention.
void read_granite(const ConfigFields& config, ModelSpec& spec);
std::vector<TensorPart> granite_parts(const ModelSpec& spec, const DenseTensor& tensor);
ExpertParts granite_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);
// A tensor for each matrix: gate, up (ffn_dim, hidden_dim) and down (hidden_dim,
// ffn_dim).
ExpertParts separate_expert(const ModelSpec& spec, const std::array<std::string, 3>& names);
// For each layer whether a list has its number, or a one or true in its place; nothing:
// there is no list.
std::optional<std::vector<bool>> listed_layers(const ConfigFields& config, const char* key, std::int64_t n_layers);
std::optional<std::vector<bool>> marked_layers(const ConfigFields& config, const char* key, std::int64_t n_layers);
// DeepSeek-V3's router under its usual keys: sigmoid scores, a bias for the choice, groups
// by their two best, one group unless given.
void read_biased_router(const ConfigFields& config, MoeSpec& moe);
// rope_parameters with an object for each kind of layers: into `own` that of layers with
// a window, or of the others. False: there are none.
bool take_rope_of_kind(const ConfigFields& config, bool windowed, nlohmann::json& own);
// For a model that may be the language model of a larger one. Its configuration is then
// text_config, which `read` gets.
void read_language_model(const ConfigFields& config, ModelSpec& spec,
                         void (*read)(const ConfigFields& config, ModelSpec& spec));
// Its tensors are then below model.language_model, or all below language_model; `look`
// must call this.
void look_for_language_model(const Checkpoint& checkpoint, ModelSpec& spec);
void look_for_fused_language_model(const Checkpoint& checkpoint, ModelSpec& spec);  // and look_for_fused_experts()
// standard_expert() there.
ExpertParts language_model_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert);
// If so, model.NAME becomes model.language_model.NAME, or language_model.model.NAME.
void name_in_language_model(const ModelSpec& spec, std::string& name);
std::vector<TensorPart> in_language_model(const ModelSpec& spec, std::vector<TensorPart> parts);
ExpertParts in_language_model(const ModelSpec& spec, ExpertParts parts);

}  // namespace offstage::engine
