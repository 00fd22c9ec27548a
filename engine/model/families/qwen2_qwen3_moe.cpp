// Qwen2-MoE and Qwen3-MoE (transformers: models/qwen2_moe, models/qwen3_moe): many small
// experts, layers without experts by `mlp_only_layers` and `decoder_sparse_step`. Qwen2
// has a shared expert with a gate, Qwen3 norms q and k per head. Qwen3-VL-MoE
// (models/qwen3_vl_moe) sees with a tower beside Qwen3-MoE; of text all three of its
// positions are one.

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

// Whether every layer, or the given one, has experts or is a dense network.
void fill_layers(const ConfigFields& config, const GroupedQuerySpec& attention, const MoeSpec& moe,
                 std::int64_t default_dense_dim, ModelSpec& spec) {
    const std::int64_t step = config.count("decoder_sparse_step", 1, kMostLayers, 1);
    const auto is_dense = listed_layers(config, "mlp_only_layers", spec.n_layers());
    for (std::int64_t l = 0; l < spec.n_layers(); ++l) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(l)];
        layer.attention = attention;
        if ((l + 1) % step != 0 || (is_dense && (*is_dense)[static_cast<std::size_t>(l)])) {
            layer.ffn = DenseFfnSpec{config.dim("intermediate_size", default_dense_dim)};
        } else {
            layer.ffn = moe;
        }
    }
}

void read_qwen2(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    GroupedQuerySpec attention = config.grouped_query(spec, 16, 1e4);
    attention.qkv_bias = config.flag("qkv_bias", true);
    MoeSpec moe =
        config.experts(spec, config.dim("moe_intermediate_size", 1408), {"num_experts", "num_local_experts"}, 60, 4);
    moe.router.renormalise = config.flag("norm_topk_prob", false);
    moe.shared_dim = config.dim("shared_expert_intermediate_size", 5632);
    moe.shared_gate = true;
    fill_layers(config, attention, moe, 5632, spec);
    if (!config.flag("use_sliding_window", false) || config.is_null("sliding_window")) return;
    const std::int64_t window = config.count("sliding_window", 1, kLongestContext, 4096);
    const auto n_windowed = static_cast<std::size_t>(config.count("max_window_layers", 0, kMostLayers, 28));
    const auto windowed = config.windowed_layers(spec.layers.size());
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        if (windowed ? (*windowed)[l] : l % 2 == 0 && l < n_windowed) {
            std::get<GroupedQuerySpec>(spec.layers[l].attention).window = window;
        }
    }
}

void read_qwen3_layers(const ConfigFields& config, ModelSpec& spec, bool renormalise) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    GroupedQuerySpec attention = config.grouped_query(spec, 4, 1e4);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    if (config.flag("use_sliding_window", false) && !config.is_null("sliding_window")) {
        attention.window = config.count("sliding_window", 1, kLongestContext, 4096);
    }
    MoeSpec moe =
        config.experts(spec, config.dim("moe_intermediate_size", 768), {"num_experts", "num_local_experts"}, 128, 8);
    moe.router.renormalise = config.flag("norm_topk_prob", renormalise);
    fill_layers(config, attention, moe, 6144, spec);
}

void read_qwen3(const ConfigFields& config, ModelSpec& spec) {
    read_qwen3_layers(config, spec, false);
}

void read_qwen3_vl(const ConfigFields& config, ModelSpec& spec) {
    read_language_model(config, spec,
                        [](const ConfigFields& text, ModelSpec& of_text) { read_qwen3_layers(text, of_text, true); });
}

std::vector<TensorPart> qwen_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const MoeSpec* const moe = tensor.layer < 0 ? nullptr : spec.layers[static_cast<std::size_t>(tensor.layer)].moe();
    const std::string mlp = layer_prefix(tensor.layer) + "mlp.";
    if (tensor.role == TensorRole::kSharedGate) return {{mlp + "shared_expert_gate.weight", {1, tensor.n_cols}}};
    if (tensor.role == TensorRole::kNetwork && moe != nullptr) return network_parts(tensor, mlp + "shared_expert.");
    return standard_parts(spec, tensor, "mlp.gate", "mlp.");
}

std::vector<TensorPart> qwen3_vl_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    return in_language_model(spec, qwen_parts(spec, tensor));
}

// All experts' matrices lie together: as published transposed, gate_up_proj (n_experts,
// hidden_dim, 2 * ffn_dim) and down_proj (n_experts, ffn_dim, hidden_dim), or as
// transformers 5 holds them.
ExpertParts qwen3_vl_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const std::string p = layer_prefix(layer) + "mlp.experts.";
    const bool fused = spec.safetensors.fused_experts;
    return in_language_model(spec, fused ? fused_expert(spec, p, expert) : transposed_expert(spec, p, expert));
}

void look_at_qwen3_vl(const Checkpoint& checkpoint, ModelSpec& spec) {
    look_for_language_model(checkpoint, spec);
    std::string name = layer_prefix(spec.layer_of(0)) + "mlp.experts.down_proj";
    name_in_language_model(spec, name);
    const TensorView* const down = checkpoint.find(name);
    spec.safetensors.fused_experts =
        down != nullptr && down->shape.size() == 3 && down->shape[1] != spec.experts.ffn_dim;
}

}  // namespace

const Family kQwen3VlMoe = {"Qwen3VLMoeForConditionalGeneration",
                            "qwen3_vl_moe",
                            read_qwen3_vl,
                            qwen3_vl_parts,
                            qwen3_vl_expert,
                            look_at_qwen3_vl};
const Family kQwen2Moe = {"Qwen2MoeForCausalLM", "qwen2_moe",           read_qwen2, qwen_parts,
                          standard_expert,       look_for_fused_experts};
const Family kQwen3Moe = {"Qwen3MoeForCausalLM", "qwen3_moe",           read_qwen3, qwen_parts,
                          standard_expert,       look_for_fused_experts};

}  // namespace offstage::engine
