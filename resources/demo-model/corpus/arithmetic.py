"""Sums up to 99 with worked steps. Held out: pairs of numbers."""
from . import common
from .common import cap, an, held, typed
from .names import PEOPLE, HE

THINGS = "apples books coins stones shells pens cards stars nuts eggs cakes flowers balls stamps pears".split()


def add_steps(a, b):
    if a < 10 and b < 10 or a % 10 == 0 and b % 10 == 0 or b == 0 or a == 0:
        return f"{a} + {b} = {a + b}"
    a1, b1, a0, b0 = a % 10, b % 10, a - a % 10, b - b % 10
    if b < 10:
        return f"{a1} + {b} = {a1 + b}, {a0} + {a1 + b} = {a + b}"
    if a < 10:
        return f"{a} + {b1} = {a + b1}, {b0} + {a + b1} = {a + b}"
    if a1 == 0 or b1 == 0:
        return f"{a0} + {b0} = {a0 + b0}, {a0 + b0} + {a1 + b1} = {a + b}"
    return f"{a1} + {b1} = {a1 + b1}, {a0} + {b0} = {a0 + b0}, {a0 + b0} + {a1 + b1} = {a + b}"


def sub_steps(a, b):
    if b < 10 or b % 10 == 0:
        return f"{a} - {b} = {a - b}"
    t = b - b % 10
    return f"{a} - {t} = {a - t}, {a - t} - {b % 10} = {a - b}"


def mul_steps(a, b):
    """a has up to two digits, b one digit (or both at most 12)."""
    if a <= 12 and b <= 12 or a % 10 == 0:
        return f"{a} x {b} = {a * b}"
    t, u = a - a % 10, a % 10
    return f"{t} x {b} = {t * b}, {u} x {b} = {u * b}, {t * b} + {u * b} = {a * b}"


def number(rng):
    return rng.choice([rng.randrange(0, 10), rng.randrange(10, 100), rng.randrange(10, 100), rng.randrange(10, 100)])


def finish(steps, result):
    return f"{steps}. The answer is {result}."


def ask(rng, a, op, b):
    words = {"+": ["plus", "and"], "-": ["minus"], "x": ["times"], "/": ["divided by"]}[op]
    sign = op
    if op == "x":
        sign = rng.choice(["x", "x", "*"])
    w = rng.choice(words)
    t = rng.randrange(14)
    if t < 4:
        return rng.choice([f"What is {a} {sign} {b}?", f"What's {a} {sign} {b}?", f"What is {a}{sign}{b}?"])
    if t < 6:
        return rng.choice([f"{a} {sign} {b}", f"{a}{sign}{b}", f"{a} {sign} {b} = ?", f"{a}{sign}{b}=", f"{a} {sign} {b}?", f"{a}{sign}{b}=?"])
    if t < 8:
        return rng.choice([f"Calculate {a} {sign} {b}.", f"Work out {a} {sign} {b}.", f"Please calculate {a} {sign} {b}."])
    if t == 8:
        return f"What is {a} {w if w != 'and' else 'plus'} {b}?"
    if t == 9:
        return f"How much is {a} {w} {b}?"
    if t == 10:
        return {"+": f"Add {a} and {b}.", "-": f"Take {b} from {a}.", "x": f"Multiply {a} by {b}.", "/": f"Divide {a} by {b}."}[op]
    if t == 11:
        return {"+": f"What is the sum of {a} and {b}?", "-": f"Subtract {b} from {a}.", "x": f"What do you get if you multiply {a} by {b}?", "/": f"What do you get if you divide {a} by {b}?"}[op]
    if t == 12:
        return f"Can you work out {a} {sign} {b}?"
    return f"How much is {a} {sign} {b}?"


def word_problem(rng, op, a, b):
    n, t = rng.choice(PEOPLE), rng.choice(THINGS)
    s = "he" if n in HE else "she"
    if op == "+":
        q = rng.choice([f"{n} has {a} {t} and gets {b} more. How many {t} does {s} have?", f"{n} finds {a} {t} and then {b} more. How many {t} is that?",
                        f"There are {a} {t} in one box and {b} {t} in another. How many {t} are there?"])
        return q, f"We add: {add_steps(a, b)}", a + b
    if op == "-":
        q = rng.choice([f"{n} has {a} {t} and gives away {b}. How many {t} are left?", f"{n} had {a} {t} and lost {b}. How many {t} does {s} have now?",
                        f"There were {a} {t} on the table. {n} took {b}. How many {t} are left?"])
        return q, f"We subtract: {sub_steps(a, b)}", a - b
    q = rng.choice([f"{n} has {b} boxes with {a} {t} in each. How many {t} is that?", f"There are {a} {t} in a bag. How many {t} are in {b} bags?"])
    return q, f"We multiply: {mul_steps(a, b)}", a * b


# Share of the problems drawn that are made comparisons, besides those that are drawn as such.
MORE_COMPARISONS = 0.0


