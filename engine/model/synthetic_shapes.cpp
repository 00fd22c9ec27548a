#include "engine/model/synthetic_shapes.h"

#include <array>

namespace offstage::engine {
namespace {

// Sizes as in the published config.json files; mixtral-mini and fine are our own.
constexpr std::array kShapes = {
    SyntheticShape{"mixtral-8x7b", R"({"architectures": ["MixtralForCausalLM"], "num_hidden_layers": 32,
        "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000})"},
    SyntheticShape{"mixtral-8x22b", R"({"architectures": ["MixtralForCausalLM"], "num_hidden_layers": 56,
        "hidden_size": 6144, "intermediate_size": 16384, "num_attention_heads": 48, "num_key_value_heads": 8,
        "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32768})"},
    SyntheticShape{"mixtral-mini", R"({"architectures": ["MixtralForCausalLM"], "num_hidden_layers": 8,
        "hidden_size": 2048, "intermediate_size": 7168, "num_attention_heads": 16, "num_key_value_heads": 4,
        "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000})"},
    SyntheticShape{"fine", R"({"architectures": ["MixtralForCausalLM"], "num_hidden_layers": 12,
        "hidden_size": 1024, "intermediate_size": 512, "num_attention_heads": 16, "num_key_value_heads": 4,
        "num_local_experts": 64, "num_experts_per_tok": 8, "vocab_size": 32000})"},
    SyntheticShape{"phi-3.5-moe", R"({"architectures": ["PhiMoEForCausalLM"], "num_hidden_layers": 32,
        "hidden_size": 4096, "intermediate_size": 6400, "num_attention_heads": 32, "num_key_value_heads": 8,
        "num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": true, "lm_head_bias": true,
        "vocab_size": 32064})"},
    SyntheticShape{"deepseek-moe-16b", R"({"architectures": ["DeepseekForCausalLM"], "num_hidden_layers": 28,
        "hidden_size": 2048, "moe_intermediate_size": 1408, "intermediate_size": 10944, "num_attention_heads": 16,
        "n_routed_experts": 64, "num_experts_per_tok": 6, "n_shared_experts": 2, "first_k_dense_replace": 1,
        "vocab_size": 102400})"},
    SyntheticShape{"deepseek-v2-lite", R"({"architectures": ["DeepseekV2ForCausalLM"], "num_hidden_layers": 27,
        "hidden_size": 2048, "moe_intermediate_size": 1408, "intermediate_size": 10944, "num_attention_heads": 16,
        "q_lora_rank": null, "kv_lora_rank": 512, "n_routed_experts": 64, "num_experts_per_tok": 6,
        "n_shared_experts": 2, "first_k_dense_replace": 1, "vocab_size": 102400})"},
    SyntheticShape{"deepseek-v3", R"({"architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 61,
        "hidden_size": 7168, "moe_intermediate_size": 2048, "intermediate_size": 18432, "num_attention_heads": 128,
        "q_lora_rank": 1536, "kv_lora_rank": 512, "n_routed_experts": 256, "num_experts_per_tok": 8,
        "n_shared_experts": 1, "first_k_dense_replace": 3, "vocab_size": 129280})"},
    SyntheticShape{"dbrx", R"({"architectures": ["DbrxForCausalLM"], "n_layers": 40, "d_model": 6144, "n_heads": 48,
        "attn_config": {"kv_n_heads": 8, "clip_qkv": 8, "rope_theta": 500000},
        "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4}, "vocab_size": 100352})"},
    SyntheticShape{"gpt-oss-20b", R"({"architectures": ["GptOssForCausalLM"], "num_hidden_layers": 24,
        "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64,
        "num_key_value_heads": 8, "num_local_experts": 32, "num_experts_per_tok": 4, "vocab_size": 201088})"},
    SyntheticShape{"gpt-oss-120b", R"({"architectures": ["GptOssForCausalLM"], "num_hidden_layers": 36,
        "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64,
        "num_key_value_heads": 8, "num_local_experts": 128, "num_experts_per_tok": 4, "vocab_size": 201088})"},
    SyntheticShape{"qwen2-57b-a14b", R"({"architectures": ["Qwen2MoeForCausalLM"], "num_hidden_layers": 28,
        "hidden_size": 3584, "moe_intermediate_size": 2560, "shared_expert_intermediate_size": 20480,
        "num_attention_heads": 28, "num_key_value_heads": 4, "num_experts": 64, "num_experts_per_tok": 8,
        "vocab_size": 151936})"},
    SyntheticShape{"qwen3-30b-a3b", R"({"architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 48,
        "hidden_size": 2048, "moe_intermediate_size": 768, "head_dim": 128, "num_attention_heads": 32,
        "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true,
        "rope_theta": 1000000, "vocab_size": 151936})"},
    SyntheticShape{"qwen3-235b-a22b", R"({"architectures": ["Qwen3MoeForCausalLM"], "num_hidden_layers": 94,
        "hidden_size": 4096, "moe_intermediate_size": 1536, "head_dim": 128, "num_attention_heads": 64,
        "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8, "norm_topk_prob": true,
        "rope_theta": 1000000, "vocab_size": 151936})"},
    SyntheticShape{"qwen3.5-35b-a3b", R"({"architectures": ["Qwen3_5MoeForCausalLM"], "num_hidden_layers": 40,
        "hidden_size": 2048, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "head_dim": 256,
        "num_attention_heads": 16, "num_key_value_heads": 2, "num_experts": 256, "num_experts_per_tok": 8,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "full_attention_interval": 4,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000000, "partial_rotary_factor": 0.25},
        "vocab_size": 248320})"},
    SyntheticShape{"gemma4-26b-a4b", R"({"architectures": ["Gemma4ForCausalLM"], "num_hidden_layers": 30,
        "hidden_size": 2816, "intermediate_size": 2112, "moe_intermediate_size": 704, "enable_moe_block": true,
        "num_experts": 128, "top_k_experts": 8, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256,
        "num_global_key_value_heads": 2, "global_head_dim": 512, "attention_k_eq_v": true, "sliding_window": 1024,
        "final_logit_softcapping": 30, "hidden_size_per_layer_input": 0, "vocab_size": 262144})"},
    SyntheticShape{"glm-4.5-air", R"({"architectures": ["Glm4MoeForCausalLM"], "num_hidden_layers": 46,
        "hidden_size": 4096, "moe_intermediate_size": 1408, "intermediate_size": 10944, "head_dim": 128,
        "num_attention_heads": 96, "num_key_value_heads": 8, "n_routed_experts": 128, "num_experts_per_tok": 8,
        "n_shared_experts": 1, "first_k_dense_replace": 1, "attention_bias": true, "vocab_size": 151552})"},
    SyntheticShape{"minimax-m2", R"({"architectures": ["MiniMaxM2ForCausalLM"], "num_hidden_layers": 62,
        "hidden_size": 3072, "intermediate_size": 1536, "head_dim": 128, "num_attention_heads": 48,
        "num_key_value_heads": 8, "num_local_experts": 256, "num_experts_per_tok": 8, "rotary_dim": 64,
        "vocab_size": 200064})"},
    SyntheticShape{"olmoe", R"({"architectures": ["OlmoeForCausalLM"], "num_hidden_layers": 16,
        "hidden_size": 2048, "intermediate_size": 1024, "num_attention_heads": 16, "num_experts": 64,
        "num_experts_per_tok": 8, "vocab_size": 50304})"},
    SyntheticShape{"granite-3b-a800m", R"({"architectures": ["GraniteMoeForCausalLM"], "num_hidden_layers": 32,
        "hidden_size": 1536, "intermediate_size": 512, "num_attention_heads": 24, "num_key_value_heads": 8,
        "num_local_experts": 40, "num_experts_per_tok": 8, "embedding_multiplier": 12, "residual_multiplier": 0.22,
        "attention_multiplier": 0.015625, "logits_scaling": 6, "tie_word_embeddings": true, "vocab_size": 49155})"},
};

}  // namespace

std::span<const SyntheticShape> synthetic_shapes() {
    return kShapes;
}

}  // namespace offstage::engine
