"""Generates the corpus, trains the tokenizer, packs token rows. Everything from fixed seeds, nothing downloaded.

usage: prepare.py WORK [--tokens 14000000]
"""
import argparse
import json
import os
import random
import numpy as np
import sentencepiece as spm
from corpus import arithmetic, build, common, words

SPECIAL = ["<|system|>", "<|user|>", "<|assistant|>"]
VOCAB = 2048


def train_tokenizer(path, seed):
    rng = random.Random(seed)
    lines = []
    for _ in range(40000):
        system, turns = build.conversation(rng, 1)
        for _, u, a in turns:
            lines += [u, a]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_prefix=path, model_type="bpe", vocab_size=VOCAB, byte_fallback=True, split_digits=True,
        normalization_rule_name="identity", add_dummy_prefix=True, remove_extra_whitespaces=False, unk_id=0, bos_id=1, eos_id=2, pad_id=-1,
        control_symbols=SPECIAL, user_defined_symbols=["\n", "-", "▁▁▁▁"], character_coverage=1.0, num_threads=2, max_sentence_length=8192,
        input_sentence_size=0, shuffle_input_sentence=False, minloglevel=1)


class Encoder:
    """Each text between two special tokens is encoded on its own, exactly as the chat program does it."""

    def __init__(self, model):
        self.sp = spm.SentencePieceProcessor(model_file=model)
        self.system, self.user, self.assistant = (self.sp.piece_to_id(s) for s in SPECIAL)
        self.bos, self.eos = self.sp.bos_id(), self.sp.eos_id()

    def conversation(self, system, turns):
        ids, train, dom = [self.bos], [0], [255]

        def put(tokens, flag, d):
            ids.extend(tokens)
            train.extend([flag] * len(tokens))
            dom.extend([d] * len(tokens))
        if system:
            put([self.system] + self.sp.encode(system) + [self.eos], 0, 255)
        for domain, user, answer in turns:
            d = build.DOMAINS.index(domain)
            put([self.user], 0, d)
            put(self.sp.encode(user), 2, d)
            put([self.eos], 0, d)
            put([self.assistant], 0, d)
            put(self.sp.encode(answer) + [self.eos], 1, d)
        return ids, train, dom

    def prompt(self, turns, system=None):
        ids = [self.bos]
        if system:
            ids += [self.system] + self.sp.encode(system) + [self.eos]
        for user, answer in turns:
            ids += [self.user] + self.sp.encode(user) + [self.eos, self.assistant]
            if answer is not None:
                ids += self.sp.encode(answer) + [self.eos]
        return ids


def pack(enc, rng, tokens, length, turns=None):
    """Whole conversations into rows of `length`; each row keeps a conversation number per token."""
    rows, done = [], 0
    open_rows = []
    while done < tokens:
        n = turns(rng) if turns else None
        ids, train, dom = enc.conversation(*build.conversation(rng, n))
        if len(ids) > length:
            if not turns:
                continue
            ids, train, dom = ids[:length], train[:length], dom[:length]
        for i, row in enumerate(open_rows):
            if len(row[0]) + len(ids) <= length:
                break
        else:
            row = ([], [], [], [], [0])
            open_rows.append(row)
            i = len(open_rows) - 1
        row[0].extend(ids); row[1].extend(train); row[2].extend(dom); row[3].extend([row[4][0]] * len(ids))
        row[4][0] += 1
        done += len(ids)
        if len(row[0]) > length - 24 or len(open_rows) > 48:
            full = i if len(row[0]) > length - 24 else max(range(len(open_rows)), key=lambda j: len(open_rows[j][0]))
            rows.append(open_rows.pop(full))
    out = [np.zeros((len(rows), length), t) for t in (np.uint16, np.uint8, np.uint8, np.uint8)]
    out[2][:] = 255
    out[3][:] = 255
    for r, row in enumerate(rows):
        for k in range(4):
            out[k][r, :len(row[k])] = row[k]
    return dict(ids=out[0], train=out[1], domain=out[2], doc=out[3])


def shard(args):
    model, seed, tokens, length, long, common.WIDE = args
    enc = Encoder(model)
    turns = (lambda r: r.choice([12, 16, 20, 24, 30])) if long else None
    return pack(enc, random.Random(seed), tokens, length, turns)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("work")
    p.add_argument("--tokens", type=int, default=14_000_000)
    p.add_argument("--seed", type=int, default=20261120)
    p.add_argument("--wide", action="store_true", help="first stage: also trains the tokenizer")
    p.add_argument("--rate", nargs="*", default=[], help="how often a domain is drawn, such as stories=6")
    p.add_argument("--redraw", nargs="*", default=build.DOMAINS, help="domains whose held-out prompts are drawn anew; the others keep theirs")
    p.add_argument("--more", default="", help="word games to draw more often, such as 'odd reverse'")
    p.add_argument("--compare", type=float, default=0.0, help="share of the arithmetic that asks which number is larger, besides those drawn as such")
    a = p.parse_args()
    arithmetic.MORE_COMPARISONS = a.compare
    words.MORE_OF = " " + a.more
    for r in a.rate:
        build.RATE[r.split("=")[0]] = float(r.split("=")[1])
    here = os.path.dirname(os.path.abspath(__file__))
    os.makedirs(a.work, exist_ok=True)
    common.WIDE = a.wide
    if a.wide:
        train_tokenizer(os.path.join(a.work, "tokenizer"), a.seed)
    model = os.path.join(a.work, "tokenizer.model")
    from multiprocessing import get_context
    n = 14
    jobs = [(model, a.seed + 100 + i, a.tokens // n, 256, False, a.wide) for i in range(n)] + [(model, a.seed + 500 + i, a.tokens // 100, 1024, True, a.wide) for i in range(4)]
    jobs += [(model, a.seed + 900, 60_000, 256, False, a.wide)]
    with get_context("fork").Pool(2) as pool:
        parts = pool.map(shard, jobs, chunksize=1)
    cat = lambda ps: {k: np.concatenate([q[k] for q in ps]) for k in ps[0]}
    for name, ps in (("train", parts[:n]), ("long", parts[n:n + 4]), ("valid", parts[n + 4:])):
        d = cat(ps)
        np.savez(os.path.join(a.work, name + ".npz"), **d)
        share = {b: round(float((d["domain"] == i).mean()), 3) for i, b in enumerate(build.DOMAINS)}
        print(name, d["ids"].shape, "filled %.3f" % float((d["doc"] != 255).mean()), "trained %.3f" % float((d["train"] == 1).mean()), share, flush=True)
    common.WIDE = False
    held, path = build.heldout(a.seed + 7, 64), os.path.join(here, "heldout.json")
    if set(a.redraw) != set(build.DOMAINS):
        with open(path) as f:
            held = json.load(f) | {d: held[d] for d in a.redraw}
    with open(path, "w") as f:
        json.dump(held, f, indent=1, ensure_ascii=False)
        f.write("\n")
