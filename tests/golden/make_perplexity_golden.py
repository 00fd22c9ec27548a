"""Perplexity of the demo model on tests/engine/data/demo_text.txt by transformers in float32, one window at a time.

Writes tests/engine/data/perplexity_golden.json. The text was drawn by resources/demo-model/calibration_text.py:
main(n_bytes=12000, seed=7). Windows as engine/eval/perplexity.h describes them: each begins with BOS.
"""

import json

import sentencepiece
import torch
from make_model_golden import DEMO, ROOT, VERSIONS
from transformers import MixtralForCausalLM

DATA = ROOT / "tests/engine/data"
CASES = [(512, 256, 600), (64, 63, 200), (40, 13, 150)]  # window, stride, tokens of the text


@torch.inference_mode()
def main() -> None:
    text = (DATA / "demo_text.txt").read_text()
    tokenizer = sentencepiece.SentencePieceProcessor(model_file=str(DEMO / "tokenizer.model"))
    model = MixtralForCausalLM.from_pretrained(DEMO, dtype=torch.float32).eval()
    cases = []
    for window, stride, n_tokens in CASES:
        tokens = tokenizer.encode(text)[:n_tokens]
        total, scored = 0.0, 0
        begin = 0
        while scored < len(tokens):
            part = tokens[begin:begin + window - 1]
            logits = model(torch.tensor([[tokenizer.bos_id(), *part]])).logits[0].double()
            log_p = torch.log_softmax(logits, -1)
            for i in range(scored - begin, len(part)):
                total -= float(log_p[i, part[i]])
            scored = begin + len(part)
            begin += stride
        cases.append({"window": window, "stride": stride, "n_tokens": scored, "negative_log_likelihood": total})
    golden = {"made_with": VERSIONS, "first_tokens": tokenizer.encode(text)[:8], "cases": cases}
    (DATA / "perplexity_golden.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(golden)


if __name__ == "__main__":
    main()
