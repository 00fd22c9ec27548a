"""Weights of block formats as the `gguf` package decodes them: what kernels/blocks.h is compared with.

Writes tests/kernels/data/blocks_golden.json. A type's blocks are bytes of a generator that tst_blocks.cpp repeats, so
that scales of any kind occur: zero, subnormal, infinite, no number. Per type the first weights and, for each GROUP
blocks, a sum over all of their weights' bits. Needs numpy and gguf (see README.md).

With --codebooks it prints the tables of kernels/block_codebooks.h instead.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from gguf import quants

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
TYPES = ["Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "Q6_K", "Q5_K", "Q4_K", "Q3_K", "Q2_K", "IQ4_NL", "IQ4_XS", "IQ3_S",
         "IQ3_XXS", "IQ2_S", "IQ2_XS", "IQ2_XXS", "IQ1_M", "IQ1_S", "MXFP4"]  # fmt: skip
GROUP = 16
GROUPS = 64
FIRST = 32


def mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw(seed: int, n_bytes: int) -> np.ndarray:
    words = mix((np.arange(1, (n_bytes + 7) // 8 + 1, dtype=np.uint64) + np.uint64(seed << 32)) * GOLDEN)
    return words.astype("<u8").view(np.uint8)[:n_bytes]


def bits_of(weights: np.ndarray) -> np.ndarray:
    """All that is no number counts as one."""
    return np.where(np.isnan(weights), np.uint32(0x7FC00000), weights.view(np.uint32))


def golden() -> dict:
    answer = {}
    for seed, name in enumerate(TYPES):
        kind = gguf.GGMLQuantizationType[name]
        block_weights, block_bytes = gguf.GGML_QUANT_SIZES[kind]
        rows = draw(seed, GROUPS * GROUP * block_bytes).reshape(GROUPS, -1)
        bits = bits_of(quants.dequantize(rows, kind).astype(np.float32))
        assert bits.shape == (GROUPS, GROUP * block_weights)
        places = np.arange(bits.shape[1], dtype=np.uint64) << np.uint64(32)
        sums = mix(bits.astype(np.uint64) + places).sum(axis=1, dtype=np.uint64)
        answer[name] = {"first": [f"{b:08x}" for b in bits[0, :FIRST]], "sums": [f"{s:016x}" for s in sums]}
    return answer


def codebook(name: str, kind: type) -> str:
    """Points in ascending order, of digits from the lowest: a bit for each point there is."""
    kind.init_grid()
    grid = kind.grid.reshape(kind.grid_shape)
    values = sorted(set(grid.ravel().tolist()))
    digits = np.searchsorted(np.array(values), grid)
    points = (digits * len(values) ** np.arange(grid.shape[1])).sum(axis=1)
    assert (np.diff(points) > 0).all()
    bitmap = sum(1 << int(p) for p in points)
    words = (len(values) ** grid.shape[1] + 63) // 64
    text = [f"0x{bitmap >> 64 * w & (1 << 64) - 1:x}" for w in range(words)]
    lines = "".join(f"    {', '.join(text[i : i + 5])},\n" for i in range(0, words, 5))
    return f"// {len(points)} points.\nconstexpr std::uint64_t {name}[] = {{\n{lines}}};\n"


if __name__ == "__main__":
    if "--codebooks" in sys.argv:
        for name, kind in [("kIq2XxsPoints", quants.IQ2_XXS), ("kIq2XsPoints", quants.IQ2_XS),
                           ("kIq2SPoints", quants.IQ2_S), ("kIq1Points", quants.IQ1_S),
                           ("kIq3XxsPoints", quants.IQ3_XXS), ("kIq3SPoints", quants.IQ3_S)]:  # fmt: skip
            print(codebook(name, kind))
    else:
        with np.errstate(all="ignore"):
            text = json.dumps(golden(), indent=1)
        (ROOT / "tests/kernels/data/blocks_golden.json").write_text(text + "\n")
