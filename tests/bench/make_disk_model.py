#!/usr/bin/env python3
"""A GGUF larger than a small machine's RAM, for measuring what experts on disk cost.

    python tests/bench/make_disk_model.py FILE [--layers 48] [--experts 128]

Family qwen3moe in the shape of Qwen3-30B-A3B: gate and up in Q4_K, down in Q6_K, 3.06 MB
for each expert, 20 GB with 48 layers of 128. The blocks are random with small scales, so
that the model computes with sensible numbers and says nothing. It has no tokenizer: give
`offstage-cli` tokens (--tokens) or run `bench`.
"""

import argparse
import pathlib

import gguf
import numpy

HIDDEN, FFN, HEADS, KV_HEADS, HEAD_DIM, VOCAB = 2048, 768, 32, 4, 128, 32768
TYPES = gguf.GGMLQuantizationType


# Beside the others' deviation of 0.02: what a token and its experts say outweighs what attention tells all tokens alike,
# so that each token calls other experts and all are called about equally often, as in a trained model.
SCALES = {"token_embd.weight": 10, "attn_output.weight": 0.05}


def blocks(random, shape, kind, scale):
    """The rows of a tensor in random blocks, about normally distributed with a deviation of 0.02 times `scale`."""
    n = int(numpy.prod(shape)) // 256
    size = {TYPES.Q4_K: 144, TYPES.Q6_K: 210}[kind]
    data = numpy.frombuffer(random.bytes(n * size), dtype=numpy.uint8).reshape(n, size).copy()
    if kind == TYPES.Q4_K:
        d = numpy.float16(5e-5 * scale)
        data[:, 0:2] = numpy.frombuffer(d.tobytes(), dtype=numpy.uint8)
        data[:, 2:4] = numpy.frombuffer(numpy.float16(7.5 * d).tobytes(), dtype=numpy.uint8)
    else:
        data[:, 208:210] = numpy.frombuffer(numpy.float16(1.2e-5 * scale).tobytes(), dtype=numpy.uint8)
    return data.reshape(*shape[:-1], shape[-1] // 256 * size)


def tensors(options):
    yield "token_embd.weight", (VOCAB, HIDDEN), TYPES.Q4_K
    yield "output_norm.weight", (HIDDEN,), None
    yield "output.weight", (VOCAB, HIDDEN), TYPES.Q6_K
    for layer in range(options.layers):
        p = f"blk.{layer}."
        yield p + "attn_norm.weight", (HIDDEN,), None
        yield p + "attn_q.weight", (HEADS * HEAD_DIM, HIDDEN), TYPES.Q4_K
        yield p + "attn_k.weight", (KV_HEADS * HEAD_DIM, HIDDEN), TYPES.Q4_K
        yield p + "attn_v.weight", (KV_HEADS * HEAD_DIM, HIDDEN), TYPES.Q6_K
        yield p + "attn_q_norm.weight", (HEAD_DIM,), None
        yield p + "attn_k_norm.weight", (HEAD_DIM,), None
        yield p + "attn_output.weight", (HIDDEN, HEADS * HEAD_DIM), TYPES.Q4_K
        yield p + "ffn_norm.weight", (HIDDEN,), None
        yield p + "ffn_gate_inp.weight", (options.experts, HIDDEN), TYPES.F32
        yield p + "ffn_gate_exps.weight", (options.experts, FFN, HIDDEN), TYPES.Q4_K
        yield p + "ffn_up_exps.weight", (options.experts, FFN, HIDDEN), TYPES.Q4_K
        yield p + "ffn_down_exps.weight", (options.experts, HIDDEN, FFN), TYPES.Q6_K


def data_of(random, name, shape, kind):
    if kind is None:
        return numpy.ones(shape, dtype=numpy.float32)
    if kind == TYPES.F32:
        return random.standard_normal(shape, dtype=numpy.float32) * numpy.float32(0.1)
    scale = next((s for end, s in SCALES.items() if name.endswith(end)), 1)
    return blocks(random, shape, kind, scale)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--experts", type=int, default=128)
    options = parser.parse_args()
    writer = gguf.GGUFWriter(options.file, "qwen3moe")
    writer.add_block_count(options.layers)
    writer.add_context_length(32768)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(6144)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_key_length(HEAD_DIM)
    writer.add_value_length(HEAD_DIM)
    writer.add_rope_freq_base(1e6)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_expert_count(options.experts)
    writer.add_expert_used_count(8)
    writer.add_expert_feed_forward_length(FFN)
    wanted = list(tensors(options))
    for name, shape, kind in wanted:
        stored = shape
        if kind not in (None, TYPES.F32):
            stored = (*shape[:-1], shape[-1] // 256 * {TYPES.Q4_K: 144, TYPES.Q6_K: 210}[kind])
        writer.add_tensor_info(name, stored, numpy.dtype(numpy.uint8 if stored != shape else numpy.float32),
                               int(numpy.prod(stored)) * (1 if stored != shape else 4),
                               raw_dtype=kind if stored != shape else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random = numpy.random.default_rng(7)
    for name, shape, kind in wanted:
        writer.write_tensor_data(data_of(random, name, shape, kind))
    writer.close()
    print(options.file, options.file.stat().st_size)


if __name__ == "__main__":
    main()
