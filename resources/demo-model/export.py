"""Writes the trained checkpoint as a Mixtral folder.

usage: export.py WORK [OUT]
"""
import json
import os
import shutil
import sys
import torch
from safetensors.torch import save_file
from model import CONFIG, DemoModel, hf_state
from prepare import SPECIAL

TEMPLATE = ("{{ bos_token }}{% for message in messages %}{% if message['role'] == 'system' %}{{ '<|system|>' + message['content'] + eos_token }}"
            "{% elif message['role'] == 'user' %}{{ '<|user|>' + message['content'] + eos_token }}"
            "{% elif message['role'] == 'assistant' %}{{ '<|assistant|>' + message['content'] + eos_token }}{% endif %}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")


def write(path, value):
    with open(path, "w") as f:
        json.dump(value, f, indent=2, ensure_ascii=False)
        f.write("\n")


def export(work, out, dtype=torch.bfloat16):
    os.makedirs(out, exist_ok=True)
    c = torch.load(os.path.join(work, "checkpoint.pt"), map_location="cpu")
    model = DemoModel(CONFIG)
    model.load_state_dict(c["model"])
    save_file({k: v.to(dtype).contiguous() for k, v in hf_state(model).items()}, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
    os.chmod(os.path.join(out, "model.safetensors"), 0o644)
    write(os.path.join(out, "config.json"), {
        "architectures": ["MixtralForCausalLM"], "model_type": "mixtral", "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
        "hidden_act": "silu", "hidden_size": CONFIG["hidden_size"], "initializer_range": 0.02, "intermediate_size": CONFIG["intermediate_size"],
        "max_position_embeddings": CONFIG["max_position_embeddings"], "num_attention_heads": CONFIG["num_attention_heads"], "head_dim": CONFIG["head_dim"],
        "num_experts_per_tok": CONFIG["num_experts_per_tok"], "num_hidden_layers": CONFIG["num_hidden_layers"], "num_key_value_heads": CONFIG["num_key_value_heads"],
        "num_local_experts": CONFIG["num_local_experts"], "output_router_logits": False, "rms_norm_eps": CONFIG["rms_norm_eps"], "rope_theta": CONFIG["rope_theta"],
        "router_aux_loss_coef": 0.01, "sliding_window": None, "tie_word_embeddings": False, "torch_dtype": str(dtype).split(".")[1], "use_cache": True, "vocab_size": CONFIG["vocab_size"]})
    write(os.path.join(out, "generation_config.json"), {"bos_token_id": 1, "eos_token_id": 2, "do_sample": False, "max_new_tokens": 256})
    token = lambda t: {"content": t, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True}
    names = ["<unk>", "<s>", "</s>"] + SPECIAL
    write(os.path.join(out, "tokenizer_config.json"), {
        "tokenizer_class": "LlamaTokenizer", "add_bos_token": False, "add_eos_token": False, "add_prefix_space": True, "legacy": True, "clean_up_tokenization_spaces": False,
        "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": None, "model_max_length": CONFIG["max_position_embeddings"], "sp_model_kwargs": {},
        "additional_special_tokens": SPECIAL, "added_tokens_decoder": {str(i): token(t) for i, t in enumerate(names)}, "chat_template": TEMPLATE})
    write(os.path.join(out, "special_tokens_map.json"), {"bos_token": token("<s>"), "eos_token": token("</s>"), "unk_token": token("<unk>"), "additional_special_tokens": SPECIAL})
    shutil.copyfile(os.path.join(work, "tokenizer.model"), os.path.join(out, "tokenizer.model"))
    return c


if __name__ == "__main__":
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(os.path.abspath(__file__))
    c = export(sys.argv[1], out)
    print("step", c["step"], "tokens", c["seen"], "bytes", os.path.getsize(os.path.join(out, "model.safetensors")))
