// gpt-oss (transformers: models/gpt_oss): attention sinks, a window on every second
// layer, biases everywhere, YaRN, clamped experts whose gate and up rows alternate in one
// tensor.

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

void read_gpt_oss(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, 200002);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    GroupedQuerySpec attention = config.grouped_query(spec, 8, 150000);
    if (!config.has_value("rope_scaling") && !config.has_value("rope_parameters")) {  // as transformers has it then
        constexpr Yarn kYarn = {32, 32, 1, 4096, false};
        attention.rope.frequency_scale = yarn_frequency_scale(kYarn, attention.head_dim, attention.rope.theta);
        attention.rope.amplitude = yarn_mscale(kYarn.factor, 1);
    }
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", true);
    attention.sinks = true;
    MoeSpec moe =
        config.experts(spec, config.dim("intermediate_size", 2880), {"num_experts", "num_local_experts"}, 128, 4);
    moe.selection_bias = true;
    moe.router.scoring = kernels::RouterScoring::kSoftmaxOfChosen;
    kernels::ExpertSpec& expert = spec.experts.expert;
    expert.activation = kernels::Activation::kClamped;
    expert.biases = true;
    expert.alpha = static_cast<float>(config.positive("swiglu_alpha", 1.702));
    expert.limit = static_cast<float>(config.positive("swiglu_limit", 7.0));
    const std::int64_t window = config.count("sliding_window", 1, kLongestContext, 128);
    const auto windowed = config.windowed_layers(spec.layers.size());
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        attention.window = (windowed ? (*windowed)[l] : l % 2 == 0) ? window : 0;
        spec.layers[l] = {attention, moe};
    }
}

std::vector<TensorPart> gpt_oss_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = layer_prefix(tensor.layer);
    if (tensor.role == TensorRole::kSinks) return {{p + "self_attn.sinks", {tensor.n_cols}}};
    if (tensor.role == TensorRole::kSelectionBias) return {{p + "mlp.router.bias", {tensor.n_cols}}};
    return standard_parts(spec, tensor, "mlp.router", "");
}

ExpertParts gpt_oss_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = layer_prefix(layer) + "mlp.experts.";
    const std::int64_t both = 2 * g.ffn_dim;
    ExpertParts parts;
    for (const std::int64_t i : {0, 1}) {
        const auto at = static_cast<std::size_t>(i);
        parts.matrices[at] = {
            p + "gate_up_proj", {g.n_experts, g.hidden_dim, both}, expert * g.hidden_dim * both + i, 2, both};
        parts.biases[at] = {p + "gate_up_proj_bias", {g.n_experts, both}, expert * both + i, 2, 0};
    }
    parts.matrices[2] = {
        p + "down_proj", {g.n_experts, g.ffn_dim, g.hidden_dim}, expert * g.ffn_dim * g.hidden_dim, g.hidden_dim, 1};
    parts.biases[2] = {p + "down_proj_bias", {g.n_experts, g.hidden_dim}, expert * g.hidden_dim, 0, 1};
    return parts;
}

}  // namespace

// The checkpoint as it was published: experts in MXFP4, rows of inputs, the rest in bf16.
ExpertParts gpt_oss_mxfp4_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    ExpertParts parts = gpt_oss_expert(spec, layer, expert);
    const std::string p = layer_prefix(layer) + "mlp.experts.";
    const auto in_blocks = [&](ExpertPart& part, const std::string& name, std::int64_t rows, std::int64_t width) {
        part.name = p + name + "_blocks";
        part.shape = {g.n_experts, rows, width / 32, 16};
        part.exponents = p + name + "_scales";
        part.exponents_shape = {g.n_experts, rows, width / 32};
        part.first = expert * rows * width;
    };
    for (const std::int64_t i : {0, 1}) {
        ExpertPart& part = parts.matrices[static_cast<std::size_t>(i)];
        in_blocks(part, "gate_up_proj", 2 * g.ffn_dim, g.hidden_dim);
        part.first += i * g.hidden_dim;
        part.neuron_stride = 2 * g.hidden_dim;
        part.hidden_stride = 1;
    }
    in_blocks(parts.matrices[2], "down_proj", g.hidden_dim, g.ffn_dim);
    parts.matrices[2].neuron_stride = 1;
    parts.matrices[2].hidden_stride = g.ffn_dim;
    return parts;
}

void read_gpt_oss_any(const ConfigFields& config, ModelSpec& spec) {
    if (config.quantization() == "mxfp4") spec.family = &kGptOssMxfp4;
    read_gpt_oss(config, spec);
}

const Family kGptOss = {"GptOssForCausalLM", "gpt_oss", read_gpt_oss_any, gpt_oss_parts, gpt_oss_expert};
const Family kGptOssMxfp4 = {"GptOssForCausalLM", "gpt_oss", read_gpt_oss, gpt_oss_parts, gpt_oss_mxfp4_expert};

}  // namespace offstage::engine
