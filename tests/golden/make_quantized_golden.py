#!/usr/bin/env python3
"""Quantized weights as compressed-tensors and transformers write them, and what these libraries read from them.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install torch transformers safetensors compressed-tensors gguf
    /tmp/reference/bin/python tests/golden/make_quantized_golden.py

Writes tests/engine/data/quantized.safetensors: for each form NAME its tensors below "NAME." and the weights that the
library makes of them, in BF16, as "NAME.expected"; of GGUF's blocks, from the gguf package, "NAME.blocks" and
"NAME.values".
"""

import pathlib

import gguf
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
from safetensors.torch import save_file
from transformers.integrations.finegrained_fp8 import Fp8Dequantize

OUT = pathlib.Path(__file__).resolve().parents[1] / "engine/data/quantized.safetensors"

ROWS, COLS = 16, 64


def drawn(rows: int, cols: int) -> torch.Tensor:
    weights = torch.randn(rows, cols) * 0.05
    weights[0, 0] = 0.0
    return weights.to(torch.bfloat16)


def compressed(name: str, form: str, args: dict, scale: torch.Tensor, **others: torch.Tensor) -> dict:
    scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(symmetric=True, **args))
    compressor = BaseCompressor.get_value_from_registry(form)
    state = compressor.compress({"weight": drawn(ROWS, COLS), "weight_scale": scale, **others}, scheme)
    expected = compressor.decompress(state, scheme)["weight"].to(torch.bfloat16)
    out = {f"{name}.{key}": value.contiguous() for key, value in state.items()}
    out[f"{name}.expected"] = expected.contiguous()
    return out


def scales(groups: int, largest: float, dtype: torch.dtype) -> torch.Tensor:
    return (torch.rand(ROWS, groups) * 0.05 / largest + 0.1 / largest).to(dtype)


def fp8(name: str, rows: int, cols: int, scale: torch.Tensor, suffix: str) -> dict:
    codes = (drawn(rows, cols).float() * 2000).clamp(-448, 448).to(torch.float8_e4m3fn)
    expected = Fp8Dequantize(None)._dequantize_one(codes, scale, torch.bfloat16)
    return {f"{name}.weight": codes, f"{name}.{suffix}": scale, f"{name}.expected": expected.contiguous()}


def blocks(name: str, kind: gguf.GGMLQuantizationType, *scale_bytes: int) -> dict:
    """Random codes; the upper byte of binary16 scales, or the bytes of E4M3's, are those of moderate numbers."""
    _, size = gguf.GGML_QUANT_SIZES[kind]
    rows = torch.randint(0, 256, (6, 4 * size), dtype=torch.uint8)
    for block in rows.view(-1, size):
        for at in scale_bytes:
            block[at] = 0x2c if len(scale_bytes) == 1 else int(torch.randint(0, 127, ()))
    values = torch.from_numpy(gguf.dequantize(rows.numpy(), kind)).to(torch.bfloat16)
    return {f"{name}.blocks": rows, f"{name}.values": values.contiguous()}


def main() -> None:
    torch.manual_seed(48)
    tensors = {}
    # Blocks of 128 rows, and small ones.
    tensors |= fp8("fp8_blocks", 256, 32, torch.rand(2, 1) * 1e-3 + 1e-4, "weight_scale_inv")
    tensors |= fp8("fp8_small_blocks", ROWS, COLS, torch.rand(2, 4) * 1e-3 + 1e-4, "weight_scale_inv")
    tensors |= fp8("fp8_one_scale", ROWS, COLS, torch.tensor(3e-4), "weight_scale_inv")
    tensors |= fp8("fp8_renamed", ROWS, COLS, torch.rand(2, 4) * 1e-3 + 1e-4, "scale")
    exponents = torch.randint(110, 120, (ROWS, COLS // 32), dtype=torch.uint8)
    tensors |= fp8("mxfp8", ROWS, COLS, exponents, "weight_scale_inv")
    packed = torch.randint(0, 256, (ROWS, COLS // 2), dtype=torch.uint8).view(torch.int8)
    tensors |= {
        "fp4.weight": packed,
        "fp4.weight_scale_inv": exponents.clone(),
        "fp4.expected": Fp8Dequantize(None)._dequantize_one(packed, exponents, torch.bfloat16),
    }
    tensors |= compressed(
        "int4", "pack-quantized", {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32},
        scales(COLS // 32, 7, torch.bfloat16))
    tensors |= compressed(
        "int8_packed", "pack-quantized", {"num_bits": 8, "type": "int", "strategy": "channel"},
        scales(1, 127, torch.bfloat16))
    tensors |= compressed(
        "int8", "int-quantized", {"num_bits": 8, "type": "int", "strategy": "channel"}, scales(1, 127, torch.bfloat16))
    tensors |= compressed(
        "fp8_rows", "float-quantized", {"num_bits": 8, "type": "float", "strategy": "channel"},
        scales(1, 448, torch.bfloat16))
    tensors |= compressed(
        "mxfp4", "mxfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": torch.uint8},
        torch.exp2(torch.randint(-8, -4, (ROWS, COLS // 32)).float()))
    tensors |= compressed(
        "nvfp4", "nvfp4-pack-quantized",
        {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16,
         "scale_dtype": torch.float8_e4m3fn},
        (torch.rand(ROWS, COLS // 16) * 300 + 30).to(torch.float8_e4m3fn).float(),
        weight_global_scale=torch.tensor([12000.0]))
    # ModelOpt's names for the same: the second scale multiplies.
    tensors |= {
        "nvfp4_modelopt.weight": tensors["nvfp4.weight_packed"].clone(),
        "nvfp4_modelopt.weight_scale": tensors["nvfp4.weight_scale"].clone(),
        "nvfp4_modelopt.weight_scale_2": torch.tensor(1 / 12000.0),
        "nvfp4_modelopt.input_scale": torch.tensor(0.5),
        "nvfp4_modelopt.expected": tensors["nvfp4.expected"].clone(),
    }
    tensors |= blocks("gguf_nvfp4", gguf.GGMLQuantizationType.NVFP4, 0, 1, 2, 3)
    tensors |= blocks("gguf_tq1", gguf.GGMLQuantizationType.TQ1_0, 53)
    tensors |= blocks("gguf_tq2", gguf.GGMLQuantizationType.TQ2_0, 65)
    save_file(tensors, OUT, metadata={"torch": torch.__version__})
    print(OUT, OUT.stat().st_size, "bytes")


main()
