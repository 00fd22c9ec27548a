"""Tiny random models of the families with what Hugging Face transformers computes for them.

    python tests/golden/make_family_golden.py [--out DIR] [--only NAME] [--seed N]

Each folder gets config.json, model.safetensors and golden.json; families.md beside this script says what golden.json holds and why
each model is there. A seed is taken only when its model is a sound reference: no near tie in a router or between the
two best tokens, attention that is not uniform, greedy answers that do not repeat one token. See `is_sound`.
"""

import argparse
import json
import math
import pathlib
import shutil
import sys

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (AfmoeConfig, AfmoeForCausalLM, DbrxConfig, DbrxForCausalLM, Dots1Config, Dots1ForCausalLM, DeepseekV2Config, DeepseekV2ForCausalLM, DeepseekV3Config,
                          DeepseekV3ForCausalLM, DeepseekV32Config, DeepseekV32ForCausalLM, DeepseekV4Config, DeepseekV4ForCausalLM, GlmMoeDsaConfig, GlmMoeDsaForCausalLM, Ernie4_5_MoeConfig, Ernie4_5_MoeForCausalLM, ExaoneMoeConfig,
                          ExaoneMoeForCausalLM, Gemma4ForCausalLM, Gemma4TextConfig, Glm4MoeConfig, Glm4MoeForCausalLM,
                          Glm4vMoeConfig, Glm4vMoeForConditionalGeneration, Glm4MoeLiteConfig, Glm4MoeLiteForCausalLM, GptOssConfig, GptOssForCausalLM,
                          GraniteMoeConfig, GraniteMoeForCausalLM, GraniteMoeHybridConfig,
                          GraniteMoeHybridForCausalLM, GraniteMoeSharedConfig, GraniteMoeSharedForCausalLM,
                          HunYuanMoEV1Config, HunYuanMoEV1ForCausalLM, HYV3Config, HYV3ForCausalLM,
                          Lfm2MoeConfig, Lfm2MoeForCausalLM, Llama4ForCausalLM, Llama4TextConfig, MiMoV2FlashConfig, MiMoV2FlashForCausalLM,
                          MiniMaxM2Config, MiniMaxM2ForCausalLM, MiniMaxM3SparseForConditionalGeneration, MiniMaxM3VLConfig, NemotronHConfig, NemotronHForCausalLM, Mistral4Config, Mistral4ForCausalLM, Mxfp4Config, OlmoeConfig, OlmoeForCausalLM, PhimoeConfig,
                          PhimoeForCausalLM, Qwen2MoeConfig, Qwen2MoeForCausalLM, Qwen3_5MoeForCausalLM,
                          Qwen3_5MoeTextConfig, Qwen3MoeConfig, Qwen3MoeForCausalLM, Qwen3NextConfig,
                          Qwen3NextForCausalLM, Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration, SarvamMoEConfig, SolarOpenConfig, SolarOpenForCausalLM,
                          Step3p7Config, Step3p7ForConditionalGeneration)

import deepseek_moe

HERE = pathlib.Path(__file__).resolve().parent
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__}
VOCABULARY = 48
SEQUENCES = (1, 5, 24)  # one token, a few, and the one whose routing and hidden states are written
PROMPT = 8              # the greedy answer continues the first tokens of the last sequence
N_GREEDY = 64
SMALLEST_ROUTER_MARGIN = 1e-4  # between the last chosen and the best other score (of experts, and of groups)
SMALLEST_INDEXER_MARGIN = 1e-4  # between the scores of the last chosen key and of the best other
SMALLEST_MIXER_MARGIN = 1e-2   # in the longest case, which is compared with bf16 products too
SMALLEST_LOGIT_MARGIN = 1e-2   # between the two best tokens of a greedy step
LARGEST_ENTROPY = 0.9          # of attention, as a share of the entropy of uniform attention
FEWEST_TOKENS = 12             # different ones in a greedy answer
QK_NORMS = (".q_norm.", ".k_norm.", ".q_layernorm.", ".k_layernorm.")
CHOICE_BIASES = ("e_score_correction_bias", "expert_bias")
LARGEST_SIZE = 300_000  # bytes of one folder

CLASSES = {"qwen3_moe": (Qwen3MoeConfig, Qwen3MoeForCausalLM),
           "qwen3_next": (Qwen3NextConfig, Qwen3NextForCausalLM),
           "qwen3_5_moe": (Qwen3_5MoeTextConfig, Qwen3_5MoeForCausalLM),
           "deepseek_v2": (DeepseekV2Config, DeepseekV2ForCausalLM),
           "deepseek_v3": (DeepseekV3Config, DeepseekV3ForCausalLM),
           "deepseek_v32": (DeepseekV32Config, DeepseekV32ForCausalLM),
           "deepseek_v4": (DeepseekV4Config, DeepseekV4ForCausalLM),
           "glm_moe_dsa": (GlmMoeDsaConfig, GlmMoeDsaForCausalLM),
           "deepseek": (deepseek_moe.Config, deepseek_moe.DeepseekForCausalLM),
           "dbrx": (DbrxConfig, DbrxForCausalLM),
           "dots1": (Dots1Config, Dots1ForCausalLM),
           "ernie4_5_moe": (Ernie4_5_MoeConfig, Ernie4_5_MoeForCausalLM),
           "exaone_moe": (ExaoneMoeConfig, ExaoneMoeForCausalLM),
           "gemma4": (Gemma4TextConfig, Gemma4ForCausalLM),
           "gpt_oss": (GptOssConfig, GptOssForCausalLM),
           "granitemoe": (GraniteMoeConfig, GraniteMoeForCausalLM),
           "granitemoeshared": (GraniteMoeSharedConfig, GraniteMoeSharedForCausalLM),
           "granitemoehybrid": (GraniteMoeHybridConfig, GraniteMoeHybridForCausalLM),
           "hunyuan_v1_moe": (HunYuanMoEV1Config, HunYuanMoEV1ForCausalLM),
           "hy_v3": (HYV3Config, HYV3ForCausalLM),
           "lfm2_moe": (Lfm2MoeConfig, Lfm2MoeForCausalLM),
           "llama4": (Llama4TextConfig, Llama4ForCausalLM),
           "mimo_v2_flash": (MiMoV2FlashConfig, MiMoV2FlashForCausalLM),
           "mistral4": (Mistral4Config, Mistral4ForCausalLM),
           "step3p7": (Step3p7Config, Step3p7ForConditionalGeneration),
           "sarvam_moe": (SarvamMoEConfig, Glm4MoeForCausalLM),
           "solar_open": (SolarOpenConfig, SolarOpenForCausalLM),
           "glm4_moe": (Glm4MoeConfig, Glm4MoeForCausalLM),
           "glm4_moe_lite": (Glm4MoeLiteConfig, Glm4MoeLiteForCausalLM),
           "minimax_m2": (MiniMaxM2Config, MiniMaxM2ForCausalLM),
           "minimax_m3_vl": (MiniMaxM3VLConfig, MiniMaxM3SparseForConditionalGeneration),
           "nemotron_h": (NemotronHConfig, NemotronHForCausalLM),
           "afmoe": (AfmoeConfig, AfmoeForCausalLM),
           "glm4v_moe": (Glm4vMoeConfig, Glm4vMoeForConditionalGeneration),
           "qwen3_vl_moe": (Qwen3VLMoeConfig, Qwen3VLMoeForConditionalGeneration),
           "olmoe": (OlmoeConfig, OlmoeForCausalLM),
           "phimoe": (PhimoeConfig, PhimoeForCausalLM),
           "qwen2_moe": (Qwen2MoeConfig, Qwen2MoeForCausalLM)}

# Where the default seed makes a model that rounding to bf16 turns, or is far from one that is sound.
SEEDS = {"qwen3_moe_yarn_f32": 11, "phimoe_bf16": 4584, "phimoe_longrope_f32": 2209, "phimoe_longrope_long_f32": 3223,
         "exaone_moe_bf16": 3008, "bailing_moe2_bf16": 3015, "ernie45_moe_interval_f32": 3009,
         "lfm2_moe_odd_f32": 1907, "mimo_v2_flash_bf16": 1719, "mistral3_bf16": 1300}

# Keys of DeepSeek's own config.json that transformers does not read.
DEEPSEEK_EXTRA = dict(aux_loss_alpha=0.001, ep_size=1, moe_layer_freq=1, seq_aux=True)

