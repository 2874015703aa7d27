#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in float32 on the processor by number of threads, ONNX Runtime beside the engine: cpu_threads.py BENCH_ENGINE[,EARLIER] [THREADS...]; needs
torch, torchvision, onnx and onnxruntime. BENCH_ENGINE is build/release/bench/bench.engine, EARLIER that of another state of the source. Medians in
milliseconds, random weights and inputs.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import onnxruntime
import torch
import torchvision

import gpu_models
from words import words


def models(folder):
    torch.manual_seed(0)
    gpu_models.EXPORTING = True
    ids = torch.randint(0, 30522, (1, 128))
    made = [(f"{name} b1", getattr(torchvision.models, name)(weights=None), (torch.randn(1, 3, 224, 224),))
            for name in ("resnet50", "mobilenet_v2", "densenet121", "convnext_tiny", "vit_b_16")]
    made.append(("bert-base b1 s128", gpu_models.Bert(12, 768, 12, 128), (ids, torch.ones_like(ids))))
    for name, model, inputs in made:
        path = os.path.join(folder, name.replace(" ", "_") + ".onnx")
        with torch.no_grad():
            torch.onnx.export(model.eval(), inputs, path, opset_version=20, dynamo=False, input_names=[f"x{i}" for i in range(len(inputs))])
        yield name, path, {f"x{i}": x.numpy() for i, x in enumerate(inputs)}


def runtime_ms(path, feed, threads):
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    times = []
    for i in range(25):
        start = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[5:])


def engine_ms(program, path, threads):
    done = subprocess.run([program, "--threads", str(threads), "--runs", "25", path], capture_output=True, text=True)
    found = re.search(r"run +[\d.]+ +([\d.]+)", done.stdout)
    return float(found.group(1)) if found else sys.exit(done.stdout + done.stderr)


def main():
    given = words(__doc__, 1)
    programs = given[0].split(",")
    earlier = len(programs) > 1
    print("| model | threads | ONNX Runtime | engine | ONNX Runtime / engine |" + (" earlier | earlier / engine |" if earlier else ""))
    print("| --- | --- | --- | --- | --- |" + (" --- | --- |" if earlier else ""))
    with tempfile.TemporaryDirectory() as folder:
        for name, path, feed in models(folder):
            for threads in [int(t) for t in given[1:] or ["1", "4", "16"]]:
                theirs, ours, *before = runtime_ms(path, feed, threads), *(engine_ms(p, path, threads) for p in programs)
                print(f"| {name} | {threads} | {theirs:.2f} | {ours:.2f} | {theirs / ours:.2f} |" + "".join(f" {b:.2f} | {b / ours:.2f} |" for b in before), flush=True)


if __name__ == "__main__":
    main()
