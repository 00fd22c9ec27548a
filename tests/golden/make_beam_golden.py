"""What transformers' beam search answers: for toy language models (the arithmetic alone) and for the demo model.

--toy writes tests/engine/data/beam_toy_golden.json: next-token logits that a hash of all tokens so far gives, computed
alike in tst_beam_search.cpp. --demo writes beam_demo_golden.json: the first suggested prompts, in float32.
"""

import argparse
import json

import torch
import transformers
from make_model_golden import DEMO, ROOT, VERSIONS
from transformers import GenerationConfig, GenerationMixin, MixtralForCausalLM, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutput

DATA = ROOT / "tests/engine/data"
MASK = 0xFFFFFFFF


def scramble(value: int) -> int:
    """32-bit finaliser of MurmurHash3."""
    value ^= value >> 16
    value = value * 0x85EBCA6B & MASK
    value ^= value >> 13
    value = value * 0xC2B2AE35 & MASK
    return value ^ value >> 16


class ToyConfig(PretrainedConfig):
    model_type = "toy"


class Toy(PreTrainedModel, GenerationMixin):
    """Logits in [-4, 4), multiples of 2^-21 and so exact in float32; the end tokens' are raised by `end_bias`."""

    config_class = ToyConfig
    main_input_name = "input_ids"

    def __init__(self, seed: int, vocab_size: int, ends: list[int], end_bias: float):
        super().__init__(ToyConfig(vocab_size=vocab_size))
        self.seed, self.ends, self.end_bias = seed, ends, end_bias
        self.weight = torch.nn.Parameter(torch.zeros(1))  # a model without parameters has no device

    def row(self, tokens: list[int]) -> list[float]:
        state = scramble(self.seed + 1)
        for token in tokens:
            state = scramble((state * 31 + token + 1) & MASK)
        row = [(scramble((state + i * 0x9E3779B9) & MASK) >> 8) / 2**21 - 4.0 for i in range(self.config.vocab_size)]
        for end in self.ends:
            row[end] += self.end_bias
        return row

    def forward(self, input_ids, attention_mask=None, **_):
        return CausalLMOutput(logits=torch.tensor([[self.row(tokens)] for tokens in input_ids.tolist()]))

    def prepare_inputs_for_generation(self, input_ids, attention_mask=None, **_):
        return {"input_ids": input_ids}

    def _prefill(self, input_ids, *_, **__):
        return self(input_ids)


def answers(model, prompt: list[int], width: int, penalty: float, ends: list[int], max_tokens: int) -> list[dict]:
    """Best first: tokens without the end token, score."""
    generation = dict(do_sample=False, num_beams=width, max_new_tokens=max_tokens, eos_token_id=ends,
                      pad_token_id=ends[0], return_dict_in_generate=True, output_scores=True,
                      use_cache=not isinstance(model, Toy))
    if width > 1:
        generation.update(length_penalty=penalty, early_stopping=False, num_return_sequences=width)
    ids = torch.tensor([prompt])
    with torch.no_grad():
        out = model.generate(ids, attention_mask=torch.ones_like(ids), generation_config=GenerationConfig(**generation))
    found = []
    for i, sequence in enumerate(out.sequences.tolist()):
        tokens = sequence[len(prompt):]
        end = next((k for k, token in enumerate(tokens) if token in ends), None)
        if width > 1:
            score = float(out.sequences_scores[i])
        else:  # transformers calls this greedy search and gives no score
            length = len(tokens) if end is None else end + 1
            steps = [torch.log_softmax(out.scores[k][0].double(), -1)[tokens[k]] for k in range(length)]
            score = float(sum(steps)) / length**penalty
        found.append({"tokens": tokens[:end], "ended": end is not None, "score": float(f"{score:.6g}")})
    return found


def write(name: str, cases: list[dict]) -> None:
    path = DATA / name
    text = json.dumps({"made_with": VERSIONS, "cases": cases}, separators=(",", ":"))
    path.write_text(text.replace('{"case"', '\n{"case"').replace('},{"prompt"', '},\n{"prompt"') + "\n")
    print(path, path.stat().st_size, "bytes")


def make_toy() -> None:
    cases, seed = [], 0
    for vocab_size, ends, end_bias in ((40, [2], 1.0), (40, [2], 4.0), (200, [2], 6.0), (40, [2, 5, 9], 2.0),
                                       (40, [2], -100.0)):
        for width in (1, 2, 3, 4, 8, 16):
            for penalty in (0.0, 1.0, 2.0, -1.0):
                seed += 1
                prompt, max_tokens = [1, seed % 7], (12 if seed % 3 else 1 + seed % 5)
                model = Toy(seed, vocab_size, ends, end_bias)
                cases.append({"seed": seed, "vocab_size": vocab_size, "ends": ends, "end_bias": end_bias,
                              "width": width, "length_penalty": penalty, "prompt": prompt, "max_tokens": max_tokens,
                              "answers": answers(model, prompt, width, penalty, ends, max_tokens)})
    write("beam_toy_golden.json", cases)


def make_demo() -> None:
    golden = json.loads((DATA / "demo_golden.json").read_text())
    model = MixtralForCausalLM.from_pretrained(DEMO, dtype=torch.float32, attn_implementation="eager").eval()
    ends = model.generation_config.eos_token_id
    ends = ends if isinstance(ends, list) else [ends]
    cases = []
    for case in golden["cases"][:6]:
        for width in (1, 4, 8, 16):
            for penalty in (0.0, 1.0, 2.0):
                cases.append({"prompt": case["prompt"], "width": width, "length_penalty": penalty, "max_tokens": 48,
                              "answers": answers(model, case["tokens"], width, penalty, ends, 48)})
                print(case["prompt"], width, penalty, [a["score"] for a in cases[-1]["answers"]][:4], flush=True)
    write("beam_demo_golden.json", cases)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--demo", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    if chosen.toy:
        make_toy()
    if chosen.demo:
        make_demo()