# name: (family, dtype on disk, settings, how config.json is written)
#   v4     as transformers 4 and the published checkpoints write it: rope_theta and rope_scaling, torch_dtype
#   extra  further keys of the published checkpoints
#   without  keys that they have not
#   long   positions of LongRoPE beyond its first context, whatever the length: transformers 5.23 takes the short
#          factors for them, the published modeling_phimoe.py the long ones
#   published_m3  MiniMax-M3's own keys: sparse_attention_config, moe_layer_freq
#   mxfp4  experts in blocks of 32 weights of 4 bits with an exponent, as gpt-oss is published
#   mtp    adds tensors of a prediction layer behind the last layer, which a reader must leave out
#   tower  as Qwen3.5 and Gemma 4 are published: the language model's part of a model that sees, with tensors of a
#          vision tower (Qwen: and of a prediction layer), which a reader must leave out, and the experts of a layer in
#          two tensors
#   below  as the language model of the class and model type given there: all tensors below language_model, beside some of a
#          tower, which a reader must leave out
#   mimo   with MiMo-V2-Flash's own keys and names, written once the reference was computed
#   shares queries, keys and values in FP8, in one matrix of so many machines' shares
#   ds4    as DeepSeek-V4 is published, whose keys and names transformers changes, written once the reference was
#          computed; fp4: with experts in blocks of 32 weights of 4 bits with an exponent
#   step   as Step 3.5 was published, written once the reference was computed
#   bailing  GLM-4.5's model under the names of Ling 2, whose own code no transformers has: computed before it is renamed
#   transposed  as Qwen3-VL-MoE is published: the experts' two tensors with inputs before outputs
#   longest, prompt   of the last sequence and of the greedy answer, where they are not as usual
CASES = {
    "qwen3_moe_bf16": (
        "qwen3_moe", torch.bfloat16,
        dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             num_experts=16, num_experts_per_tok=4, moe_intermediate_size=16, intermediate_size=96,
             norm_topk_prob=True, rope_parameters=dict(rope_type="default", rope_theta=1e6)),
        dict(v4=True, extra=dict(max_window_layers=3))),
    "qwen3_moe_dense_layers_tied_bf16": (
        "qwen3_moe", torch.bfloat16,
        dict(hidden_size=72, head_dim=12, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=4,
             num_experts=6, num_experts_per_tok=3, moe_intermediate_size=40, intermediate_size=56,
             mlp_only_layers=[0, 3], decoder_sparse_step=2, norm_topk_prob=False, tie_word_embeddings=True,
             rms_norm_eps=1e-3, rope_parameters=dict(rope_type="default", rope_theta=500.0)),
        dict()),
    "qwen3_moe_yarn_f32": (
        "qwen3_moe", torch.float32,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
             num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, intermediate_size=40, norm_topk_prob=True,
             max_position_embeddings=256,
             rope_parameters=dict(rope_type="yarn", rope_theta=100.0, factor=4.0,
                                  original_max_position_embeddings=64)),
        dict(v4=True)),
    "qwen3_moe_window_f32": (
        "qwen3_moe", torch.float32,
        dict(hidden_size=24, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
             num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, intermediate_size=40, norm_topk_prob=True,
             max_position_embeddings=512, use_sliding_window=True, sliding_window=20, max_window_layers=1,
             rope_parameters=dict(rope_type="default", rope_theta=100.0)),
        dict(v4=True, longest=160, prompt=150)),
    "qwen3_next_bf16": (
        "qwen3_next", torch.bfloat16,
        dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4,
             num_experts=12, num_experts_per_tok=4, moe_intermediate_size=12, shared_expert_intermediate_size=24,
             linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=8, linear_value_head_dim=12,
             rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.25)),
        dict(v4=True, extra=dict(full_attention_interval=4))),
    "qwen3_5_moe_bf16": (
        "qwen3_5_moe", torch.bfloat16,
        dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4,
             num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, shared_expert_intermediate_size=24,
             linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=12, linear_value_head_dim=12,
             rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.25,
                                  mrope_interleaved=True, mrope_section=[1, 1, 0])),
        dict(tower=True)),
    "qwen3_5_moe_odd_f32": (
        "qwen3_5_moe", torch.float32,
        dict(hidden_size=28, head_dim=12, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=3,
             num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20,
             linear_num_key_heads=2, linear_num_value_heads=6, linear_key_head_dim=7, linear_value_head_dim=9,
             linear_conv_kernel_dim=3, layer_types=["full_attention", "linear_attention", "linear_attention"],
             tie_word_embeddings=True, max_position_embeddings=256, rms_norm_eps=1e-5,
             rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5)),
        dict(longest=100, prompt=90)),
    "gemma4_bf16": (
        "gemma4", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, global_head_dim=16, num_attention_heads=4, num_key_value_heads=2,
             num_global_key_value_heads=1, attention_k_eq_v=True, num_hidden_layers=4, sliding_window=10,
             layer_types=["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
             intermediate_size=24, enable_moe_block=True, num_experts=8, top_k_experts=3, moe_intermediate_size=16,
             hidden_size_per_layer_input=0, vocab_size_per_layer_input=VOCABULARY, final_logit_softcapping=4.0,
             rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=1e4),
                                  full_attention=dict(rope_type="proportional", rope_theta=1e3,
                                                      partial_rotary_factor=0.25))),
        dict(tower=True, longest=60, prompt=50)),
    "gemma4_odd_f32": (
        "gemma4", torch.float32,
        dict(hidden_size=28, head_dim=10, num_attention_heads=3, num_key_value_heads=3, num_hidden_layers=4,
             sliding_window=5, attention_bias=True,
             layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
             per_layer_config={i: dict(head_dim=14, num_key_value_heads=1) for i in (0, 3)},
             intermediate_size=20, enable_moe_block=True, num_experts=6, top_k_experts=2, moe_intermediate_size=12,
             hidden_size_per_layer_input=0, vocab_size_per_layer_input=VOCABULARY, tie_word_embeddings=False,
             rms_norm_eps=1e-4, max_position_embeddings=256,
             rope_parameters=dict(sliding_attention=dict(rope_type="default", rope_theta=50.0),
                                  full_attention=dict(rope_type="proportional", rope_theta=100.0, factor=2.0,
                                                      partial_rotary_factor=0.5))),
        dict(longest=40, prompt=30)),
    "deepseek_v2_lite_bf16": (
        "deepseek_v2", torch.bfloat16,
        dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=3, q_lora_rank=None, kv_lora_rank=32,
             qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, intermediate_size=48, moe_intermediate_size=16,
             n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=2, first_k_dense_replace=1,
             topk_method="greedy", n_group=1, topk_group=1, routed_scaling_factor=1.0, norm_topk_prob=False,
             max_position_embeddings=2560,
             rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=40, beta_fast=32, beta_slow=1,
                                  mscale=0.707, mscale_all_dim=0.707, original_max_position_embeddings=64)),
        dict(v4=True, extra=dict(scoring_func="softmax", **DEEPSEEK_EXTRA))),
    "deepseek_v2_groups_bf16": (
        "deepseek_v2", torch.bfloat16,
        dict(hidden_size=36, num_attention_heads=3, num_hidden_layers=3, q_lora_rank=20, kv_lora_rank=28,
             qk_nope_head_dim=12, qk_rope_head_dim=6, v_head_dim=10, intermediate_size=52, moe_intermediate_size=20,
             n_routed_experts=12, num_experts_per_tok=4, n_shared_experts=1, first_k_dense_replace=1,
             topk_method="group_limited_greedy", n_group=4, topk_group=2, routed_scaling_factor=16.0,
             norm_topk_prob=False, rms_norm_eps=1e-3, max_position_embeddings=768,
             rope_parameters=dict(rope_type="yarn", rope_theta=50.0, factor=8.0, beta_fast=4, beta_slow=1, mscale=1.0,
                                  mscale_all_dim=0.6, original_max_position_embeddings=96)),
        dict()),
    "deepseek_v3_bf16": (
        "deepseek_v3", torch.bfloat16,
        dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=3, q_lora_rank=24,
             kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, intermediate_size=56,
             moe_intermediate_size=16, n_routed_experts=16, num_experts_per_tok=4, n_shared_experts=1,
             first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=True,
             max_position_embeddings=3840, num_nextn_predict_layers=1,
             rope_parameters=dict(rope_type="yarn", rope_theta=50.0, factor=40, beta_fast=4, beta_slow=1, mscale=1.0,
                                  mscale_all_dim=1.0, original_max_position_embeddings=96)),
        dict(v4=True, mtp=True, extra=dict(scoring_func="sigmoid", topk_method="noaux_tc", **DEEPSEEK_EXTRA))),
    "deepseek_v3_plain_f32": (
        "deepseek_v3", torch.float32,
        dict(hidden_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=2, q_lora_rank=None,
             kv_lora_rank=20, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14, intermediate_size=36,
             moe_intermediate_size=12, n_routed_experts=9, num_experts_per_tok=3, n_shared_experts=2,
             first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=2.446, norm_topk_prob=True,
             rms_norm_eps=1e-5, max_position_embeddings=256, num_nextn_predict_layers=0,
             rope_parameters=dict(rope_type="default", rope_theta=50000.0)),
        dict()),
    "deepseek_v32_bf16": (
        "deepseek_v32", torch.bfloat16,
        dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=3, q_lora_rank=24,
             kv_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=8, v_head_dim=16, intermediate_size=56,
             moe_intermediate_size=16, n_routed_experts=12, num_experts_per_tok=4, n_shared_experts=1,
             first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5, norm_topk_prob=True,
             index_n_heads=8, index_head_dim=16, index_topk=12, max_position_embeddings=3840,
             rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=40, beta_fast=32, beta_slow=1,
                                  mscale=1.0, mscale_all_dim=1.0, original_max_position_embeddings=96)),
        dict(v4=True, mtp=True, longest=40, prompt=30, without=("mlp_layer_types", "layer_types"),
             extra=dict(scoring_func="sigmoid", topk_method="noaux_tc", num_nextn_predict_layers=1, **DEEPSEEK_EXTRA))),
    "deepseek_v4_fp4": (
        "deepseek_v4", torch.bfloat16,
        dict(hidden_size=32, moe_intermediate_size=32, num_hidden_layers=3, num_attention_heads=4, head_dim=24,
             num_key_value_heads=1, q_lora_rank=20, qk_rope_head_dim=8, num_experts_per_tok=3, n_routed_experts=6,
             n_shared_experts=1, sliding_window=10, o_groups=2, o_lora_rank=12, index_n_heads=6, index_head_dim=16,
             index_topk=9, compress_ratios=[0, 4, 128], num_hash_layers=2, swiglu_limit=1.5, hc_sinkhorn_iters=20,
             routed_scaling_factor=1.5, max_position_embeddings=1024, rope_theta=1e3, compress_rope_theta=4e3,
             rope_parameters=dict(rope_type="yarn", factor=16.0, beta_fast=32, beta_slow=1,
                                  original_max_position_embeddings=64)),
        dict(ds4=True, fp4=True, longest=150, prompt=120)),
    "deepseek_v4_odd_f32": (
        "deepseek_v4", torch.float32,
        dict(hidden_size=20, moe_intermediate_size=8, num_hidden_layers=3, num_attention_heads=6, head_dim=14,
             num_key_value_heads=1, q_lora_rank=18, qk_rope_head_dim=6, num_experts_per_tok=2, n_routed_experts=7,
             n_shared_experts=1, sliding_window=5, o_groups=3, o_lora_rank=10, index_n_heads=5, index_head_dim=10,
             index_topk=12, compress_ratios=[4, 4, 0], num_hash_layers=1, swiglu_limit=1.0, hc_sinkhorn_iters=3,
             routed_scaling_factor=2.0, rms_norm_eps=1e-3, hc_eps=1e-2, max_position_embeddings=256, rope_theta=100.0,
             compress_rope_theta=300.0),
        dict(ds4=True, longest=100, prompt=90)),
    "glm_moe_dsa_bf16": (
        "glm_moe_dsa", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=4, q_lora_rank=20,
             kv_lora_rank=24, qk_nope_head_dim=12, qk_rope_head_dim=8, v_head_dim=16, intermediate_size=40,
             moe_intermediate_size=16, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=1,
             first_k_dense_replace=1, routed_scaling_factor=2.5, norm_topk_prob=True, index_n_heads=6,
             index_head_dim=16, index_topk=11, indexer_types=["full", "shared", "full", "shared"],
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(longest=40, prompt=30)),
    "glm_moe_dsa_odd_f32": (
        "glm_moe_dsa", torch.float32,
        dict(hidden_size=28, num_attention_heads=3, num_key_value_heads=3, num_hidden_layers=4, q_lora_rank=18,
             kv_lora_rank=20, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14, intermediate_size=36,
             moe_intermediate_size=12, n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=2,
             mlp_layer_types=["sparse", "dense", "sparse", "dense"], n_group=3, topk_group=2,
             routed_scaling_factor=1.5, norm_topk_prob=False, index_n_heads=7, index_head_dim=10, index_topk=67,
             index_topk_freq=2, index_skip_topk_offset=2, max_position_embeddings=256, rms_norm_eps=1e-4,
             rope_parameters=dict(rope_type="default", rope_theta=100.0)),
        dict(longest=100, prompt=90, without=("indexer_types",))),
    "qwen2_moe_bf16": (
        "qwen2_moe", torch.bfloat16,
        dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=3, num_experts=10,
             num_experts_per_tok=3, moe_intermediate_size=24, intermediate_size=56,
             shared_expert_intermediate_size=44, mlp_only_layers=[1], norm_topk_prob=False, use_sliding_window=False,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "olmoe_bf16": (
        "olmoe", torch.bfloat16,
        dict(hidden_size=48, num_attention_heads=6, num_key_value_heads=3, num_hidden_layers=2, num_experts=12,
             num_experts_per_tok=4, intermediate_size=28, norm_topk_prob=False, clip_qkv=1.5,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    # Three without what llama.cpp's converter leaves out: dense layers of Qwen2-MoE, OLMoE's clipping, Phi's own jitter.
    "qwen2_moe_plain_bf16": (
        "qwen2_moe", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, num_experts=8,
             num_experts_per_tok=2, moe_intermediate_size=24, intermediate_size=56,
             shared_expert_intermediate_size=40, norm_topk_prob=False, use_sliding_window=False,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "olmoe_plain_bf16": (
        "olmoe", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=2, num_experts=8,
             num_experts_per_tok=3, intermediate_size=24, norm_topk_prob=False,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "phimoe_plain_bf16": (
        "phimoe", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, num_local_experts=6,
             num_experts_per_tok=2, intermediate_size=24, attention_bias=True, lm_head_bias=True,
             router_jitter_noise=0.01, rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "glm4_moe_bf16": (
        "glm4_moe", torch.bfloat16,
        dict(hidden_size=48, head_dim=12, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             n_routed_experts=12, num_experts_per_tok=3, n_shared_experts=1, moe_intermediate_size=20,
             intermediate_size=56, first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=2.5,
             norm_topk_prob=True, use_qk_norm=True, attention_bias=True, num_nextn_predict_layers=1,
             rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5)),
        dict(v4=True, mtp=True)),
    "glm4_moe_groups_f32": (
        "glm4_moe", torch.float32,
        dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=1, num_hidden_layers=2,
             n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=2, moe_intermediate_size=12,
             intermediate_size=40, first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=1.0,
             norm_topk_prob=False, use_qk_norm=False, attention_bias=False, num_nextn_predict_layers=0,
             rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.25)),
        dict()),
    "glm4_moe_lite_bf16": (
        "glm4_moe_lite", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=3, q_lora_rank=20,
             kv_lora_rank=20, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14, intermediate_size=36,
             moe_intermediate_size=12, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=1, n_group=1,
             topk_group=1, norm_topk_prob=True, num_nextn_predict_layers=1,
             mlp_layer_types=["dense", "sparse", "dense"],
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(mtp=True)),
    "dots1_bf16": (
        "dots1", torch.bfloat16,
        dict(hidden_size=40, head_dim=12, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=3,
             n_routed_experts=12, num_experts_per_tok=3, n_shared_experts=2, moe_intermediate_size=16,
             intermediate_size=56, first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=2.5,
             norm_topk_prob=True, sliding_window=None, rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True, extra=dict(scoring_func="sigmoid"))),
    "ernie45_moe_bf16": (
        "ernie4_5_moe", torch.bfloat16,
        dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4, moe_num_experts=12,
             moe_k=3, moe_num_shared_experts=2, moe_intermediate_size=16, intermediate_size=64,
             moe_layer_start_index=1, moe_layer_end_index=3, moe_layer_interval=1, use_bias=False,
             tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=5e5)),
        dict(v4=True, extra=dict(moe_use_aux_free=True, use_rmsnorm=True))),
    "ernie45_moe_interval_f32": (
        "ernie4_5_moe", torch.float32,
        dict(hidden_size=24, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=5, moe_num_experts=7,
             moe_k=2, moe_num_shared_experts=0, moe_intermediate_size=12, intermediate_size=28,
             moe_layer_start_index=1, moe_layer_end_index=3, moe_layer_interval=2, use_bias=False,
             tie_word_embeddings=False, rope_parameters=dict(rope_type="default", rope_theta=100.0)),
        dict()),
    "exaone_moe_bf16": (
        "exaone_moe", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=5,
             num_experts=8, num_experts_per_tok=3, num_shared_experts=1, moe_intermediate_size=16,
             intermediate_size=56, first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=2.5,
             norm_topk_prob=True, sliding_window=10, sliding_window_pattern="LLLG",
             layer_types=["sliding_attention"] * 3 + ["full_attention", "sliding_attention"],
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True, longest=40, prompt=30, extra=dict(scoring_func="sigmoid", num_nextn_predict_layers=0))),
    "bailing_moe2_bf16": (
        "glm4_moe", torch.bfloat16,
        dict(hidden_size=48, head_dim=12, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             n_routed_experts=12, num_experts_per_tok=3, n_shared_experts=1, moe_intermediate_size=16,
             intermediate_size=56, first_k_dense_replace=1, n_group=4, topk_group=2, routed_scaling_factor=2.5,
             norm_topk_prob=True, use_qk_norm=True, attention_bias=False, num_nextn_predict_layers=0,
             rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5)),
        dict(v4=True, bailing=True)),
    "hunyuan_moe_bf16": (
        "hunyuan_v1_moe", torch.bfloat16,
        dict(hidden_size=24, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
             num_experts=6, moe_topk=2, intermediate_size=12, tie_word_embeddings=True,
             rope_parameters=dict(rope_type="dynamic", rope_theta=100.0, alpha=20.0, factor=1.0)),
        dict(v4=True, extra=dict(moe_topk=[2] * 2, moe_intermediate_size=[12] * 2, num_shared_expert=[1] * 2,
                                 use_qk_norm=True, use_cla=False))),
    "hy3_bf16": (
        "hy_v3", torch.bfloat16,
        dict(hidden_size=24, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             num_experts=6, num_experts_per_tok=2, num_shared_experts=1, moe_intermediate_size=12, intermediate_size=28,
             router_scaling_factor=2.8, rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True, extra=dict(first_k_dense_replace=1, route_norm=True))),
    "solar_open_bf16": (
        "solar_open", torch.bfloat16,
        dict(hidden_size=24, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
             n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=12,
             routed_scaling_factor=1.5, max_position_embeddings=256,
             rope_parameters=dict(rope_type="yarn", rope_theta=1e4, factor=2.0, original_max_position_embeddings=128)),
        dict(v4=True, extra=dict(partial_rotary_factor=1.0))),
    "sarvam_moe_bf16": (
        "sarvam_moe", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             n_routed_experts=6, num_experts_per_tok=2, n_shared_experts=1, moe_intermediate_size=12,
             intermediate_size=28, first_k_dense_replace=1, routed_scaling_factor=2.5,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True, extra=dict(architectures=["SarvamMoEForCausalLM"], num_experts=6, num_shared_experts=1,
                                 score_function="sigmoid", use_qkv_bias=False, use_bias=False))),
    "mistral4_bf16": (
        "mistral4", torch.bfloat16,
        dict(hidden_size=24, q_lora_rank=14, kv_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=8, v_head_dim=8,
             num_attention_heads=3, num_key_value_heads=3, num_hidden_layers=2, n_routed_experts=6,
             num_experts_per_tok=2, moe_intermediate_size=12, intermediate_size=28,
             max_position_embeddings=128,
             rope_parameters=dict(rope_type="yarn", rope_theta=1e4, factor=8.0, original_max_position_embeddings=16,
                                  beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                                  llama_4_scaling_beta=0.4)),
        dict(longest=40, prompt=30)),
    "mistral3_bf16": (
        "mistral4", torch.bfloat16,
        dict(hidden_size=20, q_lora_rank=14, kv_lora_rank=12, qk_nope_head_dim=6, qk_rope_head_dim=8, v_head_dim=10,
             num_attention_heads=3, num_key_value_heads=3, num_hidden_layers=3, n_routed_experts=6,
             num_experts_per_tok=2, moe_intermediate_size=12, intermediate_size=28, first_k_dense_replace=1,
             max_position_embeddings=128,
             rope_parameters=dict(rope_type="yarn", rope_theta=1e4, factor=8.0, original_max_position_embeddings=16,
                                  beta_fast=32.0, beta_slow=1.0, mscale=1.0, mscale_all_dim=1.0,
                                  llama_4_scaling_beta=0.3)),
        dict(longest=40, prompt=30, below=("Mistral3ForConditionalGeneration", "mistral3"))),
    "llama4_bf16": (
        "llama4", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=5,
             num_local_experts=6, num_experts_per_tok=1, intermediate_size=16, intermediate_size_mlp=24,
             attention_chunk_size=64, floor_scale=20, attn_scale=0.4, max_position_embeddings=512,
             rope_parameters=dict(rope_type="llama3", rope_theta=1e3, factor=8.0, low_freq_factor=1.0,
                                  high_freq_factor=4.0, original_max_position_embeddings=64)),
        dict(v4=True, longest=140, prompt=130, extra=dict(no_rope_layers=[]),
             below=("Llama4ForConditionalGeneration", "llama4"))),
    "llama4_odd_f32": (
        "llama4", torch.float32,
        dict(hidden_size=28, head_dim=10, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=4,
             num_local_experts=5, num_experts_per_tok=1, intermediate_size=12, intermediate_size_mlp=20,
             attention_chunk_size=64, use_qk_norm=False, no_rope_layers=[0, 1, 1, 0], moe_layers=[0, 3],
             floor_scale=7, attn_scale=0.3, attention_bias=True, tie_word_embeddings=True, rms_norm_eps=1e-3,
             max_position_embeddings=256, rope_parameters=dict(rope_type="default", rope_theta=100.0)),
        dict(longest=140, prompt=130)),
    # For its GGUF file: of chunks, growth and norms that has what llama.cpp takes for all.
    "llama4_plain_bf16": (
        "llama4", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4,
             num_local_experts=6, num_experts_per_tok=1, intermediate_size=16, intermediate_size_mlp=24,
             interleave_moe_layer_step=2,
             rope_parameters=dict(rope_type="llama3", rope_theta=1e3, factor=8.0, low_freq_factor=1.0,
                                  high_freq_factor=4.0, original_max_position_embeddings=64)),
        dict(v4=True)),
    "mimo_v2_flash_bf16": (
        "mimo_v2_flash", torch.bfloat16,
        dict(hidden_size=32, head_dim=24, v_head_dim=12, num_attention_heads=4, num_key_value_heads=1,
             num_hidden_layers=4, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=16,
             intermediate_size=40, sliding_window=10, attention_value_scale=0.6,
             layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"],
             rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.334),
                                  sliding_attention=dict(rope_type="default", rope_theta=100.0,
                                                         partial_rotary_factor=0.334))),
        dict(mimo=True, longest=40, prompt=30)),
    "mimo_v2_5_fp8": (
        "mimo_v2_flash", torch.bfloat16,
        dict(hidden_size=24, head_dim=68, v_head_dim=56, num_attention_heads=8, num_key_value_heads=4,
             num_hidden_layers=3, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=16,
             intermediate_size=40, sliding_window=10, attention_value_scale=0.6,
             layer_types=["full_attention", "sliding_attention", "sliding_attention"],
             rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.334),
                                  sliding_attention=dict(rope_type="default", rope_theta=100.0,
                                                         partial_rotary_factor=0.334))),
        dict(mimo=True, shares=4, longest=40, prompt=30)),
    "mimo_v2_flash_odd_f32": (
        "mimo_v2_flash", torch.float32,
        dict(hidden_size=28, head_dim=10, v_head_dim=14, num_attention_heads=6, num_key_value_heads=3,
             num_hidden_layers=3, n_routed_experts=6, num_experts_per_tok=2, moe_intermediate_size=12,
             intermediate_size=20, sliding_window=5, attention_value_scale=None, attention_bias=True, n_group=3,
             topk_group=2, norm_topk_prob=False, routed_scaling_factor=1.7, rms_norm_eps=1e-3,
             layer_types=["sliding_attention", "full_attention", "sliding_attention"],
             mlp_layer_types=["sparse", "dense", "sparse"],
             rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=50.0, partial_rotary_factor=0.4),
                                  sliding_attention=dict(rope_type="default", rope_theta=100.0,
                                                         partial_rotary_factor=0.8))),
        dict(longest=40, prompt=30)),
    "step3p5_bf16": (
        "step3p7", torch.bfloat16,
        dict(text_config=dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_sliding_attention_heads=6,
                              num_key_value_heads=2, num_hidden_layers=5, n_routed_experts=8, num_experts_per_tok=3,
                              moe_intermediate_size=16, share_expert_dim=20, intermediate_size=40, sliding_window=10,
                              moe_router_scaling_factor=1.5, max_position_embeddings=256,
                              layer_types=["full_attention"] + ["sliding_attention"] * 3 + ["full_attention"],
                              mlp_layer_types=["dense"] + ["sparse"] * 4, swiglu_limits=[0.0, 0.0, 0.0, 0.3, 0.2],
                              swiglu_limits_shared=[0.5, 0.0, 0.0, 0.0, 0.4],
                              rope_parameters=dict(
                                  full_attention=dict(rope_type="llama3", rope_theta=1e3, partial_rotary_factor=0.5,
                                                      factor=2.0, low_freq_factor=1.0, high_freq_factor=8.0,
                                                      original_max_position_embeddings=64),
                                  sliding_attention=dict(rope_type="default", rope_theta=100.0,
                                                         partial_rotary_factor=1.0))),
             vision_config=dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=56)),
        dict(step=True, longest=40, prompt=30)),
    "step3p7_odd_f32": (
        "step3p7", torch.float32,
        dict(text_config=dict(hidden_size=24, head_dim=10, num_attention_heads=3, num_sliding_attention_heads=6,
                              num_key_value_heads=3, num_hidden_layers=3, n_routed_experts=6, num_experts_per_tok=2,
                              moe_intermediate_size=12, share_expert_dim=8, intermediate_size=20, sliding_window=5,
                              rms_norm_eps=1e-3,
                              layer_types=["sliding_attention", "full_attention", "sliding_attention"],
                              mlp_layer_types=["sparse", "dense", "sparse"], swiglu_limits=[None, None, 0.4],
                              rope_parameters=dict(
                                  full_attention=dict(rope_type="default", rope_theta=50.0, partial_rotary_factor=0.4),
                                  sliding_attention=dict(rope_type="default", rope_theta=100.0,
                                                         partial_rotary_factor=0.8))),
             vision_config=dict(hidden_size=8, num_hidden_layers=1, num_attention_heads=2, image_size=28)),
        dict(longest=40, prompt=30)),
    "kimi_k25_bf16": (
        "deepseek_v3", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=3, q_lora_rank=20,
             kv_lora_rank=20, qk_nope_head_dim=10, qk_rope_head_dim=6, v_head_dim=14, intermediate_size=36,
             moe_intermediate_size=12, n_routed_experts=8, num_experts_per_tok=3, n_shared_experts=1,
             first_k_dense_replace=1, n_group=1, topk_group=1, routed_scaling_factor=2.827, norm_topk_prob=True,
             rms_norm_eps=1e-5, max_position_embeddings=3840, num_nextn_predict_layers=0,
             rope_parameters=dict(rope_type="yarn", rope_theta=50.0, factor=40, beta_fast=32, beta_slow=1, mscale=1.0,
                                  mscale_all_dim=1.0, original_max_position_embeddings=96)),
        dict(v4=True, extra=dict(scoring_func="sigmoid", topk_method="noaux_tc", **DEEPSEEK_EXTRA),
             below=("KimiK25ForConditionalGeneration", "kimi_k25"))),
    "minimax_m2_bf16": (
        "minimax_m2", torch.bfloat16,
        dict(hidden_size=40, head_dim=16, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             num_local_experts=10, num_experts_per_tok=4, intermediate_size=24,
             rope_parameters=dict(rope_type="default", rope_theta=5e6, partial_rotary_factor=0.5)),
        dict(v4=True, extra=dict(rotary_dim=8, scoring_func="sigmoid", use_routing_bias=True))),
    "minimax_m3_bf16": (
        "minimax_m3_vl", torch.bfloat16,
        dict(text_config=dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=2,
                              num_hidden_layers=3, num_local_experts=8, num_experts_per_tok=3, intermediate_size=16,
                              shared_intermediate_size=16, dense_intermediate_size=40, rotary_dim=8,
                              routed_scaling_factor=2.0, max_position_embeddings=256,
                              moe_layer_freq=[0, 1, 1],
                              sparse_attention_config=dict(sparse_num_index_heads=2, sparse_index_dim=12,
                                                           sparse_block_size=8, sparse_topk_blocks=3,
                                                           sparse_local_block=1, sparse_attention_freq=[0, 1, 1]),
                              rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5)),
             vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                                image_size=4, patch_size=2, temporal_patch_size=1, spatial_merge_size=1),
             projector_hidden_size=32),
        dict(published_m3=True, longest=60, prompt=50)),
    "minimax_m3_odd_f32": (
        "minimax_m3_vl", torch.float32,
        dict(text_config=dict(hidden_size=24, head_dim=10, num_attention_heads=6, num_key_value_heads=3,
                              num_hidden_layers=3, num_local_experts=6, num_experts_per_tok=2, intermediate_size=12,
                              shared_intermediate_size=20, dense_intermediate_size=28, rotary_dim=6,
                              routed_scaling_factor=1.5, swiglu_limit=1.2, swiglu_alpha=1.5,
                              max_position_embeddings=256, rms_norm_eps=1e-4, index_n_heads=3, index_head_dim=7,
                              index_block_size=5, index_topk_blocks=4, index_local_blocks=2,
                              layer_types=["minimax_m3_sparse", "full_attention", "minimax_m3_sparse"],
                              mlp_layer_types=["sparse", "sparse", "dense"],
                              rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.6)),
             vision_config=dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
                                image_size=4, patch_size=2, temporal_patch_size=1, spatial_merge_size=1),
             projector_hidden_size=24),
        dict(longest=100, prompt=90)),
    "phimoe_bf16": (
        "phimoe", torch.bfloat16,
        dict(hidden_size=48, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, num_local_experts=6,
             num_experts_per_tok=2, intermediate_size=40, attention_bias=True, lm_head_bias=True,
             router_jitter_noise=0.1, rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "phimoe_longrope_f32": (
        "phimoe", torch.float32,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, num_local_experts=4,
             num_experts_per_tok=2, intermediate_size=24, attention_bias=False, lm_head_bias=False,
             router_jitter_noise=0.05, max_position_embeddings=1024,
             rope_parameters=dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0, 1.1, 1.3, 1.7],
                                  long_factor=[1.0, 2.5, 6.0, 11.0], short_mscale=1.2, long_mscale=1.4,
                                  original_max_position_embeddings=1024)),
        dict(v4=True)),
    "phimoe_longrope_long_f32": (
        "phimoe", torch.float32,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, num_local_experts=4,
             num_experts_per_tok=2, intermediate_size=24, attention_bias=False, lm_head_bias=False,
             router_jitter_noise=0.05, max_position_embeddings=1024,
             rope_parameters=dict(rope_type="longrope", rope_theta=1e4, short_factor=[1.0, 1.1, 1.3, 1.7],
                                  long_factor=[1.0, 2.5, 6.0, 11.0], short_mscale=1.2, long_mscale=1.4,
                                  original_max_position_embeddings=64)),
        dict(v4=True, long=True)),
    "dbrx_bf16": (
        "dbrx", torch.bfloat16,
        dict(d_model=48, n_heads=4, n_layers=3, max_seq_len=128,
             attn_config=dict(clip_qkv=1.5, kv_n_heads=2, rope_theta=5e5),
             ffn_config=dict(ffn_hidden_size=28, moe_num_experts=6, moe_top_k=3, moe_normalize_expert_weights=1.0),
             rope_parameters=dict(rope_type="default", rope_theta=5e5)),
        dict()),
    "granite_moe_tied_bf16": (
        "granitemoe", torch.bfloat16,
        dict(hidden_size=48, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3, num_local_experts=8,
             num_experts_per_tok=3, intermediate_size=28, tie_word_embeddings=True, embedding_multiplier=1.5,
             residual_multiplier=0.6, attention_multiplier=0.4, logits_scaling=1.25,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "granite_moe_shared_f32": (
        "granitemoeshared", torch.float32,
        dict(hidden_size=24, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=2, num_local_experts=6,
             num_experts_per_tok=2, intermediate_size=20, shared_intermediate_size=28, embedding_multiplier=2.0,
             residual_multiplier=0.7, attention_multiplier=0.3, logits_scaling=0.8,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict()),
    "granite_hybrid_bf16": (
        "granitemoehybrid", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4, num_local_experts=8,
             num_experts_per_tok=3, intermediate_size=20, shared_intermediate_size=28, tie_word_embeddings=True,
             embedding_multiplier=1.5, residual_multiplier=0.6, attention_multiplier=0.4, logits_scaling=1.25,
             layer_types=["mamba", "mamba", "attention", "mamba"], mamba_n_heads=8, mamba_n_groups=1,
             mamba_d_state=16, mamba_d_head=8, mamba_d_conv=4,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True, extra=dict(position_embedding_type="nope"))),
    "granite_hybrid_odd_f32": (
        "granitemoehybrid", torch.float32,
        dict(hidden_size=24, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=3, num_local_experts=6,
             num_experts_per_tok=2, intermediate_size=20, shared_intermediate_size=12, embedding_multiplier=2.0,
             residual_multiplier=0.7, attention_multiplier=0.3, logits_scaling=0.8, position_embedding_type="rope",
             layer_types=["full_attention", "linear_attention", "linear_attention"], mamba_n_heads=6, mamba_n_groups=2,
             mamba_d_state=7, mamba_d_conv=3, mamba_conv_bias=False, mamba_chunk_size=32, max_position_embeddings=256,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(longest=100, prompt=90)),
    "afmoe_bf16": (
        "afmoe", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=5,
             num_experts=8, num_experts_per_tok=3, moe_intermediate_size=16, intermediate_size=40, num_dense_layers=1,
             num_shared_experts=1, route_scale=1.7, sliding_window=10, global_attn_every_n_layers=4, mup_enabled=True,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True, extra=dict(route_norm=True, score_func="sigmoid", n_group=1, topk_group=1), longest=40,
             prompt=30)),
    "glm4v_moe_bf16": (
        "glm4v_moe", torch.bfloat16,
        dict(text_config=dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=2,
                              num_hidden_layers=3, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=16,
                              intermediate_size=40, first_k_dense_replace=1, routed_scaling_factor=1.5,
                              rope_parameters=dict(rope_type="default", rope_theta=1e4, partial_rotary_factor=0.5,
                                                   mrope_section=[2, 1, 1])),
             vision_config=dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=32,
                                image_size=4, patch_size=2, spatial_merge_size=1)),
        dict()),
    "qwen3_vl_moe_bf16": (
        "qwen3_vl_moe", torch.bfloat16,
        dict(text_config=dict(hidden_size=32, head_dim=16, num_attention_heads=4, num_key_value_heads=2,
                              num_hidden_layers=3, num_experts=8, num_experts_per_tok=3, moe_intermediate_size=24,
                              intermediate_size=40, tie_word_embeddings=False,
                              rope_parameters=dict(rope_type="default", rope_theta=1e4, mrope_section=[4, 2, 2],
                                                   mrope_interleaved=True)),
             vision_config=dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, out_hidden_size=32,
                                patch_size=2, temporal_patch_size=1, spatial_merge_size=1, num_position_embeddings=4,
                                deepstack_visual_indexes=[0]),
             tie_word_embeddings=False),
        dict(transposed=True)),
    "nemotron_h_bf16": (
        "nemotron_h", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, n_routed_experts=8,
             num_experts_per_tok=3, moe_intermediate_size=20, moe_shared_expert_intermediate_size=28,
             intermediate_size=20, routed_scaling_factor=2.5, norm_topk_prob=True, mamba_num_heads=8, mamba_head_dim=8,
             n_groups=2, ssm_state_size=16, conv_kernel=4, time_step_min=1e-9,
             layers_block_type=["linear_attention", "moe", "linear_attention", "full_attention", "moe",
                                "linear_attention", "moe"]),
        dict(v4=True)),
    "nemotron_h_odd_f32": (
        "nemotron_h", torch.float32,
        dict(hidden_size=24, head_dim=10, num_attention_heads=3, num_key_value_heads=1, n_routed_experts=6, n_group=3,
             topk_group=2, num_experts_per_tok=3, moe_intermediate_size=20, moe_shared_expert_intermediate_size=12,
             intermediate_size=26, routed_scaling_factor=1.0, norm_topk_prob=False, mamba_num_heads=6,
             mamba_head_dim=6, n_groups=3, ssm_state_size=7, conv_kernel=3, use_conv_bias=False, chunk_size=32,
             time_step_min=1e-9, layer_norm_epsilon=1e-3, max_position_embeddings=256,
             layers_block_type=["full_attention", "linear_attention", "moe", "mlp", "moe", "linear_attention"]),
        dict(longest=100, prompt=90)),
    "nemotron_h_latent_bf16": (
        "nemotron_h", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, n_routed_experts=12,
             num_experts_per_tok=5, moe_intermediate_size=20, moe_shared_expert_intermediate_size=28,
             intermediate_size=20, moe_latent_size=12, routed_scaling_factor=5.0, norm_topk_prob=True,
             mamba_num_heads=8, mamba_head_dim=8, n_groups=2, ssm_state_size=16, conv_kernel=4, time_step_min=1e-9,
             layers_block_type=["linear_attention", "moe", "linear_attention", "full_attention", "moe",
                                "linear_attention", "moe"]),
        dict(v4=True)),
    # Experts in the last layer, where a prompt's other tokens are not computed; a latent as wide as the model's rows.
    "nemotron_h_latent_odd_f32": (
        "nemotron_h", torch.float32,
        dict(hidden_size=24, head_dim=10, num_attention_heads=3, num_key_value_heads=1, n_routed_experts=6, n_group=3,
             topk_group=2, num_experts_per_tok=3, moe_intermediate_size=20, moe_shared_expert_intermediate_size=12,
             intermediate_size=26, moe_latent_size=24, routed_scaling_factor=1.0, norm_topk_prob=False,
             mamba_num_heads=6, mamba_head_dim=6, n_groups=3, ssm_state_size=7, conv_kernel=3, use_conv_bias=False,
             chunk_size=32, time_step_min=1e-9, layer_norm_epsilon=1e-3, max_position_embeddings=256,
             layers_block_type=["full_attention", "moe", "linear_attention", "mlp", "moe"]),
        dict(longest=100, prompt=90)),
    "lfm2_moe_bf16": (
        "lfm2_moe", torch.bfloat16,
        dict(hidden_size=32, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=5, num_experts=8,
             num_experts_per_tok=3, moe_intermediate_size=20, intermediate_size=44, num_dense_layers=1, conv_L_cache=3,
             layer_types=["conv", "conv", "full_attention", "conv", "full_attention"],
             rope_parameters=dict(rope_type="default", rope_theta=1e6)),
        dict(v4=True, extra=dict(tie_embedding=True))),
    "lfm2_moe_odd_f32": (
        "lfm2_moe", torch.float32,
        dict(hidden_size=24, num_attention_heads=3, num_key_value_heads=1, num_hidden_layers=3, num_experts=6,
             num_experts_per_tok=2, moe_intermediate_size=12, intermediate_size=28, num_dense_layers=0, conv_L_cache=4,
             tie_word_embeddings=False, norm_topk_prob=False, routed_scaling_factor=1.5, use_expert_bias=False,
             layer_types=["full_attention", "conv", "conv"],
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict()),
    # Biases on q, k, v and output, where the published models have none.
    "granite_moe_bias_bf16": (
        "granitemoe", torch.bfloat16,
        dict(hidden_size=24, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2, num_local_experts=6,
             num_experts_per_tok=2, intermediate_size=20, embedding_multiplier=1.5, residual_multiplier=0.7,
             attention_multiplier=0.4, logits_scaling=1.25, attention_bias=True,
             rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "qwen3_moe_bias_bf16": (
        "qwen3_moe", torch.bfloat16,
        dict(hidden_size=24, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
             num_experts=6, num_experts_per_tok=2, moe_intermediate_size=12, intermediate_size=40, norm_topk_prob=True,
             attention_bias=True, rope_parameters=dict(rope_type="default", rope_theta=1e4)),
        dict(v4=True)),
    "gpt_oss_bf16": (
        "gpt_oss", torch.bfloat16,
        dict(hidden_size=32, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=4,
             num_local_experts=6, num_experts_per_tok=2, intermediate_size=24, sliding_window=20, swiglu_limit=1.5,
             max_position_embeddings=512,
             rope_parameters=dict(rope_type="yarn", rope_theta=150.0, factor=4.0, beta_fast=32.0, beta_slow=1.0,
                                  truncate=False, original_max_position_embeddings=64)),
        dict(v4=True, longest=100, prompt=90)),
    "gpt_oss_mxfp4": (
        "gpt_oss", torch.bfloat16,
        dict(hidden_size=64, head_dim=8, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=3,
             num_local_experts=5, num_experts_per_tok=2, intermediate_size=32, sliding_window=20,
             max_position_embeddings=512,
             rope_parameters=dict(rope_type="yarn", rope_theta=150.0, factor=4.0, beta_fast=32.0, beta_slow=1.0,
                                  truncate=False, original_max_position_embeddings=64)),
        dict(v4=True, mxfp4=True)),
    "deepseek_moe_bf16": (
        "deepseek", torch.bfloat16,
        dict(hidden_size=40, num_attention_heads=4, num_key_value_heads=4, num_hidden_layers=3, n_routed_experts=10,
             num_experts_per_tok=4, n_shared_experts=2, moe_intermediate_size=20, intermediate_size=56,
             first_k_dense_replace=1, norm_topk_prob=False, rms_norm_eps=1e-6, rope_theta=1e4),
        dict()),
}


def draw_weights(model: torch.nn.Module) -> None:
    """The usual tiny initial weights would hide errors: spread the logits, move the norms away from one, decide the
    attention and the router."""
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if key.endswith("indexer.k_norm.bias"):
                weight.copy_(0.3 * torch.randn_like(weight))
                continue
            if "norm" in key.split(".")[-2]:
                middle = 1.6 if any(part in key for part in QK_NORMS) else 1.0
                if model.config.model_type == "gemma4_text" and middle != 1.0:
                    middle = 0.9  # scores are not scaled
                if model.config.model_type in ("qwen3_5_moe_text", "qwen3_next", "step3p7", "minimax_m3_vl") and ".linear_attn." not in key:
                    middle -= 1.0  # what is stored is the distance from one
                weight.copy_(middle + 0.3 * torch.randn_like(weight))
                continue
            gain = 1.0
            if key.endswith(("router.scale", "router.per_expert_scale")):
                weight.copy_(1.0 + 0.3 * torch.randn_like(weight))
                continue
            if key.endswith(("_hc.scale", "hc_scale")):
                weight.copy_(1.0 + 0.3 * torch.randn_like(weight))
                continue
            if key.endswith(("_hc.base", "hc_base")):
                weight.copy_(0.5 * torch.randn_like(weight))
                continue
            if key.endswith((".mamba.D", ".mixer.D")):
                weight.copy_(1.0 + 0.3 * torch.randn_like(weight))
                continue
            if key.endswith(".A_log"):  # some states that are kept for long, some that are not
                weight.copy_(4.0 * torch.rand_like(weight) - 3.5)
                continue
            if key.endswith(".bias"):
                weight.copy_(0.3 * torch.randn_like(weight))
                continue
            if "moe_statics" in key:  # beside probabilities of about one in twelve
                weight.copy_(0.05 * torch.randn_like(weight))
                continue
            if key.endswith("_bias") or key.endswith(".sinks"):
                weight.copy_(0.5 * torch.randn_like(weight))
                continue
            if key.endswith(("mlp.gate.weight", "mixer.gate.weight", "router.gate.weight", "feed_forward.gate.weight", "router.weight", "router.layer.weight", "router.proj.weight")):
                gain = 2.0
            elif any(part in key for part in (".q_proj.", ".q_b_proj.")):
                gain = 1.5
            elif "experts" in key or ".o_proj." in key or ".down_proj." in key:
                gain = 1.3
            elif "embed_tokens" in key or "embeddings" in key:
                # Gemma 4 multiplies embeddings, and has them as its head: what comes in must not decide what comes out.
                gain = 1.0 if model.config.model_type == "gemma4_text" else 2.0
            # gpt-oss and Llama 4 have their experts' matrices the other way round.
            transposed = model.config.model_type in ("gpt_oss", "llama4_text") and weight.ndim == 3
            fan_in = weight.shape[-2] if transposed else weight.shape[-1]
            weight.copy_(torch.randn_like(weight) * gain / fan_in ** 0.5)
        for key, bias in model.named_buffers():
            if key.endswith("tid2eid"):
                n_experts = model.config.n_routed_experts
                bias.copy_(torch.stack([torch.randperm(n_experts)[:bias.shape[1]] for _ in range(len(bias))]))
            if key.endswith("layer_scalar"):
                bias.copy_(1.0 + 0.2 * torch.randn_like(bias))
            if key.endswith(CHOICE_BIASES):
                # Mostly below zero together with the score, so that masking with 0 instead of -infinity shows.
                bias.copy_(0.25 * torch.randn_like(bias) - 0.8)


def use_long_positions(model) -> None:
    rope, dim = model.config.rope_parameters, model.config.hidden_size // model.config.num_attention_heads
    inverse = 1 / (torch.tensor(rope["long_factor"]) * rope["rope_theta"] ** (torch.arange(0, dim, 2) / dim))

    def forward(x, position_ids):
        angles = position_ids[..., None].float() * inverse
        angles = torch.cat((angles, angles), -1)
        return angles.cos() * rope["long_mscale"], angles.sin() * rope["long_mscale"]
    model.model.rotary_emb.forward = forward


def rewrite_config(path: pathlib.Path, form: dict) -> None:
    config = json.loads(path.read_text())
    if config["model_type"] == "nemotron_h" and form.get("v4"):
        letters = {"linear_attention": "M", "full_attention": "*", "moe": "E", "mlp": "-"}
        config["hybrid_override_pattern"] = "".join(letters[kind] for kind in config.pop("layers_block_type"))
        config["num_hidden_layers"] = len(config["hybrid_override_pattern"])
        config["torch_dtype"] = config.pop("dtype")
        config["transformers_version"] = "4.55.4"
        for key in ("time_step_limit", "mtp_layers_block_type", "num_nextn_predict_layers"):
            config.pop(key)
        if config["moe_latent_size"] is None:
            config.pop("moe_latent_size")
    elif form.get("v4"):
        rope = config.pop("rope_parameters")
        config["rope_theta"] = rope.pop("rope_theta")
        kind = rope.pop("rope_type")
        rope.pop("type", None)
        # DeepSeek's files say "type", Qwen's "rope_type".
        name = "rope_type" if config["model_type"] in ("qwen3_moe", "qwen3_next", "gpt_oss", "llama4_text") else "type"
        share = rope.pop("partial_rotary_factor", None)
        if share is not None and config["model_type"] in ("glm4_moe", "qwen3_next"):
            config["partial_rotary_factor"] = share
        config["rope_scaling"] = None if kind == "default" else {**rope, name: kind}
        config["torch_dtype"] = config.pop("dtype")
        config["transformers_version"] = "4.51.0"
        for key in ("qk_head_dim", "rope_interleave"):
            config.pop(key, None)
        if config["model_type"] == "qwen3_next":
            config.pop("layer_types")  # full_attention_interval says it
        if config["model_type"] == "granitemoehybrid":
            old = {"linear_attention": "mamba", "full_attention": "attention"}
            config["layer_types"] = [old[kind] for kind in config["layer_types"]]
            config.pop("time_step_limit")
        if config["model_type"] in ("qwen3_moe", "qwen3_next", "qwen2_moe", "olmoe"):
            config["num_experts"] = config.pop("num_local_experts", config.get("num_experts"))
        elif config["model_type"].startswith("deepseek"):
            config.pop("head_dim", None)  # transformers 5 writes qk_rope_head_dim under this name too
    if form.get("published_m3"):
        text = config["text_config"]
        sparse = {"sparse_num_index_heads": "index_n_heads", "sparse_index_dim": "index_head_dim",
                  "sparse_block_size": "index_block_size", "sparse_topk_blocks": "index_topk_blocks",
                  "sparse_local_block": "index_local_blocks"}
        text["sparse_attention_config"] = {old: text.pop(new) for old, new in sparse.items()}
        text["sparse_attention_config"]["sparse_attention_freq"] = [int(kind != "full_attention")
                                                                    for kind in text.pop("layer_types")]
        text["moe_layer_freq"] = [int(kind == "sparse") for kind in text.pop("mlp_layer_types")]
        text.update(hidden_act="swigluoai", n_shared_experts=1)
    config.update(form.get("extra", {}))
    for key in form.get("without", ()):
        config.pop(key)
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def add_prediction_layer(path: pathlib.Path, config) -> None:
    """A few tensors of DeepSeek-V3's multi-token prediction layer, whose number is that behind the last layer."""
    tensors, n, at = load_file(path), config.hidden_size, f"model.layers.{config.num_hidden_layers}."
    for key, shape in (("enorm.weight", (n,)), ("hnorm.weight", (n,)), ("eh_proj.weight", (n, 2 * n)),
                       ("input_layernorm.weight", (n,)), ("shared_head.norm.weight", (n,))):
        tensors[at + key] = torch.randn(shape).to(torch.bfloat16)
    save_file(tensors, path, metadata={"format": "pt"})


def put_below_gemmas_tower(folder: pathlib.Path) -> None:
    path = folder / "model.safetensors"
    tensors = {key.replace("model.", "model.language_model.", 1): value for key, value in load_file(path).items()}
    for key in ("model.vision_tower.std_bias", "model.vision_tower.encoder.layers.0.input_layernorm.weight",
                "model.embed_vision.embedding_projection.weight"):
        tensors[key] = torch.randn(32).to(torch.bfloat16)
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    version = config.pop("transformers_version")
    last = config.pop("per_layer_config")[str(config["num_hidden_layers"] - 1)]
    config["global_head_dim"], config["num_global_key_value_heads"] = last["head_dim"], last["num_key_value_heads"]
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "text_config": config,
        "audio_config": None, "dtype": "bfloat16", "eos_token_id": [2], "tie_word_embeddings": True,
        "transformers_version": version,
        "vision_config": {"hidden_size": 32, "model_type": "gemma4_vision", "num_hidden_layers": 1},
    }, indent=2, sort_keys=True) + "\n")


