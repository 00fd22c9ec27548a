// Families in GGUF files. The metadata becomes a configuration as transformers has it,
// which the family's own file reads; the tensors' names are the same for all families,
// but for a few corners. Source: llama.cpp's gguf-py/gguf/constants.py, and its
// converters for what they turn round.

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/model/gguf_model.h"
#include "engine/model/model_files.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct GgufFamily;

// A file's metadata and tensors on their way to a configuration.
class GgufConfig {
  public:
    GgufConfig(const GgufFamily& family, const GgufHeader& header) : family_(family), metadata_(header.metadata) {
        for (const GgufTensor& tensor : header.tensors) add_tensor(tensor);
    }
    // Of a further part of a split file.
    void add_tensor(const GgufTensor& tensor) { shapes_.emplace(tensor.name, &tensor.shape); }

    // "block_count" is qwen3moe.block_count.
    std::string key(const std::string& name) const;
    bool has(const std::string& name) const { return metadata_.has(key(name)); }
    const GgufMetadata& metadata() const { return metadata_; }

    // The configuration's `field` is what `name` says, if that is there; else the
    // fallback, unless it is null.
    void take(const std::string& field, const std::string& name, const json& fallback = nullptr);
    void set(const std::string& field, const json& value) { config_[field] = value; }
    // A field that is found from a tensor or a key of another family's.
    void set(const std::string& field, const json& value, const std::string& from) {
        config_[field] = value;
        names_[field] = from;
    }

    // nullptr: there is none.
    const std::vector<std::int64_t>* shape_of(std::string_view name) const {
        const auto found = shapes_.find(name);
        return found == shapes_.end() ? nullptr : found->second;
    }
    bool has_tensor(std::string_view name) const { return shape_of(name) != nullptr; }
    // In the first layer that has one of this name, "ffn_down_exps.weight"; nullptr: none.
    const std::vector<std::int64_t>* shape_in_a_layer(const std::string& name) const;
    bool any_layer_has(const std::string& name) const { return shape_in_a_layer(name) != nullptr; }

    json& config() { return config_; }
    const ConfigFields::KeyNames& names() const { return names_; }

  private:
    const GgufFamily& family_;
    const GgufMetadata& metadata_;
    std::unordered_map<std::string_view, const std::vector<std::int64_t>*> shapes_;
    json config_ = json::object();
    ConfigFields::KeyNames names_;
};

// A Family whose tensors have the names of GGUF.
struct GgufFamily : Family {
    const char* key = "";                        // general.architecture
    void (*configure)(GgufConfig& c) = nullptr;  // beyond configure_any()
    bool interleaved = false;                    // rows of q and k pair as neighbours
    const char* ffn_norm = "ffn_norm";
    const char* selection_bias = "exp_probs_b.bias";
};

std::string GgufConfig::key(const std::string& name) const {
    return std::string(family_.key) + "." + name;
}

json json_of(const GgufValue& value) {
    struct ToJson {
        json operator()(std::monostate) const { return json::array(); }
        json operator()(std::string_view text) const { return std::string(text); }
        json operator()(const std::vector<std::string_view>& list) const { return json::array_t(list.size()); }
        json operator()(bool flag) const { return flag; }
        json operator()(double number) const { return number; }
        // Families ask for unsigned numbers where a token's id stands.
        json operator()(std::int64_t number) const {
            return number < 0 ? json(number) : json(static_cast<std::uint64_t>(number));
        }
        json operator()(const std::vector<std::int64_t>& list) const { return list; }
        json operator()(const std::vector<double>& list) const { return list; }
    };
    return std::visit(ToJson(), value);
}

void GgufConfig::take(const std::string& field, const std::string& name, const json& fallback) {
    names_[field] = key(name);
    if (const GgufValue* const value = metadata_.find(key(name))) {
        config_[field] = json_of(*value);
    } else if (!fallback.is_null()) {
        config_[field] = fallback;
    }
}

const std::vector<std::int64_t>* GgufConfig::shape_in_a_layer(const std::string& name) const {
    const std::int64_t n_layers = metadata_.integer(key("block_count"), 1, 1 << 16);
    for (std::int64_t l = 0; l < n_layers; ++l) {
        if (const auto* const shape = shape_of("blk." + std::to_string(l) + "." + name)) return shape;
    }
    return nullptr;
}

// ---- metadata

