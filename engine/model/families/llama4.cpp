// Llama 4 (transformers: models/llama4): layers that turn queries and keys see their own
// chunk of the text alone; every fourth sees all of it, has no positions, and its queries
// grow with the text. One expert of a token, whose input is multiplied by the sigmoid of
// its score, beside a shared one. The tower for images is left out.

#include <array>
#include <utility>

#include "engine/files/files_messages.h"
#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

// The first release has a number there.
bool queries_grow(const ConfigFields& config) {
    const char* const key = "attn_temperature_tuning";
    if (config.has_value(key) && config.find(key)->is_number()) return *config.find(key) != 0;
    return config.flag(key, true);
}

// Tokens of a chunk; 0: there are none.
std::int64_t read_chunk_size(const ConfigFields& config) {
    const char* const key = "attention_chunk_size";
    if (config.is_null(key)) return 0;
    const std::int64_t chunk = config.count(key, 1, kLongestContext, 8192);
    if (chunk % kernels::kKvBlockTokens != 0) {
        config.unsupported(key, std::to_string(chunk), messages::a_multiple_of(kernels::kKvBlockTokens));
    }
    return chunk;
}

MoeSpec read_llama4_moe(const ConfigFields& config, ModelSpec& spec) {
    MoeSpec moe = config.experts(spec, config.dim("intermediate_size", 8192), {"num_local_experts"}, 16, 1);
    if (moe.router.n_active != 1) {
        config.unsupported("num_experts_per_tok", std::to_string(moe.router.n_active), "1");
    }
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    moe.router.renormalise = false;
    moe.weighs_inputs = true;
    moe.shared_dim = spec.experts.ffn_dim;
    return moe;
}

void read_llama4_text(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 2);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 5e5);
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    attention.qk_norm_eps = spec.norm.eps;
    attention.qk_norm_weights = false;
    const MoeSpec moe = read_llama4_moe(config, spec);
    const std::int64_t step = config.count("interleave_moe_layer_step", 1, kMostLayers, 1);
    const std::int64_t every = config.count("no_rope_layer_interval", 1, kMostLayers, 4);
    const std::int64_t chunk = read_chunk_size(config);
    const auto with_experts = listed_layers(config, "moe_layers", spec.n_layers());
    const auto turning = marked_layers(config, "no_rope_layers", spec.n_layers());
    const auto chunked = config.layers_of_type("chunked_attention", spec.layers.size());
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        const auto at = static_cast<std::size_t>(l);
        GroupedQuerySpec own = attention;
        const bool turns = turning ? (*turning)[at] : (l + 1) % every != 0;
        if (turns && config.flag("use_qk_norm", true)) own.qk_norm = QkNorm::kPerHead;
        own.chunked = chunk > 0 && (chunked ? (*chunked)[at] : turns);
        if (own.chunked) own.window = chunk;
        if (!turns) own.rope = {};
        if (!turns && queries_grow(config)) {
            own.growth = {config.positive("attn_scale", 0.1), config.count("floor_scale", 1, kLongestContext, 8192), 1};
        }
        spec.layers[at].attention = own;
        if (with_experts ? (*with_experts)[at] : (l + 1) % step == 0) {
            spec.layers[at].ffn = moe;
        } else {
            spec.layers[at].ffn = DenseFfnSpec{config.dim("intermediate_size_mlp", 16384)};
        }
    }
}

void read_llama4(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec, read_llama4_text);
}

std::vector<TensorPart> llama4_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    const bool is_moe = layer != nullptr && layer->moe() != nullptr;
    std::vector<TensorPart> parts =
        standard_parts(spec, tensor, "feed_forward.router", is_moe ? "feed_forward.shared_expert." : "feed_forward.");
    if (tensor.role == TensorRole::kQkv || tensor.role == TensorRole::kQkvBias) {
        const auto& gqa = std::get<GroupedQuerySpec>(layer->attention);
        for (const std::size_t p : {0, 1}) {
            parts[p].block = gqa.head_dim;
            parts[p].interleaved = gqa.rope.dim;
        }
    }
    return in_language_model(spec, std::move(parts));
}

// As published all of a layer lie together; quantized ones lie apart.
ExpertParts llama4_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const std::string p = layer_prefix(layer) + "feed_forward.experts.";
    if (spec.safetensors.fused_experts) return in_language_model(spec, transposed_expert(spec, p, expert));
    const std::string own = p + std::to_string(expert) + ".";
    return in_language_model(
        spec, separate_expert(spec, {own + "gate_proj.weight", own + "up_proj.weight", own + "down_proj.weight"}));
}

}  // namespace

const Family kLlama4 = {"Llama4ForConditionalGeneration", "llama4", read_llama4, llama4_parts, llama4_expert,
                        look_for_fused_language_model};
const Family kLlama4Text = {"Llama4ForCausalLM", "llama4_text", read_llama4,
                            llama4_parts,        llama4_expert, look_for_fused_language_model};

}  // namespace offstage::engine