def publish_mimo(folder: pathlib.Path) -> None:
    """Under the published keys, of which transformers takes most for granted, and the published names."""
    path = folder / "model.safetensors"
    save_file({key.replace("self_attn.sinks", "self_attn.attention_sink_bias"): value
               for key, value in load_file(path).items()}, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope["full_attention"]["rope_theta"]
    config["swa_rope_theta"] = rope["sliding_attention"]["rope_theta"]
    config["partial_rotary_factor"] = rope["full_attention"]["partial_rotary_factor"]
    config["hybrid_layer_pattern"] = [int(kind == "sliding_attention") for kind in config.pop("layer_types")]
    config["moe_layer_freq"] = [int(kind == "sparse") for kind in config.pop("mlp_layer_types")]
    config["layernorm_epsilon"] = config.pop("rms_norm_eps")
    for key in ("num_attention_heads", "head_dim", "v_head_dim"):
        config["swa_" + key] = config[key]
    config["swa_num_key_value_heads"] = 2 * config["num_key_value_heads"]
    config.update(add_full_attention_sink_bias=False, add_swa_attention_sink_bias=True, n_shared_experts=None,
                  routed_scaling_factor=None, scoring_func="sigmoid", topk_method="noaux_tc",
                  torch_dtype=config.pop("dtype"), transformers_version="4.40.1")
    config.pop("num_local_experts", None)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def put_in_shares(folder: pathlib.Path, n: int, fused: bool) -> None:
    """Queries, keys and values on the grid of FP8 with a scale for 128 rows of a machine's share of their matrix; as
    they were, or fused as MiMo-V2.5 has them."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name in [name for name in tensors if name.endswith("q_proj.weight")]:
        names = [name.replace("q_proj", part) for part in ("q_proj", "k_proj", "v_proj")]
        parts = [tensors.pop(name).float().chunk(n) for name in names]
        codes, scales = [], []
        for block in (block for share in zip(*parts) for block in torch.cat(share).split(128)):
            scale = (8 + len(scales) % 5) / 512  # with a code's four bits exact in bfloat16
            codes.append((block / scale).to(torch.float8_e4m3fn))
            scales.append(scale)
        rows = torch.cat([code.float() * scale for code, scale in zip(codes, scales)])
        shares = [share.split([part[0].shape[0] for part in parts]) for share in rows.chunk(n)]
        rounded = [torch.cat(part).bfloat16() for part in zip(*shares)]
        if fused:
            assert all(torch.equal(torch.cat(part), new.float()) for part, new in zip(parts, rounded)), name
            tensors[name.replace("q_proj", "qkv_proj")] = torch.cat(codes)
            tensors[name.replace("q_proj", "qkv_proj") + "_scale_inv"] = torch.tensor(scales)[:, None]
        else:
            tensors.update(zip(names, rounded))
    save_file(tensors, path, metadata={"format": "pt"})
    if fused:
        config = json.loads((folder / "config.json").read_text())
        config.update(architectures=["MiMoV2ForCausalLM"], model_type="mimo_v2",
                      quantization_config=dict(quant_method="fp8", fmt="e4m3", weight_block_size=[128, 128]))
        (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])


def mxfp4_of(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes (rows, columns) and exponents (rows, columns / 32) of a matrix."""
    blocks = weight.float().unflatten(-1, (-1, 32))
    exponents = (blocks.abs().amax(-1).clamp_min(1e-30).log2().floor() - 2).clamp(-127, 127)
    scaled = blocks / 2 ** exponents.unsqueeze(-1)
    codes = (scaled.abs().unsqueeze(-1) - E2M1).abs().argmin(-1) + 8 * (scaled < 0)
    return codes.flatten(-2), exponents


def round_to_mxfp4(weight: torch.Tensor) -> torch.Tensor:
    codes, exponents = mxfp4_of(weight)
    values = E2M1[codes % 8] * torch.where(codes >= 8, -1.0, 1.0)
    return (values.unflatten(-1, (-1, 32)) * 2 ** exponents.unsqueeze(-1)).flatten(-2).to(weight.dtype)


def publish_deepseek_v4(folder: pathlib.Path, fp4: bool) -> None:
    """Under the published keys and names, with some tensors of the prediction layer, which a reader must leave out."""
    path, tensors = folder / "model.safetensors", {}
    for key, value in load_file(path).items():
        key = key.removeprefix("model.").replace("embed_tokens.", "embed.").replace("hc_head.hc_", "hc_head_")
        key = key.replace(".attn.norm.", ".attn.kv_norm.")
        if fp4 and ".ffn.experts." in key:
            codes, exponents = mxfp4_of(value)
            tensors[key] = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8).view(torch.int8).contiguous()
            tensors[key.replace(".weight", ".scale")] = (exponents + 127).to(torch.uint8).view(torch.float8_e8m0fnu)
        else:
            tensors[key] = value
    config = json.loads((folder / "config.json").read_text())
    for key in ("mtp.0.enorm.weight", "mtp.0.hnorm.weight", "mtp.0.norm.weight"):
        tensors[key] = torch.randn(config["hidden_size"]).to(torch.bfloat16)
    save_file(tensors, path, metadata={"format": "pt"})
    ratio_of = {"sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128}
    config["compress_ratios"] = [ratio_of[kind] for kind in config.pop("layer_types")] + [0]
    config["num_hash_layers"] = sum(kind == "hash_moe" for kind in config.pop("mlp_layer_types"))
    rope = config.pop("rope_parameters")["compress"]
    config["rope_scaling"] = {"type": rope.pop("rope_type"), **{key: rope[key] for key in rope if key not in
                              ("rope_theta", "partial_rotary_factor", "attention_factor")}}
    if config["rope_scaling"]["type"] == "default":
        config["rope_scaling"] = None
    for key in ("compress_rates", "partial_rotary_factor", "num_local_experts"):
        config.pop(key, None)
    config.update(num_nextn_predict_layers=1, topk_method="noaux_tc", torch_dtype=config.pop("dtype"),
                  transformers_version="4.57.1")
    if fp4:
        config.update(expert_dtype="fp4")
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def publish_step(folder: pathlib.Path) -> None:
    """The text of Step 3.7 as Step 3.5 was published: by itself, with its own keys, a value for each layer."""
    path = folder / "model.safetensors"
    save_file({key: value for key, value in load_file(path).items() if key.startswith(("model.layers", "model.embed", "model.norm", "lm_head"))},
              path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())["text_config"]
    rope, kinds = config.pop("rope_parameters"), config["layer_types"]
    config["rope_theta"] = [rope[kind]["rope_theta"] for kind in kinds]
    config["partial_rotary_factors"] = [rope[kind]["partial_rotary_factor"] for kind in kinds]
    config["rope_scaling"] = {key: value for key, value in rope["full_attention"].items()
                              if key not in ("rope_theta", "partial_rotary_factor")}
    config["moe_layers_enum"] = ",".join(str(i) for i, kind in enumerate(config.pop("mlp_layer_types")) if kind == "sparse")
    config["attention_other_setting"] = dict(attention_type="sliding_attention", head_dim=config["head_dim"],
                                             num_attention_heads=config.pop("num_sliding_attention_heads"),
                                             num_attention_groups=config["num_key_value_heads"])
    for old, new in (("num_key_value_heads", "num_attention_groups"), ("n_routed_experts", "moe_num_experts"),
                     ("num_experts_per_tok", "moe_top_k")):
        config[new] = config.pop(old)
    for key in ("per_layer_config", "num_local_experts", "query_pre_attn_scalar", "mtp_layer_types", "mtp_mlp_layer_types"):
        config.pop(key, None)
    config.update(architectures=["Step3p5ForCausalLM"], model_type="step3p5", use_moe_router_bias=True,
                  moe_router_activation="sigmoid", norm_expert_weight=True, use_head_wise_attn_gate=True,
                  num_nextn_predict_layers=0)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def put_below_language_model(folder: pathlib.Path, architecture: str, model_type: str) -> None:
    path = folder / "model.safetensors"
    tensors = {"language_model." + key: value for key, value in load_file(path).items()}
    for key in ("vision_tower.patch_conv.weight", "vision_tower.ln_pre.weight", "multi_modal_projector.norm.weight"):
        tensors[key] = torch.randn(32).to(torch.bfloat16)
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    if model_type == "kimi_k25":
        config["model_type"] = "kimi_k2"
    (folder / "config.json").write_text(json.dumps({
        "architectures": [architecture], "model_type": model_type, "text_config": config, "tie_word_embeddings": False,
        "vision_config": {"hidden_size": 32, "num_hidden_layers": 1},
    }, indent=2, sort_keys=True) + "\n")


def put_below_a_tower(folder: pathlib.Path) -> None:
    path = folder / "model.safetensors"
    tensors, experts = {}, {}
    for key, value in load_file(path).items():
        key = key.replace("model.", "model.language_model.", 1)
        prefix, found, end = key.partition(".mlp.experts.")
        if not found:
            tensors[key] = value
            continue
        number, part = end.split(".")[:2]
        experts.setdefault((prefix + found, part), {})[int(number)] = value
    for prefix, _ in list(experts):
        of = {part: torch.stack([experts[prefix, part][e] for e in sorted(experts[prefix, part])])
              for part in ("gate_proj", "up_proj", "down_proj")}
        tensors[prefix + "gate_up_proj"] = torch.cat((of["gate_proj"], of["up_proj"]), 1).contiguous()
        tensors[prefix + "down_proj"] = of["down_proj"]
    for key in ("model.visual.patch_embed.proj.bias", "mtp.norm.weight", "mtp.layers.0.input_layernorm.weight"):
        tensors[key] = torch.randn(32).to(torch.bfloat16)
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    version = config.pop("transformers_version")
    config["mtp_num_hidden_layers"] = 1
    (folder / "config.json").write_text(json.dumps({
        "architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe", "text_config": config,
        "tie_word_embeddings": False, "transformers_version": version,
        "vision_config": {"depth": 1, "hidden_size": 32, "model_type": "qwen3_5_moe_vision", "out_hidden_size": 32},
    }, indent=2, sort_keys=True) + "\n")


def transpose_experts(path: pathlib.Path) -> None:
    save_file({key: value.transpose(1, 2).contiguous() if ".mlp.experts." in key else value
               for key, value in load_file(path).items()}, path, metadata={"format": "pt"})


def rename_as_bailing(folder: pathlib.Path) -> None:
    path = folder / "model.safetensors"
    tensors, joined = {}, {}
    for key, value in load_file(path).items():
        layer, found, part = key.partition(".self_attn.")
        if found and part[:2] in ("q_", "k_", "v_") and "proj" in part:
            joined.setdefault(layer, {})[part[0]] = value
            continue
        for old, new in (("embed_tokens", "word_embeddings"), ("self_attn.o_proj", "attention.dense"),
                         ("self_attn.q_norm", "attention.query_layernorm"),
                         ("self_attn.k_norm", "attention.key_layernorm"), ("e_score_correction_bias", "expert_bias")):
            key = key.replace(old, new)
        tensors[key] = value
    for layer, parts in joined.items():
        tensors[layer + ".attention.query_key_value.weight"] = torch.cat([parts[name] for name in "qkv"])
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config.update(architectures=["BailingMoeV2ForCausalLM"], model_type="bailing_moe", score_function="sigmoid",
                  moe_router_enable_expert_bias=True, num_experts=config.pop("n_routed_experts"),
                  num_shared_experts=config.pop("n_shared_experts"), use_bias=False,
                  use_qkv_bias=config.pop("attention_bias"))
    config.pop("num_local_experts", None)
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def put_experts_in_mxfp4(folder: pathlib.Path) -> None:
    """Codes (experts, rows, blocks, 16), two in a byte, the first one low, and exponents (experts, rows, blocks)."""
    path = folder / "model.safetensors"
    steps = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    tensors = {}
    for key, value in load_file(path).items():
        if not key.endswith(("experts.gate_up_proj", "experts.down_proj")):
            tensors[key] = value
            continue
        blocks = value.float().transpose(1, 2).unflatten(-1, (-1, 32))
        exponents = (blocks.abs().amax(-1).clamp_min(1e-30).log2().floor() - 2).clamp(-127, 127)
        scaled = blocks / 2 ** exponents.unsqueeze(-1)
        codes = (scaled.abs().unsqueeze(-1) - steps).abs().argmin(-1) + 8 * (scaled < 0)
        tensors[key + "_blocks"] = (codes[..., 0::2] | codes[..., 1::2] << 4).to(torch.uint8).contiguous()
        tensors[key + "_scales"] = (exponents + 127).to(torch.uint8).contiguous()
    save_file(tensors, path, metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": [
        "model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"]}
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def choice_margin(config, logits: torch.Tensor, bias: torch.Tensor | None, chosen: torch.Tensor) -> float:
    """Smallest gap, over tokens, between what was chosen and the best of what was not; checks `chosen` on the way."""
    if config.model_type in ("granitemoe", "granitemoeshared", "granitemoehybrid", "phimoe", "gpt_oss", "gemma4_text"):
        scores = logits  # of Gemma 4: probabilities
    elif config.model_type == "deepseek_v4":
        scores = torch.nn.functional.softplus(logits).sqrt() + bias
    elif config.model_type == "lfm2_moe" and bias is None:
        scores = logits.sigmoid()
    else:
        scores = logits.softmax(-1) if bias is None or config.model_type == "ernie4_5_moe" else logits.sigmoid()
        scores = scores if bias is None else scores + bias
    margins = []
    n_group = getattr(config, "n_group", None) or 1
    if n_group > 1:
        members = scores.view(len(scores), n_group, -1)
        groups = members.max(-1).values if bias is None else members.topk(2, -1).values.sum(-1)
        order = groups.sort(-1, descending=True)
        margins.append(order.values[:, config.topk_group - 1] - order.values[:, config.topk_group])
        left_out = torch.ones_like(groups, dtype=torch.bool).scatter(1, order.indices[:, :config.topk_group], False)
        scores = members.masked_fill(left_out.unsqueeze(-1), -math.inf).flatten(1)
    k = chosen.shape[-1]
    order = scores.sort(-1, descending=True)
    assert torch.equal(order.indices[:, :k].sort(-1).values, chosen.sort(-1).values), "another choice than expected"
    margins.append(order.values[:, k - 1] - order.values[:, k])
    return min(float(margin.min()) for margin in margins)