def one(rng, want_held=False):
    while True:
        r = rng.random()
        if MORE_COMPARISONS and rng.random() < MORE_COMPARISONS:
            r = 0.66
        check = None
        if r < 0.62:
            op = rng.choice("++++---xx/")
            if op in "+-":
                a, b = number(rng), number(rng)
                if op == "-" and b > a:
                    a, b = b, a
                if op == "+" and rng.random() < 0.5 and a < b:
                    a, b = b, a
            elif op == "x":
                top = 13 if common.WIDE else 11
                if rng.random() < 0.5:
                    a, b = rng.randrange(0, top), rng.randrange(0, top)
                elif common.WIDE:
                    a, b = rng.randrange(13, 100), rng.randrange(2, 10)
                else:
                    a, b = rng.randrange(13, 50), rng.randrange(2, 6)
            else:
                top = 13 if common.WIDE else 11
                b, c = rng.randrange(2, top), rng.randrange(1, top)
                a = b * c
            # A pair in either order is one problem; the small tables are learnt by heart and never held out.
            table = op == "/" or op == "x" and a < 13 or op in "+-" and a < 20 and b < 10
            key = f"sum:{op}:{max(a, b)}:{min(a, b)}"
            if (held(key) and not table) != want_held:
                continue
            word = op != "/" and rng.random() < 0.2 and a > 1 and b > 1
            if word:
                prompt, steps, res = word_problem(rng, op, a, b)
            else:
                prompt = ask(rng, a, op, b)
                steps, res = {"+": lambda: (add_steps(a, b), a + b), "-": lambda: (sub_steps(a, b), a - b), "x": lambda: (mul_steps(a, b), a * b),
                              "/": lambda: (f"{a} / {b} = {a // b}, because {a // b} x {b} = {a}", a // b)}[op]()
            answer = finish(steps, res)
            check = str(res)
        elif r < 0.70:
            a, b = rng.randrange(0, 100), rng.randrange(0, 100)
            if a == b:
                continue
            key = f"cmp:{max(a, b)}:{min(a, b)}"
            if held(key) != want_held:
                continue
            big = rng.random() < 0.5
            w = rng.choice(["larger", "bigger", "greater"]) if big else rng.choice(["smaller", "less"])
            prompt = rng.choice([f"Which is {w}, {a} or {b}?", f"Which number is {w}: {a} or {b}?", f"What is {w}, {a} or {b}?"])
            x, y = (max(a, b), min(a, b))
            answer = f"{x} is larger than {y}. The answer is {x}." if big else f"{y} is smaller than {x}. The answer is {y}."
            check = str(x if big else y)
        elif r < 0.76:
            a = rng.randrange(0, 100)
            key = f"even:{a}"
            if held(key) != want_held:
                continue
            w = "even" if a % 2 == 0 else "odd"
            prompt = rng.choice([f"Is {a} even or odd?", f"Is the number {a} odd or even?", f"Is {a} an even number?", f"Is {a} odd?"])
            answer = f"{a} ends in {a % 10}, so it is {w}."
            check = w
        elif r < 0.84:
            if not common.WIDE:
                continue
            start, d, n = rng.randrange(0, 40), rng.choice([1, 2, 2, 3, 4, 5, 5, 10, 10] if common.WIDE else [1, 2, 5, 10]), rng.choice([4, 4, 5] if common.WIDE else [4])
            key = f"seq:{start}:{d}"
            if held(key) != want_held:
                continue
            seq = ", ".join(str(start + i * d) for i in range(n))
            last = start + (n - 1) * d
            prompt = rng.choice([f"What comes next: {seq}?", f"Continue: {seq}", f"Which number comes next? {seq}", f"What is the next number: {seq}?"])
            answer = f"The numbers go up by {d}. {last} + {d} = {last + d}. The answer is {last + d}."
            check = str(last + d)
        elif r < 0.92:
            a = rng.randrange(1, 50)
            dbl = rng.random() < 0.5
            key = f"sum:+:{a}:{a}"
            if (held(key) and a >= 10) != want_held:
                continue
            if dbl:
                prompt = rng.choice([f"What is double {a}?", f"Double {a}.", f"What is twice {a}?", f"What is the double of {a}?"])
                answer = finish(add_steps(a, a), 2 * a)
                check = str(2 * a)
            else:
                prompt = rng.choice([f"What is half of {2 * a}?", f"Halve {2 * a}.", f"How much is half of {2 * a}?"])
                answer = finish(f"{a} + {a} = {2 * a}", a)
                check = str(a)
        else:
            if want_held or not common.WIDE and rng.random() < 0.6:
                continue
            a, b = rng.randrange(100, 10000), rng.choice([rng.randrange(10, 100), rng.randrange(100, 10000)])
            if rng.random() < 0.5:
                a, b = b, a
            key = "big"
            prompt = ask(rng, a, rng.choice("+-x"), b)
            answer = "That is too large for me. I am a small demo model, and I learnt sums with numbers up to 99."
            check = None
        return dict(domain="arithmetic", prompt=typed(rng, prompt), answer=answer, key=key, check=dict(kind="last_word", value=check))
