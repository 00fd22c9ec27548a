// dots.llm1 (transformers: models/dots1): Qwen3's attention with DeepSeek-V3's experts:
// leading dense layers, shared experts, sigmoid scores with a bias for the choice.

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

void read_dots1(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, {}, {});
    spec.norm.eps = config.eps("rms_norm_eps", 1e-6);
    GroupedQuerySpec attention = config.grouped_query(spec, 32, 1e4);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    attention.qkv_bias = attention.output_bias = config.flag("attention_bias", false);
    read_glm4_layers(config, spec, attention, {.n_active = 6, .renormalise = false, .n_shared = 0, .n_dense = 0});
    const auto windowed = config.windowed_layers(spec.layers.size());
    const auto first = static_cast<std::size_t>(config.count("max_window_layers", 0, kMostLayers, 62));
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        if (!(windowed ? (*windowed)[l] : l >= first) || config.is_null("sliding_window")) continue;
        std::get<GroupedQuerySpec>(spec.layers[l].attention).window =
            config.count("sliding_window", 1, kLongestContext, 4096);
    }
}

}  // namespace

const Family kDots1 = {"Dots1ForCausalLM", "dots1", read_dots1, glm4_parts, standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
