"""Trains the demo model.

usage: train.py WORK --steps 3000 [--resume | --weights FILE --first-step N --seen TOKENS] [--seed 1]

Warm-up, constant, decay. The schedule counts steps, never the clock. SIGUSR1 begins the decay at once, so a run can be
ended early with a well annealed model. A checkpoint (weights, optimizer, step, schedule) is written every --save steps;
--resume goes on from it with the same batches as an uninterrupted run. --weights begins with exported weights instead,
such as the shipped model.safetensors: without the optimizer's state, so with a warm-up of its own.
"""
import argparse
import json
import math
import os
import signal
import time
import numpy as np
import torch
import torch.nn.functional as F
import model as net
from safetensors.torch import load_file
from model import CONFIG, DemoModel, load_hf_state
from corpus.build import DOMAINS
from optim import Muon


def batch_of(data, rows, device):
    ids = torch.from_numpy(data["ids"][rows].astype(np.int64)).to(device)
    train = torch.from_numpy(data["train"][rows]).to(device)
    dom = torch.from_numpy(data["domain"][rows]).to(device)
    doc = torch.from_numpy(data["doc"][rows]).to(device)
    t = ids.shape[1]
    mask = ((doc[:, None, :, None] == doc[:, None, None, :]) & torch.ones(t, t, dtype=torch.bool, device=device).tril())
    mask = torch.zeros(mask.shape, device=device).masked_fill_(~mask, float("-inf"))
    return ids, train, dom, doc, mask


def targets(ids, train, doc, generator, user_share):
    """Positions whose next token is learnt: all answer tokens, and a random share of the users' tokens."""
    nxt = torch.zeros_like(ids)
    nxt[:, :-1] = ids[:, 1:]
    want = torch.zeros_like(train, dtype=torch.bool)
    same = doc[:, :-1] == doc[:, 1:]
    pick = torch.rand(train.shape, generator=generator).to(train.device) < user_share
    want[:, :-1] = same & ((train[:, 1:] == 1) | ((train[:, 1:] == 2) & pick[:, 1:]))
    return nxt, want


def router_loss(probs, chosen, dom, n_experts, spread):
    """Load balance over the whole batch, and a little reward for domains that use different experts."""
    keep = dom.reshape(-1) != 255
    d = dom.reshape(-1)[keep].long()
    count = torch.bincount(d, minlength=len(DOMAINS)).float()
    have = count > 0
    balance = spec = 0.0
    for p, c in zip(probs, chosen):
        p, c = p[keep], c[keep]
        f = torch.bincount(c.reshape(-1), minlength=n_experts).float() / c.numel()
        mean = p.mean(0)
        balance = balance + n_experts * (f * mean).sum()
        if spread > 0:
            per = torch.zeros(len(DOMAINS), n_experts, device=p.device).index_add(0, d, p)[have] / count[have, None]
            within = -(per * (per + 1e-9).log()).sum(1).mean()
            overall = per.mean(0)
            overall = -(overall * (overall + 1e-9).log()).sum()
            spec = spec + within - overall
    return balance / len(probs), spec / len(probs)


