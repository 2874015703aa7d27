#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in float32 on the processor by number of threads, beside ONNX Runtime and OpenVINO.

    cpu_models.py LIBRARY [--threads 1,2] [--seconds 3] [--peak BENCH_PEAK] [--onnx-folder FOLDER] [NAME...]

LIBRARY is libpolygraphy.so. The models and goals are the table in cpu_model_list.py. For each model and number of threads, the engine and both runtimes run in turn
on so many processors, of different cores if there are enough, in slices of some runs, each in a process that stays. A process is stopped while others run, because threads of some runtimes spin when they have
nothing to do. Prints the medians of the slices in milliseconds, the best other runtime's over
the engine's, its goal, the largest difference of the outputs from ONNX Runtime's relative to their largest magnitude, and, with --peak, the share of the
processors' peak that the engine reaches with the model's products. OpenVINO (in float32, for latency) is left out where it is not installed.
"""
import argparse
import ctypes
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import operators

try:
    import openvino
except ImportError:
    openvino = None

SLICE_SECONDS = 0.05
SIDES = ["engine", "ONNX Runtime"] + (["OpenVINO"] if openvino else [])


class OpenVino:
    def __init__(self, path, threads, feed):
        options = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
        self.request, self.feed = openvino.Core().compile_model(path, "CPU", options).create_infer_request(), feed

    def run(self):
        self.request.infer(self.feed, share_inputs=True, share_outputs=True)


def serve(o):
    """One side in a process of its own: makes a slice for each line that it reads, and prints the seconds of a run."""
    path, threads = o.names[0], len(os.sched_getaffinity(0))
    clock = time.process_time if o.cpu else time.perf_counter
    with np.load(path + ".npz") as stored:
        feed = {name: operators.aligned(stored[name]) for name in stored.files}
    theirs = operators.Theirs(path, threads, feed)
    wanted = dict(zip(theirs.names, theirs.results()))
    results = {name: operators.aligned(np.zeros_like(x)) for name, x in wanted.items()}
    apart = 0.0
    if o.one == "engine":
        side = operators.Ours(ctypes.CDLL(o.library), path, threads, feed, results)
        side.run()
        apart = operators.difference(results, wanted)
    elif o.one == "OpenVINO":
        side = OpenVino(path, threads, feed)
    else:
        side = theirs
        side.bind(results, True)
    if side is not theirs:
        del theirs
    side.run()
    runs = max(1, int(SLICE_SECONDS / operators.slice_of(side, 1, clock)))
    print(json.dumps(apart), flush=True)
    for _ in sys.stdin:
        print(json.dumps(operators.slice_of(side, runs, clock)), flush=True)


class Side:
    """A process that serves, and is stopped but for its slices."""

    def __init__(self, o, name, path, processors):
        words = ["taskset", "-c", processors, sys.executable, __file__, o.library, "--one", name, path] + ["--cpu"] * o.cpu
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.times, self.apart = [], self.read()
        self.child.send_signal(signal.SIGSTOP)

    def read(self):
        line = self.child.stdout.readline()
        if not line:
            raise RuntimeError((self.child.stderr.read().strip().splitlines() or ["no message"])[-1])
        return json.loads(line)

    def slice(self):
        self.child.send_signal(signal.SIGCONT)
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        self.times.append(self.read())
        self.child.send_signal(signal.SIGSTOP)

    def end(self):
        self.child.kill()
        self.child.wait()


def processors_by_core():
    """Processors of different cores first, as far as the system tells which share one."""

    def rank(processor):
        try:
            with open(f"/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list") as f:
                spans = [[int(x) for x in span.split("-")] for span in f.read().split(",")]
        except (OSError, ValueError):
            return 0
        return [p for span in spans for p in range(span[0], span[-1] + 1)].index(processor)

    return sorted(sorted(os.sched_getaffinity(0)), key=rank)


def call(o, path, threads):
    """The median seconds of a run of each side, and the difference of the engine's outputs."""
    processors, sides = ",".join(str(p) for p in processors_by_core()[:threads]), []
    try:
        for name in SIDES:
            sides.append(Side(o, name, path, processors))
        end = time.perf_counter() + o.seconds * len(sides)
        while len(sides[0].times) < 3 or time.perf_counter() < end:
            for side in sides:
                side.slice()
    finally:
        for side in sides:
            side.end()
    return {"times": [statistics.median(side.times) for side in sides], "apart": sides[0].apart}


def peak_of(o):
    """Floating-point operations a second of one processor."""
    if not o.peak:
        return None
    done = subprocess.run([o.peak], capture_output=True, text=True, check=True)
    return float(re.search(r"fma ([\d.]+)", done.stdout).group(1)) * 1e9


def row(o, name, threads, path, operations, goal):
    found = call(o, path, threads)
    ours, *others = (1e3 * t for t in found["times"])
    cells = [f"{t:.3f}" for t in others] + [f"{ours:.3f}", f"{min(others) / ours:.2f}", f"{goal:g}", f"{found['apart']:.0e}"]
    if o.peak:
        cells.append(f"{100 * operations / (ours / 1e3) / (peak_of(o) * threads):.0f} %" if operations else "")
    print(f"| {name} | {threads} | " + " | ".join(cells) + " |", flush=True)
    return min(others) / ours


def main():
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument("library")
    a.add_argument("names", nargs="*")
    a.add_argument("--threads", default="1,2")
    a.add_argument("--seconds", type=float, default=3, help="for each side of a row")
    a.add_argument("--peak", help="build/release/bench/bench.peak")
    a.add_argument("--onnx-folder", help="keeps the exported models here, and finds them again")
    a.add_argument("--cpu", action="store_true", help="processor time, for one thread on a busy machine")
    a.add_argument("--one", help=argparse.SUPPRESS)
    o = a.parse_intermixed_args()
    if o.one:
        return serve(o)
    import cpu_model_list

    heads = ["model", "threads", "ONNX Runtime"] + (["OpenVINO"] if openvino else []) + ["engine", "best other / engine", "goal", "difference"] + (["of the peak"] if o.peak else [])
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    ratios = {int(t): [] for t in o.threads.split(",")}
    with tempfile.TemporaryDirectory() as folder:
        for name in o.names or cpu_model_list.MODELS:
            path, operations = cpu_model_list.export(name, o.onnx_folder or folder)
            for threads, reached in ratios.items():
                goal = cpu_model_list.MODELS[name][2 if threads <= 2 else 3]
                try:
                    reached.append(row(o, name, threads, path, operations, goal))
                except RuntimeError as e:  # the others are still measured
                    print(f"| {name} | {threads} | {e} |", flush=True)
            if not o.onnx_folder:
                os.remove(path)
    for threads, reached in ratios.items():
        if reached:
            print(f"\n{threads} threads: geometric mean {np.exp(np.mean(np.log(reached))):.2f}, below 1: {sum(r < 1 for r in reached)} of {len(reached)}")


if __name__ == "__main__":
    main()
