"""Word games. Held out: (game, word) pairs; each word's letters are learnt from the other games."""
from . import common
from .common import cap, held, typed, join

GROUPS = {
    "animal": "cat dog cow pig hen fox owl bee ant bat bear wolf lion deer duck frog goat fish bird mouse horse sheep tiger zebra snake camel".split(),
    "fruit": "apple pear plum lemon grape peach cherry melon mango banana orange".split(),
    "colour": "red blue green yellow black white brown pink grey purple".split(),
    "tool": "hammer saw drill spade rake axe nail screw ladder".split(),
    "vehicle": "car bus train ship boat plane truck bike tram".split(),
    "part of the body": "arm leg hand foot head nose ear eye mouth knee neck".split(),
    "piece of clothing": "hat coat shirt sock shoe scarf glove dress belt".split(),
    "piece of furniture": "table chair bed lamp shelf desk sofa".split(),
    "drink": "milk tea coffee juice water cocoa".split(),
    "instrument": "drum flute piano violin guitar harp trumpet".split(),
}
MORE = "house door window river hill road tree leaf star moon sun rain snow wind cloud book pen cup spoon fork plate box bag key clock bell ball game song story paper stone sand gold ring king queen light night day time word team test code model token cache layer expert router".split()
FEW = set("arm leg hand foot head nose ear eye hat coat shirt sock shoe table chair bed lamp milk tea car bus train ship boat saw drill rake axe red blue green black white brown pink apple pear plum lemon grape house door river hill road tree leaf star moon sun rain snow book pen cup spoon key clock bell ball game token cache layer model".split())
WORDS = sorted({w for g in GROUPS.values() for w in g} | set(MORE))
SPELL = [w for w in WORDS if len(w) <= 5 and (w in GROUPS["animal"] or w in FEW)]
OPPOSITE = """hot cold|big small|up down|day night|fast slow|old young|happy sad|rich poor|open closed|hard soft|light dark|long short|high low|full empty|wet dry|early late|strong weak
good bad|left right|first last|loud quiet|thick thin|near far|clean dirty|heavy light|true false|inside outside|always never|push pull|win lose|begin end|love hate|give take|question answer
buy sell|wide narrow|deep shallow|sweet sour|brave afraid|awake asleep|summer winter|north south|east west|friend enemy|war peace|many few|easy difficult|front back|more less|cheap expensive"""
OPPOSITE = [tuple(p.split()) for line in OPPOSITE.split("\n") for p in line.split("|")]
PLURAL = {"mouse": "mice", "foot": "feet", "goose": "geese", "tooth": "teeth", "child": "children", "man": "men", "woman": "women", "sheep": "sheep", "fish": "fish", "wolf": "wolves", "leaf": "leaves",
          "knife": "knives", "shelf": "shelves", "box": "boxes", "bus": "buses", "fox": "foxes", "dress": "dresses", "story": "stories", "cherry": "cherries", "city": "cities", "baby": "babies", "deer": "deer", "scarf": "scarves",
          "peach": "peaches", "torch": "torches", "dish": "dishes", "potato": "potatoes", "tomato": "tomatoes", "mango": "mangoes", "lady": "ladies", "fly": "flies", "wish": "wishes", "glass": "glasses"}
REGULAR = [w for w in WORDS if w not in PLURAL and w[-1] not in "sxyfo" and not w.endswith(("ch", "sh")) and w not in
           ("milk tea coffee juice water red blue green black white brown pink grey purple sand gold rain snow sun coffee purple").split()] + "day boy key toy monkey".split()
RHYMES = ["cat hat bat mat rat", "dog fog log frog", "house mouse", "bee tree key sea", "king ring sing wing spring", "bed red head bread", "star car far jar", "light night kite white", "cake lake snake rake", "ball wall tall fall",
          "moon spoon soon noon", "day play way say", "rain train plane chain", "fox box socks", "nose rose toes", "book cook look hook", "pen ten hen men", "boat goat coat note", "bear chair pear hair", "sun fun run one", "bell well shell tell", "sand hand land band",
          "stone bone phone alone", "cold gold old told", "fish dish wish", "flower tower shower power", "pie sky fly high", "door four floor more"]
RHYMES = [r.split() for r in RHYMES]


MORE_OF = ""    # games that the last stage draws more often


def spell(w):
    return "-".join(w)


