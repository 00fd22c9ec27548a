"""Logits of a tiny Mixtral whose experts leave out neurons with |silu(w1 . x)| <= theta, in plain PyTorch and float32.

Written from the papers' formulae alone: neither transformers nor Offstage has a part in it. With theta 0 it must give
the logits that make_model_golden.py had from transformers, which is checked before anything is written. Every theta is
moved to where no neuron of the texts is near it, so that rounding decides nothing. See README.md beside this file.
"""

import json
import pathlib

import torch
from safetensors.torch import load_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = "grouped_f32"
FOLDER = ROOT / "tests/engine/data/models" / MODEL
OUT = ROOT / "tests/engine/data/theta_golden.json"
WANTED = (0.05, 0.2, 0.5)


def norm(x, weight, eps):
    return weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)


class Model:
    def __init__(self):
        self.config = json.loads((FOLDER / "config.json").read_text())
        self.weights = load_file(FOLDER / "model.safetensors")
        self.activations = []  # of each layer: those of all (token, chosen expert) pairs

    def __getitem__(self, name):
        return self.weights[name].float()

    def attention(self, prefix, x):
        heads, kv_heads = self.config["num_attention_heads"], self.config["num_key_value_heads"]
        dim = self.config["hidden_size"] // heads
        n = len(x)
        split = lambda name, count: (x @ self[f"{prefix}{name}_proj.weight"].T).view(n, count, dim).transpose(0, 1)
        q, k, v = split("q", heads), split("k", kv_heads), split("v", kv_heads)
        theta = self.config["rope_parameters"]["rope_theta"]
        angles = torch.arange(n)[:, None] / theta ** (torch.arange(0, dim, 2) / dim)[None]
        cos, sin = angles.cos(), angles.sin()
        turn = lambda y: torch.cat([y[..., :dim // 2] * cos - y[..., dim // 2:] * sin,
                                    y[..., dim // 2:] * cos + y[..., :dim // 2] * sin], -1)
        q, k = turn(q), turn(k)
        k, v = (y.repeat_interleave(heads // kv_heads, 0) for y in (k, v))
        scores = q @ k.transpose(1, 2) / dim ** 0.5 + torch.full((n, n), -torch.inf).triu(1)
        return (scores.softmax(-1) @ v).transpose(0, 1).reshape(n, -1) @ self[f"{prefix}o_proj.weight"].T

    def experts(self, layer, x, theta):
        prefix = f"model.layers.{layer}.block_sparse_moe."
        scores = (x @ self[prefix + "gate.weight"].T).softmax(-1)
        weights, chosen = scores.topk(self.config["num_experts_per_tok"], -1)
        weights = weights / weights.sum(-1, keepdim=True)
        out = torch.zeros_like(x)
        found = []
        for t in range(len(x)):
            for weight, expert in zip(weights[t], chosen[t]):
                w1, w3, w2 = (self[f"{prefix}experts.{expert}.w{i}.weight"] for i in (1, 3, 2))
                gate = torch.nn.functional.silu(w1 @ x[t])
                found.append(gate)
                if theta > 0:
                    gate = torch.where(gate.abs() <= theta, torch.zeros_like(gate), gate)
                out[t] += weight * (w2 @ (gate * (w3 @ x[t])))
        self.activations.append(torch.stack(found))
        return out

    def logits(self, tokens, theta):
        eps = self.config["rms_norm_eps"]
        self.activations = []
        x = self["model.embed_tokens.weight"][torch.tensor(tokens)]
        for layer in range(self.config["num_hidden_layers"]):
            prefix = f"model.layers.{layer}."
            x = x + self.attention(prefix + "self_attn.", norm(x, self[prefix + "input_layernorm.weight"], eps))
            x = x + self.experts(layer, norm(x, self[prefix + "post_attention_layernorm.weight"], eps), theta)
        return norm(x, self["model.norm.weight"], eps) @ self["lm_head.weight"].T


def relative_error(got, want):
    return float((got - want).norm() / want.norm())


def margin(model, texts, theta):
    """How near to theta, as a part of it, the nearest activation of any text comes."""
    nearest = 1.0
    for tokens in texts:
        model.logits(tokens, theta)
        for values in model.activations:
            nearest = min(nearest, float((values.abs() - theta).abs().min()) / theta)
    return nearest


def main():
    torch.set_grad_enabled(False)
    model = Model()
    golden = json.loads((FOLDER / "golden.json").read_text())["cases"]
    texts = [case["tokens"] for case in golden]
    for case in golden:
        error = relative_error(model.logits(case["tokens"], 0.0), torch.tensor(case["logits"]))
        assert error < 1e-5, f"theta 0 is not what transformers computes: {error}"
    cases = []
    for wanted in WANTED:
        theta = max((wanted * (1 + 0.001 * i) for i in range(100)), key=lambda value: margin(model, texts, value))
        theta = round(theta, 6)
        print(f"theta {theta}: the nearest neuron is {margin(model, texts, theta):.1e} of it away")
        for tokens in texts:
            logits = model.logits(tokens, theta)
            active = [int((values.abs() > theta).sum()) for values in model.activations]
            cases.append({"theta": theta, "tokens": tokens, "active": active,
                          "neurons": [values.numel() for values in model.activations],
                          "logits": [[float(f"{v:.9g}") for v in row] for row in logits.tolist()]})
            print(f"  {len(tokens)} tokens: active {sum(active) / sum(cases[-1]['neurons']):.2f}")
    OUT.write_text(json.dumps({"made_with": {"torch": torch.__version__}, "model": MODEL, "cases": cases}) + "\n")


if __name__ == "__main__":
    main()
