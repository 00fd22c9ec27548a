#!/usr/bin/env python3
"""The tiny golden models as GGUF files, made by llama.cpp's own converter.

    python tests/golden/make_gguf_golden.py LLAMA_CPP [--only NAME]

LLAMA_CPP: a checkout of llama.cpp (its conversion/ and gguf-py/ are used). The files lie in
tests/engine/data/gguf; what they compute is in golden.json of the model that each was made
from. The models have no tokenizer, so the converter's reading of one is left out.
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "engine" / "data"
MODELS = ["grouped_bf16", "qwen2_moe_plain_bf16", "qwen3_moe_bf16", "deepseek_moe_bf16", "deepseek_v2_lite_bf16",
          "deepseek_v3_bf16", "olmoe_plain_bf16", "glm4_moe_bf16", "minimax_m2_bf16", "phimoe_plain_bf16", "dbrx_bf16",
          "granite_moe_shared_f32", "gpt_oss_mxfp4", "qwen3_5_moe_bf16", "gemma4_bf16", "granite_moe_bias_bf16",
          "qwen3_moe_bias_bf16", "qwen3_next_bf16", "dots1_bf16",
          "ernie45_moe_bf16", "exaone_moe_bf16", "bailing_moe2_bf16", "granite_hybrid_bf16", "lfm2_moe_bf16",
          "sarvam_moe_bf16", "solar_open_bf16", "hunyuan_moe_bf16", "hy3_bf16", "mistral4_bf16", "nemotron_h_bf16", "nemotron_h_latent_bf16", "afmoe_bf16", "qwen3_vl_moe_bf16",
          "llama4_plain_bf16", "mimo_v2_flash_bf16", "kimi_k25_bf16", "step3p5_bf16",
          "deepseek_v32_bf16", "glm_moe_dsa_bf16", "minimax_m3_bf16", "mimo_v2_5_fp8", "deepseek_v4_fp4"]

# Of tests/engine/data/prediction, where the files go, too.
PREDICTING = ["qwen3_next_bf16", "glm4_moe_groups_f32"]


# The published checkpoint's name of the class, which the converter knows.
PUBLISHED = {"PhimoeForCausalLM": "PhiMoEForCausalLM", "Mistral4ForCausalLM": "Mistral3ForConditionalGeneration"}


def convert(folder, target, has_prediction=False):
    import conversion
    import gguf
    from conversion.base import ModelBase

    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = [PUBLISHED.get(name, name) for name in config["architectures"]]
    if "PhiMoEForCausalLM" in config["architectures"] and not config.get("rope_scaling"):  # the converter wants it
        config["rope_scaling"] = dict(rope_type="default",
                                      original_max_position_embeddings=config["max_position_embeddings"])
    if "Gemma4ForConditionalGeneration" in config["architectures"]:  # it counts the tokens there
        vocab = {str(i): i for i in range(config["text_config"]["vocab_size"])}
        (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocab}, "added_tokens": []}))
    if config["model_type"] in ("sarvam_moe", "mimo_v2_flash", "step3p5", "minimax_m3_vl"):  # transformers' own classes have other keys than the converter reads
        config["model_type"] += "_as_published"
    if config["model_type"] == "hunyuan_v1_moe":  # the converter stretches theta for the published numbers alone
        dim, alpha = config["head_dim"], config.pop("rope_scaling")["alpha"]
        config["rope_theta"] *= alpha ** (dim / (dim - 2))
    (folder / "config.json").write_text(json.dumps(config))
    cls = conversion.get_model_class(config["architectures"][0])
    cls.set_vocab = lambda self: None
    # The other tiny models have no prediction layer.
    cls.no_mtp = config["architectures"][0] in ("Qwen3NextForCausalLM", "MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM") and not has_prediction
    ftype = gguf.LlamaFileType.ALL_F32 if folder.name.endswith("f32") else gguf.LlamaFileType.MOSTLY_BF16
    if config["model_type"] != "mistral4":
        cls(folder, ftype, target).write()
    else:
        cls.Mistral4Model.set_vocab = lambda self: None
        model = cls(folder, ftype, target).impl
        # As the converter of Mistral's own format has them; that of transformers' leaves them out.
        rope = config["rope_parameters"]
        model.gguf_writer.add_attn_temperature_scale(rope["llama_4_scaling_beta"])
        model.gguf_writer.add_attn_temperature_length(rope["original_max_position_embeddings"])
        model.write()
    print(target.name, target.stat().st_size)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("llama_cpp", type=pathlib.Path)
    parser.add_argument("--only")
    options = parser.parse_args()
    sys.path[:0] = [str(options.llama_cpp), str(options.llama_cpp / "gguf-py")]
    out = DATA / "gguf"
    out.mkdir(exist_ok=True)
    for name in MODELS:
        if options.only not in (None, name):
            continue
        folder = DATA / "models" / name
        with tempfile.TemporaryDirectory() as copy:
            convert(shutil.copytree(folder, pathlib.Path(copy) / name), out / (name + ".gguf"))
    for name in PREDICTING:
        folder = DATA / "prediction" / name
        if options.only not in (None, "prediction"):
            continue
        with tempfile.TemporaryDirectory() as copy:
            convert(shutil.copytree(folder, pathlib.Path(copy) / name), DATA / "prediction" / (name + ".gguf"), True)


if __name__ == "__main__":
    main()
