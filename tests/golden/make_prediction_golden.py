"""Tiny models with a layer that predicts further tokens (MTP), and what that layer computes.

    python tests/golden/make_prediction_golden.py [--out DIR] [--only NAME]

Each folder gets the model's config.json and model.safetensors with the layer's tensors as they are published, and
golden.json: for given states and tokens the layer's logits, and a draft of four tokens that it makes of its own states.
transformers has no such layer: its decoder layer of the family is used, with the rest written here. The order of the
projection's halves, and which states it takes, are those of llama.cpp (src/models/glm4-moe.cpp, deepseek2.cpp,
qwen3next.cpp: states behind the final norm, the token's half first).
"""

import argparse
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE.parent / "engine/data/models"
N_TOKENS, N_DRAFTED = 20, 4

# name of the model whose layers are used: (seed, norms that are stored as their distance from one)
CASES = {"qwen3_next_bf16": (5, True), "glm4_moe_groups_f32": (6, False), "deepseek_v3_plain_f32": (7, False)}


def draw(layer: torch.nn.Module, middle: float, dtype: torch.dtype) -> None:
    with torch.no_grad():
        for key, weight in [*layer.named_parameters(), *layer.named_buffers()]:
            if "norm" in key:
                weight.copy_(middle + 0.3 * torch.randn_like(weight))
            elif weight.ndim == 1:
                weight.copy_(0.3 * torch.randn_like(weight))
            else:
                weight.copy_(1.5 * torch.randn_like(weight) / weight.shape[-1] ** 0.5)
            weight.copy_(weight.to(dtype).float())


class Norm(torch.nn.Module):
    def __init__(self, size: int, eps: float, offset: float):
        super().__init__()
        self.weight, self.eps, self.offset = torch.nn.Parameter(torch.empty(size)), eps, offset

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * (self.offset + self.weight)


class Prediction(torch.nn.Module):
    def __init__(self, model, offset: float):
        super().__init__()
        n, eps = model.config.hidden_size, model.config.rms_norm_eps
        self.token_norm, self.state_norm, self.last_norm = (Norm(n, eps, offset) for _ in range(3))
        self.projection = torch.nn.Linear(2 * n, n, bias=False)
        last = len(model.model.layers) - 1  # one with experts, and in Qwen3-Next with attention
        self.layer = type(model.model.layers[last])(model.config, last).float()
        self.embed, self.rotary, self.head = model.model.embed_tokens, model.model.rotary_emb, model.lm_head

    def forward(self, states: torch.Tensor, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The states and the logits behind these tokens, (n, hidden_size) and (n, vocab_size)."""
        x = self.projection(torch.cat([self.token_norm(self.embed(tokens)), self.state_norm(states)], -1))[None]
        n = len(tokens)
        positions = torch.arange(n)[None]
        mask = torch.full((n, n), float("-inf")).triu(1)[None, None]
        x = self.layer(x, attention_mask=mask, position_ids=positions, position_embeddings=self.rotary(x, positions))
        state = self.last_norm((x[0] if isinstance(x, tuple) else x)[0])
        return state, self.head(state)

    def published(self, n_layers: int, beside: bool) -> dict[str, torch.Tensor]:
        """The tensors by the names of checkpoints: those of Qwen, or those of DeepSeek and GLM."""
        at = "mtp." if beside else f"model.layers.{n_layers}."
        names = ("pre_fc_norm_embedding", "pre_fc_norm_hidden", "fc", "norm") if beside else (
            "enorm", "hnorm", "eh_proj", "shared_head.norm")
        parts = (self.token_norm, self.state_norm, self.projection, self.last_norm)
        tensors = {f"{at}{name}.weight": part.weight for name, part in zip(names, parts)}
        at += "layers.0." if beside else ""
        for key, value in self.layer.state_dict().items():
            if key == "mlp.experts.gate_up_proj":
                for e, both in enumerate(value):
                    gate, up = both.chunk(2)
                    tensors[f"{at}mlp.experts.{e}.gate_proj.weight"], tensors[f"{at}mlp.experts.{e}.up_proj.weight"] = gate, up
            elif key == "mlp.experts.down_proj":
                for e, down in enumerate(value):
                    tensors[f"{at}mlp.experts.{e}.down_proj.weight"] = down
            else:
                tensors[at + key] = value
        if not beside:  # published once more
            tensors[at + "embed_tokens.weight"], tensors[at + "shared_head.head.weight"] = self.embed.weight, self.head.weight
        return tensors


@torch.no_grad()
def make_case(out: pathlib.Path, name: str) -> None:
    seed, from_one = CASES[name]
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_pretrained(MODELS / name, dtype=torch.float32, attn_implementation="eager").eval()
    stored = load_file(MODELS / name / "model.safetensors")
    dtype = stored["model.embed_tokens.weight"].dtype
    layer = Prediction(model, 1.0 if from_one else 0.0).eval()
    for part in (layer.token_norm, layer.state_norm, layer.last_norm, layer.projection, layer.layer):
        named = torch.nn.ModuleDict({"norm" if isinstance(part, Norm) else "part": part})
        draw(named, 0.0 if from_one else 1.0, dtype)

    text = torch.randint(0, model.config.vocab_size, (N_TOKENS + 1,))
    states = model.model(text[None, :-1]).last_hidden_state[0]  # behind the final norm
    tokens = text[1:]
    logits = layer(states, tokens)[1]
    draft = []
    drafted_states, drafted_tokens = states, tokens
    for _ in range(N_DRAFTED):
        state, next_logits = layer(drafted_states, drafted_tokens)
        best = next_logits[-1].topk(2).values
        assert best[0] - best[1] > 1e-2, (name, best)  # another seed, where two are alike
        draft.append(int(next_logits[-1].argmax()))
        drafted_states = torch.cat([drafted_states, state[-1:]])
        drafted_tokens = torch.cat([drafted_tokens, torch.tensor(draft[-1:])])

    folder = out / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = json.loads((MODELS / name / "config.json").read_text())
    if not from_one:
        config["num_nextn_predict_layers"] = 1
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    tensors = {key: value.detach().to(torch.float32 if key.endswith("correction_bias") else dtype).contiguous().clone()
               for key, value in layer.published(len(model.model.layers), from_one).items()}
    save_file({**stored, **tensors}, folder / "model.safetensors", metadata={"format": "pt"})
    rounded = [[round(x, 7) for x in row] for row in states.tolist()]
    golden = {"made_with": {"torch": torch.__version__, "transformers": transformers.__version__}, "seed": seed,
              "text": text.tolist(), "states": rounded, "logits": [[round(x, 6) for x in row] for row in logits.tolist()],
              "draft": draft}
    (folder / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"{name}: {sum(file.stat().st_size for file in folder.iterdir())} bytes, draft {draft}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "engine/data/prediction")
    parser.add_argument("--only", choices=sorted(CASES))
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    for case in CASES if chosen.only is None else [chosen.only]:
        make_case(chosen.out, case)
