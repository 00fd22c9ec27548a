"""Drops from heldout.json every prompt that occurs in the training rows, letter case and punctuation apart.

usage: check_heldout.py WORK [WORK ...]     (the folders that prepare.py has filled)
"""
import json
import os
import re
import sys
import numpy as np
import sentencepiece as spm

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(HERE, "heldout.json")


def plain(text):
    return re.sub(r"[^a-z0-9+*/=<> -]", "", text.lower()).strip()


def prompts(work, sp):
    """All users' messages of the rows, as plain text."""
    user = sp.piece_to_id("<|user|>")
    for name in ("train", "long"):
        ids = np.load(os.path.join(work, name + ".npz"))["ids"].reshape(-1)
        start, end = np.flatnonzero(ids == user), np.flatnonzero(ids == sp.eos_id())
        stop = end[np.minimum(np.searchsorted(end, start), len(end) - 1)]
        texts = {ids[a + 1:b].tobytes() for a, b in zip(start, stop) if 1 < b - a < 90}
        for t in sp.decode([np.frombuffer(t, np.uint16).astype(int).tolist() for t in texts]):
            yield plain(t)


if __name__ == "__main__":
    with open(PATH) as f:
        held = json.load(f)
    wanted = {plain(x["prompt"]) for items in held.values() for x in items}
    seen = set()
    for work in sys.argv[1:]:
        sp = spm.SentencePieceProcessor(model_file=os.path.join(work, "tokenizer.model"))
        seen.update(p for p in prompts(work, sp) if p in wanted)
    for d, items in held.items():
        kept = [x for x in items if plain(x["prompt"]) not in seen]
        print(d, len(items), "dropped", [x["prompt"] for x in items if plain(x["prompt"]) in seen])
        held[d] = kept[:50]
    with open(PATH, "w") as f:
        json.dump(held, f, indent=1, ensure_ascii=False)
        f.write("\n")
