"""Small byte pair encodings of the makes that models ship, and golden hashes of what Python's tokenizers and tiktoken
make of 10,000 lines with them.

    make_bpe_golden.py OUT               trains the tokenizers under OUT (tests/engine/data/text/bpe_layouts) and writes the hashes
    make_bpe_golden.py OUT --dump FILE   only writes the ids of every line, as JSON: to find where a hash comes from
    make_bpe_golden.py OUT --lines FILE  only writes the lines, as JSON, with the broken ones mended

Needs tokenizers and tiktoken. The lines are drawn from lines.json, by the same generator here and in
tests/engine/tst_bpe_tokenizer.cpp; a hash stands for a hundred of them.
"""
import base64
import codecs
import json
import pathlib
import sys

import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from make_text_golden import LESSON, STRETCHES

ROOT = pathlib.Path(__file__).resolve().parents[2]
N_LINES = 10_000

# ---------------------------------------------------------------- lines

RANGES = [(0x20, 0x7E), (0xA0, 0xFF), (0x100, 0x17F), (0x1C4, 0x1CC), (0x2B0, 0x2FF), (0x300, 0x36F), (0x391, 0x3A1),
          (0x3B1, 0x3C9), (0x410, 0x44F), (0x5D0, 0x5EA), (0x620, 0x64A), (0x660, 0x669), (0x905, 0x939), (0x93E, 0x94C),
          (0x966, 0x96F), (0xE01, 0xE3A), (0xF40, 0xF47), (0x10D0, 0x10F0), (0x1100, 0x1112), (0x1E00, 0x1EFF),
          (0x1F00, 0x1F15), (0x2000, 0x206F), (0x20A0, 0x20BF), (0x2100, 0x214F), (0x2150, 0x218B), (0x2190, 0x21FF),
          (0x2200, 0x22FF), (0x2460, 0x24FF), (0x2500, 0x257F), (0x2E80, 0x2E99), (0x3000, 0x303F), (0x3041, 0x3096),
          (0x30A1, 0x30FF), (0x3131, 0x318E), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3), (0xE000, 0xE010), (0xF900, 0xFA2D),
          (0xFB00, 0xFB06), (0xFE30, 0xFE4F), (0xFF01, 0xFFBE), (0x10330, 0x1034A), (0x1D400, 0x1D454),
          (0x1F130, 0x1F149), (0x1F300, 0x1F5FF), (0x1F600, 0x1F64F), (0x20000, 0x20100), (0xE0061, 0xE007A)]
BLANKS = [" ", "\n", "\t", "\u00a0", "\u3000", "\r\n", "\u2028", "\u0085", "\u180e", "\u200b"]
BROKEN = ["ff", "c3", "e28080c3", "e6bc", "f09f91", "c0af", "eda080", "f4908080", "80", "f09f91c3a9"]
MORE = [
    "don't", "DON'T", "we'LL", "I'\u017f", "it's", "'s", "''", "they've", "\u2019s", "o'clock", "HelloWorld", "HTTPServer",
    "camelCaseWord", "snake_case", "x1y2z3", "1", "12", "123", "1234", "12345678901", "3.14", "1,000", "\u0663\u0664",
    "\u2160\u2161", "\u00bd", "if (a[i] != b) { return -1; }", "\tfor i in range(10):", "// ---- x ----", "/* */", "<div>",
    "</div>", "&&", "||", "->", "::", "#!/bin/sh", "$x", "a=b", "\\n", "\"q\"", "e.g.", "...", "!?", "\u3002", "\uff0c",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "------------------------------------------------------------------------", "0" * 70, "\u6f14\u5458" * 40,
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>", "<left>", "<right>", "<word>", "<Caf\u00e9>",
    "<cafe\u0301>", " <left>", "\n <left>", "<right> ", "<right>\u3000\t", "a<word>", "<word>\u0301", " <word> ", "<word>.",
    "<|im_start|>user\n", "<|im_end|>\n", "<|endoftext|><|endoftext|>", "<|im_", "\u25b1", "\u2581", "<0x0A>", "\u0120", "\u0101",
]
FRAGMENTS = ([w for s in STRETCHES for w in s.split(" ") if w and "\x00" not in w] + [s for s in STRETCHES if s]
             + [w for line in LESSON.splitlines() for w in line.split()] + MORE)


class Draw:
    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def raw_line(draw):
    out = b""
    for _ in range(1 + draw.below(12)):
        kind = draw.below(16)
        if kind < 9:
            out += FRAGMENTS[draw.below(len(FRAGMENTS))].encode()
        elif kind < 12:
            low, high = RANGES[draw.below(len(RANGES))]
            for _ in range(1 + draw.below(4)):
                out += chr(low + draw.below(high - low + 1)).encode()
        elif kind < 15:
            out += BLANKS[min(draw.below(16), draw.below(len(BLANKS)))].encode() * (1 + draw.below(5))
        elif draw.below(4) == 0:
            out += bytes.fromhex(BROKEN[draw.below(len(BROKEN))])
        else:
            out += b" "
    return out


