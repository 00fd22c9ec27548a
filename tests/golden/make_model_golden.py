"""Tiny random Mixtral models with the logits that Hugging Face transformers computes for them in float32.

Run with --demo to write the demo model's logits and greedy answers instead. Fixed seeds; see README.md beside this file.
"""

import argparse
import json
import pathlib
import shutil

import torch
import transformers
from transformers import MixtralConfig, MixtralForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "tests/engine/data/models"
DEMO = ROOT / "resources/demo-model"
VERSIONS = {"torch": torch.__version__, "transformers": transformers.__version__}

# name: (config, dtype on disk, how the folder is written)
CASES = {
    "grouped_f32": (
        dict(hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             num_local_experts=4, num_experts_per_tok=2, rope_theta=10000.0),
        torch.float32, dict()),
    "full_heads_tied_f32": (
        dict(hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=3,
             num_local_experts=5, num_experts_per_tok=3, rope_theta=500.0, tie_word_embeddings=True),
        torch.float32, dict()),
    "wide_head_sharded_v4_f32": (
        dict(hidden_size=32, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=1,
             head_dim=16, num_local_experts=8, num_experts_per_tok=1, rope_theta=1e6),
        torch.float32, dict(shard="120KB", v4=True)),
    "grouped_bf16": (
        dict(hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
             num_local_experts=4, num_experts_per_tok=2, rope_theta=1e6),
        torch.bfloat16, dict(v4=True)),
    "sliding_window_f16": (
        dict(hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
             num_local_experts=4, num_experts_per_tok=2, rope_theta=10000.0, sliding_window=8),
        torch.float16, dict()),
}
VOCABULARY = 48
SEQUENCES = (1, 5, 40)  # one token, a few (own kernels), many (batched products)


def rewrite_config_as_v4(folder: pathlib.Path) -> None:
    """config.json as transformers 4 wrote it: rope_theta at the top, torch_dtype."""
    path = folder / "config.json"
    config = json.loads(path.read_text())
    config["rope_theta"] = config.pop("rope_parameters")["rope_theta"]
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.57.0"
    path.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def float_list(row: torch.Tensor) -> list[float]:
    return [float(f"{value:.9g}") for value in row.tolist()]


def make_case(name: str, settings: dict, dtype: torch.dtype, form: dict) -> None:
    folder = MODELS / name
    shutil.rmtree(folder, ignore_errors=True)
    torch.manual_seed(sum(name.encode()))
    config = MixtralConfig(vocab_size=VOCABULARY, max_position_embeddings=64, bos_token_id=1, eos_token_id=2,
                           attn_implementation="eager", **settings)
    model = MixtralForCausalLM(config).eval()
    with torch.no_grad():
        # The usual tiny initial weights would hide errors: spread the logits, move the norms away from one, and make
        # the router as decided as a trained one, so that rounding does not turn ties.
        for key, weight in model.named_parameters():
            spread = (2 if ".gate." in key else 1) / weight.shape[-1] ** 0.5
            weight.copy_(1 + 0.3 * torch.randn_like(weight) if "norm" in key else torch.randn_like(weight) * spread)
    model.to(dtype).save_pretrained(folder, max_shard_size=form.get("shard", "1GB"))
    if form.get("v4"):
        rewrite_config_as_v4(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)

    reference = MixtralForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    generator = torch.Generator().manual_seed(7)
    cases = []
    for length in SEQUENCES:
        tokens = torch.randint(3, VOCABULARY, (1, length), generator=generator)
        with torch.no_grad():
            logits = reference(tokens).logits[0]
        cases.append({"tokens": tokens[0].tolist(), "logits": [float_list(row) for row in logits]})
    (folder / "golden.json").write_text(json.dumps({"made_with": VERSIONS, "cases": cases}) + "\n")
    print(name, sum(f.stat().st_size for f in folder.iterdir()), "bytes")


def make_demo() -> None:
    """The prompts of the stored file: tokens of the rendered prompt, last logits, 64 greedy tokens."""
    path = ROOT / "tests/engine/data/demo_golden.json"
    prompts = [case["prompt"] for case in json.loads(path.read_text())["cases"]]
    tokenizer_config = json.loads((DEMO / "tokenizer_config.json").read_text())
    model = MixtralForCausalLM.from_pretrained(DEMO, dtype=torch.float32, attn_implementation="eager").eval()
    import sentencepiece
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(DEMO / "tokenizer.model"))
    template = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True).from_string(
        tokenizer_config["chat_template"])
    special = {entry["content"]: int(i) for i, entry in tokenizer_config["added_tokens_decoder"].items()}
    ends = model.generation_config.eos_token_id
    ends = set(ends if isinstance(ends, list) else [ends])

    def encode(text: str) -> list[int]:
        ids, rest = [], text
        while rest:
            at, name = min(((rest.find(s), s) for s in special if s in rest), default=(len(rest), ""))
            if at > 0:
                ids += pieces.encode(rest[:at])
            if name:
                ids.append(special[name])
            rest = rest[at + len(name):]
        return ids

    cases = []
    for prompt in prompts:
        text = template.render(messages=[{"role": "user", "content": prompt}], add_generation_prompt=True,
                               bos_token=tokenizer_config["bos_token"], eos_token=tokenizer_config["eos_token"])
        tokens = encode(text)
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0, -1]
            # Greedy by hand, past the end of the turn too: 64 tokens each, whatever they are.
            sequence, greedy, margin = list(tokens), [], float("inf")
            for _ in range(64):
                row = model(torch.tensor([sequence])).logits[0, -1]
                best = torch.topk(row, 2).values
                margin = min(margin, float(best[0] - best[1]))
                greedy.append(int(row.argmax()))
                sequence.append(greedy[-1])
        cases.append({"prompt": prompt, "tokens": tokens, "logits": float_list(logits), "greedy": greedy,
                      "answer_length": next((i for i, t in enumerate(greedy) if t in ends), len(greedy)),
                      "smallest_margin": margin})
        print(prompt, "->", pieces.decode([t for t in greedy if t < pieces.vocab_size()])[:60], f"margin {margin:.4f}")
    path.write_text(json.dumps({"made_with": VERSIONS, "cases": cases}) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", action="store_true")
    torch.set_num_threads(1)
    if parser.parse_args().demo:
        make_demo()
    else:
        for case, values in CASES.items():
            make_case(case, *values)
