#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the steps of exported models could take at best on one processor.

    floor.py TRTEXEC BENCH_PEAK FOLDER [--processor 0] [--results EXPORTS.json] [--markdown FILE] [NAME...]

The floor of a step is its arithmetic at the processor's peak, or the bytes of its tensors and packed weights at the rate of its second
level of caches, whichever takes longer; never more than what the step takes. A Winograd convolution counts a quarter of the operations of a
direct one, since F(4x4) needs so many multiplications. What has no matrix product (exp, gathers, sums) counts its bytes only. So no kernel that
does the steps of a plan one after the other in float32 can be faster than the sum of the floors. EXPORTS.json is what bench/exports.py wrote: then the
floor stands beside ONNX Runtime's best time, too. Models with symbolic sizes are left out. Needs onnx and taskset; TRTEXEC profiles the steps,
and bench.peak measures the peak and the rate.
"""
import argparse
import fnmatch
import glob
import json
import math
import os
import subprocess
import tempfile

import onnx

BYTES = {"FP32": 4, "FP16": 2, "BF16": 2, "INT8": 1, "UINT8": 1, "BOOL": 1, "INT32": 4, "UINT32": 4, "INT64": 8, "UINT64": 8, "FP64": 8}
PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose")


def profile(trtexec, processor, path):
    """Steps and the median time of each in ms, or None."""
    with tempfile.TemporaryDirectory() as folder:
        times, layers = os.path.join(folder, "times.json"), os.path.join(folder, "layers.json")
        done = subprocess.run(["taskset", "-c", processor, trtexec, "--onnx=" + path, "--duration=0.2", "--warmUp=30", "--iterations=5", "--separateProfileRun", "--dumpProfile",
                               "--exportProfile=" + times, "--exportLayerInfo=" + layers, "--profilingVerbosity=detailed"], capture_output=True)
        if done.returncode or not os.path.exists(layers):
            return None
        median = {row["name"]: row["medianMs"] for row in json.load(open(times)) if "name" in row}
        return [(step, median[step["Name"]]) for step in json.load(open(layers))["Layers"] if step["Name"] in median]


def weights_of(path):
    """By name of a node: the elements of the weights that one output element is multiplied with."""
    model = onnx.load(path, load_external_data=False)
    dims = {i.name: list(i.dims) for i in model.graph.initializer}
    inner = {}
    for node in model.graph.node:
        weight = dims.get(node.input[1]) if node.op_type in PRODUCTS else None
        if weight and node.op_type == "Conv":
            inner[node.name] = math.prod(weight[1:])
        elif weight and node.op_type in ("MatMul", "Gemm"):
            turned = any(a.name == "transB" and a.i for a in node.attribute)
            inner[node.name] = weight[-1] if turned else weight[-2]
    return inner


def dims_of(tensor):
    return tensor["Dimensions"]


def operations(step, inner):
    """Operations of the step's products, or None: it has some that cannot be counted."""
    ins, outs = [dims_of(t) for t in step["Inputs"]], [dims_of(t) for t in step["Outputs"]]
    kind = step["LayerType"]
    if "Attention" in kind:
        return 4 * math.prod(ins[0]) * ins[min(2, len(ins) - 1)][-2]
    if not any(p in kind for p in PRODUCTS):
        return None if kind in ("LSTM", "GRU", "RNN", "Loop", "If", "Scan", "Einsum", "MoE") else 0
    known = [inner[s] for s in step["Sources"] if s in inner]
    if known:
        total = 2 * math.prod(outs[0]) * known[0]
        return total / 4 if "winograd" in step["TacticName"] else total
    return 2 * math.prod(outs[0]) * ins[0][-1] if "MatMul" in kind and len(ins) > 1 else None


def floor_of(step, took, inner, rates):
    try:
        work = operations(step, inner)
    except IndexError:
        work = None
    if work is None:
        return took
    moved = step.get("PackedWeightBytes", 0) + sum(math.prod(dims_of(t)) * BYTES.get(t["Datatype"], 1) for t in step["Inputs"] + step["Outputs"])
    return min(took, 1e3 * max(work / (rates["fma"] * 1e9), moved / (rates["cache"] * 1e9)))


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def report(rows, rates):
    lines = [f"{len(rows)} models; peak {rates['fma']:.0f} GFLOP/s, second level of caches {rates['cache']:.0f} GB/s. Geometric means: the sum of the floors is "
             f"{mean([r['floor'] / r['took'] for r in rows.values()]):.2f} of our time, "]
    beside = [r for r in rows.values() if "theirs" in r]
    if beside:
        lines[0] += f"and of {len(beside)} models {mean([r['floor'] / r['theirs'] for r in beside]):.2f} of ONNX Runtime's, where ours is {mean([r['ours'] / r['theirs'] for r in beside]):.2f}."
    lines += ["", "| model | sum of floors (ms) | steps (ms) | floors / steps |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {n} | {r['floor']:.3f} | {r['took']:.3f} | {r['floor'] / r['took']:.2f} |" for n, r in sorted(rows.items(), key=lambda x: x[1]["floor"] / x[1]["took"])]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trtexec")
    parser.add_argument("peak", metavar="BENCH_PEAK")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", help="names of models, with * and ?")
    parser.add_argument("--processor", default="0")
    parser.add_argument("--results", help="of bench/exports.py")
    parser.add_argument("--markdown")
    args = parser.parse_intermixed_args()
    beside = json.load(open(args.results)) if args.results else {}
    rates = {w[0]: float(w[1]) for w in map(str.split, subprocess.run(["taskset", "-c", args.processor, args.peak], capture_output=True, text=True, check=True).stdout.splitlines())}
    rows = {}
    for path in sorted(glob.glob(os.path.join(args.folder, "*.onnx"))):
        name = os.path.basename(path).removesuffix(".onnx")
        if name.endswith(".dynamic") or (args.names and not any(fnmatch.fnmatch(name, p) for p in args.names)):
            continue
        steps = profile(args.trtexec, args.processor, path)
        if not steps:
            print(name, "was not profiled", flush=True)
            continue
        inner = weights_of(path)
        row = rows[name] = {"took": sum(t for _, t in steps), "floor": sum(floor_of(s, t, inner, rates) for s, t in steps)}
        if "best_ours" in beside.get(name, {}):
            row["ours"], row["theirs"] = beside[name]["best_ours"], beside[name]["best_theirs"]
        print(name, f"{row['floor']:.3f} of {row['took']:.3f} ms", flush=True)
    if not rows:
        raise SystemExit(f"floor.py: {args.folder} has no model with fixed sizes of that name")
    text = report(rows, rates)
    print(text, end="")
    if args.markdown:
        open(args.markdown, "w").write(text)


if __name__ == "__main__":
    main()
