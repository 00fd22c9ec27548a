"""The demo model as a fast CPU/GPU training module.

Same mathematics as transformers' MixtralForCausalLM: RMSNorm, rotary positions (half rotation), grouped-query
attention, a softmax router over all experts, top 2 renormalised, SwiGLU experts. The difference is only in how
the experts run: tokens are sorted by expert, and each expert does one matrix product for all of its tokens.
"""
import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = dict(
    hidden_size=192, intermediate_size=256, num_hidden_layers=8, num_attention_heads=3, num_key_value_heads=1,
    head_dim=64, num_local_experts=8, num_experts_per_tok=2, vocab_size=2048, max_position_embeddings=2048,
    rope_theta=10000.0, rms_norm_eps=1e-5,
)


class SortedExperts(torch.autograd.Function):
    """y = sum_k w_k * W2_k( silu(W1_k x) * (W3_k x) ) with tokens sorted by expert, backward written out."""

    @staticmethod
    def forward(ctx, x, weights, experts, w13, w2, dtype):
        tokens, k = experts.shape
        n_experts = w13.shape[0]
        flat = experts.reshape(-1)
        order = torch.argsort(flat, stable=True)
        inverse = torch.empty_like(order)
        inverse[order] = torch.arange(order.numel(), device=order.device)
        counts = torch.bincount(flat, minlength=n_experts).tolist()
        token = order // k
        w13c, w2c = w13.to(dtype), w2.to(dtype)
        xs = x.to(dtype).index_select(0, token)
        h = torch.empty(tokens * k, w13.shape[1], dtype=dtype, device=x.device)
        y = torch.empty(tokens * k, x.shape[1], dtype=dtype, device=x.device)
        at = 0
        spans = []
        for e in range(n_experts):
            spans.append((at, at + counts[e]))
            if counts[e]:
                torch.mm(xs[at:at + counts[e]], w13c[e].t(), out=h[at:at + counts[e]])
            at += counts[e]
        gate, up = h.chunk(2, dim=1)
        act = F.silu(gate) * up
        for e, (a, b) in enumerate(spans):
            if b > a:
                torch.mm(act[a:b], w2c[e].t(), out=y[a:b])
        out = (y.index_select(0, inverse).view(tokens, k, -1) * weights.to(dtype).unsqueeze(-1)).sum(1)
        ctx.save_for_backward(xs, h, act, weights, order, inverse, token, w13c, w2c)
        ctx.spans = spans
        ctx.dtype = dtype
        ctx.in_dtype = x.dtype
        return out.to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        xs, h, act, weights, order, inverse, token, w13, w2 = ctx.saved_tensors
        dtype = ctx.dtype
        tokens, k = weights.shape
        gs = grad.to(dtype).index_select(0, token)
        ws = weights.reshape(-1).index_select(0, order).to(dtype).unsqueeze(1)
        d_act = torch.empty_like(act)
        for e, (a, b) in enumerate(ctx.spans):
            if b > a:
                torch.mm(gs[a:b], w2[e], out=d_act[a:b])
        d_weights = (d_act * act).sum(1, dtype=torch.float32).index_select(0, inverse).view(tokens, k)
        gw = gs * ws
        d_act.mul_(ws)
        gate, up = h.chunk(2, dim=1)
        dh = torch.empty_like(h)
        dh[:, :gate.shape[1]] = torch.ops.aten.silu_backward(d_act * up, gate)
        dh[:, gate.shape[1]:] = d_act * F.silu(gate)
        d_w13 = torch.zeros(w13.shape, dtype=dtype, device=grad.device)
        d_w2 = torch.zeros(w2.shape, dtype=dtype, device=grad.device)
        dxs = torch.empty_like(xs)
        for e, (a, b) in enumerate(ctx.spans):
            if b > a:
                torch.mm(gw[a:b].t(), act[a:b], out=d_w2[e])
                torch.mm(dh[a:b].t(), xs[a:b], out=d_w13[e])
                torch.mm(dh[a:b], w13[e], out=dxs[a:b])
        dx = dxs.index_select(0, inverse).view(tokens, k, -1).sum(1)
        return dx.to(ctx.in_dtype), d_weights.to(weights.dtype), None, d_w13.float(), d_w2.float(), None


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def attention_block(x, norm1, qkv, o, norm2, gate, cos, sin, mask, heads, kv_heads, d, eps, dtype):
    """Attention with its residual; then the input of the experts and the router's probabilities."""
    b, t, h = x.shape
    y = F.rms_norm(x, (h,), norm1, eps).to(dtype)
    q, k, v = F.linear(y, qkv.to(dtype)).split([heads * d, kv_heads * d, kv_heads * d], dim=-1)
    q = q.view(b, t, heads, d).transpose(1, 2)
    k = k.view(b, t, kv_heads, d).transpose(1, 2)
    v = v.view(b, t, kv_heads, d).transpose(1, 2)
    q = q * cos + rotate_half(q) * sin
    k = k * cos + rotate_half(k) * sin
    k = k.repeat_interleave(heads // kv_heads, dim=1)
    v = v.repeat_interleave(heads // kv_heads, dim=1)
    if mask is None:
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    else:
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    x = x + F.linear(a.transpose(1, 2).reshape(b, t, -1), o.to(dtype)).to(x.dtype)
    y = F.rms_norm(x, (h,), norm2, eps).view(b * t, h)
    return x, y, torch.softmax(F.linear(y, gate), dim=-1)


attention = attention_block


def compile_attention():
    """Fuses the small operations around attention; about a fifth faster on a CPU."""
    global attention
    attention = torch.compile(attention_block, dynamic=False)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, d = c["hidden_size"], c["head_dim"]
        self.heads, self.kv_heads, self.d = c["num_attention_heads"], c["num_key_value_heads"], d
        self.eps = c["rms_norm_eps"]
        self.top_k, self.n_experts = c["num_experts_per_tok"], c["num_local_experts"]
        f = c["intermediate_size"]
        self.norm1 = nn.Parameter(torch.ones(h))
        self.norm2 = nn.Parameter(torch.ones(h))
        self.qkv = nn.Parameter(torch.empty((self.heads + 2 * self.kv_heads) * d, h))
        self.o = nn.Parameter(torch.empty(h, self.heads * d))
        self.gate = nn.Parameter(torch.empty(self.n_experts, h))
        self.w13 = nn.Parameter(torch.empty(self.n_experts, 2 * f, h))
        self.w2 = nn.Parameter(torch.empty(self.n_experts, h, f))

    def forward(self, x, cos, sin, mask, dtype):
        b, t, h = x.shape
        x, y, probs = attention(x, self.norm1, self.qkv, self.o, self.norm2, self.gate, cos, sin, mask, self.heads, self.kv_heads, self.d, self.eps, dtype)
        top, idx = probs.topk(self.top_k, dim=-1)
        top = top / top.sum(-1, keepdim=True)
        out = SortedExperts.apply(y, top, idx, self.w13, self.w2, dtype)
        return x + out.view(b, t, h), probs, idx


class DemoModel(nn.Module):
    def __init__(self, c=CONFIG, seed=1):
        super().__init__()
        self.c = c
        self.embed = nn.Parameter(torch.empty(c["vocab_size"], c["hidden_size"]))
        self.head = nn.Parameter(torch.empty(c["vocab_size"], c["hidden_size"]))
        self.norm = nn.Parameter(torch.ones(c["hidden_size"]))
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        g = torch.Generator().manual_seed(seed)
        deep = (2 * c["num_hidden_layers"]) ** -0.5
        with torch.no_grad():
            self.embed.normal_(0, 0.5, generator=g)
            self.head.normal_(0, 0.02, generator=g)
            for layer in self.layers:
                layer.qkv.normal_(0, c["hidden_size"] ** -0.5, generator=g)
                layer.o.normal_(0, c["hidden_size"] ** -0.5 * deep, generator=g)
                layer.gate.normal_(0, 0.02, generator=g)
                layer.w13.normal_(0, c["hidden_size"] ** -0.5, generator=g)
                layer.w2.normal_(0, c["intermediate_size"] ** -0.5 * deep, generator=g)

    def rotary(self, t, device, dtype):
        d = self.c["head_dim"]
        inv = 1.0 / (self.c["rope_theta"] ** (torch.arange(0, d, 2, device=device).float() / d))
        f = torch.outer(torch.arange(t, device=device).float(), inv)
        f = torch.cat((f, f), dim=-1)
        return f.cos().to(dtype), f.sin().to(dtype)

    def forward(self, ids, mask=None, dtype=torch.float32):
        """Hidden states after the last norm, and each layer's router probabilities and choices."""
        x = self.embed[ids] if not self.training else F.embedding(ids, self.embed)
        cos, sin = self.rotary(ids.shape[1], ids.device, dtype)
        probs, chosen = [], []
        for layer in self.layers:
            x, p, i = layer(x, cos, sin, mask, dtype)
            probs.append(p)
            chosen.append(i)
        return F.rms_norm(x, (x.shape[-1],), self.norm, self.c["rms_norm_eps"]), probs, chosen

    def logits(self, hidden, dtype=torch.float32):
        return F.linear(hidden.to(dtype), self.head.to(dtype)).float()


def hf_state(model):
    """The classic on-disk names of a Mixtral checkpoint."""
    c = model.c
    f = c["intermediate_size"]
    q, kv = c["num_attention_heads"] * c["head_dim"], c["num_key_value_heads"] * c["head_dim"]
    out = {"model.embed_tokens.weight": model.embed, "model.norm.weight": model.norm, "lm_head.weight": model.head}
    for n, layer in enumerate(model.layers):
        p = f"model.layers.{n}."
        out[p + "input_layernorm.weight"] = layer.norm1
        out[p + "post_attention_layernorm.weight"] = layer.norm2
        out[p + "self_attn.q_proj.weight"] = layer.qkv[:q]
        out[p + "self_attn.k_proj.weight"] = layer.qkv[q:q + kv]
        out[p + "self_attn.v_proj.weight"] = layer.qkv[q + kv:]
        out[p + "self_attn.o_proj.weight"] = layer.o
        out[p + "block_sparse_moe.gate.weight"] = layer.gate
        for e in range(c["num_local_experts"]):
            out[p + f"block_sparse_moe.experts.{e}.w1.weight"] = layer.w13[e, :f]
            out[p + f"block_sparse_moe.experts.{e}.w3.weight"] = layer.w13[e, f:]
            out[p + f"block_sparse_moe.experts.{e}.w2.weight"] = layer.w2[e]
    return {k: v.detach().clone().contiguous() for k, v in out.items()}


def load_hf_state(model, state):
    """The inverse of hf_state: takes every tensor of such a checkpoint, in whatever precision it was written."""
    c = model.c
    state = dict(state)

    def put(to, *names):
        parts = [state.pop(n) for n in names]
        to.copy_(torch.cat(parts) if len(parts) > 1 else parts[0])
    with torch.no_grad():
        put(model.embed, "model.embed_tokens.weight")
        put(model.norm, "model.norm.weight")
        put(model.head, "lm_head.weight")
        for n, layer in enumerate(model.layers):
            p = f"model.layers.{n}."
            put(layer.norm1, p + "input_layernorm.weight")
            put(layer.norm2, p + "post_attention_layernorm.weight")
            put(layer.qkv, *(p + f"self_attn.{k}_proj.weight" for k in "qkv"))
            put(layer.o, p + "self_attn.o_proj.weight")
            put(layer.gate, p + "block_sparse_moe.gate.weight")
            for e in range(c["num_local_experts"]):
                expert = p + f"block_sparse_moe.experts.{e}."
                put(layer.w13[e], expert + "w1.weight", expert + "w3.weight")
                put(layer.w2[e], expert + "w2.weight")
    if state:
        raise ValueError("not a tensor of this model: " + ", ".join(state))
