"""Golden files for engine/text, made by independent implementations: Python's sentencepiece and jinja2.

    make_text_golden.py OUT            trains the two small tokenizers under OUT (tests/engine/data/text) and writes
                                       their golden ids, and the golden renderings of the chat templates
    make_text_golden.py OUT --templates   only the renderings
    make_text_golden.py OUT MODEL...   only the golden ids of further tokenizer.model files, one OUT/NAME.ids.json for
                                       each, NAME being the folder's name

Needs sentencepiece and jinja2. Trained models differ between releases of sentencepiece, so a run replaces model and ids.
"""
import datetime
import io
import json
import pathlib
import sys

import sentencepiece as spm
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import text_golden_templates as shapes

STRETCHES = [
    "The quick brown fox jumps over the lazy dog.",
    "Cafe\u0301 na\u00efve A\u030angstro\u0308m \u1e9b\u0323 \ufb01ne \u00df \u0130stanbul \u0131",
    "Η γρήγορη καφέ αλεπού. ΄Ω τί θαῦμα;",
    "Съешь ещё этих мягких французских булок",
    "דג סקרן שט בים מאוכזב שָׁלוֹם",
    "نص حكيم له سر قاطع وذو شأن عظيم ﷺ ﻻ",
    "ऋषियों को सताने वाले दुष्ट राक्षसों",
    "เป็นมนุษย์สุดประเสริฐเลิศคุณค่า",
    "我能吞下玻璃而不伤身体。繁體中文，標點！",
    "いろはにほへと ちりぬるを カタカナ ｶﾀｶﾅ ㍿",
    "다람쥐 헌 쳇바퀴에 타고파 \u1112\u1161\u11ab",
    "👩‍👩‍👧‍👦 👍🏽 🇫🇷 ❤️ 🏴\U000e0067\U000e0062\U000e007f",
    "∀x∈ℝ: ⌈x⌉ = −⌊−x⌋, 𝔸𝖻𝒸 ½ ² ①",
    "\ue000 \uf8ff \U000f0000 \U0010fffd \ufffd \ufdd0",
    "𐍈𐌰 𠜎 𝄞",
    "tab\there\t\ttwo, nbsp\u00a0here, em\u2003space, wide\u3000space, zero\u200bwidth \ufeffbom \u2060 \u00ad",
    "line\r\nfeed\nand\rreturn\u2028sep\u2029par\u0085next\x0bvt\x0cff",
    "   leading", "trailing   ", "  many   spaces    inside  ", " ", "   ", "\n", "\n\n\n", "\t",
    "nul\x00byte", "\x00", "a\x00\x00b", "\x01\x02\x1b\x7f",
    "<s>text</s> <unk> <0x0A> [INST] <turn> <tool>",
    "\u2581piece marks \u2581\u2581", "\u2581",
    "https://example.org/a?b=c&d=%20#e 3.14159 1,000,000 0x7fff_ffff",
    "def f(x):\n    return {k: v for k, v in x.items() if v is not None}\n",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "…—–‘’“”„«»",
    "e\u0301\u0301\u0301\u0301", "\u0301start", "",
]

# Own words, enough of them for a few hundred pieces.
LESSON = """
A theatre has many actors, and few of them stand in the light at one time. The others wait behind the curtain until
their names are called. The prompter knows the play by heart, and calls the next two before the audience has noticed
that the scene is over. Some actors are called often, so they keep their shoes on; some are called once in an evening,
and sit far away, reading. When the stage is made smaller, somebody has to leave it, and when it is made larger,
somebody may stay. Nothing in the play changes: the same words are spoken in the same order, only sooner or later.
1, 2, 3 and 10, 20, 30 are numbers; 1984 was a year. "Come in," she said, "the door is open." Isn't it late?
Wir warten hinter der Bühne, bis man uns ruft. Les acteurs attendent derrière le rideau. Los actores esperan.
Актёры ждут за кулисами. 演员们在后台等待。俳優たちは舞台裏で待っている。 배우들은 무대 뒤에서 기다린다.
for (int i = 0; i < n; ++i) { sum += weights[i] * inputs[i]; }
if the router calls an expert, then the expert answers; else it waits.
"""


def train(path, **options):
    model = io.BytesIO()
    sentences = [line for line in LESSON.splitlines() if line.strip()]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences * 3), model_writer=model, minloglevel=2, num_threads=1,
        input_sentence_size=0, hard_vocab_limit=False, **options)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.getvalue())


