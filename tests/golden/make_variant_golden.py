"""What Hugging Face transformers computes for tiny models whose configuration, or whose tensors, are changed a little.

    python tests/golden/make_variant_golden.py [--out FILE]

Each variant is a folder of tests/engine/data/models with keys of config.json that are replaced, and with tensors that
come in: "reversed" is another tensor with its rows in reverse order, "values" are the values themselves. The file has
the logits of every token. The test puts the same folder together.
"""

import argparse
import json
import pathlib
import shutil
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "engine/data/models"
BEYOND = 24  # tokens: more than the 16 of the dynamic variants' context

LINEAR = dict(rope_type="linear", factor=4.0)
DYNAMIC = dict(rope_type="dynamic", factor=4.0)
LONG = dict(rope_type="longrope", short_factor=[1.0, 1.1, 1.3, 1.7], long_factor=[1.0, 2.5, 6.0, 11.0])

# name: (model, keys, tensors, tokens)
VARIANTS = {
    "linear, as transformers 4 writes it": ("qwen3_moe_yarn_f32", dict(rope_scaling=LINEAR), {}, 12),
    "linear, as transformers 5 writes it": (
        "qwen3_moe_yarn_f32", dict(rope_scaling=None, rope_parameters=dict(LINEAR, rope_theta=100.0)), {}, 12),
    # transformers takes no attention_factor for these types.
    "linear, with a factor of attention": (
        "qwen3_moe_yarn_f32", dict(rope_scaling=dict(LINEAR, attention_factor=1.5)), {}, 6),
    "dynamic, within the context": (
        "qwen3_moe_yarn_f32", dict(rope_scaling=DYNAMIC, max_position_embeddings=16), {}, 16),
    "dynamic, beyond the context": (
        "qwen3_moe_yarn_f32", dict(rope_scaling=DYNAMIC, max_position_embeddings=16), {}, BEYOND),
    "dynamic, a part of each head": (
        "glm4_moe_groups_f32",
        dict(rope_parameters=dict(DYNAMIC, rope_theta=100.0, partial_rotary_factor=0.25), max_position_embeddings=16),
        {}, BEYOND),
    "longrope, with a factor": (
        "qwen3_moe_yarn_f32",
        dict(rope_scaling=dict(LONG, factor=4.0, original_max_position_embeddings=16), max_position_embeddings=1024),
        {}, BEYOND),
    "longrope, two original contexts": (
        "qwen3_moe_yarn_f32",
        dict(rope_scaling=dict(LONG, original_max_position_embeddings=64), original_max_position_embeddings=16,
             max_position_embeddings=1024), {}, BEYOND),
    "linear, latent": (
        "deepseek_v3_plain_f32", dict(rope_parameters=dict(LINEAR, rope_theta=100.0, mscale_all_dim=0.8)), {}, 12),
    "dynamic, latent": (
        "deepseek_v3_plain_f32", dict(rope_parameters=dict(DYNAMIC, rope_theta=100.0), max_position_embeddings=16), {},
        BEYOND),
    "biases of latent attention": ("deepseek_v3_bf16", dict(attention_bias=True), "biases", 12),
    "biases of latent attention, queries from the hidden state": (
        "deepseek_v3_plain_f32", dict(attention_bias=True), "biases", 12),
    "biases of latent attention, DeepSeek-V2": ("deepseek_v2_groups_bf16", dict(attention_bias=True), "biases", 12),
    "a head of other values": (
        "qwen3_moe_dense_layers_tied_bf16", {}, {"lm_head.weight": {"reversed": "model.embed_tokens.weight"}}, 6),
    # Without a field that asks for them they are left out.
    "biases that the configuration does not name": (
        "qwen3_moe_bf16", {}, {"model.layers.1.self_attn.q_proj.bias": {"values": [0.5] * 64}}, 6),
}


def biases(config: dict, generator: torch.Generator) -> dict:
    rank, latent = config.get("q_lora_rank"), config["kv_lora_rank"] + config["qk_rope_head_dim"]
    sizes = {"kv_a_proj_with_mqa": latent, "o_proj": config["hidden_size"]}
    if rank is not None:
        sizes["q_a_proj"] = rank
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for name, size in sizes.items():
            # Multiples of 1/64, which bf16 holds.
            values = torch.randint(-40, 41, (size,), generator=generator) / 64
            tensors[f"model.layers.{layer}.self_attn.{name}.bias"] = {"values": values.tolist()}
    return tensors


def compute(model: str, keys: dict, tensors: dict, tokens: list) -> list:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = json.loads((MODELS / model / "config.json").read_text())
        config.update(keys)
        (folder / "config.json").write_text(json.dumps(config))
        weights = load_file(MODELS / model / "model.safetensors")
        kind = weights["model.norm.weight"].dtype
        for key, what in tensors.items():
            weights[key] = (weights[what["reversed"]].flip(0).contiguous() if "reversed" in what
                            else torch.tensor(what["values"]).to(kind))
        save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
        loaded = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32,
                                                                   attn_implementation="eager").eval()
        with torch.no_grad():
            return loaded(torch.tensor([tokens])).logits[0].tolist()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "engine/data/variants.json")
    out = parser.parse_args().out
    variants = []
    for name, (model, keys, tensors, n_tokens) in VARIANTS.items():
        config = json.loads((MODELS / model / "config.json").read_text())
        if tensors == "biases":
            tensors = biases(config, torch.Generator().manual_seed(1))
        generator = torch.Generator().manual_seed(2)
        tokens = torch.randint(3, config["vocab_size"], (n_tokens,), generator=generator).tolist()
        logits = compute(model, keys, tensors, tokens)
        variants.append(dict(name=name, model=model, config=keys, tensors=tensors, tokens=tokens,
                             logits=[[float(f"{value:.7g}") for value in row] for row in logits]))
        print(name, logits[-1][:3])
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    lines = ",\n".join(json.dumps(variant) for variant in variants)
    out.write_text('{"versions": ' + json.dumps(versions) + ', "variants": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main()