void configure_rope(GgufConfig& c) {
    c.take("rope_theta", "rope.freq_base", 10000.0);
    const std::string key = c.key("rope.scaling.type");
    const std::string type(c.metadata().text(key, c.has("rope.scaling.factor") ? "linear" : "none"));
    if (type == "none" || type == "longrope") return;  // LongRoPE: its family sees to it
    const double factor = c.metadata().number(c.key("rope.scaling.factor"), 1.0);
    if (type == "linear" && factor == 1) return;
    json scaling = {{"rope_type", type}, {"factor", factor}};
    const auto optional = [&](const char* field, const char* name) {
        if (const GgufValue* const value = c.metadata().find(c.key(name))) scaling[field] = json_of(*value);
    };
    optional("original_max_position_embeddings", "rope.scaling.original_context_length");
    optional("beta_fast", "rope.scaling.yarn_beta_fast");
    optional("beta_slow", "rope.scaling.yarn_beta_slow");
    c.set("rope_scaling", scaling, key);
}

void configure_any(GgufConfig& c) {
    const GgufMetadata& metadata = c.metadata();
    c.take("hidden_size", "embedding_length");
    c.take("max_position_embeddings", "context_length");
    c.take("num_attention_heads", "attention.head_count");
    c.take("num_key_value_heads", "attention.head_count_kv");
    if (!c.has("attention.head_count_kv")) c.set("num_key_value_heads", nullptr);
    c.take("head_dim", "attention.key_length");
    c.take("rms_norm_eps", "attention.layer_norm_rms_epsilon");
    c.take("intermediate_size", "feed_forward_length");
    c.take("sliding_window", "attention.sliding_window");
    for (const char* field : {"num_experts", "num_local_experts", "n_routed_experts"}) c.take(field, "expert_count", 0);
    c.take("num_experts_per_tok", "expert_used_count");
    configure_rope(c);

    const std::int64_t n_layers = metadata.integer(c.key("block_count"), 1, 1 << 16);
    const std::int64_t n_trailing = metadata.integer(c.key("nextn_predict_layers"), 0, n_layers - 1, 0);
    c.set("num_hidden_layers", n_layers - n_trailing, c.key("block_count"));

    // Sizes that some files leave to the tensors.
    if (const auto* const down = c.shape_in_a_layer("ffn_down_exps.weight"); down != nullptr && down->size() == 3) {
        c.take("moe_intermediate_size", "expert_feed_forward_length", (*down)[2]);
    } else {
        c.take("moe_intermediate_size", "expert_feed_forward_length");
    }
    c.set("tie_word_embeddings", !c.has_tensor("output.weight"));
    const auto token = [&](const char* field, const char* name) {
        const GgufValue* const value = metadata.find(name);
        c.set(field, value == nullptr ? json() : json_of(*value), name);
    };
    token("bos_token_id", "tokenizer.ggml.bos_token_id");
    token("eos_token_id", "tokenizer.ggml.eos_token_id");
}

// Families that call the experts' size "intermediate_size".
void configure_small(GgufConfig& c) {
    if (c.config().contains("moe_intermediate_size")) {
        c.set("intermediate_size", c.config()["moe_intermediate_size"], c.key("expert_feed_forward_length"));
    }
}

void configure_qwen2(GgufConfig& c) {
    const auto* const shared = c.shape_in_a_layer("ffn_up_shexp.weight");
    c.take("shared_expert_intermediate_size", "expert_shared_feed_forward_length",
           shared == nullptr || shared->empty() ? json() : json(shared->front()));
    c.set("qkv_bias", c.any_layer_has("attn_q.bias") || c.any_layer_has("attn_qkv.bias"));
    c.set("sliding_window", nullptr);
}