def train_models(out):
    train(out / "bpe" / "tokenizer.model", model_type="bpe", vocab_size=640, byte_fallback=True,
          normalization_rule_name="identity", remove_extra_whitespaces=False, character_coverage=0.98,
          allow_whitespace_only_pieces=True, split_digits=True,
          control_symbols=["<turn>", "<end_of_turn>", "<turn><user>"], user_defined_symbols=["<tool>", "  ", "<tool_call>"])
    train(out / "unigram" / "tokenizer.model", model_type="unigram", vocab_size=300,
          normalization_rule_name="nmt_nfkc", character_coverage=0.98, pad_id=3,
          control_symbols=["<turn>"], user_defined_symbols=["<tool>"])


def write_json(path, value):
    """One line per entry of each list at the top, so that a change can be read in a diff."""
    def line(x):
        return json.dumps(x, ensure_ascii=True, separators=(",", ":"))

    parts = []
    for key, entry in value.items():
        if isinstance(entry, list) and entry and not isinstance(entry[0], str):
            parts.append(f"{line(key)}:[\n" + ",\n".join(map(line, entry)) + "\n]")
        else:
            parts.append(f"{line(key)}:{line(entry)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def write_ids(model, path):
    sp = spm.SentencePieceProcessor(model_file=str(model))
    texts = STRETCHES + ["\n".join(STRETCHES), " ".join(STRETCHES), LESSON]
    for i in range(0, 0x3000, 0x80):
        texts.append("".join(chr(c) for c in range(i, i + 0x80)))
    texts += ["\uac00\uac01\ud7a3", "\uff01\uff5e\uffe6", "\U0001f600\U0001f64f"]
    write_json(path, {
        "vocab_size": sp.get_piece_size(), "bos": sp.bos_id(), "eos": sp.eos_id(),
        "pieces": [sp.id_to_piece(i) for i in range(min(sp.get_piece_size(), 1024))],
        "texts": [{"text": t, "ids": sp.encode(t), "decoded": sp.decode(sp.encode(t))} for t in texts],
        "decodes": [{"ids": ids, "text": sp.decode(ids)} for ids in some_ids(sp)],
    })


def some_ids(sp):
    """Sequences that no text gives: broken bytes, controls in the middle, unknowns."""
    n = sp.get_piece_size()
    state = 12345
    out = []
    for length in (1, 2, 3, 5, 8, 13, 40, 200):
        for _ in range(12):
            ids = []
            for _ in range(length):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
                ids.append((state >> 33) % n)
            out.append(ids)
    for start in range(0, min(n, 600), 4):
        out.append(list(range(start, min(start + 4, n))))
    return out


class Refused(Exception):
    """What raise_exception ends a rendering with."""


def environment():
    """As transformers sets it up for chat templates."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])

    def refuse(message):
        raise Refused(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env.globals["raise_exception"] = refuse
    env.globals["strftime_now"] = datetime.datetime(2026, 11, 3, 14, 5, 9).strftime
    env.filters["tojson"] = tojson
    return env


def render(env, template, conversation, add_generation_prompt):
    try:
        text = env.from_string(template).render(
            messages=conversation, tools=None, documents=None, bos_token="<s>", eos_token="</s>",
            add_generation_prompt=add_generation_prompt)
        return {"text": text}
    except Refused as refused:
        return {"refused": str(refused)}
    except Exception as failed:  # what the template may not do
        return {"failed": type(failed).__name__}


def write_templates(path):
    env = environment()
    chats = []
    for name, template in shapes.TEMPLATES.items():
        cases = []
        for i, conversation in enumerate(shapes.CONVERSATIONS):
            for prompt in (False, True):
                cases.append({"conversation": i, "prompt": prompt, **render(env, template, conversation, prompt)})
        chats.append({"name": name, "template": template, "cases": cases})
    snippets = [{"template": t, **render(env, t, shapes.CONVERSATIONS[2], True)} for t in shapes.SNIPPETS]
    write_json(path, {"conversations": shapes.CONVERSATIONS, "templates": chats, "snippets": snippets})


def main():
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    if sys.argv[2:] == ["--templates"]:
        write_templates(out / "templates.json")
        return
    if len(sys.argv) > 2:
        for model in map(pathlib.Path, sys.argv[2:]):
            write_ids(model, out / f"{model.resolve().parent.name}.ids.json")
        return
    train_models(out)
    for name in ("bpe", "unigram"):
        write_ids(out / name / "tokenizer.model", out / f"{name}.ids.json")
    write_templates(out / "templates.json")


if __name__ == "__main__":
    main()
