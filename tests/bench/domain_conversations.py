"""Writes conversations of the demo model's domains as JSON lines for offstage-cli recall: one file per domain, and one
in which the domain changes with each conversation.

    python3 tests/bench/domain_conversations.py FOLDER
"""
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "resources/demo-model"))
from corpus import build  # noqa: E402

TURNS = 4
BYTES = 12_000


def conversation(rng, domain):
    messages = []
    for _ in range(TURNS):
        drawn = build.draw(rng, domain)
        messages.append({"role": "user", "content": drawn["prompt"]})
        messages.append({"role": "assistant", "content": drawn["answer"]})
    return messages


def write(path, rng, domains):
    n_bytes = 0
    with open(path, "w", encoding="utf-8") as file:
        while n_bytes < BYTES * len(domains):
            for domain in domains:
                messages = conversation(rng, domain)
                n_bytes += sum(len(m["content"]) for m in messages)
                file.write(json.dumps({"messages": messages}) + "\n")


def main(folder, seed=4):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for domain in build.DOMAINS:
        write(folder / f"{domain}.jsonl", random.Random(seed), [domain])
    write(folder / "mixed.jsonl", random.Random(seed), build.DOMAINS)


if __name__ == "__main__":
    main(sys.argv[1])
