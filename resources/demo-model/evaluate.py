"""Checks an exported folder on the held-out prompts, and measures the routing per domain.

usage: evaluate.py [FOLDER] [--limit N] [--json OUT] [--samples N] [--routing] [--domain D ...]

The folder is read with transformers' MixtralForCausalLM (float32, CPU); answers are greedy.
"""
import argparse
import json
import os
import random
import re
import numpy as np
import torch
from transformers import MixtralForCausalLM
from corpus import build, stories, names
from prepare import Encoder

HERE = os.path.dirname(os.path.abspath(__file__))


def story_words():
    rng = random.Random(99)
    words = set()
    for _ in range(6000):
        words.update(re.findall(r"[A-Za-z']+", stories.text(rng)[2]))
    return words


VOCABULARY = None


def check_story(text, must):
    """None when the story is in order, else what is wrong with it."""
    global VOCABULARY
    VOCABULARY = VOCABULARY or story_words()
    if text.count('"') % 2:
        return "quotation marks"
    if not re.search(r"[.!?]\"?$", text):
        return "does not end"
    n = len(text.split())
    if not 55 <= n <= 180:
        return f"{n} words"
    unknown = [w for w in re.findall(r"[A-Za-z']+", text) if w not in VOCABULARY]
    if unknown:
        return "not a word: " + unknown[0]
    sentences = re.findall(r"[^.!?]+[.!?]+\"?", text)
    sentences = [s.strip() for s in sentences]
    if len(set(sentences)) != len(sentences):
        return "repeats a sentence"
    for s in sentences:
        first = s.lstrip('"')
        if first[0].islower() and not re.match(r"(asked|said|he|she)\b", first):
            return "sentence begins in lower case: " + s
    for a, b in re.findall(r"\b(an?) (\w+)", text):
        if (a == "an") != (b[0].lower() in "aeiou" or b == "hour"):
            return f"{a} {b}"
    if re.search(r"\b(\w+) \1\b", text):
        return "doubled word"
    people = [w for w in names.PEOPLE if re.search(rf"\b{w}\b", text)]
    if len(people) != 1:
        return f"{len(people)} names"
    # The hero's own pronoun must agree where only the hero can be meant: in the opening and in sentences that name the hero and
    # have a pronoun before any other character is named.
    male = people[0] in names.HE
    other = r"\b(she|her|She|Her)\b" if male else r"\b(he|him|his|He|Him|His)\b"
    opening = " ".join(sentences[:2])
    if re.search(other, opening):
        return "pronoun does not agree"
    for m in must:
        if not re.search(rf"\b{m}\b", text):
            return f"no {m}"
    return None


def run_python(answer, check):
    m = re.fullmatch(r"```python\n(.*?)\n```(\n.*)?", answer, re.S)
    if not m:
        return "no code block"
    code = m.group(1)
    if re.search(r"import|__|open|exec|eval|while", code):
        return "not allowed"
    allowed = dict(sum=sum, len=len, max=max, min=min, range=range, sorted=sorted, abs=abs)
    space = {"__builtins__": allowed}
    try:
        exec(code, space)
        functions = [v for k, v in space.items() if callable(v) and k != "__builtins__"]
        if len(functions) != 1:
            return "not one function"
        for args, want in check["tests"]:
            got = functions[0](*json.loads(json.dumps(args)))
            if got != want:
                return f"{args} gives {got}, not {want}"
    except Exception as e:
        return type(e).__name__ + ": " + str(e)
    return None


def wrong(answer, check):
    """None when the answer is right, else why not."""
    k, v = check["kind"], check.get("value")
    plain = answer.rstrip().rstrip(".!")
    if k == "last_word":
        return None if plain.split()[-1:] == [v] else "not " + v
    if k == "ends":
        return None if plain == v or plain.endswith(" " + v) else "not " + v
    if k == "contains":
        return None if re.search((r"(?<!\w)" if v[0].isalnum() else "") + re.escape(v), answer) else "not " + v
    if k == "all":
        return None if all(x in answer for x in v) else "not " + " & ".join(v)
    if k == "any":
        return None if any(x in answer for x in v) else "not " + " | ".join(v)
    if k == "story":
        return check_story(answer, v)
    return run_python(answer, check)