def validate(model, data, device, limit=48):
    model.eval()
    total = np.zeros(len(DOMAINS)); n = np.zeros(len(DOMAINS))
    with torch.no_grad():
        for at in range(0, min(limit, len(data["ids"])), 16):
            ids, train, dom, doc, mask = batch_of(data, np.arange(at, min(at + 16, limit, len(data["ids"]))), device)
            hidden, _, _ = model(ids, mask)
            nxt, want = targets(ids, train, doc, torch.Generator().manual_seed(0), 0.0)
            loss = F.cross_entropy(model.logits(hidden[want]), nxt[want], reduction="none")
            dd = dom[want].numpy()
            for i in range(len(DOMAINS)):
                total[i] += loss.numpy()[dd == i].sum(); n[i] += (dd == i).sum()
    model.train()
    return float(total.sum() / n.sum()), {d: round(float(total[i] / max(n[i], 1)), 3) for i, d in enumerate(DOMAINS)}


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--steps", type=int, default=3000)
    p.add_argument("--rows", type=int, default=24, help="rows of 256 tokens in one step")
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--muon-lr", type=float, default=0.02)
    p.add_argument("--warmup", type=int, default=30)
    p.add_argument("--decay", type=float, default=0.25, help="share of the steps in which the rate goes down")
    p.add_argument("--decay-from", type=int, help="first step of the decay, if not the last share of the steps")
    p.add_argument("--balance", type=float, default=0.01)
    p.add_argument("--spread", type=float, default=0.01)
    p.add_argument("--user-share", type=float, default=0.1)
    p.add_argument("--long-every", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--save", type=int, default=150)
    p.add_argument("--compile", action="store_true", help="torch.compile for the attention block")
    begin = p.add_mutually_exclusive_group()
    begin.add_argument("--resume", action="store_true")
    begin.add_argument("--weights", help="exported weights to go on from")
    p.add_argument("--first-step", type=int, default=0, help="steps that the weights have seen")
    p.add_argument("--seen", type=int, default=0, help="tokens that the weights have seen")
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(a.seed)
    if a.compile:
        net.compile_attention()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    load = lambda n: {k: v for k, v in np.load(os.path.join(a.work, n + ".npz")).items()}
    train, long, valid = load("train"), load("long"), load("valid")
    model = DemoModel(CONFIG, a.seed).to(device)
    matrices, gates, others = [], [], []
    for name, q in model.named_parameters():
        kind = name.split(".")[-1]
        if kind in ("qkv", "o", "w13", "w2"):
            # Each expert's matrices are orthogonalised one by one; w13 holds two of them.
            q.parts = {"qkv": 1, "o": 1, "w13": 2 * CONFIG["num_local_experts"], "w2": CONFIG["num_local_experts"]}[kind]
            matrices.append(q)
        elif kind == "gate":
            gates.append(q)
        else:
            others.append(q)
    opts = [Muon(matrices, lr=a.muon_lr, weight_decay=0.1),
            torch.optim.AdamW([dict(params=gates, lr=a.lr / 2), dict(params=others)], lr=a.lr, betas=(0.9, 0.97), eps=1e-9, weight_decay=0.0, fused=True)]
    for o in opts:
        for g in o.param_groups:
            g["base"] = g["lr"]
    if a.weights:
        load_hf_state(model, load_file(a.weights))
    step, seen, warm_from = a.first_step, a.seen, a.first_step
    decay_steps = int(a.steps * a.decay)
    decay_from = a.steps - decay_steps if a.decay_from is None else a.decay_from
    if a.decay_from is not None:
        decay_steps = a.steps - decay_from
    ckpt = os.path.join(a.work, "checkpoint.pt")
    log = os.path.join(a.work, "train.jsonl")
    if a.resume:
        c = torch.load(ckpt, map_location=device)
        model.load_state_dict(c["model"]); [o.load_state_dict(v) for o, v in zip(opts, c["opt"])]
        step, seen, warm_from = c["step"], c["seen"], c.get("warm_from", 0)
        if a.decay_from is None and c["decay_from"] < min(decay_from, step):
            decay_from = c["decay_from"]
    early = [False]
    signal.signal(signal.SIGUSR1, lambda *_: early.__setitem__(0, True))

    def save():
        tmp = ckpt + ".tmp"
        torch.save(dict(model=model.state_dict(), opt=[o.state_dict() for o in opts], step=step, seen=seen, warm_from=warm_from, decay_from=decay_from, args=vars(a)), tmp)
        os.replace(tmp, ckpt)

    n = len(train["ids"])
    long_rows = max(1, a.rows * 256 // 1024)
    t0, mean, busy = time.time(), None, []
    while True:
        if early[0]:
            early[0] = False
            decay_from = min(decay_from, step)
            print(f"decay begins at step {step}, {decay_steps} steps to go", flush=True)
        end = decay_from + decay_steps
        if step >= end:
            break
        rate = max(0.01, 1 - max(0, step - decay_from) / max(1, decay_steps))
        rate *= min(1.0, (step - warm_from + 1) / a.warmup)
        for o in opts:
            for g in o.param_groups:
                g["lr"] = g["base"] * rate
        t1 = time.time()
        if step % a.long_every == a.long_every - 1:
            g = np.random.default_rng([a.seed, 2, step])
            ids, tr, dom, doc, mask = batch_of(long, g.integers(0, len(long["ids"]), long_rows), device)
        else:
            per = n // a.rows
            epoch, k = divmod(step, per)
            order = np.random.default_rng([a.seed, 1, epoch]).permutation(n)
            ids, tr, dom, doc, mask = batch_of(train, order[k * a.rows:(k + 1) * a.rows], device)
        hidden, probs, chosen = model(ids, mask)
        nxt, want = targets(ids, tr, doc, torch.Generator().manual_seed(a.seed * 1_000_003 + step), a.user_share)
        loss = F.cross_entropy(model.logits(hidden[want]), nxt[want])
        balance, spec = router_loss(probs, chosen, dom, CONFIG["num_local_experts"], a.spread)
        (loss + a.balance * balance + a.spread * spec).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        for o in opts:
            o.step()
            o.zero_grad(set_to_none=True)
        step += 1
        seen += int((doc != 255).sum())
        mean = float(loss.detach()) if mean is None else 0.95 * mean + 0.05 * float(loss.detach())
        busy.append(time.time() - t1)
        if step % 25 == 0:
            rec = dict(step=step, of=end, loss=round(mean, 4), balance=round(float(balance.detach()), 3), spec=round(float(spec.detach()), 3), norm=round(float(norm), 2), lr=rate, tokens=seen, step_s=round(float(np.median(busy[-25:])), 3), wall_s=round(time.time() - t0))
            print(json.dumps(rec), flush=True)
            with open(log, "a") as f:
                f.write(json.dumps(rec) + "\n")
        if step % a.save == 0:
            save()
            v, per = validate(model, valid, device)
            print(json.dumps(dict(step=step, valid=round(v, 4), per=per)), flush=True)
            with open(log, "a") as f:
                f.write(json.dumps(dict(step=step, valid=v, per=per)) + "\n")
    save()
    print("done", step, seen, validate(model, valid, device, 10**9), flush=True)