def mixer_margin(config, logits: torch.Tensor, chosen: torch.Tensor) -> float:
    """Of SparseMixer: how near a logit comes to where it stops counting beside the chosen one."""
    if config.model_type != "phimoe":
        return math.inf
    margins, left = [], logits.clone()
    for i in range(chosen.shape[-1]):
        best = left.max(-1, keepdim=True).values
        distance = (best - logits) / logits.abs().clamp(min=best)
        counts = left.isfinite() & (left < best)
        margins.append((distance - 2 * config.router_jitter_noise).abs().masked_fill(~counts, math.inf).min())
        left = left.scatter(-1, chosen[:, i:i + 1], -math.inf)
    return float(min(margins))


class Recorder:
    """Keeps what every router answered, and each layer's output, in the next forward pass."""

    def __init__(self, model):
        self.model, self.routing, self.residual = model, {}, {}
        self.indexers = [module for module in model.modules() if type(module).__name__.endswith("Indexer")]
        self.indexer_margin = math.inf
        for indexer in self.indexers:
            n_chosen = indexer.index_topk if hasattr(indexer, "index_topk") else indexer.topk_blocks
            indexer.forward = self.keep_margin(indexer.forward, n_chosen)
        self.body = model.transformer if hasattr(model, "transformer") else model.model
        self.body = getattr(self.body, "language_model", self.body)
        self.layers = self.body.blocks if hasattr(self.body, "blocks") else self.body.layers
        for i, layer in enumerate(self.layers):
            layer.register_forward_hook(self.keep_residual(i))
            gate = self.gate_of(layer)
            if gate is not None:
                gate.register_forward_hook(self.keep_routing(i))

    def keep_margin(self, forward, index_topk: int):
        """The indexer's forward pass, which looks at the scores that it chooses by."""
        def wrapped(*inputs, **named):
            topk = torch.Tensor.topk

            def judged(scores, k, **options):
                seen = (scores > -1e30).sum(-1)
                order = scores.sort(-1, descending=True).values
                if order.shape[-1] > index_topk:
                    gaps = order[..., index_topk - 1] - order[..., index_topk]
                    gaps = gaps[seen > index_topk]
                    self.indexer_margin = min([self.indexer_margin, *gaps.tolist()])
                return topk(scores, k, **options)
            torch.Tensor.topk = judged
            try:
                return forward(*inputs, **named)
            finally:
                torch.Tensor.topk = topk
        return wrapped

    @staticmethod
    def gate_of(layer):
        if hasattr(layer, "router"):
            return layer.router
        block = next(getattr(layer, name) for name in ("mlp", "block_sparse_moe", "feed_forward", "ffn", "mixer") if hasattr(layer, name))
        return getattr(block, "gate", None) or getattr(block, "router", None)

    def keep_routing(self, i: int):
        def hook(_module, _inputs, output):
            if isinstance(output, tuple) and len(output) == 2:  # Llama 4: of each expert, 0 of those that are not chosen
                scores, logits = output
                weights, experts = scores.topk(self.model.config.num_experts_per_tok, -1)
            elif isinstance(output, tuple):
                logits, weights, experts = output
            else:  # DBRX chooses outside its router
                logits = output
                weights, experts = logits.softmax(-1).topk(self.model.config.ffn_config.moe_top_k, -1)
                weights = weights / weights.sum(-1, keepdim=True)
            if self.model.config.model_type == "minimax_m3_vl":  # scales what the experts have put out
                weights = weights * self.layers[i].mlp.routed_scaling_factor
            self.routing[i] = (logits.float(), weights.float(), experts)
        return hook

    def keep_residual(self, i: int):
        def hook(_module, _inputs, output):
            self.residual[i] = (output[0] if isinstance(output, tuple) else output)[0]
        return hook

    def router_margin(self) -> float:
        smallest = math.inf
        for i, (logits, _, experts) in self.routing.items():
            layer = self.layers[i]
            gate = self.gate_of(layer)
            if hasattr(gate, "tid2eid"):
                continue  # chosen by the token
            bias = getattr(getattr(gate, "moe_statics", gate), "e_score_correction_bias", None)
            for block in ("mlp", "feed_forward"):
                if bias is None and hasattr(layer, block):
                    module = getattr(layer, block)
                    bias = next((value for values in (module.named_buffers, module.named_parameters)
                                 for key, value in values(recurse=False) if key in CHOICE_BIASES), None)
            config = self.model.config.get_text_config()
            smallest = min(smallest, choice_margin(config, logits, bias, experts),
                           mixer_margin(config, logits, experts))
        return smallest

    def mixer_margin(self) -> float:
        return min(mixer_margin(self.model.config, logits, experts) for logits, _, experts in self.routing.values())


