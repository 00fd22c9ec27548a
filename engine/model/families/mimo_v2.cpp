// MiMo-V2-Flash (transformers: models/mimo_v2_flash): most layers have a window and
// sinks, and differ from the others in KV heads and rotary positions; values are smaller
// than keys and are scaled; sigmoid scores with a bias, no shared experts. The prediction
// layers are left out. MiMo-V2.5 has queries, keys and values of each of 4 or 8 machines,
// one below the other, in one matrix.

#include <algorithm>

#include "engine/error.h"
#include "engine/json.h"
#include "engine/model/checkpoint.h"
#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/model/quantized_tensor.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

using nlohmann::json;

// The keys of heads and positions of layers with a window, or of the others: the
// published configuration has swa_KEY beside KEY, transformers 5 rope_parameters of both.
json keys_of_mimo(const ConfigFields& config, bool windowed) {
    json own = {{"head_dim", 192u}, {"num_key_value_heads", windowed ? 8u : 4u}};
    if (config.has_value("num_key_value_heads")) {
        const std::int64_t n = config.count("num_key_value_heads", 1, std::int64_t{1} << 16);
        own["num_key_value_heads"] = windowed ? 2 * static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
    }
    for (const char* const key : {"num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim", "rope_theta",
                                  "partial_rotary_factor", "rotary_dim", "rope_scaling", "max_position_embeddings"}) {
        const std::string in_window = std::string("swa_") + key;
        if (windowed && config.has_value(in_window.c_str())) {
            own[key] = *config.find(in_window.c_str());
        } else if (config.has_value(key) && std::string_view(key) != "num_key_value_heads") {
            own[key] = *config.find(key);
        }
    }
    take_rope_of_kind(config, windowed, own);
    return own;
}

GroupedQuerySpec read_mimo_attention(const ConfigFields& config, const ModelSpec& spec, bool windowed) {
    const json own = keys_of_mimo(config, windowed);
    const ConfigFields fields(own, config.source(), config.names());
    GroupedQuerySpec attention = fields.grouped_query(spec, 4, windowed ? 1e4 : 5e6, 0.334);
    attention.value_dim = fields.count("v_head_dim", 1, kMostHeadDim, 128);
    attention.qkv_bias = config.flag("attention_bias", false);
    attention.value_scale = static_cast<float>(
        config.is_null("attention_value_scale") ? 1.0 : config.positive("attention_value_scale", 0.707));
    attention.sinks = config.flag(windowed ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias", windowed);
    if (!windowed) return attention;
    // transformers counts the token itself in one of them.
    attention.window = config.has_value("sliding_window_size")
                           ? config.count("sliding_window_size", 1, kLongestContext - 1) + 1
                           : config.count("sliding_window", 1, kLongestContext, 129);
    return attention;
}

MoeSpec read_mimo_moe(const ConfigFields& config, ModelSpec& spec) {
    MoeSpec moe = config.experts(spec, config.dim("moe_intermediate_size", 2048),
                                 {"num_local_experts", "n_routed_experts"}, 256, 8);
    config.expect("scoring_func", "sigmoid");
    config.expect("topk_method", "noaux_tc");
    read_biased_router(config, moe);
    if (config.optional_dim("n_shared_experts", 0) > 0) {
        config.unsupported("n_shared_experts", describe(*config.find("n_shared_experts")), "null");
    }
    return moe;
}

void read_mimo_v2(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, {});
    spec.norm.eps = config.eps(config.has("layernorm_epsilon") ? "layernorm_epsilon" : "rms_norm_eps", 1e-5);
    const MoeSpec moe = read_mimo_moe(config, spec);
    const auto marked = marked_layers(config, "hybrid_layer_pattern", spec.n_layers());
    const auto listed = config.windowed_layers(spec.layers.size());
    const auto with_experts = marked_layers(config, "moe_layer_freq", spec.n_layers());
    const auto dense = config.layers_of_type("mlp_layer_types", "dense", "sparse", spec.layers.size());
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        const bool windowed = marked ? (*marked)[l] : listed ? (*listed)[l] : l > 0 && (l + 1) % 6 != 0;
        const bool is_dense = with_experts ? !(*with_experts)[l] : dense ? (*dense)[l] : l == 0;
        spec.layers[l].attention = read_mimo_attention(config, spec, windowed);
        if (is_dense) {
            spec.layers[l].ffn = DenseFfnSpec{config.dim("intermediate_size", 16384)};
        } else {
            spec.layers[l].ffn = moe;
        }
    }
}

std::vector<TensorPart> mimo_v2_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    if (tensor.role == TensorRole::kSinks) {
        return {{layer_prefix(tensor.layer) + "self_attn.attention_sink_bias", {tensor.n_cols}}};
    }
    return glm4_parts(spec, tensor);
}

std::string mimo_qkv(std::int64_t layer) {
    return layer_prefix(layer) + "self_attn.qkv_proj.weight";
}

// A share has the queries of its heads, then their keys, then their values.
template <std::int64_t kShares>
std::vector<TensorPart> mimo_v25_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    std::vector<TensorPart> parts = mimo_v2_parts(spec, tensor);
    if (tensor.role != TensorRole::kQkv) return parts;
    std::int64_t first = 0;
    for (TensorPart& part : parts) {
        const std::int64_t count = part.shape.front() / kShares;
        part = {mimo_qkv(tensor.layer), {tensor.n_rows, tensor.n_cols}, tensor.n_rows / kShares, first, count};
        first += count;
    }
    return parts;
}

void look_for_shares(const Checkpoint& checkpoint, ModelSpec& spec);

// A checkpoint of kMimoV2 turns into one of these.
constexpr Family kMimoV25Of4 = {"MiMoV2ForCausalLM", "mimo_v2",       read_mimo_v2,
                                mimo_v25_parts<4>,   standard_expert, look_for_shares};
constexpr Family kMimoV25Of8 = {"MiMoV2ForCausalLM", "mimo_v2",       read_mimo_v2,
                                mimo_v25_parts<8>,   standard_expert, look_for_shares};

// The same in all layers; those whose shares end with a block of scales do not show it.
void look_for_shares(const Checkpoint& checkpoint, ModelSpec& spec) {
    look_for_fused_experts(checkpoint, spec);
    if (checkpoint.find(mimo_qkv(0)) == nullptr) return;
    std::int64_t n_shares = 1;
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const TensorView* const tensor = checkpoint.find(mimo_qkv(l));
        if (tensor == nullptr || !tensor->quantized) continue;
        n_shares = std::max(n_shares, tensor->shape.front() / tensor->quantized->n_rows);
    }
    const bool fits = std::ranges::all_of(spec.layers, [n_shares](const LayerSpec& layer) {
        return std::get<GroupedQuerySpec>(layer.attention).n_kv_heads % n_shares == 0;
    });
    if (n_shares == 1 || !fits) {
        throw Error(ErrorKind::kUnsupported, messages::shares_unknown(checkpoint.source(), in_quotes(mimo_qkv(0))));
    }
    spec.family = n_shares == 4 ? &kMimoV25Of4 : &kMimoV25Of8;
}

}  // namespace

const Family kMimoV2Flash = {"MiMoV2FlashForCausalLM", "mimo_v2_flash",       read_mimo_v2, mimo_v2_parts,
                             standard_expert,          look_for_fused_experts};
const Family kMimoV2 = {"MiMoV2ForCausalLM", "mimo_v2", read_mimo_v2, mimo_v2_parts, standard_expert, look_for_shares};

}  // namespace offstage::engine
