"""DeepSeekMoE-16B in PyTorch, from the paper (arXiv:2401.06066, section 3) and the published config.json: plain
multi-head attention, a dense first layer, then in every layer shared experts beside routed ones, chosen by softmax and
weighted by their scores as they are. transformers has no class for it. Names of tensors as in the published checkpoint;
the few functions that make_family_golden.py asks of a model behave as those of transformers.
"""

import json
import math
import pathlib
import types

import torch
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F


class Config(types.SimpleNamespace):
    model_type = "deepseek"

    def __init__(self, attn_implementation=None, **values):
        super().__init__(**values)

    def save(self, folder: pathlib.Path) -> None:
        values = {**vars(self), "architectures": ["DeepseekForCausalLM"], "model_type": self.model_type,
                  "hidden_act": "silu", "scoring_func": "softmax", "moe_layer_freq": 1, "attention_bias": False,
                  "rope_scaling": None, "tie_word_embeddings": False, "torch_dtype": "bfloat16",
                  "aux_loss_alpha": 0.001, "seq_aux": True, "pretraining_tp": 1}
        (folder / "config.json").write_text(json.dumps(values, indent=2, sort_keys=True) + "\n")


class Norm(nn.Module):
    def __init__(self, size: int, eps: float):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(size)), eps

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)


class Network(nn.Module):
    def __init__(self, hidden: int, inner: int):
        super().__init__()
        self.gate_proj = nn.Linear(hidden, inner, bias=False)
        self.up_proj = nn.Linear(hidden, inner, bias=False)
        self.down_proj = nn.Linear(inner, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Gate(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.weight, self.n_active, self.renormalise = (nn.Parameter(torch.empty(c.n_routed_experts, c.hidden_size)),
                                                        c.num_experts_per_tok, c.norm_topk_prob)

    def forward(self, x):
        logits = F.linear(x, self.weight)
        weights, experts = logits.softmax(-1).topk(self.n_active, -1)
        if self.renormalise:
            weights = weights / weights.sum(-1, keepdim=True)
        return logits, weights, experts


class Mixture(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.gate = Gate(c)
        self.experts = nn.ModuleList(Network(c.hidden_size, c.moe_intermediate_size)
                                     for _ in range(c.n_routed_experts))
        self.shared_experts = Network(c.hidden_size, c.moe_intermediate_size * c.n_shared_experts)

    def forward(self, x):
        rows = x.reshape(-1, x.shape[-1])
        _, weights, experts = self.gate(rows)
        routed = torch.stack([sum(w * self.experts[e](row) for w, e in zip(ws, es.tolist()))
                              for row, ws, es in zip(rows, weights, experts)])
        return (routed + self.shared_experts(rows)).view_as(x)


class Attention(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.n_heads, self.dim = c.num_attention_heads, c.hidden_size // c.num_attention_heads
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(c.hidden_size, c.hidden_size, bias=False))
        self.frequencies = c.rope_theta ** (-torch.arange(0, self.dim, 2, dtype=torch.float32) / self.dim)

    def rotated(self, x):
        angles = torch.arange(x.shape[2], dtype=torch.float32).unsqueeze(1) * self.frequencies
        cos, sin = angles.cos(), angles.sin()
        first, second = x.chunk(2, -1)
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

    def forward(self, x):
        heads = [p(x).view(*x.shape[:2], self.n_heads, self.dim).transpose(1, 2)
                 for p in (self.q_proj, self.k_proj, self.v_proj)]
        q, k = self.rotated(heads[0]), self.rotated(heads[1])
        scores = q @ k.transpose(2, 3) / math.sqrt(self.dim)
        weights = (scores + torch.full_like(scores, -math.inf).triu(1)).softmax(-1)
        return self.o_proj((weights @ heads[2]).transpose(1, 2).reshape(x.shape)), weights


class Layer(nn.Module):
    def __init__(self, c: Config, number: int):
        super().__init__()
        self.self_attn = Attention(c)
        self.mlp = (Network(c.hidden_size, c.intermediate_size) if number < c.first_k_dense_replace else Mixture(c))
        self.input_layernorm = Norm(c.hidden_size, c.rms_norm_eps)
        self.post_attention_layernorm = Norm(c.hidden_size, c.rms_norm_eps)

    def forward(self, x):
        attended, weights = self.self_attn(self.input_layernorm(x))
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), weights


class Body(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.embed_tokens = nn.Embedding(c.vocab_size, c.hidden_size)
        self.layers = nn.ModuleList(Layer(c, i) for i in range(c.num_hidden_layers))
        self.norm = Norm(c.hidden_size, c.rms_norm_eps)


class DeepseekForCausalLM(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.config, self.model = config, Body(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, tokens, **_):
        x, attentions = self.model.embed_tokens(tokens), []
        for layer in self.model.layers:
            x, weights = layer(x)
            attentions.append(weights)
        return types.SimpleNamespace(logits=self.lm_head(self.model.norm(x)), attentions=tuple(attentions))

    def save_pretrained(self, folder: pathlib.Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        save_file({k: v.contiguous() for k, v in self.state_dict().items()}, folder / "model.safetensors",
                  metadata={"format": "pt"})
        self.config.save(folder)

    @classmethod
    def from_pretrained(cls, folder: pathlib.Path, dtype, **_):
        values = json.loads((folder / "config.json").read_text())
        model = cls(Config(**values)).to(dtype)
        model.load_state_dict({k: v.to(dtype) for k, v in load_file(folder / "model.safetensors").items()})
        return model
