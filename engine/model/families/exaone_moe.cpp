// K-EXAONE (transformers: models/exaone_moe): GLM-4.5's experts; layers with a window turn
// queries and keys, those that see all tokens have no positions. Its prediction layer is
// left out.

#include "engine/model/families/family.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

// Whether each layer has a window: by list, by a pattern of letters ("LLLG"), or all but
// every n-th.
std::vector<bool> windowed_of(const ConfigFields& config, std::size_t n_layers) {
    if (const auto listed = config.windowed_layers(n_layers)) return *listed;
    std::vector<bool> windowed(n_layers);
    constexpr const char* kPattern = "sliding_window_pattern";
    if (config.has_value(kPattern) && config.find(kPattern)->is_string()) {
        const std::string letters = config.text(kPattern);
        for (std::size_t l = 0; l < n_layers && !letters.empty(); ++l) windowed[l] = letters[l % letters.size()] == 'L';
    } else if (!config.is_null(kPattern)) {
        const auto every = static_cast<std::size_t>(config.count(kPattern, 1, kMostLayers, 4));
        for (std::size_t l = 0; l < n_layers; ++l) windowed[l] = (l + 1) % every != 0;
    }
    return windowed;
}

void read_exaone(const ConfigFields& config, ModelSpec& spec) {
    config.read_common(spec, 1, 53);
    spec.norm.eps = config.eps("rms_norm_eps", 1e-5);
    config.expect("scoring_func", "sigmoid");
    GroupedQuerySpec attention = config.grouped_query(spec, 32, 1e4);
    attention.qk_norm = QkNorm::kPerHead;
    attention.qk_norm_eps = spec.norm.eps;
    read_glm4_layers(config, spec, attention, {.shared_key = "num_shared_experts"});
    if (config.is_null("sliding_window")) return;
    const std::vector<bool> windowed = windowed_of(config, spec.layers.size());
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        auto& layer = std::get<GroupedQuerySpec>(spec.layers[l].attention);
        if (windowed[l]) {
            layer.window = config.count("sliding_window", 1, kLongestContext, 4096);
        } else {
            layer.rope = {};
        }
    }
}

std::vector<TensorPart> exaone_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    if (tensor.role != TensorRole::kSelectionBias) return glm4_parts(spec, tensor);
    return {{layer_prefix(tensor.layer) + "mlp.e_score_correction_bias", {tensor.n_cols}}};
}

}  // namespace

const Family kExaoneMoe = {"ExaoneMoeForCausalLM", "exaone_moe",    read_exaone,
                           exaone_parts,           standard_expert, look_for_fused_experts};

}  // namespace offstage::engine
