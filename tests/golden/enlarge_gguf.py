#!/usr/bin/env python3
"""The tiny GGUF models eight times as wide, in blocks, for compare_llama.py.

    python tests/golden/enlarge_gguf.py LLAMA_QUANTIZE OUT_FOLDER FILE.gguf ...

Rows of the tiny models are too short for blocks of 32 and 256 weights. Here all sizes but
those of lists (experts, heads, tokens) are multiplied, matrices are drawn anew, and
llama-quantize writes NAME_Q8_0.gguf and NAME_Q4_K_M.gguf.
"""

import pathlib
import re
import subprocess
import sys

import gguf
import numpy as np

from compare_llama import Model

TIMES = 8
SIZES = ["embedding_length", "feed_forward_length", "expert_feed_forward_length", "expert_shared_feed_forward_length",
         "attention.key_length", "attention.value_length", "attention.key_length_mla", "attention.value_length_mla",
         "attention.key_length_swa", "attention.value_length_swa", "attention.q_lora_rank", "attention.kv_lora_rank",
         "rope.dimension_count", "rope.dimension_count_swa", "ssm.state_size", "ssm.inner_size"]
# Dimensions that count experts, heads, tokens or taps, innermost first.
LAST = re.compile(r"token_embd|output\.weight|.*(_exps\.(weight|bias)|ffn_gate_inp(_shexp)?\.weight|attn_[kv]_b\."
                  r"|ssm_(alpha|beta)\.)")
ALL = re.compile(r".*(exp_probs_b|ffn_gate_inp\.bias|attn_sinks|ssm_a$|ssm_dt|layer_output_scale|ffn_down_exps\.scale)")


def enlarged(name, shape):
    sizes = [int(size) for size in shape]
    kept = [bool(ALL.match(name))] * len(sizes)
    kept[-1] |= bool(LAST.match(name))
    kept[0] |= "ssm_conv1d" in name
    return tuple(size if keep else size * TIMES for size, keep in reversed(list(zip(sizes, kept))))


def write(model, target):
    for size in filter(model.get, SIZES):
        model.change(size, model.get(size) * TIMES)
    if model.get("rope.dimension_sections"):  # llama.cpp turns no pair that belongs to none of three sections
        pairs = model.get("rope.dimension_count") // 2
        third = pairs // 3
        model.change("rope.dimension_sections", [pairs - 2 * third, third, third, 0])
    writer = model.writer(target, for_llama=True)
    random = np.random.default_rng(7)
    for name, tensor in model.tensors.items():
        shape = enlarged(name, tensor.shape)
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        if name == "rope_freqs.weight":
            values = np.repeat(values, TIMES)
        elif len(shape) == 1:
            values = np.resize(values, shape)
        else:
            narrower = 1 if name == "token_embd.weight" else int(tensor.shape[0]) / shape[-1]
            values = random.standard_normal(shape) * values.std() * np.sqrt(narrower)
        writer.add_tensor(name, values.astype(np.float32))
    model.finish(writer)


def main():
    quantize, out, *files = sys.argv[1:]
    for file in map(pathlib.Path, files):
        wide = pathlib.Path(out) / (file.stem + "_F32.gguf")
        write(Model(file), wide)
        for target in ("Q8_0", "Q4_K_M"):
            subprocess.run([quantize, wide, wide.with_name(f"{file.stem}_{target}.gguf"), target], check=True,
                           capture_output=True)


if __name__ == "__main__":
    main()