def numbers(row: torch.Tensor) -> list[float]:
    return [float(f"{value:.8g}") for value in row.tolist()]


def routing_lists(recorder: Recorder) -> list[dict]:
    """Per layer with experts: each token's experts in rising order, and the weights that multiply their outputs."""
    found = []
    for i, (_, weights, experts) in sorted(recorder.routing.items()):
        order = experts.argsort(-1)
        found.append({"layer": i, "experts": experts.gather(1, order).tolist(),
                      "weights": [numbers(row) for row in weights.gather(1, order)]})
    return found


def attention_entropy(attentions: tuple[torch.Tensor, ...]) -> float:
    """Mean over layers, heads and the later positions, as a share of that of uniform attention."""
    shares = []
    for weights in attentions:
        for position in range(8, weights.shape[-2]):
            # DeepSeek-V4 has pooled keys behind the others.
            seen = position + 1 if weights.shape[-1] == weights.shape[-2] else weights.shape[-1]
            row = weights[0, :, position, :seen].clamp_min(1e-30)
            shares.append(-(row * row.log()).sum(-1).mean() / math.log(position + 1))
    return float(sum(shares) / len(shares))


def run(model, form: dict) -> tuple[dict, dict]:
    """What golden.json holds, and the figures that `is_sound` judges."""
    recorder = Recorder(model)
    generator = torch.Generator().manual_seed(7)
    cases, router_margin = [], math.inf
    with torch.no_grad():
        for length in (*SEQUENCES[:-1], form.get("longest", SEQUENCES[-1])):
            tokens = torch.randint(3, VOCABULARY, (1, length), generator=generator)
            out = model(tokens, use_cache=False, output_attentions=True)
            router_margin = min(router_margin, recorder.router_margin())
            cases.append({"tokens": tokens[0].tolist(), "logits": [numbers(row) for row in out.logits[0]]})
        mixer = recorder.mixer_margin()
        entropy, spread = attention_entropy(out.attentions), float(out.logits.std())
        last = model.config.get_text_config().num_hidden_layers - 1
        cases[-1]["routing"] = routing_lists(recorder)
        cases[-1]["residual"] = [numbers(recorder.residual[i][-1].flatten()) for i in range(last + 1)]
        norm = next(getattr(recorder.body, name) for name in ("norm_f", "embedding_norm", "norm")
                    if hasattr(recorder.body, name))
        hidden = recorder.residual[last][-1]
        if hasattr(recorder.body, "hc_head"):
            hidden = recorder.body.hc_head(hidden[None, None])[0, 0]
        cases[-1]["hidden"] = numbers(norm(hidden))

        prompt = form.get("prompt", PROMPT)
        sequence, logit_margin = cases[-1]["tokens"][:prompt], math.inf
        for _ in range(N_GREEDY if router_margin >= SMALLEST_ROUTER_MARGIN else 0):
            if logit_margin < SMALLEST_LOGIT_MARGIN:
                break
            if recorder.indexer_margin < SMALLEST_INDEXER_MARGIN:
                break
            row = model(torch.tensor([sequence]), use_cache=False).logits[0, -1]
            best = row.topk(2)
            logit_margin = min(logit_margin, float(best.values[0] - best.values[1]))
            sequence.append(int(best.indices[0]))
        router_margin = min(router_margin, recorder.router_margin())
    greedy = sequence[prompt:]
    golden = {"cases": cases, "greedy": {"prompt": sequence[:prompt], "tokens": greedy},
              "smallest_router_margin": float(f"{router_margin:.3g}"),
              "smallest_logit_margin": float(f"{logit_margin:.3g}")}
    if recorder.indexers:
        golden["smallest_indexer_margin"] = float(f"{recorder.indexer_margin:.3g}")
    figures = {"router": router_margin, "indexer": recorder.indexer_margin, "mixer": mixer, "logit": logit_margin, "entropy": entropy, "spread": spread,
               "tokens": len(set(greedy))}
    return golden, figures