def one(rng, want_held=False):
    while True:
        games = "spell spell count count first last reverse reverse letter vowels opposite opposite plural plural rhyme odd odd kind kind order has start"
        g = rng.choice((games if common.WIDE or want_held else games + MORE_OF).split())
        if not common.WIDE and g in ("order", "has", "letter", "vowels"):
            continue
        w = rng.choice(WORDS if common.WIDE else SPELL)
        sw = spell(w)
        kind = "ends"
        if g in ("spell", "count", "first", "last", "reverse", "letter", "vowels", "has"):
            if g == "reverse" and len(w) > 6:
                continue
            extra = ""
            if g == "letter":
                pos = rng.randrange(1, min(4, len(w)))
                extra = f":{pos}"
            if g == "has":
                c = rng.choice(w) if rng.random() < 0.5 else rng.choice("abcdefghiklmnoprstuw")
                extra = f":{c}"
            key = f"word:{g}:{w}{extra}"
            if held(key) != want_held:
                continue
            s = f"{cap(w)} is spelled {sw}."
            if g == "spell":
                q = [f"Spell the word {w}.", f"How do you spell {w}?", f"Spell {w}.", f"How is {w} spelled?", f"Can you spell {w}?", f"Spell {w} for me.", f"How do I spell the word {w}?"]
                answer, value = s, f"{sw}"
            elif g == "count":
                q = [f"How many letters are in the word {w}?", f"How many letters does {w} have?", f"How many letters are in {w}?", f"Count the letters of {w}.", f"How long is the word {w}?", f"Count the letters in {w}."]
                answer, value = f"{cap(w)}: " + ", ".join(f"{c} {i + 1}" for i, c in enumerate(w)) + f". It has {len(w)} letters.", f"{len(w)} letters"
            elif g == "first":
                q = [f"What is the first letter of {w}?", f"Which letter does {w} begin with?", f"What letter does {w} start with?", f"First letter of {w}?", f"What is the first letter of the word {w}?"]
                answer, value = f"{s} The first letter is {w[0]}.", f"letter is {w[0]}"
            elif g == "last":
                q = [f"What is the last letter of {w}?", f"Which letter does {w} end with?", f"What letter does {w} end in?", f"Last letter of {w}?", f"What is the last letter of the word {w}?"]
                answer, value = f"{s} The last letter is {w[-1]}.", f"letter is {w[-1]}"
            elif g == "reverse":
                q = [f"Reverse the word {w}.", f"Write {w} backwards.", f"What is {w} backwards?", f"Spell {w} backwards.", f"How do you write {w} backwards?", f"Reverse {w}.", f"Turn {w} around."]
                answer, value = f"{s} Backwards it is {spell(w[::-1])}.", f"{spell(w[::-1])}"
            elif g == "letter":
                o = ["first", "second", "third", "fourth"][pos]
                q = [f"What is the {o} letter of {w}?", f"Which letter is the {o} in {w}?", f"What is the {o} letter in the word {w}?", f"Tell me the {o} letter of {w}."]
                answer, value = f"{s} The {o} letter is {w[pos]}.", f"letter is {w[pos]}"
            elif g == "vowels":
                v = [c for c in w if c in "aeiou"]
                if not v:
                    continue
                q = [f"Which vowels are in the word {w}?", f"Which vowels does {w} have?", f"What vowels are in {w}?", f"Find the vowels in {w}."]
                answer, value = f"{s} The vowels are {spell(v)}." if len(v) > 1 else f"{s} The only vowel is {v[0]}.", f"{spell(v)}"
            else:
                q = [f"Is there {'an' if c in 'aefhilmnorsx' else 'a'} {c} in {w}?", f"Does {w} have the letter {c}?", f"Does the word {w} contain the letter {c}?", f"Is the letter {c} in {w}?"]
                answer = f"{s} " + (f"Yes, it has the letter {c}." if c in w else f"No, it does not have the letter {c}.")
                value, kind = ("Yes" if c in w else "No"), "contains"
        elif g == "opposite":
            i = rng.randrange(len(OPPOSITE))
            a, b = OPPOSITE[i]
            if a != "light" and b != "light" and rng.random() < 0.5:
                a, b = b, a
            q = [f"What is the opposite of {a}?", f"What's the opposite of {a}?", f"Opposite of {a}?", f"Give me the opposite of {a}.", f"Which word is the opposite of {a}?", f"Tell me the opposite of {a}.", f"What is the contrary of {a}?"]
            j = rng.randrange(len(q))
            q = [q[j]]
            key = f"word:opp:{a}:{j}"
            if (held(key) and j > 0) != want_held or a == "light":
                continue
            answer, value = f"The opposite of {a} is {b}.", b
        elif g == "plural":
            a = rng.choice(list(PLURAL)) if rng.random() < 0.5 else rng.choice([x for x in REGULAR if common.WIDE or x in SPELL])
            b = PLURAL.get(a, a + "s")
            q = [f"What is the plural of {a}?", f"Plural of {a}?", f"What's the plural of {a}?", f"Give me the plural of {a}.", f"One {a}, two what?", f"Tell me the plural of {a}.", f"What is the plural form of {a}?"]
            j = rng.randrange(len(q))
            q = [q[j]]
            key = f"word:plural:{a}:{j}"
            if (held(key) and j > 0) != want_held:
                continue
            answer, value = f"The plural of {a} is {b}.", f"is {b}"
        elif g == "rhyme":
            r = rng.choice(RHYMES if common.WIDE else RHYMES[:18])
            a = rng.choice(r)
            rest = [x for x in r if x != a]
            q = [f"What rhymes with {a}?", f"Which word rhymes with {a}?", f"Give me a rhyme for {a}.", f"Find a word that rhymes with {a}.", f"Tell me a word that rhymes with {a}.", f"A rhyme for {a}, please."]
            j = rng.randrange(len(q))
            q = [q[j]]
            key = f"word:rhyme:{a}:{j}"
            if (held(key) and j > 0) != want_held:
                continue
            b = rng.choice(rest)
            answer, value, kind = f"{cap(b)} rhymes with {a}.", [f"{cap(b)} rhymes with {a}" for b in rest], "any"
        elif g == "odd":
            ga, gb = rng.sample(list(GROUPS), 2)
            ws = rng.sample(GROUPS[ga], 3)
            o = rng.choice(GROUPS[gb])
            if o in GROUPS[ga] or "orange" in ws or o == "orange":
                continue
            key = "word:odd:" + ":".join(sorted(ws) + [o])
            if held(key) != want_held:
                continue
            four = ws + [o]
            rng.shuffle(four)
            q = [f"Which word does not belong: {', '.join(four)}?", f"Which is the odd one out: {', '.join(four)}?", f"Find the odd one out: {', '.join(four)}.", f"Odd one out: {', '.join(four)}"]
            plural = {"animal": "animals", "fruit": "fruits", "colour": "colours", "tool": "tools", "vehicle": "vehicles", "part of the body": "parts of the body", "piece of clothing": "pieces of clothing",
                      "piece of furniture": "pieces of furniture", "drink": "drinks", "instrument": "instruments"}[ga]
            left = [x for x in four if x != o]
            answer, value = f"{cap(join(left))} are {plural}. The odd one out is {o}.", f"out is {o}"
        elif g == "kind":
            ga = rng.choice(list(GROUPS))
            a = rng.choice(GROUPS[ga])
            if a == "orange":
                continue
            art = "an" if ga[0] in "aeiou" else "a"
            q = [f"What kind of word is {a}?", f"What kind of thing is {a}?", f"Is {a} an animal, a fruit or something else?", f"To which group does {a} belong?", f"What group does the word {a} belong to?"]
            j = rng.randrange(len(q))
            q = [q[j]]
            key = f"word:kind:{a}:{j}"
            if (held(key) and j > 0) != want_held:
                continue
            answer, value = f"{cap(a)} is {art} {ga}.", f"is {art} {ga}"
        elif g == "start":
            ga = rng.choice(["animal", "fruit", "colour", "tool", "vehicle", "instrument"])
            art = "an" if ga[0] in "aeiou" else "a"
            a = rng.choice(GROUPS[ga])
            c = a[0]
            ok = [x for x in GROUPS[ga] if x[0] == c]
            q = [f"Name {art} {ga} that begins with {c}.", f"Name {art} {ga} that starts with {c}.", f"Tell me {art} {ga} with the letter {c}.", f"Which {ga} begins with {c}?", f"Give me {art} {ga} that starts with the letter {c}."]
            j = rng.randrange(len(q))
            q = [q[j]]
            key = f"word:start:{ga}:{c}:{j}"
            if (held(key) and j > 0) != want_held:
                continue
            answer, value, kind = f"{cap(a)} is {art} {ga} that begins with {c}.", [f"{cap(x)} is {art} {ga}" for x in ok], "any"
        else:
            ws = rng.sample(WORDS, 3)
            if len({x[0] for x in ws}) < 3:
                continue
            key = "word:order:" + ":".join(sorted(ws))
            if held(key) != want_held:
                continue
            q = [f"Put these words in alphabetical order: {', '.join(ws)}.", f"Sort these words: {', '.join(ws)}.", f"Sort by alphabet: {', '.join(ws)}"]
            ws = sorted(ws)
            answer, value = f"In alphabetical order: {join(ws)}.", join(ws)
        return dict(domain="words", prompt=typed(rng, rng.choice(q)), answer=answer, key=key, check=dict(kind=kind, value=value))
