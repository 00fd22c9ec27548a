"""Golden ids of texts with special tokens in them, by the LlamaTokenizer of Hugging Face transformers 4, the one that
runs sentencepiece, with "legacy" true and false and with the other fields of tokenizer_config.json that it reads.

    make_llama_golden.py tests/engine/data/text    writes llama.json there

Needs transformers<5, sentencepiece and protobuf. (LlamaTokenizer of transformers 5 no longer runs sentencepiece: it
takes a missing "legacy" for false, and puts a prefix before each stretch where it is true.)

Run again with transformers 5, it takes the beginnings of texts with "legacy": false from that: a text that begins
with a blank or a special token gets no prefix. Texts that both read in different ways further on are left out.
"""
import json
import pathlib
import random
import shutil
import sys
import tempfile

import sentencepiece
import transformers

import make_text_golden

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIXTRAL_2024 = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}"
    "{{ ' [INST] ' + message['content'] + ' [/INST]' }}{% else %}{{ ' ' + message['content'] + eos_token }}"
    "{% endif %}{% endfor %}")
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Who waits?\n"}]

# @ is a special token of the configuration at hand, $ another one.
TEXTS = [
    "@", "@@", "@ @", "@$@", "Hi", "Hi@", "@Hi", "@ Hi", "@  Hi", " @Hi", "  @ Hi", "Hi @ there", "Hi@there",
    "Hi @there", "Hi@ there", "Hi  @  there", "@\nHi", "@ \n Hi", "Hi\n@", "Hi \n @\n", "\n@", " @", "  @", " ", "  ", "",
    "@ ", "@  ", "@ $", "@  $Hi", " @ $ Hi", "@\tHi", "\t@", "\u3000@\u2003Hi", "\x1c@\x1fHi", "@.", "@,Hi", "(@)",
    "@\u2581Hi", "\u2581@", "\u2581\u2581Hi", "Hi\u2581@\u2581there", "@\u2603", "\u2603@\u2603", "@The actors wait$@",
    "@ The actors wait $ @ behind", "one@two$three@four", "Hi@$there", "@Hi there\n\nWho waits?$ The others.",
    "@$ Hi", "x@ $y", "<s>Hi</s>", "<s> Hi </s> <unk> <s>", "<unk>Hi", "<s> [INST] Hi [/INST] Hello!</s> [INST] Who?",
    "<s> @<s>", "@<s>$</s>@", "< s>@<", "<s", "@<unk>Hi",
]


def token(content, special=True, **flags):
    return {"content": content, "lstrip": False, "rstrip": False, "single_word": False, "normalized": not special,
            "special": special, **flags}


def decoder(*added):
    """The three tokens that LlamaTokenizer always has, and others by id."""
    return {"0": token("<unk>"), "1": token("<s>"), "2": token("</s>"), **{str(i): t for i, t in added}}


def configurations():
    demo = json.loads((ROOT / "resources/demo-model/tokenizer_config.json").read_text(encoding="utf-8"))
    del demo["chat_template"]
    n = 4096  # beyond every piece
    flags = [(n, token("<|l|>", lstrip=True)), (n + 1, token("<|r|>", rstrip=True)),
             (n + 2, token("<|lr|>", lstrip=True, rstrip=True)), (n + 3, token("<|plain|>", special=False)),
             (n + 4, token("<|w|>", special=False, single_word=True)), (n + 5, token("<|plain|>!", special=False)),
             (n + 6, token("<|lw|>", lstrip=True, rstrip=True, single_word=True))]
    named = {"additional_special_tokens": ["<|l|>", "<|r|>", "<|lr|>"]}
    turns = decoder((3, token("<turn>")), (4, token("<end_of_turn>")), (5, token("<turn><user>")),
                    (6, token("<tool>", special=False)))
    pad = decoder((3, token("<pad>")), (4, token("<turn>")), (5, token("<tool>", special=False)))
    pairs = {
        "demo": ("demo-model", demo, [("<|user|>", "<|assistant|>"), ("</s>", "<s>")]),
        "flags": ("demo-model", {"added_tokens_decoder": decoder(*flags), **named},
                  [("<|l|>", "<|r|>"), ("<|r|>", "<|lr|>"), ("<|lr|>", "<|plain|>"), ("<|plain|>", "<|w|>"),
                   ("<|w|>", "<|lr|>"), ("<|plain|>!", "<|plain|>"), ("<|lw|>", "<|w|>")]),
        "unnamed": ("demo-model", {"added_tokens_decoder": decoder((n, token("<|x|>")))}, [("<|x|>", "<s>")]),
        "silent": ("demo-model", {}, [("<s>", "</s>")]),
        "pieces": ("demo-model", {"bos_token": "</s>", "pad_token": "<s>",
                                  "additional_special_tokens": ["<|user|>", "<|system|>", "ing"]},
                   [("<|user|>", "<|system|>"), ("ing", "<|user|>")]),
        "bpe": ("bpe", {"added_tokens_decoder": turns, "additional_special_tokens": ["<turn>"]},
                [("<turn>", "<end_of_turn>"), ("<turn><user>", "<tool>")]),
        "unigram": ("unigram", {"added_tokens_decoder": pad, "additional_special_tokens": ["<turn>"], "pad_token": "<pad>"},
                    [("<turn>", "<tool>"), ("<tool>", "<pad>")]),
    }
    for name, (model, config, specials) in pairs.items():
        for fields in ({"legacy": True}, {"legacy": False}, {"legacy": False, "add_prefix_space": False},
                       {"legacy": True, "add_prefix_space": False}, {"add_bos_token": True, "add_eos_token": True}):
            if "legacy" not in fields and name != "silent":
                continue  # how a text begins and ends: once
            if fields == {"legacy": True, "add_prefix_space": False} and name != "demo":
                continue  # it changes nothing
            own = {key: value for key, value in config.items() if key not in ("legacy", "add_prefix_space")}
            yield " ".join([name, *(f"{k}={v}" for k, v in fields.items())]), model, {**own, **fields}, specials


