#!/usr/bin/env python3
"""Offstage's logits beside llama.cpp's, on GGUF files.

    python tests/golden/compare_llama.py LLAMA_LOGITS OFFSTAGE_CLI TEXT FILE.gguf ...

LLAMA_LOGITS: llama_logits.cpp, built against llama.cpp. TEXT: a file, of which the first
512 tokens are read; a file without a tokenizer, from tests/engine/data/gguf, is given the
last sequence of its model's golden.json. Of each model the mean KL divergence in nats: of
Offstage from llama.cpp on the same file, and of both from llama.cpp on the same weights
widened to float32 (by the gguf package). llama.cpp rounds the inputs of its products to 8
bits where weights are in blocks, and to bf16 where they are in bf16, Offstage does not;
the second and third figure tell the two apart.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np


MODELS = pathlib.Path(__file__).resolve().parent.parent / "engine" / "data" / "models"


def rewrite(source, target, wide):
    """As it is, or widened to float32; without a tokenizer it then says that it has none."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        writer.add_key_value(field.name, field.contents(), *field.types[:2])
    if not has_tokenizer(reader):
        writer.add_tokenizer_model("no_vocab")
        writer.add_vocab_size(int(next(t for t in reader.tensors if t.name == "token_embd.weight").shape[1]))
    for tensor in reader.tensors:
        shape = tuple(int(dim) for dim in reversed(tensor.shape))
        if wide:
            values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
            writer.add_tensor(tensor.name, values.astype(np.float32).reshape(shape))
        else:
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def has_tokenizer(reader):
    return "tokenizer.ggml.model" in reader.fields


def log_softmax(logits):
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def divergence(of, from_):
    p, q = log_softmax(of), log_softmax(from_)
    return (np.exp(p) * (p - q)).sum(-1)


def main():
    llama, offstage, text, *files = sys.argv[1:]

    def run(*arguments):
        return json.loads(subprocess.run([offstage, *arguments, "--json"], capture_output=True, check=True).stdout)

    def by_llama(model, ids):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([llama, model, out.name, *map(str, ids)], capture_output=True, check=True)
            return np.fromfile(out.name, dtype=np.float32).reshape(len(ids), -1)

    def tokens_for(file):
        if not has_tokenizer(gguf.GGUFReader(file)):
            golden = json.loads((MODELS / pathlib.Path(file).stem / "golden.json").read_text())
            return golden["cases"][-1]["tokens"]
        text_part = pathlib.Path(text).read_text()[:6000]
        return [1] + [token["id"] for token in run("tokenize", "--model", file, "--text", text_part)["tokens"]][:511]

    for file in files:
        ids = tokens_for(file)
        ours = run("logits", "--model", file, "--tokens", ",".join(map(str, ids)), "--all", "--kv", "f32", "--compute",
                   "f32")
        ours = np.array(ours["logits"], dtype=np.float32)
        with tempfile.TemporaryDirectory() as folder:
            rewrite(file, folder + "/same.gguf", False)
            rewrite(file, folder + "/wide.gguf", True)
            theirs = by_llama(folder + "/same.gguf", ids)
            exact = by_llama(folder + "/wide.gguf", ids)
        same = (ours.argmax(-1) == theirs.argmax(-1)).mean()
        print(f"{pathlib.Path(file).name}: {len(ids)} tokens, Offstage from llama.cpp {divergence(theirs, ours).mean():.1e}"
              f" (same best token {100 * same:.1f} %); from float32: Offstage {divergence(exact, ours).mean():.1e},"
              f" llama.cpp {divergence(exact, theirs).mean():.1e}", flush=True)


if __name__ == "__main__":
    main()
