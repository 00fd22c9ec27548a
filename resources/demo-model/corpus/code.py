"""Small Python functions put together from parts. Held out: combinations of parts. Answers are checked by running them."""
from .common import cap, held, typed

MAPS = [("itself", "{n}", "", ""), ("square", "{n} * {n}", "the squares of ", "squares"), ("double", "{n} * 2", "the doubles of ", "doubles"), ("cube", "{n} ** 3", "the cubes of ", "cubes"), ("triple", "{n} * 3", "the triples of ", "triples"),
        ("half", "{n} / 2", "the halves of ", "halves")]
FILTERS = [("all", None, "the numbers", ""), ("even", "{n} % 2 == 0", "the even numbers", "even"), ("odd", "{n} % 2 == 1", "the odd numbers", "odd"), ("positive", "{n} > 0", "the positive numbers", "positive"),
           ("negative", "{n} < 0", "the negative numbers", "negative"), ("above", "{n} > {k}", "the numbers greater than {k}", "large"), ("below", "{n} < {k}", "the numbers less than {k}", "small"),
           ("multiple", "{n} % {k} == 0", "the multiples of {k}", "multiples")]
LEAD = ["Write a Python function that ", "Write a function that ", "I need a Python function that ", "Please write a function that ", "Give me a Python function that ", "Python function that ", "Can you write a function that "]


def fence(code):
    return "```python\n" + code + "\n```"


def list_task(rng):
    agg = rng.choice(["sum", "sum", "list", "list", "count", "max", "min", "product"])
    m = rng.choice(MAPS)
    f = rng.choice(FILTERS)
    if agg in ("count", "max", "min"):
        m = MAPS[0]
    if agg == "list" and m[0] == "itself" and f[0] == "all":
        return None
    k = rng.randrange(2, 10) if f[0] == "multiple" else rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 50, 100])
    what = m[2] + f[2].replace("{k}", str(k))
    cond = f[1].replace("{n}", "n").replace("{k}", str(k)) if f[1] else None
    expr = m[1].replace("{n}", "n")
    tail = "_".join(x for x in (f[3], m[3]) if x) or "numbers"
    name = {"sum": "sum_", "list": "list_", "count": "count_", "max": "largest_", "min": "smallest_", "product": "multiply_"}[agg] + tail
    key = f"list:{agg}:{m[0]}:{f[0]}:{k if '{k}' in (f[1] or '') else ''}"
    say = {"sum": ["adds up {w} in a list", "returns the sum of {w} in a list"], "list": ["returns a list of {w} in a list", "collects {w} in a list"], "count": ["counts {w} in a list", "returns how many of {w} are in a list"],
           "max": ["returns the largest of {w} in a list", "finds the largest of {w} in a list"], "min": ["returns the smallest of {w} in a list", "finds the smallest of {w} in a list"], "product": ["multiplies {w} in a list", "returns the product of {w} in a list"]}[agg]
    if agg == "count":
        say[1] = "returns the count of {w} in a list"
    say = rng.choice(say).replace("{w}", what)
    if agg in ("sum", "product"):
        start, op, var = ("0", "+=", "total") if agg == "sum" else ("1", "*=", "result")
        body = [f"    {var} = {start}", "    for n in numbers:"]
        body += [f"        if {cond}:", f"            {var} {op} {expr}"] if cond else [f"        {var} {op} {expr}"]
        body += [f"    return {var}"]
    elif agg == "count":
        body = ["    count = 0", "    for n in numbers:"] + ([f"        if {cond}:", "            count += 1"] if cond else ["        count += 1"]) + ["    return count"]
    elif agg == "list":
        body = [f"    return [{expr} for n in numbers" + (f" if {cond}]" if cond else "]")]
    else:
        body = [f"    return {agg}(n for n in numbers" + (f" if {cond})" if cond else ")")]
    code = f"def {name}(numbers):\n" + "\n".join(body)
    note = {"sum": "It goes through the list and adds them up.", "product": "It goes through the list and multiplies them.", "count": "It counts one for each of them.", "list": "It builds a new list.", "max": "It returns the largest one.", "min": "It returns the smallest one."}[agg]
    cases = [[3, -4, 8, 15, 120, -7, 6, 35], [2, 9, -1, 54, 7, 110, -20, 63, 36, -9], [1, 40, -3, 72, 105, -6, 5]]

    def ref(xs):
        ys = [n for n in xs if cond is None or eval(cond, {"n": n})]
        ys = [eval(expr, {"n": n}) for n in ys]
        if agg == "sum":
            return sum(ys)
        if agg == "count":
            return len(ys)
        if agg == "list":
            return ys
        if agg == "product":
            p = 1
            for y in ys:
                p *= y
            return p
        return max(ys) if agg == "max" else min(ys)
    tests = []
    for c in cases:
        try:
            tests.append([[c], ref(c)])
        except ValueError:
            pass
    return key, say, code, note, name, tests