def random_texts(pairs):
    """Texts that nobody would think of."""
    draw = random.Random(5)
    parts = [s for pair in pairs for s in pair] + ["<s>", " ", " ", "\n", "Hi", "the", "wait", ".", "\u2581", "<", "|"]
    return ["".join(draw.choices(parts, k=draw.randint(2, 9))) for _ in range(40)]


def open_tokenizer(model, config):
    folder = pathlib.Path(tempfile.mkdtemp())
    source = ROOT / ("resources/demo-model" if model == "demo-model" else f"tests/engine/data/text/{model}")
    shutil.copy(source / "tokenizer.model", folder)
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "LlamaTokenizer", **config}), encoding="utf-8")
    tokenizer = transformers.LlamaTokenizer.from_pretrained(folder)
    shutil.rmtree(folder)
    return tokenizer


def take_beginnings(file):
    golden = json.loads(file.read_text(encoding="utf-8"))
    kept = []
    tokenizers = {}
    for index, text, ids in golden["cases"]:
        config = golden["configs"][index]
        if config["config"].get("legacy", True) or config["model"] == "unigram":
            kept.append([index, text, ids])
            continue
        if index not in tokenizers:
            tokenizer = open_tokenizer(config["model"], config["config"])
            added = config["config"].get("added_tokens_decoder", {})
            numbers = {tokenizer.convert_tokens_to_ids(token["content"]): int(i) for i, token in added.items()}
            tokenizers[index] = tokenizer, numbers  # of tokens beyond the pieces, which it numbers anew
        tokenizer, numbers = tokenizers[index]
        now = [numbers.get(i, i) for i in tokenizer.encode(text, add_special_tokens=False)]
        specials = [token for token in tokenizer.get_added_vocab() if token != "\n"]
        begins = text.lstrip("\n\t\x1c").startswith("<|lw|>") or text.startswith((" ", "\u2581", *specials))
        if not begins:
            kept.append([index, text, ids])
        elif (now in (ids, ids[1:]) or now[1:] == ids) and not text.startswith("\u2581<|l"):  # what lstrip strips
            kept.append([index, text, now])
    golden["cases"] = kept
    golden["versions"]["transformers, beginnings"] = transformers.__version__
    make_text_golden.write_json(file, golden)


def main():
    out = pathlib.Path(sys.argv[1])
    transformers.logging.set_verbosity_error()
    if int(transformers.__version__.split(".")[0]) >= 5:
        return take_beginnings(out / "llama.json")
    configs = []
    cases = []
    for index, (name, model, config, pairs) in enumerate(configurations()):
        tokenizer = open_tokenizer(model, config)
        configs.append({"name": name, "model": model, "config": config,
                        "bos": tokenizer.bos_token_id if tokenizer.add_bos_token else -1,
                        "eos": tokenizer.eos_token_id if tokenizer.add_eos_token else -1})
        texts = {text.replace("@", a).replace("$", b): None for a, b in pairs for text in TEXTS}
        if name.startswith("flags"):
            texts = {text: None for i, text in enumerate(texts) if i % 2 == 0 or len(text) < 9}
        for text in [*texts, *random_texts(pairs)]:
            ids = tokenizer.encode(text, add_special_tokens=False)
            with_ends = tokenizer.encode(text)
            assert with_ends == ([tokenizer.bos_token_id] if tokenizer.add_bos_token else []) + ids + (
                [tokenizer.eos_token_id] if tokenizer.add_eos_token else [])
            cases.append([index, text, ids])
    chats = []
    for legacy in (True, False):
        tokenizer = open_tokenizer("bpe", {"legacy": legacy, "chat_template": MIXTRAL_2024})
        ids = tokenizer.apply_chat_template(CHAT, tokenize=True)
        chats.append({"legacy": legacy, "template": MIXTRAL_2024, "messages": CHAT, "ids": ids})
    make_text_golden.write_json(out / "llama.json", {
        "versions": {"transformers": transformers.__version__, "sentencepiece": sentencepiece.__version__},
        "configs": configs, "chats": chats, "cases": cases})


if __name__ == "__main__":
    main()
