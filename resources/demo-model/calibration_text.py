"""Writes the text that expert_popularity.json was counted over: conversations as the model was trained on.

    python3 calibration_text.py > conversations.txt
    offstage-cli profile --model . --text conversations.txt --out expert_popularity.json
"""
import random

from corpus import build


def main(n_bytes=200_000, seed=2024):
    rng = random.Random(seed)
    while n_bytes > 0:
        for _, prompt, answer in build.conversation(rng)[1]:
            text = f"{prompt}\n{answer}\n"
            print(text)
            n_bytes -= len(text)


if __name__ == "__main__":
    main()