OPS = [("double", "doubles", "{x} * 2"), ("triple", "triples", "{x} * 3"), ("add", "adds {k} to", "{x} + {k}"), ("sub", "subtracts {k} from", "{x} - {k}"), ("mul", "multiplies by {k}", "{x} * {k}"), ("square", "squares", "{x} ** 2"), ("div", "divides by {k}", "{x} / {k}")]
THEN = {"double": "doubles it", "triple": "triples it", "add": "adds {k}", "sub": "subtracts {k}", "mul": "multiplies by {k}", "square": "squares it", "div": "divides by {k}"}
FIRST = {"double": "doubles a number", "triple": "triples a number", "add": "adds {k} to a number", "sub": "subtracts {k} from a number", "mul": "multiplies a number by {k}", "square": "squares a number", "div": "divides a number by {k}"}


def number_task(rng):
    a = rng.choice(OPS)
    k1 = str(rng.randrange(2, 13))
    e = a[2].replace("{k}", k1)
    if rng.random() < 0.3:
        key = f"num:{a[0]}:{k1 if '{k}' in a[2] else ''}"
        say = FIRST[a[0]].replace("{k}", k1)
        expr = e.replace("{x}", "x")
        note = "It takes one number and returns the result."
    else:
        b = rng.choice(OPS)
        k2 = str(rng.randrange(2, 13))
        key = f"num:{a[0]}:{k1 if '{k}' in a[2] else ''}:{b[0]}:{k2 if '{k}' in b[2] else ''}"
        say = FIRST[a[0]].replace("{k}", k1) + rng.choice([" and then ", " and "]) + THEN[b[0]].replace("{k}", k2)
        inner = "(" + e.replace("{x}", "x") + ")"
        expr = b[2].replace("{k}", k2).replace("{x}", inner)
        note = "The first step is in the brackets."
    code = f"def calculate(x):\n    return {expr}"
    return key, say, code, note, "calculate", [[[v], eval(expr, {"x": v})] for v in (0, 1, 7, -4, 30)]


TEXT = [("upper", "makes it upper case", "turns a text into upper case", "{t}.upper()"), ("lower", "makes it lower case", "turns a text into lower case", "{t}.lower()"), ("rev", "reverses it", "reverses a text", "{t}[::-1]"),
        ("rep", "repeats it {k} times", "repeats a text {k} times", "{t} * {k}"), ("firstk", "takes the first {k} letters", "takes the first {k} letters of a text", "{t}[:{k}]"), ("lastk", "takes the last {k} letters", "takes the last {k} letters of a text", "{t}[-{k}:]"),
        ("strip", "removes the spaces around it", "removes the spaces around a text", "{t}.strip()"), ("excl", "adds an exclamation mark", "adds an exclamation mark to a text", "{t} + \"!\"")]
END = [("len", "returns its length", "len({t})"), ("words", "splits it into words", "{t}.split()")]


def text_task(rng):
    a = rng.choice(TEXT)
    k1 = str(rng.randrange(2, 7))
    ks = k1 if "{k}" in a[3] else ""
    e = a[3].replace("{t}", "text").replace("{k}", k1)
    say = a[2].replace("{k}", k1)
    if rng.random() < 0.3:
        key = f"text:{a[0]}:{ks}"
    else:
        b = rng.choice(TEXT)
        if b[0] == a[0] or "excl" in (a[0], b[0]) and "strip" in (a[0], b[0]):
            return None
        k2 = str(rng.randrange(2, 7))
        key = f"text:{a[0]}:{ks}:{b[0]}:{k2 if '{k}' in b[3] else ''}"
        say += rng.choice([" and then ", " and "]) + b[1].replace("{k}", k2)
        if a[0] in ("rep", "excl"):
            e = f"({e})"
        e = b[3].replace("{t}", e).replace("{k}", k2)
    code = f"def change(text):\n    return {e}"
    return key, say, code, "It takes a text and returns a new one.", "change", [[[v], eval(e, {"text": v})] for v in ("Hello World", " offstage", "Tree ", "abcdefghij")]