def answers(model, enc, prompts, batch=25):
    """Greedy answers; prompts of similar length together, padded on the left."""
    out = [None] * len(prompts)
    order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
    for at in range(0, len(order), batch):
        ix = order[at:at + batch]
        width = max(len(prompts[i]) for i in ix)
        ids = torch.zeros(len(ix), width, dtype=torch.long)
        mask = torch.zeros(len(ix), width, dtype=torch.long)
        for r, i in enumerate(ix):
            ids[r, width - len(prompts[i]):] = torch.tensor(prompts[i])
            mask[r, width - len(prompts[i]):] = 1
        got = model.generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=256, eos_token_id=enc.eos, pad_token_id=0)[:, width:].tolist()
        for i, g in zip(ix, got):
            out[i] = enc.sp.decode(g[:g.index(enc.eos)] if enc.eos in g else [t for t in g if t])
    return out


def routing(model, enc, conversations=60, seed=424242):
    """Share of each expert per layer and domain (answers and prompts of fresh conversations), and overlaps of the shares."""
    layers, experts = model.config.num_hidden_layers, model.config.num_local_experts
    share = {}
    rng = random.Random(seed)
    for d in build.DOMAINS:
        halves = np.zeros((2, layers, experts))
        for i in range(conversations):
            x = build.draw(rng, d)
            ids = torch.tensor([enc.prompt([(x["prompt"], x["answer"])])])
            picks = []
            hooks = [layer.mlp.gate.register_forward_hook(lambda m, a, o: picks.append(o)) for layer in model.model.layers]
            with torch.no_grad():
                model(ids)
            for h in hooks:
                h.remove()
            for n, o in enumerate(picks):
                logits = o[0] if isinstance(o, tuple) else o
                top = logits.float().topk(model.config.num_experts_per_tok, dim=-1).indices
                halves[i % 2, n] += np.bincount(top.reshape(-1).numpy(), minlength=experts)
        share[d] = halves / halves.sum(-1, keepdims=True)
    both = {d: s.mean(0) for d, s in share.items()}
    rows = []
    for n in range(layers):
        pairs = [np.minimum(both[a][n], both[b][n]).sum() for i, a in enumerate(build.DOMAINS) for b in build.DOMAINS[i + 1:]]
        same = [np.minimum(s[0][n], s[1][n]).sum() for s in share.values()]
        mean = np.mean([b[n] for b in both.values()], 0)
        rows.append(dict(layer=n, between=round(float(np.mean(pairs)), 3), least=round(float(np.min(pairs)), 3), same=round(float(np.mean(same)), 3), smallest_share=round(float(mean.min()), 3), largest_share=round(float(mean.max()), 3)))
    top = {d: [[int(e) for e in np.argsort(-both[d][n])[:2]] for n in range(layers)] for d in build.DOMAINS}
    pairs = {a: {b: round(float(np.minimum(both[a], both[b]).sum(-1).mean()), 2) for b in build.DOMAINS} for a in build.DOMAINS}
    return dict(layers=rows, most_used=top, overlap=pairs)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("folder", nargs="?", default=HERE)
    p.add_argument("--limit", type=int, default=10**9)
    p.add_argument("--samples", type=int, default=0)
    p.add_argument("--json")
    p.add_argument("--routing", action="store_true")
    p.add_argument("--failures", action="store_true")
    p.add_argument("--domain", nargs="*", default=build.DOMAINS)
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    torch.set_num_threads(a.threads)
    model = MixtralForCausalLM.from_pretrained(a.folder, dtype=torch.float32).eval()
    enc = Encoder(os.path.join(a.folder, "tokenizer.model"))
    with open(os.path.join(HERE, "heldout.json")) as f:
        held = json.load(f)
    result = dict(accuracy={})
    for d in a.domain:
        items = held[d][:a.limit]
        got = answers(model, enc, [enc.prompt([(x["prompt"], None)]) for x in items])
        bad = [(x, g, w) for x, g in zip(items, got) for w in [wrong(g, x["check"])] if w]
        right = len(items) - len(bad)
        result["accuracy"][d] = dict(right=right, of=len(items), share=round(right / len(items), 3))
        print(f"{d:12s} {right:3d} of {len(items):3d}  {100 * right / len(items):5.1f} %", flush=True)
        if a.failures:
            for x, g, w in bad:
                print("   U:", x["prompt"], "\n   A:", g, "\n   wanted:", x["answer"] if d not in ("stories",) else "", "\n   ->", w)
        for x, g in list(zip(items, got))[:a.samples]:
            print("   U:", x["prompt"], "\n   A:", g)
    total = sum(v["right"] for v in result["accuracy"].values()) / sum(v["of"] for v in result["accuracy"].values())
    print(f"{'all':12s} {100 * total:.1f} %")
    if a.routing:
        result["routing"] = routing(model, enc)
        for r in result["routing"]["layers"]:
            print(r)
    if a.json:
        with open(a.json, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
