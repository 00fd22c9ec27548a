"""The demo model's multiple choice by lm-eval over transformers in float32, beside offstage-cli evaluate.

The sets are those of resources/demo-model/choice_set.py, the prompts those of lm-eval's own tasks (their YAML files,
told to read our lines). Texts are encoded by sentencepiece, since transformers 5 encodes this vocabulary differently.
Needs lm_eval (seen with 0.4.13), transformers, torch and sentencepiece.

    python3 compare_lm_eval.py build/release/bin/offstage-cli [--tasks 200] [--kinds arc,piqa,winogrande,hellaswag,mmlu]
"""

import argparse
import csv
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import lm_eval
import sentencepiece
import torch
from lm_eval.api.model import TemplateLM
from lm_eval.tasks import TaskManager
from transformers import MixtralForCausalLM

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "resources/demo-model"
TASKS = pathlib.Path(lm_eval.__file__).parent / "tasks"
# kind: (lm-eval's task, functions that it calls, our files, what evaluate is told)
KINDS = {
    "arc": ("arc/arc_easy.yaml", None, {"test": "arc.jsonl"}, ["--data", "arc.jsonl"]),
    "piqa": ("piqa/piqa.yaml", None, {"test": "piqa-labelled.jsonl"}, ["--data", "piqa.jsonl", "--labels", "piqa-labels.lst"]),
    "winogrande": ("winogrande/default.yaml", "winogrande/preprocess_winogrande.py", {"test": "winogrande.jsonl"}, ["--data", "winogrande.jsonl"]),
    "hellaswag": ("hellaswag/hellaswag.yaml", "hellaswag/utils.py", {"test": "hellaswag.jsonl"}, ["--data", "hellaswag.jsonl"]),
    "mmlu": ("mmlu/default/_default_template_yaml", None, {"test": "mmlu-test.jsonl", "dev": "mmlu-dev.jsonl"}, ["--data", "facts_test.csv", "--shots", "facts_dev.csv"]),
}
OURS = ("dataset_path", "dataset_name", "training_split", "validation_split", "test_split", "fewshot_split", "task", "tag", "- ")


class Demo(TemplateLM):
    def __init__(self):
        super().__init__()
        self.model = MixtralForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
        self.vocabulary = sentencepiece.SentencePieceProcessor(model_file=str(MODEL / "tokenizer.model"))

    @property
    def eot_token_id(self):
        return 2

    def tok_encode(self, string, **_):
        return self.vocabulary.encode(string)

    def _loglikelihood_tokens(self, requests, disable_tqdm=False, **_):
        results = []
        for _, context, choice in requests:
            tokens = (context + choice)[-2049:]
            with torch.no_grad():
                logits = self.model(torch.tensor([tokens[:-1]])).logits[0, -len(choice):]
            chosen = torch.tensor(choice)
            each = torch.log_softmax(logits.double(), -1)
            results.append((each.gather(1, chosen[:, None]).sum().item(), bool((each.argmax(-1) == chosen).all())))
        return results

    def loglikelihood_rolling(self, requests, disable_tqdm=False):
        raise NotImplementedError

    def generate_until(self, requests, disable_tqdm=False):
        raise NotImplementedError


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def prepare(folder, n_tasks):
    subprocess.run([sys.executable, MODEL / "choice_set.py", folder, "--tasks", str(n_tasks)], check=True)
    labels = (folder / "piqa-labels.lst").read_text().split()
    rows = [json.loads(line) for line in (folder / "piqa.jsonl").open()]
    write_lines(folder / "piqa-labelled.jsonl", [{**row, "label": int(label)} for row, label in zip(rows, labels)])
    for part in ("dev", "test"):
        with (folder / f"facts_{part}.csv").open(newline="") as file:
            rows = [{"question": r[0], "choices": r[1:5], "answer": "ABCD".index(r[5])} for r in csv.reader(file)]
        write_lines(folder / f"mmlu-{part}.jsonl", rows)
    for kind, (task, functions, files, _) in KINDS.items():
        lines = [f"task: demo_{kind}", "dataset_path: json", "dataset_kwargs:", "  data_files:"]
        lines += [f"    {split}: {folder / name}" for split, name in files.items()] + ["test_split: test"]
        if kind == "mmlu":
            lines += ["fewshot_split: dev", 'description: "The following are multiple choice questions (with answers) about facts.\\n\\n"']
        lines += [line for line in (TASKS / task).read_text().splitlines() if not line.startswith(OURS)]
        (folder / f"{kind}.yaml").write_text("\n".join(lines) + "\n")
        if functions:
            shutil.copy(TASKS / functions, folder)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("cli")
    options.add_argument("--tasks", type=int, default=200)
    options.add_argument("--kinds", default=",".join(KINDS))
    options = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        prepare(folder, options.tasks)
        tasks, model = TaskManager(include_path=str(folder), include_defaults=False), Demo()
        for kind in options.kinds.split(","):
            told = [word if word.startswith("--") else str(folder / word) for word in KINDS[kind][3]]
            command = [options.cli, "evaluate", "--model", str(MODEL), "--task", kind, *told, "--device", "cpu", "--compute", "f32", "--kv", "f32", "--json", "--results"]
            ours = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            theirs = lm_eval.simple_evaluate(model, tasks=[f"demo_{kind}"], num_fewshot=5 if kind == "mmlu" else 0,
                                             task_manager=tasks, bootstrap_iters=0, log_samples=True)
            scores = {name.split(",")[0]: value for name, value in theirs["results"][f"demo_{kind}"].items() if name.endswith(",none") and isinstance(value, float)}
            samples = sorted(theirs["samples"][f"demo_{kind}"], key=lambda sample: sample["doc_id"])
            results = sorted(ours["results"], key=lambda result: int(result["where"].rsplit(" ", 1)[1]))
            apart = max(abs(a[0][0] - b) for sample, result in zip(samples, results, strict=True)
                        for a, b in zip(sample["resps"], result["log_likelihood"], strict=True))
            for score in ours["scores"]:
                print(f"{kind} {score['name']}: lm-eval {scores[score['name']]:.4f}, offstage-cli {score['value']:.4f}, {ours['n_done']} tasks")
            print(f"{kind}: log-likelihoods at most {apart:.1e} nats apart", flush=True)


if __name__ == "__main__":
    main()