def is_sound(figures: dict) -> bool:
    return (figures["router"] >= SMALLEST_ROUTER_MARGIN and figures["indexer"] >= SMALLEST_INDEXER_MARGIN
            and figures["mixer"] >= SMALLEST_MIXER_MARGIN and figures["logit"] >= SMALLEST_LOGIT_MARGIN
            and figures["entropy"] <= LARGEST_ENTROPY and figures["tokens"] >= FEWEST_TOKENS
            and 0.3 <= figures["spread"] <= 10)


def can_be_sound(model, form: dict) -> bool:
    """The longest case alone, before anything is written."""
    if form.get("long"):
        use_long_positions(model)
    generator, recorder = torch.Generator().manual_seed(7), Recorder(model)
    for length in SEQUENCES:
        tokens = torch.randint(3, VOCABULARY, (1, length), generator=generator)
    with torch.no_grad():
        model(tokens, use_cache=False)
    return recorder.mixer_margin() >= SMALLEST_MIXER_MARGIN


def make_checkpoint(folder: pathlib.Path, name: str, seed: int) -> bool:
    family, dtype, settings, form = CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(seed)
    config_class, model_class = CLASSES[family]
    common = {"vocab_size": VOCABULARY, "max_position_embeddings": 128, "bos_token_id": 1, "eos_token_id": 2}
    if "text_config" in settings:
        settings = {**settings, "text_config": {**common, **settings["text_config"]}}
    else:
        settings = {**common, **settings}
    config = config_class(**{"attn_implementation": "eager", **settings})
    model = model_class(config).eval()
    draw_weights(model)
    if family == "phimoe":
        model.to(dtype).float()
        if not can_be_sound(model, form):
            return False
    biases = {key: value.clone() for key, value in model.named_buffers() if key.endswith(CHOICE_BIASES)}
    model.to(dtype)
    for key, value in biases.items():  # stays in float32, as published checkpoints have it
        owner, leaf = key.rsplit(".", 1)
        setattr(model.get_submodule(owner), leaf, value)
    if form.get("fp4"):
        with torch.no_grad():
            for key, value in model.named_parameters():
                if ".mlp.experts." in key:
                    value.copy_(round_to_mxfp4(value))
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    if form.get("mtp"):
        add_prediction_layer(folder / "model.safetensors", config)
    rewrite_config(folder / "config.json", form)
    if form.get("shares"):
        put_in_shares(folder, form["shares"], False)
    if form.get("mxfp4"):
        put_experts_in_mxfp4(folder)
    if form.get("tower") and family != "gemma4":
        put_below_a_tower(folder)
    return True


