#!/usr/bin/env python3
"""A GGUF file in the shape of a real model, with random blocks: for measuring without a download.

    python3 tests/device/make_gguf.py qwen3-q4_k FILE [--layers 12] [--experts 128] [--vocab 151936] [--no-vocabulary]
    python3 tests/device/make_gguf.py mixtral-q4_0 FILE [--layers 8]

qwen3-q4_k: Qwen3-30B-A3B; gate and up in Q4_K, down and head in Q6_K, 3.06 MB for each expert, 20 GB with 48 layers.
mixtral-q4_0: Mixtral-8x7B; all in Q4_0 but the head in Q6_K, 99 MB for each expert.
mixtral-q4_k: the same in Q4_K and Q6_K, 114 MB; its tokens call other experts in each layer, as Q4_0's blocks, whose mean
is not 0, do in the first one alone.
Scales are small, so that the model computes with sensible numbers and says nothing. The vocabulary has a token for each
byte and names for the rest, and is there for programs that load no model without one. Needs numpy alone.
"""

import argparse
import math
import struct

import numpy

F32, Q4_0, Q4_K, Q6_K = 0, 2, 12, 14
BLOCKS = {Q4_0: (32, 18), Q4_K: (256, 144), Q6_K: (256, 210)}  # weights, bytes

# Beside the others' deviation of 0.02: what a token and its experts say outweighs what attention tells all tokens alike,
# so that each token calls other experts and all are called about equally often, as in a trained model.
SCALES = {"token_embd.weight": 10, "attn_output.weight": 0.05}

SHAPES = {
    "qwen3-q4_k": dict(architecture="qwen3moe", hidden=2048, ffn=768, heads=32, kv_heads=4, head_dim=128, vocab=151936,
                       layers=12, experts=128, active=8, base=1e6, epsilon=1e-6, head_norms=True,
                       type=Q4_K, precise=Q6_K),
    "mixtral-q4_0": dict(architecture="llama", hidden=4096, ffn=14336, heads=32, kv_heads=8, head_dim=128, vocab=32000,
                         layers=8, experts=8, active=2, base=1e6, epsilon=1e-5, head_norms=False,
                         type=Q4_0, precise=Q4_0),
}
SHAPES["mixtral-q4_k"] = SHAPES["mixtral-q4_0"] | dict(type=Q4_K, precise=Q6_K)


def tensors(m):
    """Name, shape (rows last but one, as numpy has it) and type; None: ones."""
    q, kv = m["heads"] * m["head_dim"], m["kv_heads"] * m["head_dim"]
    hidden, ffn, experts = m["hidden"], m["ffn"], m["experts"]
    yield "token_embd.weight", (m["vocab"], hidden), m["type"]
    yield "output_norm.weight", (hidden,), None
    yield "output.weight", (m["vocab"], hidden), Q6_K
    for layer in range(m["layers"]):
        p = f"blk.{layer}."
        yield p + "attn_norm.weight", (hidden,), None
        yield p + "attn_q.weight", (q, hidden), m["type"]
        yield p + "attn_k.weight", (kv, hidden), m["type"]
        yield p + "attn_v.weight", (kv, hidden), m["precise"]
        if m["head_norms"]:
            yield p + "attn_q_norm.weight", (m["head_dim"],), None
            yield p + "attn_k_norm.weight", (m["head_dim"],), None
        yield p + "attn_output.weight", (hidden, q), m["type"]
        yield p + "ffn_norm.weight", (hidden,), None
        yield p + "ffn_gate_inp.weight", (experts, hidden), F32
        yield p + "ffn_gate_exps.weight", (experts, ffn, hidden), m["type"]
        yield p + "ffn_up_exps.weight", (experts, ffn, hidden), m["type"]
        yield p + "ffn_down_exps.weight", (experts, hidden, ffn), m["precise"]


