"""What all domains share: the held-out split, and the way people really type."""
import zlib

# A problem is identified by a key (its operands, its word and task, its fact and phrasing, ...), not by the text of
# one prompt. Its hash decides whether it is trained on or held out; all spellings of a problem go the same way.
HELD_PER_CENT = 8

# The first stage of the training draws from wider ranges; the second, and the held-out prompts, from narrower ones.
WIDE = False


def held(key):
    return zlib.crc32(("offstage-demo:" + key).encode()) % 100 < HELD_PER_CENT


def cap(s):
    return s[:1].upper() + s[1:]


def an(noun):
    return ("an " if noun[0].lower() in "aeiou" else "a ") + noun


def join(words, last="and"):
    words = list(words)
    if len(words) == 1:
        return words[0]
    return ", ".join(words[:-1]) + " " + last + " " + words[-1]


def typed(rng, prompt, code=False):
    """Lower case, missing marks, missing apostrophes: prompts as people type them."""
    r = rng.random()
    if r < 0.62:
        return prompt
    if r < 0.80:
        prompt = prompt.lower()
        if rng.random() < 0.6 and prompt[-1] in ".?!":
            prompt = prompt[:-1]
    elif r < 0.92:
        if prompt[-1] in ".?!":
            prompt = prompt[:-1]
    elif r < 0.96:
        prompt = prompt.replace("'", "")
        if rng.random() < 0.5:
            prompt = prompt.lower()
    elif not code:
        lead = rng.choice(["please ", "hey, ", "hi, ", "ok, ", "can you tell me: ", "one question: ", "so, "])
        prompt = lead + prompt[0].lower() + prompt[1:]
        if rng.random() < 0.5:
            prompt = cap(prompt)
    return prompt


CONSONANTS = "b d f g k l m n p r s t v z br dr gr kr pl st tr sh th".split()
VOWELS = "a e i o u ai ea oo".split()


def invented(rng, syllables=None):
    """A word that means nothing, for questions the model cannot answer."""
    n = syllables or rng.choice([2, 2, 3])
    w = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(n))
    return w + rng.choice(["", "", "n", "r", "l", "s", "x", "k"])