def make_case(out: pathlib.Path, name: str, first_seed: int | None) -> None:
    folder = out / name
    seed = SEEDS.get(name, sum(name.encode())) if first_seed is None else first_seed
    for tried in range(4000):
        if not make_checkpoint(folder, name, seed + tried):
            continue
        # Read back, so that the reference sees the rounded weights and the config that others will read.
        unpacked = {"quantization_config": Mxfp4Config(dequantize=True)} if CASES[name][3].get("mxfp4") else {}
        config_class, model_class = CLASSES[CASES[name][0]]
        if config_class is not model_class.config_class:  # another family's model
            unpacked["config"] = config_class.from_pretrained(folder, attn_implementation="eager")
        model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", **unpacked).float()
        if CASES[name][3].get("long"):
            use_long_positions(model)
        golden, figures = run(model.eval(), CASES[name][3])
        if is_sound(figures):
            break
    else:
        sys.exit(f"{name}: no sound model among 4000 seeds")
    if CASES[name][3].get("tower") and CASES[name][0] == "gemma4":  # transformers reads its text alone without one
        put_below_gemmas_tower(folder)
    if CASES[name][3].get("mimo"):
        publish_mimo(folder)
    if CASES[name][3].get("shares"):
        put_in_shares(folder, CASES[name][3]["shares"], True)
    if CASES[name][3].get("ds4"):
        publish_deepseek_v4(folder, CASES[name][3].get("fp4", False))
    if CASES[name][3].get("step"):
        publish_step(folder)
    if CASES[name][3].get("below"):
        put_below_language_model(folder, *CASES[name][3]["below"])
    if CASES[name][3].get("transposed"):
        transpose_experts(folder / "model.safetensors")
    if CASES[name][3].get("bailing"):
        rename_as_bailing(folder)
    text = json.dumps({"made_with": VERSIONS, "seed": seed + tried, **golden}, separators=(",", ":"))
    (folder / "golden.json").write_text(text.replace('"cases":', '\n"cases":').replace('{"tokens"', '\n{"tokens"')
                                        .replace('"greedy":', '\n"greedy":') + "\n")
    size = sum(file.stat().st_size for file in folder.iterdir())
    assert size <= LARGEST_SIZE, size
    print(f"{name}: seed {seed + tried} ({tried + 1} tried), {size} bytes,",
          ", ".join(f"{key} {value:.3g}" for key, value in figures.items()), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "engine/data/models",
                        help="folder of the models' folders")
    parser.add_argument("--only", choices=sorted(CASES), help="make this model alone")
    parser.add_argument("--seed", type=int, help="first seed to try; by default a sum over the model's name")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    for case in CASES if chosen.only is None else [chosen.only]:
        make_case(chosen.out, case, chosen.seed)