void configure_qwen35(GgufConfig& c) {
    configure_qwen2(c);
    c.take("rotary_dim", "rope.dimension_count");
    c.take("linear_conv_kernel_dim", "ssm.conv_kernel");
    c.take("linear_key_head_dim", "ssm.state_size");
    c.take("linear_num_key_heads", "ssm.group_count");
    c.take("linear_num_value_heads", "ssm.time_step_rank");
    const std::int64_t n_heads = c.metadata().integer(c.key("ssm.time_step_rank"), 1, 1 << 16);
    const std::int64_t inner = c.metadata().integer(c.key("ssm.inner_size"), n_heads, std::int64_t{1} << 32);
    c.set("linear_value_head_dim", inner / n_heads, c.key("ssm.inner_size"));
    c.set("linear_value_heads_tiled", true);
    c.take("full_attention_interval", "full_attention_interval");
    const GgufValue* const recurrent = c.metadata().find(c.key("attention.recurrent_layers"));
    if (recurrent == nullptr) return;
    json types = json::array();
    for (const json& layer : json_of(*recurrent)) {
        if (types.size() == c.config()["num_hidden_layers"]) break;  // those behind predict further tokens
        types.push_back(layer == 0u || layer == false ? "full_attention" : "linear_attention");
    }
    c.set("layer_types", types, c.key("attention.recurrent_layers"));
}

void configure_qwen3(GgufConfig& c) {
    c.set("norm_topk_prob", true);
}

void configure_shared(GgufConfig& c) {
    c.take("n_shared_experts", "expert_shared_count", 0);
    c.take("first_k_dense_replace", "leading_dense_block_count", 0);
}

// Weights of the chosen, and groups, as llama.cpp takes them from the metadata.
void configure_weights(GgufConfig& c) {
    c.take("norm_topk_prob", "expert_weights_norm", false);
    c.take("routed_scaling_factor", "expert_weights_scale", 1.0);
    if (c.config()["routed_scaling_factor"] == 0.0) c.set("routed_scaling_factor", 1.0);
    c.take("n_group", "expert_group_count", 1);
    c.take("topk_group", "expert_group_used_count", 1);
}

void configure_deepseek2(GgufConfig& c) {
    const GgufMetadata& metadata = c.metadata();
    configure_shared(c);
    configure_weights(c);
    const bool biased = c.any_layer_has("exp_probs_b.bias");
    const std::int64_t scoring = metadata.integer(c.key("expert_gating_func"), 1, 2, biased ? 2 : 1);
    c.set("scoring_func", scoring == 2 ? "sigmoid" : "softmax", c.key("expert_gating_func"));
    c.set("topk_method", biased ? "noaux_tc" : c.config()["n_group"] == 1u ? "greedy" : "group_limited_greedy");
    c.take("kv_lora_rank", "attention.kv_lora_rank");
    c.take("q_lora_rank", "attention.q_lora_rank");
    if (!c.has("attention.q_lora_rank")) c.set("q_lora_rank", nullptr);
    c.take("qk_rope_head_dim", "rope.dimension_count", 64);
    const auto length = [&](const char* mla, const char* plain) { return c.has(mla) ? mla : plain; };
    const char* const key = length("attention.key_length_mla", "attention.key_length");
    const std::int64_t rotary = metadata.integer(c.key("rope.dimension_count"), 2, 1 << 16, 64);
    c.set("qk_nope_head_dim", metadata.integer(c.key(key), rotary + 1, 1 << 20) - rotary, c.key(key));
    c.take("v_head_dim", length("attention.value_length_mla", "attention.value_length"));
    c.config().erase("head_dim");
    // The converter writes a tenth of mscale_all_dim, which is mscale as well.
    if (c.has("rope.scaling.yarn_log_multiplier") && c.config().contains("rope_scaling")) {
        const double mscale = metadata.number(c.key("rope.scaling.yarn_log_multiplier")) * 10;
        c.config()["rope_scaling"]["mscale"] = mscale;
        c.config()["rope_scaling"]["mscale_all_dim"] = mscale;
    }
}

void configure_glm4(GgufConfig& c) {
    configure_shared(c);
    configure_weights(c);
    c.set("use_qk_norm", c.any_layer_has("attn_q_norm.weight"));
    c.set("attention_bias", c.any_layer_has("attn_q.bias"));
    c.take("rotary_dim", "rope.dimension_count");
}

void configure_minimax(GgufConfig& c) {
    configure_small(c);
    c.take("rotary_dim", "rope.dimension_count");
}

void configure_olmoe(GgufConfig& c) {
    configure_small(c);
    c.take("clip_qkv", "attention.clamp_kqv");
}

void configure_phimoe(GgufConfig& c) {
    configure_small(c);
    c.set("attention_bias", c.any_layer_has("attn_q.bias") || c.any_layer_has("attn_qkv.bias"));
    c.set("lm_head_bias", c.has_tensor("output.bias"));
    if (c.config().contains("sliding_window") && c.config()["sliding_window"] == 0u) c.set("sliding_window", nullptr);
}

