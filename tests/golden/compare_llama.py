#!/usr/bin/env python3
"""Offstage's logits beside llama.cpp's, on GGUF files of the demo model.

    python tests/golden/compare_llama.py LLAMA_LOGITS OFFSTAGE_CLI TEXT FILE.gguf ...

LLAMA_LOGITS: llama_logits.cpp, built against llama.cpp. TEXT: a file, of which the first
512 tokens are read. Of each model the mean KL divergence in nats: of Offstage from
llama.cpp on the same file, and of both from llama.cpp on the same weights widened to
float32 (by the gguf package). llama.cpp rounds the inputs of its products to 8 bits where
weights are in blocks, Offstage does not; the second and third figure tell the two apart.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy as np


def widen(source, target):
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(target, "llama")
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        writer.add_key_value(field.name, field.contents(), *field.types[:2])
    for tensor in reader.tensors:
        shape = tuple(int(dim) for dim in reversed(tensor.shape))
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, values.astype(np.float32).reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


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

    for file in files:
        text_part = pathlib.Path(text).read_text()[:6000]
        ids = [1] + [token["id"] for token in run("tokenize", "--model", file, "--text", text_part)["tokens"]][:511]
        ours = run("logits", "--model", file, "--tokens", ",".join(map(str, ids)), "--all", "--kv", "f32", "--compute",
                   "f32")
        ours = np.array(ours["logits"], dtype=np.float32)
        theirs = by_llama(file, ids)
        with tempfile.TemporaryDirectory() as folder:
            widen(file, folder + "/wide.gguf")
            exact = by_llama(folder + "/wide.gguf", ids)
        same = (ours.argmax(-1) == theirs.argmax(-1)).mean()
        print(f"{pathlib.Path(file).name}: {len(ids)} tokens, Offstage from llama.cpp {divergence(theirs, ours).mean():.1e}"
              f" (same best token {100 * same:.1f} %); from float32: Offstage {divergence(exact, ours).mean():.1e},"
              f" llama.cpp {divergence(exact, theirs).mean():.1e}", flush=True)


if __name__ == "__main__":
    main()
