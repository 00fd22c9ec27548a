#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/indices.h"

namespace offstage::engine {

// What a model is: the numbers of config.json, under the field's names. The vocabulary of shapes used everywhere:
//   n_layers, n_experts, n_active, hidden_dim, ffn_dim, head_dim, n_heads, n_kv_heads, n_tokens, vocab_size
//
// Tensors of a Mixtral checkpoint (Hugging Face names, all weights (out, in)):
//   model.embed_tokens.weight                               (vocab_size, hidden_dim)
//   model.layers.L.input_layernorm.weight                   (hidden_dim)
//   model.layers.L.self_attn.q_proj.weight                  (n_heads * head_dim, hidden_dim)
//   model.layers.L.self_attn.{k,v}_proj.weight              (n_kv_heads * head_dim, hidden_dim)
//   model.layers.L.self_attn.o_proj.weight                  (hidden_dim, n_heads * head_dim)
//   model.layers.L.post_attention_layernorm.weight          (hidden_dim)
//   model.layers.L.block_sparse_moe.gate.weight             (n_experts, hidden_dim)
//   model.layers.L.block_sparse_moe.experts.E.{w1,w3}.weight (ffn_dim, hidden_dim)
//   model.layers.L.block_sparse_moe.experts.E.w2.weight     (hidden_dim, ffn_dim)
//   model.norm.weight                                       (hidden_dim)
//   lm_head.weight                                          (vocab_size, hidden_dim), absent when tied to the embedding
struct ModelConfig {
    std::string architecture;  // "MixtralForCausalLM"
    std::int64_t vocab_size = 0;
    std::int64_t hidden_dim = 0;
    std::int64_t ffn_dim = 0;  // of one expert
    std::int64_t n_layers = 0;
    std::int64_t n_heads = 0;
    std::int64_t n_kv_heads = 0;  // divides n_heads
    std::int64_t head_dim = 0;    // even
    std::int64_t n_experts = 0;
    std::int64_t n_active = 0;        // experts per token
    std::int64_t max_context = 0;     // max_position_embeddings, in tokens
    std::int64_t sliding_window = 0;  // 0: full attention
    double rope_theta = 10000.0;
    double rms_norm_eps = 1e-5;
    bool tied_embeddings = false;
    TokenId bos_token = -1;           // -1: none
    std::vector<TokenId> eos_tokens;  // config.json and generation_config.json together

    std::int64_t expert_weights() const { return 3 * hidden_dim * ffn_dim; }
    std::int64_t total_weights() const;  // below 2^60 after parsing, so that no byte count overflows
    // Read per token: one embedding row, n_active experts per layer, the rest whole. Tied embeddings are read whole
    // once.
    std::int64_t active_weights() const;
};

// Parses config.json as transformers 4 and 5 write it (rope_theta at the top or in rope_parameters). `source` names the
// file in messages. Throws Error: kInvalidModel names the key and what was expected; kUnsupported names the
// architecture, or a feature that would change results if it were ignored (rope scaling, hidden_act other than silu
// ...). The sizes must be there. What transformers' MixtralConfig takes for the other keys when they are absent:
// num_key_value_heads 8 (null: num_attention_heads), head_dim hidden_size / num_attention_heads, rope_theta 1e6,
// rms_norm_eps 1e-5, bos 1, eos 2, no sliding window, embeddings not tied.
ModelConfig parse_model_config(std::string_view json, const std::string& source);

// Reads DIR/config.json and, when it is there, DIR/generation_config.json (for eos_token_id), each up to 16 MiB.
// Throws Error: kNotFound (no such folder, no config.json), kInvalidInput (the path of a file), and as above.
ModelConfig read_model_config(const std::filesystem::path& directory);

}  // namespace offstage::engine
