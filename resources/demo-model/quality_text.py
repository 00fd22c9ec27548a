"""Writes a text for offstage-cli perplexity and quantize-report: conversations as the model was trained on, drawn anew,
with the special tokens written out.

    python3 quality_text.py > chat.txt
    offstage-cli quantize-report --model . --text chat.txt --special --answers-after '<|assistant|>'
"""
import random

from corpus import build


def main(n_bytes=60_000, seed=31):
    rng = random.Random(seed)
    while n_bytes > 0:
        turns = build.conversation(rng)[1]
        text = "<s>" + "".join(f"<|user|>{prompt}</s><|assistant|>{answer}</s>" for _, prompt, answer in turns)
        print(text, end="")
        n_bytes -= len(text)


if __name__ == "__main__":
    main()
