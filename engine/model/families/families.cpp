#include <array>

#include "engine/model/families/family.h"
#include "engine/model/model_messages.h"
#include "engine/model/prediction_layer.h"

namespace offstage::engine {
namespace {

constexpr std::array kFamilies = {
    &kMixtral,    &kQwen2Moe,   &kQwen3Moe,    &kQwen3Next,        &kQwen35Moe,        &kQwen35MoeText, &kDeepseekMoe,
    &kDeepseekV2, &kDeepseekV3, &kOlmoe,       &kGlm4Moe,          &kGlm4MoeLite,      &kMinimaxM2,     &kPhiMoe,
    &kPhimoe,     &kDbrx,       &kGraniteMoe,  &kGraniteMoeShared, &kGemma4,           &kGemma4Text,    &kGptOss,
    &kDots1,      &kErnie45Moe, &kExaoneMoe,   &kBailingMoe2,      &kGraniteMoeHybrid, &kLfm2Moe,       &kSarvamMoe,
    &kSolarOpen,  &kHunyuanMoe, &kHy3,         &kMistral4,         &kNemotronH,        &kAfmoe,         &kGlm4vMoe,
    &kQwen3VlMoe, &kLlama4,     &kLlama4Text,  &kMimoV2Flash,      &kStep35,           &kStep37,        &kKimiK25,
    &kKimi25,     &kMistral3,   &kDeepseekV32, &kGlmMoeDsa,        &kMinimaxM3,        &kMinimaxM3Text, &kMimoV2,
    &kDeepseekV4};

}  // namespace

std::span<const Family* const> families() {
    return kFamilies;
}

std::int64_t experts_apart(const ModelSpec& spec, std::int64_t layer) {
    const std::int64_t n = spec.experts.n_experts;
    const ExpertParts first = spec.family->expert(spec, layer, 0);
    const ExpertParts last = spec.family->expert(spec, layer, n - 1);
    for (std::size_t i = 0; i < first.matrices.size(); ++i) {
        if (first.matrices[i].name != last.matrices[i].name) return n;
    }
    return 1;
}

std::vector<TensorPart> parts_in_checkpoint(const ModelSpec& spec, const DenseTensor& tensor) {
    if (tensor.role >= TensorRole::kPredictionTokenNorm && tensor.role <= TensorRole::kPredictionState) {
        return prediction_parts(spec, tensor);
    }
    if (tensor.role != TensorRole::kEmbedding || !spec.safetensors.head_alone) return spec.family->parts(spec, tensor);
    DenseTensor head = tensor;
    head.role = TensorRole::kHead;
    return spec.family->parts(spec, head);
}

void look_for_fused_experts(const Checkpoint& checkpoint, ModelSpec& spec) {
    const std::string layer = layer_prefix(spec.layer_of(0));
    spec.safetensors.fused_experts = false;
    for (const char* const below : {"mlp.experts.", "block_sparse_moe.experts.", "feed_forward.experts."}) {
        std::string name = layer + below + "gate_up_proj";
        name_in_language_model(spec, name);
        spec.safetensors.fused_experts |= checkpoint.find(name) != nullptr;
    }
}

ExpertParts standard_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    if (spec.safetensors.fused_experts) return fused_expert(spec, layer_prefix(layer) + "mlp.experts.", expert);
    const std::string p = layer_prefix(layer) + "mlp.experts." + std::to_string(expert) + ".";
    return separate_expert(spec, {p + "gate_proj.weight", p + "up_proj.weight", p + "down_proj.weight"});
}

std::vector<TensorPart> network_parts(const DenseTensor& tensor, const std::string& prefix) {
    const std::int64_t ffn = tensor.ffn_dim();
    const std::int64_t hidden = tensor.n_cols;
    std::vector<TensorPart> parts;
    if (tensor.network.has_gate()) parts.push_back({prefix + "gate_proj.weight", {ffn, hidden}});
    parts.push_back({prefix + "up_proj.weight", {ffn, hidden}});
    parts.push_back({prefix + "down_proj.weight", {hidden, ffn}});
    return parts;
}