BOOL = [("even", "a number is even", "x % 2 == 0"), ("odd", "a number is odd", "x % 2 == 1"), ("pos", "a number is positive", "x > 0"), ("neg", "a number is negative", "x < 0"), ("gt", "a number is greater than {k}", "x > {k}"), ("lt", "a number is less than {k}", "x < {k}"),
        ("div", "a number is divisible by {k}", "x % {k} == 0")]


def bool_task(rng):
    a = rng.choice(BOOL)
    k1 = str(rng.randrange(2, 20))
    say, e = a[1].replace("{k}", k1), a[2].replace("{k}", k1)
    key = f"bool:{a[0]}:{k1 if '{k}' in a[2] else ''}"
    if rng.random() < 0.65:
        b = rng.choice(BOOL)
        if b[0] == a[0]:
            return None
        k2 = str(rng.randrange(2, 20))
        word = rng.choice(["and", "or"])
        key += f":{word}:{b[0]}:{k2 if '{k}' in b[2] else ''}"
        say += f" {word} " + b[1].replace("{k}", k2).replace("a number is ", "")
        e += f" {word} " + b[2].replace("{k}", k2)
    code = f"def check(x):\n    return {e}"
    return key, rng.choice(["checks if ", "tells if ", "returns true if "]) + say, code, "It returns True or False.", "check", [[[v], eval(e, {"x": v})] for v in (-12, -3, 0, 1, 2, 6, 9, 15, 24, 77, 90)]


def range_task(rng):
    what = rng.choice(["sum", "list", "count"])
    m = rng.choice(MAPS[:5])
    f = rng.choice(FILTERS[:3] + [FILTERS[7]])
    k = rng.randrange(3, 10)
    cond = f[1].replace("{n}", "i").replace("{k}", str(k)) if f[1] else None
    expr = m[1].replace("{n}", "i")
    if what == "count" and (m[0] != "itself" or not cond):
        return None
    key = f"range:{what}:{m[0]}:{f[0]}:{k if f[0] == 'multiple' else ''}"
    w = m[2] + f[2].replace("{k}", str(k)) + " from 1 to n"
    say = {"sum": "adds up ", "list": "returns a list of ", "count": "counts "}[what] + w
    tail = "_".join(x for x in (f[3], m[3]) if x) or "numbers"
    name = {"sum": "sum_", "list": "list_", "count": "count_"}[what] + tail
    if what == "list":
        code = f"def {name}(n):\n    return [{expr} for i in range(1, n + 1)" + (f" if {cond}]" if cond else "]")
    else:
        var, step = ("total", expr) if what == "sum" else ("count", "1")
        code = f"def {name}(n):\n    {var} = 0\n    for i in range(1, n + 1):\n" + (f"        if {cond}:\n            {var} += {step}\n" if cond else f"        {var} += {step}\n") + f"    return {var}"
    tests = []
    for n in (1, 5, 30):
        xs = [eval(expr, {"i": i}) for i in range(1, n + 1) if cond is None or eval(cond, {"i": i})]
        tests.append([[n], sum(xs) if what == "sum" else len(xs) if what == "count" else xs])
    return key, say, code, "The numbers run from 1 to n.", name, tests


def one(rng, want_held=False):
    while True:
        t = rng.choice([list_task, list_task, number_task, text_task, bool_task, range_task])(rng)
        if t is None:
            continue
        key, say, code, note, name, tests = t
        key = "code:" + key
        # The plain operations are the parts; only combinations (at least four fields) are held out.
        if (held(key) and key.count(":") >= 4) != want_held:
            continue
        prompt = rng.choice(LEAD) + say + "."
        if prompt.startswith("Can you"):
            prompt = prompt[:-1] + "?"
        return dict(domain="code", prompt=typed(rng, prompt, code=True), answer=fence(code) + "\n" + note, key=key, check=dict(kind="python", function=name, tests=tests))
