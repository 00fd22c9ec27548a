#!/usr/bin/env python3
"""Offstage's logits beside llama.cpp's, on GGUF files.

    python tests/golden/compare_llama.py LLAMA_LOGITS OFFSTAGE_CLI FILE.gguf ... [--text TEXT] [--set KEY=VALUE ...]

LLAMA_LOGITS: llama_logits.cpp, built against llama.cpp. Read are the first 512 tokens of
TEXT, or 512 random ones where the file has no tokenizer (those of tests/engine/data/gguf).
--set changes the metadata for both programs, to find out what they understand differently.

Of each model the mean KL divergence in nats, from llama.cpp on the same file, of Offstage as
it computes by default and with --compute f32; and from llama.cpp on the same weights widened
to float32 (by the gguf package), of Offstage and of llama.cpp on the file itself. llama.cpp
rounds the inputs of its products, to 8 bits where weights are in blocks and to bf16 where
they are in bf16: the last figure is what that alone does. "Same best" is how often the best
token by default is llama.cpp's; "other best" where it is another one although the margin
between llama.cpp's two best is larger than rounding in either program can turn.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import gguf
import numpy as np

N_TOKENS = 512


class Model:
    """A file's metadata and tensors, so that llama.cpp loads them."""

    def __init__(self, source):
        self.reader = gguf.GGUFReader(source)
        self.architecture = self.reader.fields["general.architecture"].contents()
        skipped = ("GGUF.", "general.architecture")
        self.pairs = {f.name: (f.contents(), f.types[:2]) for f in self.reader.fields.values()
                      if not f.name.startswith(skipped)}
        self.tensors = {t.name: t for t in self.reader.tensors}
        self.has_tokenizer = self.pairs.get("tokenizer.ggml.model", ("no_vocab",))[0] != "no_vocab"
        if not self.has_tokenizer:
            self.pairs.pop("tokenizer.ggml.model", None)
        self.vocab_size = int(self.tensors["token_embd.weight"].shape[1])
        if self.get("context_length") < N_TOKENS:
            self.change("context_length", N_TOKENS)
        self.leave_out_prediction()
        self.repeat_layers_of_lite()

    def get(self, name, default=0):
        return self.pairs.get(f"{self.architecture}.{name}", (default,))[0]

    def change(self, name, value):
        key = f"{self.architecture}.{name}"
        self.pairs[key] = (value, self.pairs[key][1])

    def leave_out_prediction(self):
        """The tiny models' layers that predict further tokens are not whole."""
        n_layers = self.get("block_count") - self.get("nextn_predict_layers")
        self.change("block_count", n_layers)
        self.pairs.pop(f"{self.architecture}.nextn_predict_layers", None)
        self.tensors = {name: tensor for name, tensor in self.tensors.items()
                        if not name.startswith("blk.") or int(name.split(".")[1]) < n_layers}

    def repeat_layers_of_lite(self):
        """llama.cpp takes a deepseek2 without q_lora_rank only if it has DeepSeek-V2-Lite's 27 layers."""
        if self.architecture != "deepseek2" or self.get("attention.q_lora_rank"):
            return
        n_layers = self.get("block_count")
        first = self.get("leading_dense_block_count")
        for layer in range(n_layers, 27):
            again = f"blk.{first + (layer - n_layers) % (n_layers - first)}."
            for name in [name for name in self.tensors if name.startswith(again)]:
                self.tensors[f"blk.{layer}." + name[len(again):]] = self.tensors[name]
        self.change("block_count", max(n_layers, 27))

    def writer(self, target, for_llama):
        writer = gguf.GGUFWriter(target, self.architecture)
        for key, (value, types) in self.pairs.items():
            writer.add_key_value(key, value, *types)
        if for_llama and not self.has_tokenizer:
            writer.add_tokenizer_model("no_vocab")
            if f"{self.architecture}.vocab_size" not in self.pairs:
                writer.add_vocab_size(self.vocab_size)
        return writer

    @staticmethod
    def finish(writer):
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def write(self, target, wide, for_llama=True):
        writer = self.writer(target, for_llama)
        for name, tensor in self.tensors.items():
            if wide and tensor.tensor_type != gguf.GGMLQuantizationType.I32:
                shape = tuple(int(dim) for dim in reversed(tensor.shape))
                values = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
                writer.add_tensor(name, values.astype(np.float32).reshape(shape))
            else:
                writer.add_tensor(name, tensor.data, raw_dtype=tensor.tensor_type)
        self.finish(writer)


def log_softmax(logits):
    shifted = logits.astype(np.float64) - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def divergence(of, from_):
    p, q = log_softmax(of), log_softmax(from_)
    return (np.exp(p) * (p - q)).sum(-1).mean()


def margins(logits):
    best = np.sort(logits, axis=-1)
    return best[:, -1] - best[:, -2]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("llama")
    parser.add_argument("offstage")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--set", action="append", default=[], help="ARCHITECTURE.KEY=JSON")
    options = parser.parse_args()

    def run(*arguments):
        output = subprocess.run([options.offstage, *arguments, "--json"], stdout=subprocess.PIPE, check=True).stdout
        return json.loads(output)

    def by_offstage(model, ids, *more):
        logits = run("logits", "--model", model, "--tokens", ",".join(map(str, ids)), "--all", "--kv", "f32", *more)
        return np.array(logits["logits"], dtype=np.float32)

    def by_llama(model, ids):
        with tempfile.NamedTemporaryFile() as out:
            subprocess.run([options.llama, model, out.name, *map(str, ids)], capture_output=True, check=True)
            return np.fromfile(out.name, dtype=np.float32).reshape(len(ids), -1)

    def tokens_for(file, model):
        if not model.has_tokenizer:
            return np.random.default_rng(512).integers(0, model.vocab_size, N_TOKENS).tolist()
        text = options.text.read_text()[:6000]
        tokens = run("tokenize", "--model", str(file), "--text", text)["tokens"]
        return [1] + [token["id"] for token in tokens][:N_TOKENS - 1]

    print("| file | by default | f32 | f32 from float32 | llama.cpp from float32 | same best | other best |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for file in options.files:
        model = Model(file)
        for name, _, value in (one.partition("=") for one in options.set):
            new = (None, [gguf.GGUFValueType.UINT32])  # a key that the file does not have
            model.pairs[name] = (json.loads(value), model.pairs.get(name, new)[1])
        ids = tokens_for(file, model)
        with tempfile.TemporaryDirectory() as folder:
            model.write(folder + "/offstage.gguf", False, for_llama=False)
            model.write(folder + "/llama.gguf", False)
            model.write(folder + "/wide.gguf", True)
            default = by_offstage(folder + "/offstage.gguf", ids)
            ours = by_offstage(folder + "/offstage.gguf", ids, "--compute", "f32")
            theirs = by_llama(folder + "/llama.gguf", ids)
            exact = by_llama(folder + "/wide.gguf", ids)
        noise = np.maximum(np.abs(theirs - exact).max(-1), np.abs(default - ours).max(-1))
        clear = margins(theirs) > 2 * noise
        same = default.argmax(-1) == theirs.argmax(-1)
        print(f"| {file.stem} | {divergence(theirs, default):.1e} | {divergence(theirs, ours):.1e}"
              f" | {divergence(exact, ours):.1e} | {divergence(exact, theirs):.1e}"
              f" | {100 * same.mean():.1f} % | {(clear & ~same).sum()} of {clear.sum()} |", flush=True)


if __name__ == "__main__":
    main()