void configure_granite(GgufConfig& c) {
    configure_small(c);
    c.take("embedding_multiplier", "embedding_scale");
    c.take("residual_multiplier", "residual_scale");
    c.take("attention_multiplier", "attention.scale");
    c.take("logits_scaling", "logit_scale");
    c.take("shared_intermediate_size", "expert_shared_feed_forward_length", 0);
}

void configure_gpt_oss(GgufConfig& c) {
    configure_small(c);
    c.set("attention_bias", c.any_layer_has("attn_q.bias") || c.any_layer_has("attn_qkv.bias"));
    // The published configuration has it so; GGUF has no key for it.
    if (c.config().contains("rope_scaling")) c.config()["rope_scaling"]["truncate"] = false;
}

void configure_dbrx(GgufConfig& c) {
    c.take("d_model", "embedding_length");
    c.take("max_seq_len", "context_length");
    c.set("n_layers", c.config()["num_hidden_layers"], c.key("block_count"));
    c.take("n_heads", "attention.head_count");
    const auto below = [&](const char* object, const char* field, const std::string& name) {
        if (const GgufValue* const value = c.metadata().find(c.key(name))) {
            c.config()[object][field] = json_of(*value);
        }
    };
    below("attn_config", "kv_n_heads", "attention.head_count_kv");
    below("attn_config", "rope_theta", "rope.freq_base");
    below("attn_config", "clip_qkv", "attention.clamp_kqv");
    below("ffn_config", "ffn_hidden_size", "feed_forward_length");
    below("ffn_config", "moe_num_experts", "expert_count");
    below("ffn_config", "moe_top_k", "expert_used_count");
}

// ---- tensors

const GgufFamily& family_of(const ModelSpec& spec) {
    return static_cast<const GgufFamily&>(*spec.family);
}

std::string block(std::int64_t layer) {
    return "blk." + std::to_string(layer) + ".";
}

TensorPart q_or_k(const GgufFamily& family, std::string name, std::vector<std::int64_t> shape, std::int64_t head_dim) {
    TensorPart part{std::move(name), std::move(shape)};
    if (family.interleaved) {
        part.block = head_dim;
        part.interleaved = head_dim;
    }
    return part;
}

std::vector<TensorPart> qkv_parts(const ModelSpec& spec, const DenseTensor& tensor, const char* end) {
    const auto& a = std::get<GroupedQuerySpec>(spec.layers[static_cast<std::size_t>(tensor.layer)].attention);
    const std::string p = block(tensor.layer);
    const auto shape = [&](std::int64_t rows) {
        return tensor.kind == DenseTensor::Kind::kMatrix ? std::vector<std::int64_t>{rows, tensor.n_cols}
                                                         : std::vector<std::int64_t>{rows};
    };
    const std::int64_t q = a.n_heads * a.head_dim;
    const std::int64_t kv = a.n_kv_heads * a.head_dim;
    if (a.output_gate) {
        return {query_or_gate(p + "attn_q." + end, a, tensor.n_cols, false),
                {p + "attn_k." + end, shape(kv)},
                {p + "attn_v." + end, shape(kv)}};
    }
    if (spec.gguf.fused_qkv) return {{p + "attn_qkv." + end, shape(q + 2 * kv)}};
    const GgufFamily& family = family_of(spec);
    return {q_or_k(family, p + "attn_q." + end, shape(q), a.head_dim),
            q_or_k(family, p + "attn_k." + end, shape(kv), a.head_dim),
            {p + "attn_v." + end, shape(kv)}};
}

