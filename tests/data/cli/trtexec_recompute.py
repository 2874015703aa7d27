# SPDX-License-Identifier: Apache-2.0
"""Computes the five lines of trtexec's report from its exported times: trtexec_recompute.py TIMES REPORT PERCENTILES"""
import ctypes
import json
import statistics
import sys


def f32(x):
    return ctypes.c_float(x).value


def index(n, p):
    share = f32(1 - f32(p / 100)) if p != int(p) else f32(f32(1.0) - f32(f32(p) / f32(100)))
    return max(n - 1 - int(f32(share * f32(n))), 0)


runs = json.load(open(sys.argv[1]))
report = open(sys.argv[2]).read()
percentiles = [float(p) for p in sys.argv[3].split(",")]
metrics = {"Latency": lambda r: r["latencyMs"], "Enqueue Time": lambda r: r["endEnqMs"] - r["startEnqMs"],
           "H2D Latency": lambda r: r["endH2dMs"] - r["startH2dMs"],
           "GPU Compute Time": lambda r: r["endComputeMs"] - r["startComputeMs"],
           "D2H Latency": lambda r: r["endD2hMs"] - r["startD2hMs"]}
agree = 0
for name, metric in metrics.items():
    times = [metric(r) for r in runs]
    ordered = sorted(times)
    mean = 0.0
    for t in times:
        mean += t
    line = (f"{name}: min = {ordered[0]:g} ms, max = {ordered[-1]:g} ms, mean = {mean / len(times):g} ms, "
            f"median = {statistics.median(ordered):g} ms")
    line += "".join(f", percentile({p:g}%) = {ordered[index(len(times), p)]:g} ms" for p in percentiles)
    agree += f"] {line}\n" in report
    if f"] {line}\n" not in report:
        print("computed:", line)
print(agree, "lines agree")
