#!/usr/bin/env python3
"""Compares the shapes of catalogue.json with the config.json that each model's repository has.

    check.py                  asks the Hugging Face hub (HF_ENDPOINT, HF_TOKEN)
    check.py FOLDER           reads ORG--NAME_config.json, or ORG/NAME/config.json, below a folder

Prints a line for each model: the same, what differs, or that there is no config. Ends with 1
where one differs.
"""

import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

catalogue = json.loads((pathlib.Path(__file__).parent / "catalogue.json").read_text())

# What config.json may leave out, with what that means.
DEFAULTS = {"attention_bias": [False, True], "lm_head_bias": [False], "q_lora_rank": [None]}
# Models that publish pictures as well keep the language model's sizes apart.
RENAMED = {"Qwen3_5MoeForConditionalGeneration": "Qwen3_5MoeForCausalLM",
           "Gemma4ForConditionalGeneration": "Gemma4ForCausalLM",
           "Mistral3ForConditionalGeneration": "Mistral4ForCausalLM"}


def published(repository):
    if len(sys.argv) > 1:
        folder = pathlib.Path(sys.argv[1])
        for path in (folder / f"{repository.replace('/', '--')}_config.json", folder / repository / "config.json"):
            if path.exists():
                return json.loads(path.read_text())
        return None
    url = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co')}/{repository}/raw/main/config.json"
    request = urllib.request.Request(url)
    if os.environ.get("HF_TOKEN"):
        request.add_header("Authorization", f"Bearer {os.environ['HF_TOKEN']}")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except (urllib.error.URLError, TimeoutError, json.JSONDecodeError):
        return None


def differences(shape, config):
    language = {**config, **config.get("text_config", {})}
    language["architectures"] = [RENAMED.get(name, name) for name in config["architectures"]]
    for key, value in shape.items():
        known = [language[key]] if key in language else DEFAULTS.get(key, [])
        if isinstance(value, dict) and known and isinstance(known[0], dict):
            known = [{name: known[0].get(name) for name in value}]
        if value not in known:
            yield f"{key} is {value}, published is {known[0] if known else 'nothing'}"


failed = False
for model in catalogue["models"]:
    config = published(model["repository"])
    if config is None:
        print(f"{model['name']}: no config.json")
        continue
    found = list(differences(catalogue["shapes"][model["shape"]], config))
    failed |= bool(found)
    print(f"{model['name']}: {'; '.join(found) if found else 'the same'}")
sys.exit(failed)
