"""Errors of the `hqq` package on small tensors: what the quantizer of engine/quant is compared with.

Writes tests/engine/data/hqq_golden.json. The drawn tensors come from a generator that tst_quantizer.cpp repeats bit by
bit; the experts are the demo model's. Needs numpy, torch, safetensors and hqq (see README.md).

Per format: HQQ along rows (axis 1) with the group sizes of Mixtral-Offloading, its scales and zeros quantized to 8 bits
by the package itself (scales in groups of 256 or 128, zeros over the whole tensor, as its own configuration does).
"""

import json
from importlib.metadata import version

import numpy as np
import torch
from hqq.core.quantize import Quantizer
from make_model_golden import DEMO, ROOT
from safetensors.torch import load_file

GOLDEN = 0x9E3779B97F4A7C15
FORMATS = {"hqq4": (4, 64, 256), "hqq3": (3, 64, 128), "hqq2": (2, 16, 128)}  # bits, group, super group of scales
# name, rows, columns, kind, scale
DRAWN = [
    ("bell", 64, 4096, "bell", 0.02),
    ("heavy tails", 64, 2048, "cube", 0.05),
    ("even", 32, 1024, "even", 0.03),
    ("large", 32, 1024, "bell", 1.0),  # errors beyond the shrinkage's threshold
    ("rows of unequal size", 16, 4096, "rows", 0.02),
]
EXPERTS = [(0, 0), (3, 5), (7, 7)]


def mix(x: np.ndarray) -> np.ndarray:
    """The finaliser of SplitMix64."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw(seed: int, rows: int, cols: int, kind: str, scale: float) -> np.ndarray:
    """float32 throughout, products only: the same bits in any language."""
    with np.errstate(over="ignore"):
        bits = mix(np.arange(rows * cols, dtype=np.uint64) * np.uint64(GOLDEN) + np.uint64(seed))
    parts = [((bits >> np.uint64(16 * k)) & np.uint64(0xFFFF)).astype(np.uint16).view(np.int16) for k in range(4)]
    if kind == "even":
        x = parts[0].astype(np.float32)
    else:
        x = sum(part.astype(np.int32) for part in parts).astype(np.float32)
    x *= np.float32(2.0**-16)  # variance of the sum: 4/3 * 2^30 / 2^32 = 1/3
    if kind == "cube":
        x = x * x * x
    x = (x * np.float32(scale)).reshape(rows, cols)
    if kind == "rows":
        x *= (np.float32(2.0) ** (np.arange(rows) % 8 - 4).astype(np.float32))[:, None]
    return x


def dequantize(codes: torch.Tensor, meta: dict) -> torch.Tensor:
    return Quantizer.dequantize(codes, meta | {"compute_dtype": torch.float32})


def squared_error(weights: np.ndarray, bits: int, group: int, super_group: int, optimize: bool) -> float:
    w = torch.from_numpy(weights)
    common = {"device": "cpu", "compute_dtype": torch.float32}
    codes, meta = Quantizer.quantize(w, nbits=bits, group_size=group, axis=1, optimize=optimize,
                                     round_zero=bits == 4, **common)
    scale = Quantizer.quantize(meta["scale"], nbits=8, channel_wise=True, group_size=super_group, optimize=False,
                               **common)
    zero = Quantizer.quantize(meta["zero"], nbits=8, channel_wise=False, group_size=None, optimize=False, **common)
    meta["scale"] = dequantize(*scale).reshape(-1, 1)
    meta["zero"] = dequantize(*zero).reshape(-1, 1)
    difference = dequantize(codes, meta).double() - w.double()
    return float((difference**2).sum())


def errors(tensors: list[np.ndarray], optimize: bool = True) -> dict:
    total = sum(float((t.astype(np.float64) ** 2).sum()) for t in tensors)
    return {name: (sum(squared_error(t, *shape, optimize) for t in tensors) / total) ** 0.5
            for name, shape in FORMATS.items()}


def main() -> None:
    drawn = []
    for seed, (name, rows, cols, kind, scale) in enumerate(DRAWN, start=1):
        w = draw(seed, rows, cols, kind, scale)
        drawn.append({"name": name, "seed": seed, "rows": rows, "cols": cols, "kind": kind, "scale": scale,
                      "first": [float(x) for x in w.flat[:3]], "hqq": errors([w]), "nearest": errors([w], False)})
    weights = load_file(DEMO / "model.safetensors")
    experts = []
    for layer, expert in EXPERTS:
        prefix = f"model.layers.{layer}.block_sparse_moe.experts.{expert}."
        parts = {part: weights[f"{prefix}{part}.weight"].float().numpy() for part in ("w1", "w3", "w2")}
        parts["w2"] = np.ascontiguousarray(parts["w2"].T)  # neuron-major: the columns of w2 are packed
        tensors = list(parts.values())
        experts.append({"layer": layer, "expert": expert, "hqq": errors(tensors), "nearest": errors(tensors, False)})
    golden = {"made_with": {name: version(name) for name in ("hqq", "torch", "numpy")}, "drawn": drawn,
              "experts": experts}
    file = ROOT / "tests/engine/data/hqq_golden.json"
    file.write_text(json.dumps(golden, indent=1) + "\n")
    print(json.dumps(golden, indent=1))


if __name__ == "__main__":
    main()