std::vector<TensorPart> latent_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const auto& a = std::get<LatentSpec>(spec.layers[static_cast<std::size_t>(tensor.layer)].attention);
    const std::string p = block(tensor.layer);
    const std::vector<std::int64_t> shape = {tensor.n_rows, tensor.n_cols};
    const std::int64_t kv_block = a.nope_dim + a.value_dim;
    const std::vector<std::int64_t> kv_shape = {a.n_heads * kv_block, a.latent_dim};
    switch (tensor.role) {
        case TensorRole::kQueryDown:
            return {{p + "attn_q_a.weight", shape}};
        case TensorRole::kQueryDownNorm:
            return {{p + "attn_q_a_norm.weight", {tensor.n_cols}}};
        case TensorRole::kQueryUp:
            return {
                {p + (a.query_rank > 0 ? "attn_q_b.weight" : "attn_q.weight"), shape, a.query_dim(), 0, 0, a.rope.dim}};
        case TensorRole::kLatentDown:
            return {{p + "attn_kv_a_mqa.weight", shape, 0, 0, 0, a.rope.dim}};
        case TensorRole::kLatentNorm:
            return {{p + "attn_kv_a_norm.weight", {tensor.n_cols}}};
        case TensorRole::kKeyUp:
            if (!spec.gguf.joined_kv_b) return {{p + "attn_k_b.weight", {a.n_heads, a.latent_dim, a.nope_dim}}};
            return {{p + "attn_kv_b.weight", kv_shape, kv_block, 0, a.nope_dim, 0, true}};
        case TensorRole::kValueUp:
            if (!spec.gguf.joined_kv_b) return {{p + "attn_v_b.weight", {a.n_heads, a.value_dim, a.latent_dim}}};
            return {{p + "attn_kv_b.weight", kv_shape, kv_block, a.nope_dim, a.value_dim}};
        default:
            return {};
    }
}

std::vector<TensorPart> delta_net_parts_of(const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    const std::vector<std::int64_t> matrix = {tensor.n_rows, tensor.n_cols};
    switch (tensor.role) {
        case TensorRole::kQkv:
            return {{p + "attn_qkv.weight", matrix}};
        case TensorRole::kOutputGate:
            return {{p + "attn_gate.weight", matrix}};
        case TensorRole::kDecayAndBeta:
            return {{p + "ssm_alpha.weight", {tensor.n_rows / 2, tensor.n_cols}},
                    {p + "ssm_beta.weight", {tensor.n_rows / 2, tensor.n_cols}}};
        case TensorRole::kConvolution:
            return {{p + "ssm_conv1d.weight", matrix}};
        case TensorRole::kDecayRate:
            return {{p + "ssm_a", {tensor.n_cols}}};
        case TensorRole::kTimeBias:
            return {{p + "ssm_dt.bias", {tensor.n_cols}}};
        case TensorRole::kStateNorm:
            return {{p + "ssm_norm.weight", {tensor.n_cols}}};
        case TensorRole::kAttentionOutput:
            return {{p + "ssm_out.weight", matrix}};
        default:
            return {};
    }
}

std::vector<TensorPart> gguf_dense_parts(const ModelSpec& spec, const DenseTensor& tensor) {
    const std::string p = block(tensor.layer);
    const LayerSpec* const layer = tensor.layer < 0 ? nullptr : &spec.layers[static_cast<std::size_t>(tensor.layer)];
    if (layer != nullptr && layer->delta_net() != nullptr) {
        if (auto parts = delta_net_parts_of(tensor); !parts.empty()) return parts;
    }
    const std::string ffn_norm = p + family_of(spec).ffn_norm;
    const auto matrix = [&](const std::string& name) -> std::vector<TensorPart> {
        return {{name, {tensor.n_rows, tensor.n_cols}}};
    };
    const auto vector = [&](const std::string& name) -> std::vector<TensorPart> { return {{name, {tensor.n_cols}}}; };
    switch (tensor.role) {
        case TensorRole::kEmbedding:
            return matrix("token_embd.weight");
        case TensorRole::kHead:
            return matrix("output.weight");
        case TensorRole::kHeadBias:
            return vector("output.bias");
        case TensorRole::kFinalNorm:
            return vector("output_norm.weight");
        case TensorRole::kFinalNormBias:
            return vector("output_norm.bias");
        case TensorRole::kAttentionNorm:
            return vector(p + "attn_norm.weight");
        case TensorRole::kAttentionNormBias:
            return vector(p + "attn_norm.bias");
        case TensorRole::kQkv:
            return qkv_parts(spec, tensor, "weight");
        case TensorRole::kQkvBias:
            return qkv_parts(spec, tensor, "bias");
        case TensorRole::kQueryNorm:
            return vector(p + "attn_q_norm.weight");
        case TensorRole::kKeyNorm:
            return vector(p + "attn_k_norm.weight");
        case TensorRole::kAttentionOutput:
            return matrix(p + "attn_output.weight");
        case TensorRole::kAttentionOutputBias:
            return vector(p + "attn_output.bias");
        case TensorRole::kOutputGate:
            return {
                query_or_gate(p + "attn_q.weight", std::get<GroupedQuerySpec>(layer->attention), tensor.n_cols, true)};
        case TensorRole::kSinks:
            return vector(p + "attn_sinks.weight");
        case TensorRole::kFfnNorm:
            return vector(ffn_norm + ".weight");
        case TensorRole::kFfnNormBias:
            return vector(ffn_norm + ".bias");
        case TensorRole::kRouter:
            return matrix(p + "ffn_gate_inp.weight");
        case TensorRole::kSelectionBias:
            return vector(p + family_of(spec).selection_bias);
        case TensorRole::kSharedGate:
            return vector(p + "ffn_gate_inp_shexp.weight");
        case TensorRole::kNetwork: {
            const bool is_moe = spec.layers[static_cast<std::size_t>(tensor.layer)].moe() != nullptr;
            const std::string end = is_moe ? "_shexp.weight" : ".weight";
            const std::int64_t ffn = tensor.n_rows / 3;
            return {{p + "ffn_gate" + end, {ffn, tensor.n_cols}},
                    {p + "ffn_up" + end, {ffn, tensor.n_cols}},
                    {p + "ffn_down" + end, {tensor.n_cols, ffn}}};
        }
        default:
            return latent_parts(spec, tensor);
    }
}