def mended(raw):
    """Each byte that is no UTF-8 as U+FFFD, as Utf8Stream does it."""
    codecs.register_error("each", lambda e: ("\ufffd" * (e.end - e.start), e.end))
    return raw.decode("utf-8", errors="each")


def lines():
    draw = Draw(20261123)
    return [mended(raw_line(draw)) for _ in range(N_LINES)]


class Hash:
    """FNV-1a, 64 bits."""

    def __init__(self):
        self.value = 0xCBF29CE484222325

    def add(self, data):
        value = self.value
        for byte in data:
            value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        self.value = value


def ids_as_bytes(ids):
    return b"".join(i.to_bytes(4, "little") for i in [*ids, 0xFFFFFFFF])


# ---------------------------------------------------------------- tokenizers

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
CL100K = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def by_case(han):
    lead, upper, lower = r"[^\r\n\p{L}\p{N}]?", f"[{UPPER}{han}]", f"[{LOWER}{han}]"
    return f"{lead}{upper}*{lower}+{CONTRACTIONS}?|{lead}{upper}+{lower}*{CONTRACTIONS}?"


O200K = by_case("") + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
KIMI = r"[\p{Han}]+|" + by_case(r"&&[^\p{Han}]") + r"|\p{N}{1,3}|" + TAIL
PUNCTUATION = r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+"""
DEEPSEEK = PUNCTUATION + r"|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
HAN_AND_KANA = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def with_bytes(*steps, use_regex=False):
    return pre_tokenizers.Sequence([*steps, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)])


def layouts():
    """Name: (normalizer, pre-tokenizer, decoder or None for byte-level, options of the model)."""
    space = "\u2581"
    spaces_back = [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()]
    fallback = {"byte_fallback": True, "fuse_unk": True, "unk_token": "<unk>"}
    return {
        "qwen": (normalizers.NFC(), with_bytes(split(QWEN)), None, {}),
        "gpt_oss": (None, with_bytes(split(O200K)), None, {"ignore_merges": True}),
        "deepseek": (normalizers.Sequence([]), with_bytes(split(r"\p{N}{1,3}"), split(HAN_AND_KANA), split(DEEPSEEK)), None, {}),
        "deepseek_moe": (None, pre_tokenizers.Sequence([
            split("[\r\n]"), split(r"\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u0370-\u0373\u0400-\u0481\u10a0-\u10c5]+"),
            split("\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+"), split(r"\s+$"),
            split("[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"), pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), None, {}),
        "glm": (None, with_bytes(split(CL100K)), None, {"ignore_merges": True}),
        "dbrx": (None, with_bytes(split(CL100K, "removed", True)), None, {}),
        "olmoe": (normalizers.NFC(), pre_tokenizers.ByteLevel(add_prefix_space=False), None, {}),
        "granite": (None, with_bytes(pre_tokenizers.Digits(individual_digits=True), use_regex=True), None, {}),
        "prefixed": (normalizers.NFKC(), pre_tokenizers.Sequence([
            pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=True)]), None, {}),
        "gemma": (normalizers.Replace(" ", space), pre_tokenizers.Split(" ", "merged_with_previous"),
                  decoders.Sequence(spaces_back), fallback),
        "phi": (normalizers.Sequence([normalizers.Prepend(space), normalizers.Replace(" ", space)]), None,
                decoders.Sequence([*spaces_back, decoders.Strip(" ", 1, 0)]), fallback),
        "metaspace": (normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip(False, True)]),
                      pre_tokenizers.Metaspace(prepend_scheme="first"), decoders.Metaspace(prepend_scheme="first"),
                      {"unk_token": "<unk>"}),
    }


def added_tokens():
    special = [AddedToken(t, special=True, normalized=False) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    plain = [AddedToken("<think>", normalized=False), AddedToken("</think>", normalized=False),
             AddedToken("<left>", lstrip=True, normalized=False), AddedToken("<right>", rstrip=True, normalized=False),
             AddedToken("<word>", single_word=True, normalized=False), AddedToken("<caf\u00e9>", normalized=True),
             AddedToken("    ", normalized=False)]
    return special, plain


def lesson():
    texts = [LESSON, *STRETCHES, (ROOT / "README.md").read_text(encoding="utf-8")]
    return [line for text in texts for line in text.splitlines(keepends=True)]


def train(name, parts):
    normalizer, pre_tokenizer, decoder, options = parts
    tokenizer = Tokenizer(models.BPE(**options))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    bytes_ = [f"<0x{b:02X}>" for b in range(256)] if options.get("byte_fallback") else []
    unknown = ["<unk>"] if "unk_token" in options else []
    trainer = trainers.BpeTrainer(vocab_size=1200 + len(bytes_), special_tokens=unknown + bytes_, show_progress=False,
                                  initial_alphabet=[] if decoder is not None else pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(lesson(), trainer)
    tokenizer.decoder = decoder if decoder is not None else decoders.ByteLevel()
    special, plain = added_tokens()
    tokenizer.add_special_tokens(special)
    tokenizer.add_tokens(plain)
    text = json.loads(tokenizer.to_str())
    text["added_tokens"] = [t for t in text["added_tokens"] if t["content"] not in bytes_]
    if name in ("qwen", "dbrx"):  # the older layout of merges
        text["model"]["merges"] = [" ".join(m) for m in text["model"]["merges"]]
    if name == "phi":
        text["post_processor"] = {"type": "TemplateProcessing", "pair": [], "special_tokens": {},
                                  "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}},
                                             {"Sequence": {"id": "A", "type_id": 0}}]}
    return json.dumps(text, ensure_ascii=False, separators=(",", ":"))


def tiktoken_of(tokenizer_json):
    """The ranks of a byte-level tokenizer.json: single bytes first, then what its merges make."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in printable]
    byte_of = {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
    model = json.loads(tokenizer_json)["model"]
    merges = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    tokens = [bytes([b]) for b in range(256)] + [bytes(byte_of[c] for c in a + b) for a, b in merges]
    return {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}


def encoders(out):
    """Name: (plain ids, ids with special tokens, decode)."""
    found = {}
    for name in layouts():
        path = str(out / name / "tokenizer.json")
        special, plain = Tokenizer.from_file(path), Tokenizer.from_file(path)
        plain.encode_special_tokens = True
        found[name] = (lambda t, x=plain: x.encode(t, add_special_tokens=False).ids,
                       lambda t, x=special: x.encode(t, add_special_tokens=False).ids,
                       lambda ids, x=special: x.decode(ids, skip_special_tokens=True))
    for name, pattern in (("tiktoken", CL100K), ("kimi", KIMI)):
        config = json.loads((out / name / "tokenizer_config.json").read_text(encoding="utf-8"))
        special = {t["content"]: int(i) for i, t in config["added_tokens_decoder"].items()}
        ranks = load_tiktoken_bpe(str(out / name / "small.tiktoken"))
        e = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
        ids_of_special = set(special.values())
        found[name] = (lambda t, e=e: e.encode(t, disallowed_special=()),
                       lambda t, e=e: e.encode(t, allowed_special="all"),
                       lambda ids, e=e, s=ids_of_special: e.decode([i for i in ids if i not in s]))
    return found


def write_tiktoken(out, tokenizer_json):
    ranks = tiktoken_of(tokenizer_json)
    for name, config in (("tiktoken", {"encoding_name": "cl100k_base"}), ("kimi", {"tokenizer_class": "TikTokenTokenizer"})):
        (out / name).mkdir(parents=True, exist_ok=True)
        text = "".join(f"{base64.b64encode(t).decode()} {r}\n" for t, r in ranks.items())
        (out / name / "small.tiktoken").write_text(text, encoding="ascii")
        config["added_tokens_decoder"] = {
            str(len(ranks) + 8 + i): {"content": t, "special": True}
            for i, t in enumerate(("<|endoftext|>", "<|im_start|>", "<|im_end|>"))}
        config["eos_token"] = "<|im_end|>"
        (out / name / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")


def hashes(encode, encode_special, decode, texts):
    found = {"plain": [], "special": [], "decoded": []}
    for start in range(0, len(texts), 100):
        h = {key: Hash() for key in found}
        for text in texts[start:start + 100]:
            ids = encode(text)
            h["plain"].add(ids_as_bytes(ids))
            special = encode_special(text)
            h["special"].add(ids_as_bytes(special))
            h["decoded"].add(decode(special[1:-1]).encode() + b"\n")  # often cut inside of a character
        for key in found:
            found[key].append(f"{h[key].value:016x}")
    return found


def main():
    out = pathlib.Path(sys.argv[1])
    if "--lines" in sys.argv:
        pathlib.Path(sys.argv[3]).write_text(json.dumps(lines()), encoding="utf-8")
        return
    if "--dump" in sys.argv:
        found = {}
        for name, (encode, encode_special, decode) in encoders(out).items():
            found[name] = [[encode(t), s, decode(s[1:-1])] for t in lines() for s in [encode_special(t)]]
        pathlib.Path(sys.argv[3]).write_text(json.dumps(found), encoding="utf-8")
        return
    for name, parts in layouts().items():
        (out / name).mkdir(parents=True, exist_ok=True)
        (out / name / "tokenizer.json").write_text(train(name, parts), encoding="utf-8")
    write_tiktoken(out, (out / "dbrx" / "tokenizer.json").read_text(encoding="utf-8"))
    (out / "lines.json").write_text(json.dumps(
        {"fragments": FRAGMENTS, "ranges": RANGES, "blanks": BLANKS, "broken": BROKEN}, indent=0) + "\n", encoding="utf-8")
    golden = {name: hashes(*encoder, lines()) for name, encoder in encoders(out).items()}
    (out / "golden.json").write_text(json.dumps(golden, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
