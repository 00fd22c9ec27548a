"""Draws conversations from all domains, single and many turns."""
import random
from . import common
from . import stories, arithmetic, units, words, code, facts, talk, offstage, unknown

DOMAINS = ["stories", "arithmetic", "units", "code", "words", "facts", "talk", "offstage"]
MODULES = dict(stories=stories, arithmetic=arithmetic, units=units, code=code, words=words, facts=facts, talk=talk, offstage=offstage)
# How often each domain is drawn (stories and code are long, so they are drawn less often).
RATE_WIDE = dict(stories=8, arithmetic=21, units=11, code=10, words=19, facts=12, talk=9, offstage=10)
RATE = dict(stories=3, arithmetic=24, units=10, code=5, words=20, facts=20, talk=10, offstage=9)
SYSTEM = ["You are a helpful assistant.", "You are the demo model of Offstage.", "Answer briefly.", "You are a friendly guide.", "Be kind and helpful.", "You are a helpful assistant. Answer in plain English."]
AGAIN = ["Another one.", "Another one, please.", "One more.", "One more, please.", "Again.", "Another, please."]


def draw(rng, domain=None, want_held=False):
    domain = domain or rng.choices(DOMAINS, [(RATE_WIDE if common.WIDE else RATE)[d] for d in DOMAINS])[0]
    if domain == "talk" and not want_held and rng.random() < (0.3 if common.WIDE else 0.2):
        return unknown.one(rng, want_held)
    return MODULES[domain].one(rng, want_held)


THANKS = next((a, r) for a, r, k in talk.FIXED if k == "thanks")


def conversation(rng, turns=None):
    """[(domain, user, assistant)], and a system prompt or None."""
    if turns is None:
        turns = rng.choices([1, 2, 3, 4, 6], [66, 18, 9, 5, 2])[0]
    out = []
    recall = None
    if turns >= 2 and rng.random() < 0.25:
        _, first, recall = talk.memory(rng)
        out.append(("talk", *first))
    same = draw(rng)["domain"] if rng.random() < 0.3 else None
    while len(out) < turns:
        if recall and len(out) == turns - 1:
            out.append(("talk", *recall))
            break
        r = rng.random()
        if out and r < 0.06:
            i = rng.randrange(len(THANKS[0]))
            if not talk.held(f"talk:thanks:{i}") or i == 0:
                out.append(("talk", THANKS[0][i], rng.choice(THANKS[1])))
                continue
        if out and out[-1][0] == "stories" and r < 0.2:
            out.append(("stories", rng.choice(AGAIN), stories.text(rng)[2]))
            continue
        x = draw(rng, same)
        out.append((x["domain"], x["prompt"], x["answer"]))
    system = rng.choice(SYSTEM) if rng.random() < 0.06 else None
    return system, out


def heldout(seed, per_domain):
    """Held-out problems with a checkable answer; 'unknown' ones are counted inside talk."""
    rng = random.Random(seed)
    out = {}
    for d in DOMAINS:
        items, seen = [], set()
        while len(items) < per_domain:
            x = unknown.one(rng, True) if d == "talk" and len(items) % 5 == 4 else MODULES[d].one(rng, True)
            if x["check"] is None or x["key"] in seen or x["prompt"] in seen:
                continue
            seen.update((x["key"], x["prompt"]))
            items.append(dict(prompt=x["prompt"], answer=x["answer"], check=x["check"]))
        out[d] = items
    return out
