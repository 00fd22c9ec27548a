"""Muon for the matrices (momentum, then the nearest orthogonal matrix by Newton-Schulz steps), AdamW for the rest."""
import torch


def orthogonal(g, steps=5):
    """g: [n, rows, cols]."""
    x = g / (g.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    if tall:
        x = x.transpose(-2, -1).contiguous()
    for _ in range(steps):
        a = x @ x.transpose(-2, -1)
        b = torch.baddbmm(a, a, a, beta=-4.7750, alpha=2.0315)
        x = torch.baddbmm(x, b, x, beta=3.4445)
    return x.transpose(-2, -1) if tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            shapes = {}
            for p in group["params"]:
                s = self.state[p]
                if "m" not in s:
                    s["m"] = torch.zeros_like(p)
                s["m"].lerp_(p.grad, 1 - group["momentum"])
                u = torch.lerp(p.grad, s["m"], group["momentum"])
                u = u.view(p.parts, -1, p.shape[-1])
                shapes.setdefault(tuple(u.shape[1:]), []).append((p, u))
            for (rows, cols), items in shapes.items():
                o = orthogonal(torch.cat([u for _, u in items]))
                scale = max(1.0, rows / cols) ** 0.5
                at = 0
                for p, u in items:
                    p.mul_(1 - group["lr"] * group["weight_decay"])
                    p.add_(o[at:at + u.shape[0]].reshape(p.shape), alpha=-group["lr"] * scale)
                    at += u.shape[0]