std::vector<TensorPart> standard_parts(const ModelSpec& spec, const DenseTensor& tensor, const std::string& router,
                                       const std::string& network) {
    const std::string p = layer_prefix(tensor.layer);
    const std::string a = p + "self_attn.";
    const auto one = [&](const std::string& name) -> std::vector<TensorPart> {
        if (tensor.kind == DenseTensor::Kind::kVector && tensor.n_rows == 1) return {{name, {tensor.n_cols}}};
        return {{name, {tensor.n_rows, tensor.n_cols}}};
    };
    const auto qkv = [&](const char* end) {
        const auto& gqa = std::get<GroupedQuerySpec>(spec.layers[static_cast<std::size_t>(tensor.layer)].attention);
        std::vector<TensorPart> parts;
        for (const char* name : {"q_proj.", "k_proj.", gqa.values_from_keys ? "k_proj." : "v_proj."}) {
            const std::int64_t n =
                (*name == 'q' ? gqa.n_heads : gqa.n_kv_heads) * (*name == 'v' ? gqa.of_value() : gqa.head_dim);
            TensorPart part{a + name + end, {n}};
            if (tensor.kind == DenseTensor::Kind::kMatrix) part.shape.push_back(tensor.n_cols);
            parts.push_back(std::move(part));
        }
        return parts;
    };
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return one("model.embed_tokens.weight");
        case TensorRole::kHead:
            return one("lm_head.weight");
        case TensorRole::kFinalNorm:
            return one("model.norm.weight");
        case TensorRole::kAttentionNorm:
            return one(p + "input_layernorm.weight");
        case TensorRole::kFfnNorm:
            return one(p + "post_attention_layernorm.weight");
        case TensorRole::kQkv:
            return qkv("weight");
        case TensorRole::kQkvBias:
            return qkv("bias");
        case TensorRole::kQueryNorm:
            return one(a + "q_norm.weight");
        case TensorRole::kKeyNorm:
            return one(a + "k_norm.weight");
        case TensorRole::kAttentionOutput:
            return one(a + "o_proj.weight");
        case TensorRole::kAttentionOutputBias:
            return one(a + "o_proj.bias");
        case TensorRole::kSinks:
            return one(a + "sinks");
        case TensorRole::kRouter:
            return one(p + router + ".weight");
        case TensorRole::kNetwork:
            return network_parts(tensor, p + network);
        default:
            return {};
    }
}

TensorPart query_or_gate(std::string name, const GroupedQuerySpec& attention, std::int64_t n_cols, bool gate) {
    const std::int64_t both = 2 * attention.head_dim;
    return {
        std::move(name), {attention.n_heads * both, n_cols}, both, gate ? attention.head_dim : 0, attention.head_dim};
}

std::vector<TensorPart> parts_by_key_head(const DeltaNetSpec& delta_net, const DenseTensor& tensor,
                                          const std::string& projections, const std::string& rates) {
    const std::int64_t key = delta_net.key_dim;
    const std::int64_t n_values = delta_net.n_value_heads / delta_net.n_key_heads;
    const std::int64_t value = n_values * delta_net.value_dim;
    const auto rows = [&](std::int64_t first, std::int64_t count) {
        const std::int64_t block = 2 * (key + value);
        return TensorPart{projections, {delta_net.n_key_heads * block, tensor.n_cols}, block, first, count};
    };
    const auto rate = [&](std::int64_t first) {
        return TensorPart{rates, {2 * delta_net.n_value_heads, tensor.n_cols}, 2 * n_values, first, n_values};
    };
    switch (tensor.role) {
        case TensorRole::kQkv:
            return {rows(0, key), rows(key, key), rows(2 * key, value)};
        case TensorRole::kOutputGate:
            return {rows(2 * key + value, value)};
        case TensorRole::kDecayAndBeta:
            return {rate(n_values), rate(0)};
        default:
            return {};
    }
}

std::vector<TensorPart> mamba2_projections(const Mamba2Spec& mamba, const DenseTensor& tensor,
                                           const std::string& name) {
    const kernels::Mamba2Shape shape = mamba.shape();
    const std::int64_t z = shape.output_width(), xbc = shape.row_width();
    TensorPart part{name, {z + xbc + mamba.n_heads, tensor.n_cols}};
    part.count = tensor.n_rows;
    switch (tensor.role) {
        case TensorRole::kOutputGate:
            return {part};
        case TensorRole::kQkv:
            part.first = z;
            return {part};
        case TensorRole::kTimeStep:
            part.first = z + xbc;
            return {part};
        default:
            return {};
    }
}

ExpertParts transposed_expert(const ModelSpec& spec, const std::string& prefix, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::int64_t both = 2 * g.ffn_dim;
    ExpertParts parts;
    for (const std::int64_t i : {0, 1}) {
        parts.matrices[static_cast<std::size_t>(i)] = {prefix + "gate_up_proj",
                                                       {g.n_experts, g.hidden_dim, both},
                                                       expert * g.hidden_dim * both + i * g.ffn_dim,
                                                       1,
                                                       both};
    }
    parts.matrices[2] = {prefix + "down_proj",
                         {g.n_experts, g.ffn_dim, g.hidden_dim},
                         expert * g.ffn_dim * g.hidden_dim,
                         g.hidden_dim,
                         1};
    return parts;
}

ExpertParts fused_expert(const ModelSpec& spec, const std::string& prefix, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::int64_t n = g.ffn_dim * g.hidden_dim;
    ExpertParts parts;
    for (const std::int64_t i : {0, 1}) {
        parts.matrices[static_cast<std::size_t>(i)] = {
            prefix + "gate_up_proj", {g.n_experts, 2 * g.ffn_dim, g.hidden_dim}, (2 * expert + i) * n, g.hidden_dim, 1};
    }
    parts.matrices[2] = {prefix + "down_proj", {g.n_experts, g.hidden_dim, g.ffn_dim}, expert * n, 1, g.ffn_dim};
    return parts;
}

