"""Writes small multiple-choice sets about the facts of the corpus, in the formats that offstage-cli evaluate reads. The
wrong choices of a task are the answers to other questions of its kind.

    python3 choice_set.py FOLDER [--tasks 200] [--seed 7]
    offstage-cli evaluate --model . --task arc --data FOLDER/arc.jsonl
    offstage-cli evaluate --model . --task mmlu --data FOLDER/facts_test.csv --shots FOLDER/facts_dev.csv
"""
import argparse
import csv
import json
import pathlib
import random
import struct

from corpus import facts
from corpus.names import PEOPLE

# Kinds of facts with enough answers of one form to choose wrong ones from.
KINDS = ["capital", "country", "continent", "symbol", "element", "young"]
LETTERS = "ABCD"


def questions(rng, n):
    """[(question, [four answers], index of the right one)], each fact at most once."""
    by_kind = {kind: [f for f in facts.build() if f[0].split()[0] == kind] for kind in KINDS}
    drawn = [(kind, fact) for kind in KINDS for fact in by_kind[kind]]
    rng.shuffle(drawn)
    out = []
    for kind, (_, answer, must, asks) in drawn[:n]:
        # Another word in the answer's own sentence, so that the subject is right in all of them.
        others = sorted({f[2] for f in by_kind[kind] if f[2] not in answer})
        choices = [answer] + [answer.replace(must, other) for other in rng.sample(others, 3)]
        rng.shuffle(choices)
        out.append((asks[0], choices, choices.index(answer)))
    return out


def sentences(rng, n):
    """[(sentence with _, [two options], index of the right one)]: which country has this capital."""
    pairs = list(facts.CAPITALS)
    rng.shuffle(pairs)
    out = []
    for country, city in pairs[:n]:
        options = [country, rng.choice([c for c, _ in pairs if c != country])]
        rng.shuffle(options)
        out.append((f"The capital of _ is {city}.", options, options.index(country)))
    return out


def write_jsonl(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_mmlu(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([q, *choices, LETTERS[right]] for q, choices, right in rows)


def packed(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def write_llama_choices(path, rows):
    tasks = []
    for question, choices, right in rows:
        labels = [int(i == right) for i in range(len(choices))]
        answers = struct.pack("<I", len(choices)) + b"".join(map(packed, choices)) + struct.pack(f"<{len(labels)}i", *labels)
        tasks.append(packed(question) + answers + struct.pack("<I", 0))
    places, at = [], 4 + 4 * len(tasks)
    for task in tasks:
        places.append(at)
        at += len(task)
    path.write_bytes(struct.pack(f"<I{len(places)}I", len(places), *places) + b"".join(tasks))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", type=pathlib.Path)
    options.add_argument("--tasks", type=int, default=200)
    options.add_argument("--seed", type=int, default=7)
    options = options.parse_args()
    folder = options.folder
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(options.seed)
    rows = questions(rng, options.tasks + 5)
    shots, rows = rows[:5], rows[5:]
    write_mmlu(folder / "facts_dev.csv", shots)
    write_mmlu(folder / "facts_test.csv", rows)
    write_jsonl(folder / "arc.jsonl", [{"id": str(i), "question": q, "choices": {"text": choices, "label": list(LETTERS)}, "answerKey": LETTERS[right]}
                                       for i, (q, choices, right) in enumerate(rows)])
    two = [(q, [choices[right], choices[right - 1]][::(1 if i % 2 else -1)], 0 if i % 2 else 1) for i, (q, choices, right) in enumerate(rows)]
    write_jsonl(folder / "piqa.jsonl", [{"goal": q, "sol1": choices[0], "sol2": choices[1]} for q, choices, _ in two])
    (folder / "piqa-labels.lst").write_text("".join(f"{right}\n" for _, _, right in two))
    write_jsonl(folder / "hellaswag.jsonl", [{"ind": i, "activity_label": f"{PEOPLE[i % len(PEOPLE)]} asks", "ctx_a": q, "ctx_b": "the answer is known.", "endings": choices, "label": right}
                                             for i, (q, choices, right) in enumerate(rows)])
    (folder / "llama-hellaswag.txt").write_text("".join("\n".join([q, str(right), *choices]) + "\n" for q, choices, right in rows))
    write_llama_choices(folder / "llama-choices.bin", rows)
    blanks = sentences(rng, options.tasks)
    write_jsonl(folder / "winogrande.jsonl", [{"qID": str(i), "sentence": s, "option1": o[0], "option2": o[1], "answer": str(right + 1)} for i, (s, o, right) in enumerate(blanks)])
    (folder / "llama-winogrande.csv").write_text("".join(f"{i},{s},{o[0]},{o[1]},{right + 1}\n" for i, (s, o, right) in enumerate(blanks)))


if __name__ == "__main__":
    main()