def blocks(random, n_weights, kind, scale):
    """Random blocks, about normally distributed with a deviation of 0.02 times `scale`."""
    weights, size = BLOCKS[kind]
    data = numpy.frombuffer(random.bytes(n_weights // weights * size), dtype=numpy.uint8).reshape(-1, size).copy()

    def put(place, value):
        data[:, place:place + 2] = numpy.frombuffer(numpy.float16(value).tobytes(), dtype=numpy.uint8)

    if kind == Q4_0:
        put(0, 4.3e-3 * scale)
    elif kind == Q4_K:
        put(0, 5e-5 * scale)
        put(2, 7.5 * 5e-5 * scale)
    else:
        put(208, 1.2e-5 * scale)
    return data


def data_of(random, name, shape, kind):
    n = math.prod(shape)
    if kind is None:
        return numpy.ones(n, dtype=numpy.float32)
    if kind == F32:
        return random.standard_normal(n, dtype=numpy.float32) * numpy.float32(0.1)
    return blocks(random, n, kind, next((s for end, s in SCALES.items() if name.endswith(end)), 1))


def bytes_of(shape, kind):
    weights, size = BLOCKS.get(kind, (1, 4))
    return math.prod(shape) // weights * size


# ---------------------------------------------------------------- the container (GGUF, version 3)
U32, I32, FLOAT, TEXT, LIST = 4, 5, 6, 8, 9


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def field(key, kind, value):
    head = text(key) + struct.pack("<I", kind)
    if kind == TEXT:
        return head + text(value)
    if kind == LIST:
        of, items = value
        packed = b"".join(map(text, items)) if of == TEXT else struct.pack("<%di" % len(items), *items)
        return head + struct.pack("<IQ", of, len(items)) + packed
    return head + struct.pack({U32: "<I", FLOAT: "<f"}[kind], value)


def byte_letters():
    """A printable letter for each byte, as byte-level vocabularies write them."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for i, byte in enumerate(b for b in range(256) if b not in letters):
        letters[byte] = chr(256 + i)
    return [letters[byte] for byte in range(256)]


def fields(m, has_vocabulary):
    a = m["architecture"] + "."
    yield field("general.architecture", TEXT, m["architecture"])
    for key, value in (("block_count", m["layers"]), ("context_length", 32768), ("embedding_length", m["hidden"]),
                       ("feed_forward_length", m["ffn"]), ("expert_feed_forward_length", m["ffn"]),
                       ("attention.head_count", m["heads"]), ("attention.head_count_kv", m["kv_heads"]),
                       ("attention.key_length", m["head_dim"]), ("attention.value_length", m["head_dim"]),
                       ("rope.dimension_count", m["head_dim"]), ("vocab_size", m["vocab"]),
                       ("expert_count", m["experts"]), ("expert_used_count", m["active"])):
        yield field(a + key, U32, value)
    yield field(a + "rope.freq_base", FLOAT, m["base"])
    yield field(a + "attention.layer_norm_rms_epsilon", FLOAT, m["epsilon"])
    if has_vocabulary:
        letters = byte_letters()
        tokens = letters + ["th", "in"]
        tokens += [f"<unused{i}>" for i in range(m["vocab"] - len(tokens) - 1)] + ["<|endoftext|>"]
        yield field("tokenizer.ggml.model", TEXT, "gpt2")
        yield field("tokenizer.ggml.pre", TEXT, "qwen2")
        yield field("tokenizer.ggml.tokens", LIST, (TEXT, tokens))
        yield field("tokenizer.ggml.token_type", LIST, (I32, [1] * 258 + [5] * (len(tokens) - 259) + [3]))
        yield field("tokenizer.ggml.merges", LIST, (TEXT, ["t h", "i n"]))
        yield field("tokenizer.ggml.eos_token_id", U32, m["vocab"] - 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=SHAPES)
    parser.add_argument("file")
    for name in ("layers", "experts", "vocab"):
        parser.add_argument("--" + name, type=int)
    parser.add_argument("--no-vocabulary", action="store_true")
    options = parser.parse_args()
    m = dict(SHAPES[options.model])
    m.update({name: n for name in ("layers", "experts", "vocab") if (n := getattr(options, name)) is not None})
    wanted = list(tensors(m))
    head = list(fields(m, not options.no_vocabulary))
    with open(options.file, "wb") as out:
        out.write(b"GGUF" + struct.pack("<IQQ", 3, len(wanted), len(head)) + b"".join(head))
        offset = 0
        for name, shape, kind in wanted:
            out.write(text(name) + struct.pack("<I", len(shape)) + struct.pack("<%dQ" % len(shape), *reversed(shape)) +
                      struct.pack("<IQ", kind or F32, offset))
            offset += -(-bytes_of(shape, kind) // 32) * 32
        random = numpy.random.Generator(numpy.random.SFC64(7))
        for name, shape, kind in wanted:
            out.write(bytes(-out.tell() % 32))
            out.write(data_of(random, name, shape, kind).data)
        print(options.file, out.tell())


if __name__ == "__main__":
    main()