std::optional<std::vector<bool>> listed_layers(const ConfigFields& config, const char* key, std::int64_t n_layers) {
    if (!config.has_value(key)) return {};
    const nlohmann::json& list = *config.find(key);
    const Message expected = messages::a_list_of_layers(n_layers - 1);
    if (!list.is_array()) config.reject(key, expected);
    std::vector<bool> listed(static_cast<std::size_t>(n_layers));
    for (const nlohmann::json& layer : list) {
        if (!layer.is_number_unsigned() || layer.get<std::uint64_t>() >= static_cast<std::uint64_t>(n_layers)) {
            config.reject(key, messages::a_list_of_layers_but(n_layers - 1, describe(layer)));
        }
        listed[layer.get<std::size_t>()] = true;
    }
    return listed;
}

std::optional<std::vector<bool>> marked_layers(const ConfigFields& config, const char* key, std::int64_t n_layers) {
    if (!config.has_value(key) || config.find(key)->empty()) return {};
    const nlohmann::json& list = *config.find(key);
    const Message expected = messages::a_list_of_booleans(n_layers);
    if (!list.is_array() || std::ssize(list) < n_layers) config.reject(key, expected);
    std::vector<bool> marked;
    for (std::size_t l = 0; l < static_cast<std::size_t>(n_layers); ++l) {
        if (!list[l].is_boolean() && list[l] != 0 && list[l] != 1) config.reject(key, expected);
        marked.push_back(list[l] == true || list[l] == 1);
    }
    return marked;
}

void read_biased_router(const ConfigFields& config, MoeSpec& moe) {
    moe.selection_bias = true;
    moe.router.scoring = kernels::RouterScoring::kSigmoid;
    moe.router.renormalise = config.flag("norm_topk_prob", true);
    moe.router.denominator_floor = 1e-20f;
    moe.router.scale = static_cast<float>(config.positive("routed_scaling_factor", 1));
    moe.router.group_score = kernels::GroupScore::kSumOfTwoBest;
    config.expert_groups(moe.router, 1, 1);
}

bool take_rope_of_kind(const ConfigFields& config, bool windowed, nlohmann::json& own) {
    if (!config.has_value("rope_parameters")) return false;
    const JsonFields positions = config.object("rope_parameters");
    const char* const type = windowed ? "sliding_attention" : "full_attention";
    if (!positions.has_value(type)) positions.reject(type, messages::an_object_with_rope_type);
    own["rope_parameters"] = *positions.find(type);
    return true;
}

void read_language_model(const ConfigFields& config, ModelSpec& spec,
                         void (*read)(const ConfigFields& config, ModelSpec& spec)) {
    if (!config.has_value("text_config")) return read(config, spec);
    config.check_quantization(false);
    read(ConfigFields(*config.find("text_config"), config.source(), config.names(), "text_config."), spec);
    spec.tied_embeddings = config.flag("tie_word_embeddings", spec.tied_embeddings);
}

void look_for_language_model(const Checkpoint& checkpoint, ModelSpec& spec) {
    using Below = SafetensorsVariant::Below;
    spec.safetensors.below = checkpoint.find("model.language_model.embed_tokens.weight") != nullptr ? Below::kModel
                             : checkpoint.find("language_model.model.embed_tokens.weight") != nullptr
                                 ? Below::kLanguageModel
                                 : Below::kNothing;
}

void look_for_fused_language_model(const Checkpoint& checkpoint, ModelSpec& spec) {
    look_for_language_model(checkpoint, spec);
    look_for_fused_experts(checkpoint, spec);
}

ExpertParts language_model_expert(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    return in_language_model(spec, standard_expert(spec, layer, expert));
}

void name_in_language_model(const ModelSpec& spec, std::string& name) {
    constexpr std::string_view kPrefix = "model.";
    constexpr std::string_view kBelow = "language_model.";
    using Below = SafetensorsVariant::Below;
    if (spec.safetensors.below == Below::kModel && name.starts_with(kPrefix)) name.insert(kPrefix.size(), kBelow);
    if (spec.safetensors.below == Below::kLanguageModel) name.insert(0, kBelow);
}

std::vector<TensorPart> in_language_model(const ModelSpec& spec, std::vector<TensorPart> parts) {
    for (TensorPart& part : parts) name_in_language_model(spec, part.name);
    return parts;
}

ExpertParts in_language_model(const ModelSpec& spec, ExpertParts parts) {
    for (ExpertPart& part : parts.matrices) name_in_language_model(spec, part.name);
    return parts;
}

ExpertParts separate_expert(const ModelSpec& spec, const std::array<std::string, 3>& names) {
    const std::int64_t hidden = spec.experts.hidden_dim;
    const std::int64_t ffn = spec.experts.ffn_dim;
    ExpertParts parts;
    for (const std::size_t i : {0, 1}) parts.matrices[i] = {names[i], {ffn, hidden}, 0, hidden, 1};
    parts.matrices[2] = {names[2], {hidden, ffn}, 0, 1, ffn};
    return parts;
}

}  // namespace offstage::engine