ExpertParts gguf_expert_parts(const ModelSpec& spec, std::int64_t layer, std::int64_t expert) {
    const ExpertGrid& g = spec.experts;
    const std::string p = block(layer);
    const std::string own = "." + std::to_string(expert) + ".weight";
    const std::array<const char*, 3> names = {"ffn_gate", "ffn_up", "ffn_down"};
    ExpertParts parts;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::int64_t rows = i < 2 ? g.ffn_dim : g.hidden_dim;
        const std::int64_t columns = i < 2 ? g.hidden_dim : g.ffn_dim;
        ExpertPart& part = parts.matrices[i];
        part = {p + names[i] + "_exps.weight", {g.n_experts, rows, columns}, expert * rows * columns, columns, 1};
        if (i == 2) std::swap(part.neuron_stride, part.hidden_stride);
        if (spec.gguf.separate_experts) {
            part.name = p + names[i] + own;
            part.shape = {rows, columns};
            part.first = 0;
        } else if (spec.gguf.fused_gate_up && i < 2) {
            part.name = p + "ffn_gate_up_exps.weight";
            part.shape[1] = 2 * rows;
            part.first = (2 * expert + static_cast<std::int64_t>(i)) * rows * columns;
        }
        parts.biases[i] = {
            p + names[i] + "_exps.bias", {g.n_experts, rows}, expert * rows, i < 2 ? 1 : 0, i < 2 ? 0 : 1};
    }
    return parts;
}

// ---- which there are

GgufFamily row(const Family& family, const char* key, void (*configure)(GgufConfig&)) {
    GgufFamily of_gguf;
    static_cast<Family&>(of_gguf) = family;
    of_gguf.parts = gguf_dense_parts;
    of_gguf.look = nullptr;
    of_gguf.expert = gguf_expert_parts;
    of_gguf.key = key;
    of_gguf.configure = configure;
    return of_gguf;
}

GgufFamily interleaved(GgufFamily family) {
    family.interleaved = true;
    return family;
}

GgufFamily with_norm(GgufFamily family, const char* ffn_norm, const char* selection_bias = "exp_probs_b.bias") {
    family.ffn_norm = ffn_norm;
    family.selection_bias = selection_bias;
    return family;
}

std::span<const GgufFamily> gguf_families() {
    static const std::array kFamilies = {
        interleaved(row(kMixtral, "llama", configure_small)),
        row(kQwen2Moe, "qwen2moe", configure_qwen2),
        row(kQwen3Moe, "qwen3moe", configure_qwen3),
        with_norm(row(kQwen35MoeText, "qwen35moe", configure_qwen35), "post_attention_norm"),
        interleaved(row(kDeepseekMoe, "deepseek", configure_shared)),
        row(kDeepseekV3, "deepseek2", configure_deepseek2),
        row(kOlmoe, "olmoe", configure_olmoe),
        with_norm(row(kGlm4Moe, "glm4moe", configure_glm4), "post_attention_norm"),
        row(kMinimaxM2, "minimax-m2", configure_minimax),
        row(kPhimoe, "phimoe", configure_phimoe),
        with_norm(row(kDbrx, "dbrx", configure_dbrx), "attn_output_norm"),
        interleaved(row(kGraniteMoe, "granitemoe", configure_granite)),
        with_norm(row(kGptOss, "gpt-oss", configure_gpt_oss), "post_attention_norm", "ffn_gate_inp.bias"),
    };
    return kFamilies;
}

