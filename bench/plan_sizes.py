#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes of plans in float32, float16 and bfloat16, and the time to open them: plan_sizes.py PROGRAM PLAN_LOAD MODEL...

PROGRAM is polygraphy, PLAN_LOAD is bench.plan_load, or "-": then sizes alone are compared, and no table is printed. Prints the bytes of each plan, the bytes of both 16-bit ones over those of float32, and in milliseconds the best of five
times from the plan's file to its first result, all three in turn. The last lines give the geometric means and the models whose 16-bit plans are larger."""
import math
import os
import subprocess
import sys
import tempfile

KINDS = (("float32", []), ("float16", ["--fp16"]), ("bfloat16", ["--bf16"]))
REPEATS = 5


def first_result_ms(load, plan):
    words = subprocess.run([load, plan, "1"], capture_output=True, text=True).stdout.split()
    return sum(float(words[words.index(part) + 1]) for part in ("open", "context", "first")) if words else math.nan


def main():
    program, load, models = sys.argv[1], sys.argv[2], sys.argv[3:]
    ratios, larger = [], []
    timed = load != "-"
    if timed:
        print("| model | float32 bytes | float16 | bfloat16 | first result, ms: float32 / float16 / bfloat16 |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model in models:
            plans, sizes = [], []
            for name, options in KINDS:
                plans.append(os.path.join(folder, name + ".plan"))
                done = subprocess.run([program, "convert", model, "--convert-to", "trt", "-o", plans[-1], *options], capture_output=True)
                sizes.append(os.path.getsize(plans[-1]) if done.returncode == 0 else 0)
            name = os.path.basename(model).removesuffix(".onnx")
            if name == "model":  # a node test
                name = os.path.basename(os.path.dirname(model))
            if not all(sizes):
                print(f"| {name} | cannot be built |")
                continue
            ratios.append((sizes[1] / sizes[0], sizes[2] / sizes[0]))
            if max(sizes[1:]) > sizes[0]:
                larger.append(f"{name} by {max(sizes[1:]) - sizes[0]} bytes")
            if timed:
                times = [[first_result_ms(load, plan) for plan in plans] for _ in range(REPEATS)]
                best = " / ".join(f"{min(column):.2f}" for column in zip(*times))
                print(f"| {name} | {sizes[0]} | {ratios[-1][0]:.3f} | {ratios[-1][1]:.3f} | {best} |", flush=True)
    for (kind, _), column in zip(KINDS[1:], zip(*ratios)):
        print(f"{kind}: geometric mean {math.exp(sum(map(math.log, column)) / len(column)):.3f} of {len(column)} models")
    print(f"larger in 16 bits: {', '.join(larger) or 'none'}")


if __name__ == "__main__":
    main()
