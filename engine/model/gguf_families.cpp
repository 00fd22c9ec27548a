// Families in GGUF files. The metadata becomes a configuration as transformers has it,
// which the family's own file reads. Source: llama.cpp's gguf-py/gguf/constants.py.

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/files/gguf_file.h"
#include "engine/model/gguf_config.h"
#include "engine/model/gguf_model.h"
#include "engine/model/gguf_tensor_names.h"
#include "engine/model/model_files.h"
#include "engine/model/model_messages.h"
#include "engine/shape_limits.h"

namespace offstage::engine {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct GgufFamily : GgufNamedFamily {
    const char* key = "";                        // general.architecture
    const char* other_key = nullptr;             // as Ollama writes it
    bool own_heads = false;                      // configure() reads attention.head_count, by layer
    bool own_kv_heads = false;                   // and attention.head_count_kv
    bool own_networks = false;                   // and feed_forward_length
    void (*configure)(GgufConfig& c) = nullptr;  // beyond configure_any()
};

// ---- metadata

void configure_any(const GgufFamily& family, GgufConfig& c, std::vector<Message>* notes) {
    const GgufMetadata& metadata = c.metadata();
    c.take("hidden_size", "embedding_length");
    c.take("max_position_embeddings", "context_length");
    if (!family.own_heads) c.take("num_attention_heads", "attention.head_count");
    if (!c.has("attention.head_count_kv")) c.set("num_key_value_heads", nullptr);
    if (!family.own_kv_heads) c.take("num_key_value_heads", "attention.head_count_kv");
    c.take("head_dim", "attention.key_length");
    c.take("rms_norm_eps", "attention.layer_norm_rms_epsilon");
    if (!family.own_networks) c.take("intermediate_size", "feed_forward_length");
    c.take("sliding_window", "attention.sliding_window");
    for (const char* field : {"num_experts", "num_local_experts", "n_routed_experts"}) c.take(field, "expert_count", 0);
    c.take("num_experts_per_tok", "expert_used_count");
    configure_gguf_rope(c);
    c.set("num_hidden_layers", count_gguf_layers(c, notes), c.key("block_count"));
    metadata.integer(c.key("expert_used_count"), 1, kMostExperts);  // must be there: a family's default is one model's

    // Sizes that some files leave to the tensors.
    if (const auto* const down = c.shape_in_a_layer("ffn_down_exps.weight"); down != nullptr && down->size() == 3) {
        c.take("moe_intermediate_size", "expert_feed_forward_length", (*down)[2]);
    } else {
        c.take("moe_intermediate_size", "expert_feed_forward_length");
    }
    c.set("tie_word_embeddings", !c.has_tensor("output.weight"));
    // An id beyond the vocabulary is none; the tokenizer has a note of it.
    const auto token = [&](const char* field, const char* name) {
        const GgufValue* const value = metadata.find(name);
        const auto* const id = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
        const auto* const names = metadata.find("tokenizer.ggml.tokens");
        const auto* const texts = names == nullptr ? nullptr : std::get_if<std::vector<std::string_view>>(names);
        const bool is_beyond =
            id != nullptr && texts != nullptr && (*id < 0 || *id >= static_cast<std::int64_t>(texts->size()));
        c.set(field, value == nullptr || is_beyond ? json() : json_of(*value), name);
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
    c.set("sliding_window", nullptr);
}

// A recurrent layer's size of a head, of which files have that of all together.
void take_inner_head(GgufConfig& c, const char* field) {
    const std::int64_t n_heads = c.metadata().integer(c.key("ssm.time_step_rank"), 1, 1 << 16);
    const std::int64_t inner = c.metadata().integer(c.key("ssm.inner_size"), n_heads, std::int64_t{1} << 32);
    c.set(field, inner / n_heads, c.key("ssm.inner_size"));
}

void configure_qwen35(GgufConfig& c) {
    configure_qwen2(c);
    c.take("rotary_dim", "rope.dimension_count");
    c.take("linear_conv_kernel_dim", "ssm.conv_kernel");
    c.take("linear_key_head_dim", "ssm.state_size");
    c.take("linear_num_key_heads", "ssm.group_count");
    c.take("linear_num_value_heads", "ssm.time_step_rank");
    take_inner_head(c, "linear_value_head_dim");
    c.take("linear_value_heads_tiled", "ssm.v_head_reordered", true);
    c.take("full_attention_interval", "full_attention_interval");
    configure_recurrent_layers(c, "linear_attention");
}

void configure_qwen3_next(GgufConfig& c) {
    configure_qwen35(c);
    c.set("linear_value_heads_tiled", false);
}

void configure_qwen3(GgufConfig& c) {
    c.take("norm_topk_prob", "norm_top_k_prob", true);
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
    if (c.has("attention.temperature_scale")) {  // Mistral Large 3
        json& scaling = c.config()["rope_scaling"];
        if (scaling.is_null()) scaling = {{"rope_type", "default"}};
        c.take_into(scaling, "llama_4_scaling_beta", "attention.temperature_scale");
        c.take_into(scaling, "llama_4_scaling_context",
                    c.has("attention.temperature_length") ? "attention.temperature_length"
                                                          : "rope.scaling.original_context_length");
    }
    configure_shared(c);
    configure_weights(c);
    const bool biased = c.any_layer_has("exp_probs_b.bias");
    // Files from before llama.cpp's pull request 16691 (October 2025) lack the key for
    // choosing experts in groups: DeepSeek-V3 and R1, V2 and V2.5.
    if (!c.has("expert_group_count")) {
        const std::int64_t n_experts = metadata.integer(c.key("expert_count"), 1, kMostExperts);
        const unsigned n_used = biased && n_experts == 256 ? 4 : !biased && n_experts == 160 ? 3 : 0;
        c.set("n_group", n_used > 0 ? 8u : 1u);
        c.set("topk_group", std::max(n_used, 1u));
    }
    const std::int64_t scoring = metadata.integer(c.key("expert_gating_func"), 0, 2, 0);  // 0: not said
    c.set("scoring_func", scoring == 2 || (scoring == 0 && biased) ? "sigmoid" : "softmax",
          c.key("expert_gating_func"));
    c.set("topk_method", biased ? "noaux_tc" : c.config()["n_group"] == 1u ? "greedy" : "group_limited_greedy");
    c.take("kv_lora_rank", "attention.kv_lora_rank");
    c.take("q_lora_rank", "attention.q_lora_rank");
    if (!c.has("attention.q_lora_rank")) c.set("q_lora_rank", nullptr);
    c.take("qk_rope_head_dim", "rope.dimension_count", 64);
    const std::int64_t rotary = metadata.integer(c.key("rope.dimension_count"), 2, 1 << 16, 64);
    const std::int64_t latent = metadata.integer(c.key("attention.kv_lora_rank"), 1, 1 << 20, 512);
    // There are two sizes: a head's own and that of the latent which replaces it.
    // llama.cpp writes the head's as "mla", Ollama's glm4moelite the latent's.
    const auto length_of_head = [&](const char* mla, const char* plain, std::int64_t of_latent) {
        return c.has(mla) && (!c.has(plain) || metadata.integer(c.key(mla), 1, 1 << 20) != of_latent) ? mla : plain;
    };
    const char* const key = length_of_head("attention.key_length_mla", "attention.key_length", latent + rotary);
    c.set("qk_nope_head_dim", metadata.integer(c.key(key), rotary + 1, 1 << 20) - rotary, c.key(key));
    c.take("v_head_dim", length_of_head("attention.value_length_mla", "attention.value_length", latent));
    c.config().erase("head_dim");
    // The converter writes a tenth of mscale_all_dim. It does not write mscale, which is
    // the same in every published model.
    if (c.has("rope.scaling.yarn_log_multiplier") && c.config().contains("rope_scaling")) {
        const double mscale = metadata.number(c.key("rope.scaling.yarn_log_multiplier")) * 10;
        c.config()["rope_scaling"]["mscale"] = mscale;
        c.config()["rope_scaling"]["mscale_all_dim"] = mscale;
    }
}

void configure_deepseek32(GgufConfig& c) {
    configure_deepseek2(c);
    c.take("index_n_heads", "attention.indexer.head_count");
    c.take("index_head_dim", "attention.indexer.key_length");
    c.take("index_topk", "attention.indexer.top_k");
}

// Files of GLM-5.2 from before llama.cpp wrote which layers share a choice: those of its
// context share it as that model does.
void configure_glm_dsa(GgufConfig& c) {
    configure_deepseek32(c);
    const std::string key = c.key("attention.indexer.types");
    const std::span<const std::int64_t> is_own = c.metadata().integers(key);
    const auto n_layers = c.config()["num_hidden_layers"].get<std::size_t>();
    if (c.metadata().has(key)) {
        if (is_own.size() < n_layers) c.metadata().reject(key, messages::a_list_of_booleans(n_layers));
        json types = json::array();
        for (std::size_t l = 0; l < n_layers; ++l) types.push_back(is_own[l] != 0 ? "full" : "shared");
        c.set("indexer_types", types, key);
    } else if (c.metadata().integer(c.key("context_length"), 1, std::int64_t{1} << 40) >= 1 << 20) {
        c.set("index_topk_freq", 4u);
        c.set("index_skip_topk_offset", 3u);
    }
}

void configure_deepseek4(GgufConfig& c) {
    configure_weights(c);
    c.take("n_shared_experts", "expert_shared_count", 0);
    c.take("q_lora_rank", "attention.q_lora_rank");
    c.take("qk_rope_head_dim", "rope.dimension_count");
    c.take("swiglu_limit", "swiglu_clamp_exp");
    c.take("index_n_heads", "attention.indexer.head_count");
    c.take("index_head_dim", "attention.indexer.key_length");
    c.take("index_topk", "attention.indexer.top_k");
    c.take("o_groups", "attention.output_group_count");
    c.take("o_lora_rank", "attention.output_lora_rank");
    c.take("compress_rope_theta", "attention.compress_rope_freq_base");
    c.take("num_hash_layers", "hash_layer_count");
    c.take("hc_mult", "hyper_connection.count");
    c.take("hc_sinkhorn_iters", "hyper_connection.sinkhorn_iterations");
    c.take("hc_eps", "hyper_connection.epsilon");
    const char* const ratios = "attention.compress_ratios";
    if (const GgufValue* const value = c.metadata().find(c.key(ratios))) {
        c.set("compress_ratios", json_of(*value), c.key(ratios));
    }
    // 4: llama.cpp's number of this scoring.
    if (c.metadata().integer(c.key("expert_gating_func"), 0, 100, 4) != 4) c.take("scoring_func", "expert_gating_func");
}

void configure_glm4(GgufConfig& c) {
    configure_shared(c);
    configure_weights(c);
    c.set("use_qk_norm", c.any_layer_has("attn_q_norm.weight"));
    c.take("rotary_dim", "rope.dimension_count");
}

void configure_afmoe(GgufConfig& c) {
    c.take("num_shared_experts", "expert_shared_count", 0);
    c.take("num_dense_layers", "leading_dense_block_count", 0);
    c.take("route_scale", "expert_weights_scale", 1.0);
    c.take("route_norm", "expert_weights_norm", true);
    c.set("mup_enabled", true);  // in every file, as llama.cpp computes them
}

void configure_hunyuan(GgufConfig& c) {
    c.take("moe_topk", "expert_used_count");
    c.take("intermediate_size", "expert_shared_feed_forward_length");
}

void configure_hy3(GgufConfig& c) {
    std::int64_t n_dense = 0;
    const auto n_layers = c.config()["num_hidden_layers"].get<std::int64_t>();
    while (n_dense < n_layers && !c.layer_has(n_dense, "ffn_gate_inp.weight")) ++n_dense;
    c.set("first_k_dense_replace", n_dense);
    // Files have the size of all shared experts together.
    const std::string shared = c.key("expert_shared_feed_forward_length");
    const std::int64_t of_one = c.metadata().integer(c.key("expert_feed_forward_length"), 1, std::int64_t{1} << 24);
    c.set("num_shared_experts", c.metadata().integer(shared, 0, std::int64_t{1} << 32, of_one) / of_one, shared);
    c.take("router_scaling_factor", "expert_weights_scale", 1.0);
    c.take("route_norm", "expert_weights_norm", true);
}

void configure_ernie45(GgufConfig& c) {
    c.take("moe_num_shared_experts", "expert_shared_count", 0);
    c.take("moe_layer_start_index", "leading_dense_block_count", 0);
    c.take("moe_layer_interval", "interleave_moe_layer_step", 1);
}

void configure_bailing2(GgufConfig& c) {
    configure_glm4(c);
    c.take("num_shared_experts", "expert_shared_count", 0);
    c.take("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length");
    c.set("moe_router_enable_expert_bias", c.any_layer_has("exp_probs_b.bias"));
    const bool is_sigmoid = c.metadata().integer(c.key("expert_gating_func"), 0, 4, 2) == 2;
    for (const char* field : {"score_function", "scoring_func"}) {  // Ling's and K-EXAONE's
        c.set(field, is_sigmoid ? "sigmoid" : "softmax", c.key("expert_gating_func"));
    }
}

void configure_exaone(GgufConfig& c) {
    configure_bailing2(c);
    configure_windows(c);
}

void configure_minimax(GgufConfig& c) {
    configure_small(c);
    c.take("rotary_dim", "rope.dimension_count");
}

void configure_minimax_m3(GgufConfig& c) {
    configure_shared(c);
    configure_weights(c);
    c.take("rotary_dim", "rope.dimension_count");
    c.take("dense_intermediate_size", "feed_forward_length");
    if (c.config().contains("moe_intermediate_size")) {
        c.set("intermediate_size", c.config()["moe_intermediate_size"], c.key("expert_feed_forward_length"));
        const std::string shared = c.key("expert_shared_count");
        c.set("shared_intermediate_size",
              c.metadata().integer(shared, 1, 1024, 1) * c.config()["intermediate_size"].get<std::int64_t>(), shared);
    }
    c.take("index_n_heads", "attention.indexer.head_count");
    c.take("index_head_dim", "attention.indexer.key_length");
    c.take("index_block_size", "attention.indexer.block_size");
    c.take("index_topk_blocks", "attention.indexer.top_k");
    c.take("index_local_blocks", "attention.indexer.local_blocks");
    // The dense layers attend to all keys.
    json attention = json::array(), networks = json::array();
    const auto n_layers = c.config()["num_hidden_layers"].get<std::int64_t>();
    const std::string key = c.key("leading_dense_block_count");
    const std::int64_t n_dense = c.metadata().integer(key, 0, n_layers, 0);
    for (std::int64_t l = 0; l < n_layers; ++l) {
        attention.push_back(l < n_dense ? "full_attention" : "minimax_m3_sparse");
        networks.push_back(l < n_dense ? "dense" : "sparse");
    }
    c.set("layer_types", attention, key);
    c.set("mlp_layer_types", networks, key);
}

void configure_olmoe(GgufConfig& c) {
    configure_small(c);
    c.take("clip_qkv", "attention.clamp_kqv");
}

void configure_phimoe(GgufConfig& c) {
    configure_small(c);
    c.set("lm_head_bias", c.has_tensor("output.bias"));
    if (c.config().contains("sliding_window") && c.config()["sliding_window"] == 0u) c.set("sliding_window", nullptr);
    // Phi-3.5-MoE's published factor of cos and sin. GGUF has no key for it; the
    // converter's value comes from the two contexts alone (1.19).
    if (c.config().contains("rope_scaling")) {
        for (const char* field : {"short_mscale", "long_mscale"}) {
            c.config()["rope_scaling"][field] = 1.243163121016122;
        }
    }
}

void configure_granite(GgufConfig& c) {
    configure_small(c);
    c.take("embedding_multiplier", "embedding_scale");
    c.take("residual_multiplier", "residual_scale");
    c.take("attention_multiplier", "attention.scale");
    c.take("logits_scaling", "logit_scale");
    c.take("shared_intermediate_size", "expert_shared_feed_forward_length", 0);
}

void configure_granite_hybrid(GgufConfig& c) {
    configure_granite(c);
    configure_recurrent_layers(c, "linear_attention");
    c.take("mamba_d_conv", "ssm.conv_kernel");
    c.take("mamba_d_state", "ssm.state_size");
    c.take("mamba_n_groups", "ssm.group_count");
    c.take("mamba_n_heads", "ssm.time_step_rank");
    take_inner_head(c, "mamba_d_head");
    const std::string positions = c.key("rope.scaling.finetuned");
    c.set("position_embedding_type", c.metadata().flag(positions, true) ? "rope" : "nope", positions);
}

void configure_nemotron_h(GgufConfig& c) {
    configure_weights(c);
    configure_single_layers(c);
    c.take("layer_norm_epsilon", c.has("attention.layer_norm_rms_epsilon") ? "attention.layer_norm_rms_epsilon"
                                                                           : "attention.layer_norm_epsilon");
    c.take("moe_latent_size", "moe_latent_size");
    c.take("moe_shared_expert_intermediate_size", "expert_shared_feed_forward_length");
    c.take("conv_kernel", "ssm.conv_kernel");
    c.take("ssm_state_size", "ssm.state_size");
    c.take("n_groups", "ssm.group_count");
    c.take("mamba_num_heads", "ssm.time_step_rank");
    take_inner_head(c, "mamba_head_dim");
}

void configure_lfm2(GgufConfig& c) {
    configure_recurrent_layers(c, "conv");
    c.take("norm_eps", "attention.layer_norm_rms_epsilon");
    c.take("conv_L_cache", "shortconv.l_cache");
    c.take("num_dense_layers", "leading_dense_block_count", 0);
    c.take("routed_scaling_factor", "expert_weights_scale", 1.0);
    if (c.config()["routed_scaling_factor"] == 0.0) c.set("routed_scaling_factor", 1.0);
}

// Files do not say what llama.cpp takes for all: chunks of 8192 tokens, queries that grow
// with each of them, and no norms of queries and keys beside 128 experts.
void configure_llama4(GgufConfig& c) {
    configure_small(c);
    c.take("intermediate_size_mlp", "feed_forward_length");
    c.take("interleave_moe_layer_step", "interleave_moe_layer_step", 1);
    c.set("use_qk_norm", c.metadata().integer(c.key("expert_count"), 1, kMostExperts) != 128, c.key("expert_count"));
    if (c.metadata().integer(c.key("attention.sliding_window"), 0, kLongestContext, 1) > 0) return;
    c.set("attention_chunk_size", nullptr);
    c.set("attn_temperature_tuning", false);
    c.set("no_rope_layer_interval", c.config()["num_hidden_layers"]);
}

void configure_mimo2(GgufConfig& c) {
    configure_weights(c);
    configure_windows(c);
    configure_heads_of_windows(c);
    c.take("v_head_dim", "attention.value_length");
    c.take("rotary_dim", "rope.dimension_count");
    c.take("swa_rope_theta", "rope.freq_base_swa");
    c.take("attention_value_scale", "attention.value_scale", 1.0);
    c.set("norm_topk_prob", true);  // in every file, as llama.cpp computes them
    json sparse = json::array();
    const auto n_layers = c.config()["num_hidden_layers"].get<std::int64_t>();
    for (std::int64_t l = 0; l < n_layers; ++l) sparse.push_back(c.layer_has(l, "ffn_gate_inp.weight"));
    c.set("moe_layer_freq", sparse);
}

void configure_step35(GgufConfig& c) {
    configure_windows(c);
    configure_heads_of_windows(c);
    c.take("moe_router_scaling_factor", "expert_weights_scale", 1.0);
    c.take("norm_expert_weight", "expert_weights_norm", false);
    c.set("use_moe_router_bias", c.any_layer_has("exp_probs_b.bias"));
    c.set("use_head_wise_attn_gate", c.any_layer_has("attn_gate.weight"));
    c.take("share_expert_dim", "expert_shared_feed_forward_length");
    const json theta = c.config()["rope_theta"];
    const json in_window = c.metadata().number(c.key("rope.freq_base_swa"), theta.get<double>());
    json thetas = json::array(), shares = json::array(), sparse = json::array();
    const auto n_layers = c.config()["num_hidden_layers"].get<std::int64_t>();
    const json types = c.config().value("layer_types", json());
    for (std::int64_t l = 0; l < n_layers; ++l) {
        const bool windowed = types.is_array() && types[static_cast<std::size_t>(l)] == "sliding_attention";
        thetas.push_back(windowed ? in_window : theta);
        shares.push_back(windowed ? 1.0 : 0.5);  // of every file, as llama.cpp turns them
        sparse.push_back(c.layer_has(l, "ffn_gate_inp.weight") ? "sparse" : "dense");
    }
    c.set("rope_theta", thetas, c.key("rope.freq_base"));
    c.set("partial_rotary_factors", shares);
    c.set("mlp_layer_types", sparse);
    for (const auto& [field, name] : {std::pair<const char*, const char*>{"swiglu_limits", "swiglu_clamp_exp"},
                                      {"swiglu_limits_shared", "swiglu_clamp_shexp"}}) {
        const GgufValue* const caps = c.metadata().find(c.key(name));
        if (caps != nullptr) c.set(field, json_of(*caps), c.key(name));
    }
}

void configure_gpt_oss(GgufConfig& c) {
    configure_small(c);
    // Without rope_scaling transformers has YaRN here. Its borders are not cut to whole
    // pairs in the published configuration; GGUF has no key for that.
    json& scaling = c.config()["rope_scaling"];
    if (scaling.is_null()) scaling["rope_type"] = "default";
    if (!c.has("rope.scaling.type") && scaling.contains("factor")) scaling["rope_type"] = "yarn";  // Ollama's first
    scaling["truncate"] = false;
}

void configure_dbrx(GgufConfig& c) {
    c.take("d_model", "embedding_length");
    c.take("max_seq_len", "context_length");
    c.set("n_layers", c.config()["num_hidden_layers"], c.key("block_count"));
    c.take("n_heads", "attention.head_count");
    json& attention = c.config()["attn_config"] = json::object();
    c.take_into(attention, "kv_n_heads", "attention.head_count_kv");
    c.take_into(attention, "rope_theta", "rope.freq_base");
    c.take_into(attention, "clip_qkv", "attention.clamp_kqv");
    json& ffn = c.config()["ffn_config"] = json::object();
    c.take_into(ffn, "ffn_hidden_size", "feed_forward_length");
    c.take_into(ffn, "moe_num_experts", "expert_count");
    c.take_into(ffn, "moe_top_k", "expert_used_count");
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

GgufFamily without_shexp(GgufFamily family) {
    family.shared_network = "";
    return family;
}

GgufFamily with_kv_heads_of_layers(GgufFamily family) {
    family.own_kv_heads = true;
    return family;
}

GgufFamily with_heads_of_layers(GgufFamily family) {
    family.own_heads = family.own_kv_heads = true;
    return family;
}

GgufFamily with_gate_apart(GgufFamily family) {
    family.gate_apart = true;
    return family;
}

GgufFamily with_single_layers(GgufFamily family) {
    family.own_kv_heads = family.own_networks = true;
    return family;
}

GgufFamily also(GgufFamily family, const char* other_key, std::span<const GgufOtherName> names) {
    family.other_key = other_key;
    family.other_names = names;
    return family;
}

// As Ollama's converters and models write and read them.
constexpr GgufOtherName kGptOssNames[] = {
    {"attn_out.weight", "attn_output.weight"},
    {"attn_out.bias", "attn_output.bias"},
    {"attn_sinks", "attn_sinks.weight"},
    {"ffn_norm.weight", "post_attention_norm.weight"},
};
constexpr GgufOtherName kDeepseek2Names[] = {
    {"attn_out.weight", "attn_output.weight"},
    {"exp_probs_b", "exp_probs_b.bias"},
};
constexpr GgufOtherName kLfm2Names[] = {{"token_embd_norm.weight", "output_norm.weight"}};
constexpr GgufOtherName kQwen35Names[] = {{"ssm_dt", "ssm_dt.bias"}};
constexpr GgufOtherName kGemma4Names[] = {
    {"attn_post_norm.weight", "post_attention_norm.weight"},  {"ffn_pre_norm.weight", "ffn_norm.weight"},
    {"ffn_post_norm.weight", "post_ffw_norm.weight"},         {"ffn_post_norm_1.weight", "post_ffw_norm_1.weight"},
    {"ffn_pre_norm_2.weight", "pre_ffw_norm_2.weight"},       {"ffn_post_norm_2.weight", "post_ffw_norm_2.weight"},
    {"ffn_gate_inp.per_expert_scale", "ffn_down_exps.scale"}, {"layer_scalar", "layer_output_scale.weight"},
};

std::span<const GgufFamily> gguf_families() {
    static const std::array kGgufFamilies = {
        interleaved(row(kMixtral, "llama", configure_small)),
        row(kQwen2Moe, "qwen2moe", configure_qwen2),
        row(kQwen3Moe, "qwen3moe", configure_qwen3),
        row(kQwen3Moe, "qwen3vlmoe", configure_qwen3),
        with_kv_heads_of_layers(with_norm(row(kQwen3Next, "qwen3next", configure_qwen3_next), "post_attention_norm")),
        with_kv_heads_of_layers(
            also(with_norm(row(kQwen35MoeText, "qwen35moe", configure_qwen35), "post_attention_norm"), nullptr,
                 kQwen35Names)),
        interleaved(row(kDeepseekMoe, "deepseek", configure_shared)),
        also(row(kDeepseekV3, "deepseek2", configure_deepseek2), "glm4moelite", kDeepseek2Names),
        row(kDeepseekV32, "deepseek32", configure_deepseek32),
        row(kGlmMoeDsa, "glm-dsa", configure_glm_dsa),
        row(kDeepseekV4, "deepseek4", configure_deepseek4),
        row(kOlmoe, "olmoe", configure_olmoe),
        with_norm(row(kGlm4Moe, "glm4moe", configure_glm4), "post_attention_norm"),
        row(kDots1, "dots1", configure_glm4),
        with_gate_apart(row(kAfmoe, "afmoe", configure_afmoe)),
        row(kHunyuanMoe, "hunyuan-moe", configure_hunyuan),
        with_norm(row(kHy3, "hy_v3", configure_hy3), "ffn_norm", "exp_probs_b"),
        row(kMistral4, "mistral4", configure_deepseek2),
        interleaved(row(kLlama4Text, "llama4", configure_llama4)),
        with_heads_of_layers(row(kMimoV2Flash, "mimo2", configure_mimo2)),
        with_heads_of_layers(with_gate_apart(row(kStep35, "step35", configure_step35))),
        interleaved(row(kErnie45Moe, "ernie4_5-moe", configure_ernie45)),
        row(kExaoneMoe, "exaone-moe", configure_exaone),
        row(kBailingMoe2, "bailingmoe2", configure_bailing2),
        row(kMinimaxM2, "minimax-m2", configure_minimax),
        row(kMinimaxM3Text, "minimax-m3", configure_minimax_m3),
        row(kPhimoe, "phimoe", configure_phimoe),
        with_norm(row(kDbrx, "dbrx", configure_dbrx), "attn_output_norm"),
        interleaved(row(kGraniteMoe, "granitemoe", configure_granite)),
        with_kv_heads_of_layers(interleaved(row(kGraniteMoeHybrid, "granitehybrid", configure_granite_hybrid))),
        with_single_layers(with_norm(row(kNemotronH, "nemotron_h_moe", configure_nemotron_h), "attn_norm")),
        with_kv_heads_of_layers(also(row(kLfm2Moe, "lfm2moe", configure_lfm2), nullptr, kLfm2Names)),
        with_kv_heads_of_layers(
            also(without_shexp(row(kGemma4Text, "gemma4", configure_gemma4)), nullptr, kGemma4Names)),
        also(with_norm(row(kGptOss, "gpt-oss", configure_gpt_oss), "post_attention_norm", "ffn_gate_inp.bias"),
             "gptoss", kGptOssNames),
    };
    return kGgufFamilies;
}

const GgufFamily* find_row(std::string_view key) {
    for (const GgufFamily& family : gguf_families()) {
        if (family.key == key || (family.other_key != nullptr && family.other_key == key)) return &family;
    }
    return nullptr;
}

const GgufFamily& gguf_family(const GgufMetadata& metadata) {
    const std::string_view key = metadata.text("general.architecture");
    if (const GgufFamily* const family = find_row(key)) return *family;
    refuse_by_name(metadata.source(), key);
    std::string supported;
    for (const GgufFamily& family : gguf_families()) {
        supported += (supported.empty() ? "" : ", ") + std::string(family.key);
    }
    throw Error(ErrorKind::kUnsupported,
                messages::gguf_architecture_unsupported(metadata.source(), in_quotes(key), supported));
}

}  // namespace

const GgufNamedFamily* find_gguf_family(const GgufMetadata& metadata) {
    const GgufValue* const key = metadata.find("general.architecture");
    const auto* const text = key == nullptr ? nullptr : std::get_if<std::string_view>(key);
    return text == nullptr ? nullptr : find_row(*text);
}

ModelSpec read_gguf_spec(const fs::path& file, std::vector<Message>* notes) {
    std::vector<GgufFile> files;
    for (const fs::path& part : gguf_parts_of(file)) files.emplace_back(part);
    const GgufHeader& first = files.front().header();
    const GgufFamily& family = gguf_family(first.metadata);
    GgufConfig config(family, first);
    for (std::size_t i = 1; i < files.size(); ++i) config.add_tensors(files[i].header());
    const std::string& source = first.metadata.source();
    if (first.metadata.integer(config.key("expert_count"), 0, kMostExperts, 0) == 0) {
        throw Error(ErrorKind::kUnsupported, messages::family_without_experts(source, family.key));
    }
    configure_any(family, config, notes);
    const auto* const embedding = config.shape_of("token_embd.weight");
    if (embedding == nullptr || embedding->size() != 2) {
        throw Error(ErrorKind::kInvalidModel, messages::embedding_missing(source));
    }
    config.set("vocab_size", embedding->front(), "token_embd.weight");
    for (const GgufFile& part : files) add_long_rope(part, config);
    family.configure(config);
    for (const GgufFile& part : files) add_frequency_factors(part, config);

    for (const GgufFile& part : files) part.require_nothing_lost();
    ModelSpec spec = read_model_spec(config.config(), source, family, &config.names());
    spec.gguf.fused_qkv = config.any_layer_has("attn_qkv.weight");
    spec.gguf.fused_qkv_bias = config.any_layer_has("attn_qkv.bias");
    spec.gguf.joined_kv_b = config.any_layer_has("attn_kv_b.weight");
    spec.gguf.joined_delta_net = config.any_layer_has("ssm_in.weight");
    spec.gguf.joined_rates = config.any_layer_has("ssm_ba.weight");
    spec.gguf.fused_gate_up = config.any_layer_has("ffn_gate_up_exps.weight");
    spec.gguf.separate_experts = config.any_layer_has("ffn_gate.0.weight");
    take_optional_tensors(config, spec);
    refuse_unread_tensors(config, spec);
    return spec;
}

}  // namespace offstage::engine