const GgufFamily& gguf_family(const GgufMetadata& metadata) {
    const std::string_view key = metadata.text("general.architecture");
    std::string supported;
    for (const GgufFamily& family : gguf_families()) {
        if (family.key == key) return family;
        supported += (supported.empty() ? "" : ", ") + std::string(family.key);
    }
    throw Error(ErrorKind::kUnsupported, metadata.source() + ": \"general.architecture\" " + in_quotes(key) +
                                             " is not supported; supported: " + supported);
}

// The factors of LongRoPE are tensors.
void add_long_rope(const GgufFile& part, GgufConfig& c) {
    const GgufHeader& header = part.header();
    const std::span<const std::byte> file = part.file().bytes();
    const auto tensor = [&](std::string_view name) {
        return std::find_if(header.tensors.begin(), header.tensors.end(),
                            [name](const GgufTensor& t) { return t.name == name; });
    };
    if (tensor("rope_factors_short.weight") == header.tensors.end()) return;
    json scaling = {{"rope_type", "longrope"}};
    for (const auto& [field, name] : {std::pair{"short_factor", "rope_factors_short.weight"},
                                      std::pair{"long_factor", "rope_factors_long.weight"}}) {
        const auto found = tensor(name);
        if (found == header.tensors.end() || found->shape.size() != 1 || found->type != 0 ||
            static_cast<std::uint64_t>(found->shape[0]) > (file.size() - found->offset) / sizeof(float)) {
            throw Error(ErrorKind::kInvalidModel, header.metadata.source() + ": tensor \"" + name +
                                                      "\" is missing or no list of F32; expected LongRoPE's factors");
        }
        std::vector<float> factors(static_cast<std::size_t>(found->shape[0]));
        std::memcpy(factors.data(), file.data() + found->offset, factors.size() * sizeof(float));
        scaling[field] = factors;
    }
    const auto optional = [&](const char* field, const char* name) {
        if (const GgufValue* const value = c.metadata().find(c.key(name))) scaling[field] = json_of(*value);
    };
    optional("original_max_position_embeddings", "rope.scaling.original_context_length");
    optional("attention_factor", "rope.scaling.attn_factor");
    c.set("rope_scaling", scaling, c.key("rope.scaling"));
}

}  // namespace

ModelSpec read_gguf_spec(const fs::path& file) {
    std::vector<GgufFile> files;
    for (const fs::path& part : gguf_parts_of(file)) files.emplace_back(part);
    const GgufHeader& first = files.front().header();
    const GgufFamily& family = gguf_family(first.metadata);
    GgufConfig config(family, first);
    for (std::size_t i = 1; i < files.size(); ++i) {
        for (const GgufTensor& tensor : files[i].header().tensors) config.add_tensor(tensor);
    }
    const std::string& source = first.metadata.source();
    if (first.metadata.integer(config.key("expert_count"), 0, kMostExperts, 0) == 0) {
        throw Error(ErrorKind::kUnsupported,
                    source + ": " + family.key + ": no layer has experts; expected a Mixture-of-Experts model");
    }
    configure_any(config);
    const auto* const embedding = config.shape_of("token_embd.weight");
    if (embedding == nullptr || embedding->size() != 2) {
        throw Error(ErrorKind::kInvalidModel,
                    source + ": tensor \"token_embd.weight\" is missing or no matrix; expected the tokens' embedding");
    }
    config.set("vocab_size", embedding->front(), "token_embd.weight");
    family.configure(config);
    for (const GgufFile& part : files) add_long_rope(part, config);

    ModelSpec spec = read_model_spec(config.config(), source, family, &config.names());
    spec.gguf.fused_qkv = config.any_layer_has("attn_qkv.weight");
    spec.gguf.joined_kv_b = config.any_layer_has("attn_kv_b.weight");
    spec.gguf.fused_gate_up = config.any_layer_has("ffn_gate_up_exps.weight");
    spec.gguf.separate_experts = config.any_layer_has("ffn_gate.0.weight");
    return spec;
}

}  // namespace offstage::engine
