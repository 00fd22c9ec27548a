#!/usr/bin/env python3
"""What the compiler gives the kernels of a token's layers and of a prompt's experts, on cards that people have.

    tests/device/kernel_registers.py [--arch 75,80,86,89,90,120] [FILE.cu ...]

Compiles the files (all that have decode kernels, where none is named) for each compute
capability and prints, from ptxas's own report, each kernel's registers, its static shared
memory and how many blocks a multiprocessor has registers and threads for. Ends with 1 if a
kernel spills: registers that go to memory in a loop over weights cost bandwidth. Needs
nvcc, no GPU. Some minutes; --arch 86 alone is a sixth of that.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ["kernels/ops/grouped_attention.cu", "kernels/cuda/decode_products.cu", "kernels/ops/decode_experts.cu",
         "kernels/ops/route.cu", "kernels/cuda/split_products.cu", "kernels/cuda/down_products.cu",
         "kernels/cuda/plain_experts.cu", "kernels/cuda/byte_tiles.cu", "kernels/cuda/packed_tiles.cu",
         "kernels/cuda/expert_order.cu", "kernels/cuda/byte_products.cu", "kernels/ops/elementwise.cu"]
# Of these files: the kernels, by name, and their threads.
THREADS = {"attend_token": 128, "multiply_rounded": 256, "multiply_plain": 256, "multiply_split_row": 128,
           "multiply_blocks": 256, "decode_up": 256, "decode_down": 256, "route_token": 128, "choose": 32,
           "multiply_split": 128, "down_products": 256, "expert_up": 256, "expert_down": 256,
           "multiply_tiles": 256, "multiply_row_tiles": 256, "multiply_packed_tiles": 256, "order_by_expert": 256,
           "byte_products": 256, "combine_rows": 256, "store_words": 512}
# These serve several tokens, too; their last number is for how many.
OF_SOME_TOKENS = {"multiply_split", "down_products", "expert_up", "expert_down"}
REGISTERS = 65536  # of a multiprocessor, for all of these
MOST_THREADS = {"75": 1024, "80": 2048, "86": 1536, "89": 1536, "90": 2048, "120": 1536}

REPORT = re.compile(r"Compiling entry function '(?P<name>\S+)'.*?\n.*?Function properties.*?\n"
                    r".*?(?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads\n"
                    r".*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)")


def short(name):
    """Names such as multiply_rounded<17>: the kernel and its template arguments, of ptxas's mangled one."""
    for kernel in THREADS:
        at = name.find(f"{len(kernel)}{kernel}")
        if at >= 0:
            mangled = name[at + len(str(len(kernel))) + len(kernel):]
            numbers = re.findall(r"L(?:NS\w*?_10WeightTypeE|S\w?_|i)(\d+)E", mangled[:mangled.find("Ev")])
            if kernel in OF_SOME_TOKENS and numbers[-1] != "1":
                break
            return kernel, f"{kernel}<{', '.join(numbers)}>" if numbers else kernel
    return None, name


def report(arch, path, out):
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    command = [nvcc, "-std=c++17", "-O3", f"-arch=sm_{arch}", "-Xptxas", "-v", f"-I{ROOT}", "-cubin", "-o",
               str(out / "kernels.cubin"), str(ROOT / path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"kernel_registers: {' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def rows_of(text):
    for match in REPORT.finditer(text):
        kernel, name = short(match["name"])
        if kernel is None:
            continue
        shared = re.search(r"(\d+) bytes smem", match["rest"])
        yield {"kernel": kernel, "name": name, "registers": int(match["registers"]),
               "spills": int(match["stores"]) + int(match["loads"]), "shared": int(shared[1]) if shared else 0}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--arch", type=lambda text: text.split(","), default=list(MOST_THREADS))
    parser.add_argument("--report", help="a report of ptxas to read instead of compiling, for one --arch")
    options = parser.parse_args()
    n_kernels = n_spills = 0
    print(f"{'sm':>4} {'kernel':<40} {'registers':>9} {'shared':>6} {'blocks':>6} {'spilled':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for arch in options.arch:
            texts = [pathlib.Path(options.report).read_text()] if options.report else [
                report(arch, path, pathlib.Path(folder)) for path in options.files]
            for row in (row for text in texts for row in rows_of(text)):
                threads = THREADS[row["kernel"]]
                # Registers are given to warps, in units of eight for each thread.
                of_block = (row["registers"] + 7) // 8 * 8 * threads
                blocks = min(REGISTERS // of_block, MOST_THREADS.get(arch, 2048) // threads)
                spilled = row["spills"] or ""
                print(f"{arch:>4} {row['name']:<40} {row['registers']:>9} {row['shared']:>6} {blocks:>6} {spilled:>7}")
                n_kernels += 1
                n_spills += row["spills"] > 0
    print(f"{n_kernels} kernels, {n_spills} of them spill")
    if n_kernels == 0:
        sys.exit("kernel_registers: the report names no kernel that is known here")
    return 1 if n_spills > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
