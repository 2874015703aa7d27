#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in float16 and bfloat16 beside float32, on the processor.

    half_models.py BUILD [--threads 1] [--seconds 3] [--cpu] [--onnx-folder FOLDER] [NAME...]

BUILD has bin/polygraphy and lib/libpolygraphy.so. A NAME is a model of cpu_model_list.py or a file; without one all models of the list run. `convert`,
`convert --fp16` and `convert --bf16` make a plan each, which run in turn in slices of some inferences. Prints the best slices in milliseconds, the medians of the
ratios to float32, the largest difference of the outputs from float32's relative to their largest magnitude, and the models that take over 2 % longer in 16 bits.
--cpu measures processor time, for one thread on a busy machine. POLYGRAPHY_CPU names the instruction sets, as everywhere.
"""
import argparse
import ctypes
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np

import operators

KINDS = {"float32": [], "float16": ["--fp16"], "bfloat16": ["--bf16"]}
SLICE_SECONDS, NOISE = 0.05, 1.02


class Plan(operators.Ours):
    """Keeps its results in `results`."""

    def __init__(self, library, path, threads, feed, results):
        self.api, self.error, self.results = library, ctypes.create_string_buffer(2048), results
        self.context, self.sized, self.kept, engine = ctypes.c_void_p(), True, [feed], ctypes.c_void_p()
        options = operators.ContextOptions(ctypes.sizeof(operators.ContextOptions), threads, None, 0, None)
        self.call("engine_open", ctypes.byref(engine), path.encode())
        self.call("context_create", ctypes.byref(self.context), engine, ctypes.byref(options))
        self.begin(feed, results)


def plans_of(o, path, folder):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    feed = {}
    for i in session.get_inputs():
        whole = "int" in i.type
        x = random.integers(0, 2, i.shape) if whole else random.random(i.shape)
        feed[i.name] = operators.aligned(x.astype("int64" if i.type == "tensor(int64)" else "int32" if whole else "float32"))
    wanted = dict(zip([x.name for x in session.get_outputs()], session.run(None, feed)))
    library, plans = ctypes.CDLL(os.path.join(o.build, "lib/libpolygraphy.so")), []
    for kind, options in KINDS.items():
        plan = os.path.join(folder, kind + ".plan")
        subprocess.run([os.path.join(o.build, "bin/polygraphy"), "convert", path, "--convert-to", "trt", "-o", plan, "--silent", *options], check=True)
        plans.append(Plan(library, plan, o.threads, feed, {name: operators.aligned(np.zeros_like(x)) for name, x in wanted.items()}))
    return plans


def measure(o, path, folder):
    """Slices of the three kinds in turn, and the differences of the outputs."""
    plans, clock = plans_of(o, path, folder), time.process_time if o.cpu else time.perf_counter
    for plan in plans:
        plan.run()
    runs = max(1, int(SLICE_SECONDS / operators.slice_of(plans[0], 1, clock)))
    end, slices = time.perf_counter() + o.seconds, []
    while len(slices) < 3 or time.perf_counter() < end:
        slices.append([1e3 * operators.slice_of(plan, runs, clock) for plan in plans])
    return slices, [operators.difference(plan.results, plans[0].results) for plan in plans]


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("build")
    p.add_argument("names", nargs="*")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--cpu", action="store_true")
    p.add_argument("--onnx-folder", help="keeps the exported models here, and finds them again")
    o = p.parse_intermixed_args()
    names, slower = o.names, []
    if not names or not all(os.path.exists(name) for name in names):
        import cpu_model_list

        names = names or list(cpu_model_list.MODELS)
    print("| model | float32 | float16 | bfloat16 | float16 / float32 | bfloat16 / float32 | differences |\n|" + " --- |" * 7)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = name if os.path.exists(name) else cpu_model_list.export(name, o.onnx_folder or folder)[0]
            slices, apart = measure(o, path, folder)
        best = [f"{min(column):.3f}" for column in zip(*slices)]
        ratios = [statistics.median(s[i] / s[0] for s in slices) for i in (1, 2)]
        label = os.path.basename(name).removesuffix(".onnx")
        slower += [f"{label} {kind} {ratio:.2f}" for kind, ratio in zip(list(KINDS)[1:], ratios) if ratio > NOISE]
        print(f"| {label} | " + " | ".join(best + [f"{r:.2f}" for r in ratios]) + f" | {apart[1]:.0e}, {apart[2]:.0e} |", flush=True)
    print("slower in 16 bits: " + (", ".join(slower) or "none"))


if __name__ == "__main__":
    main()
