#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""debug reduce on random graphs against the original: reduce.py PROGRAM [--cases N] [--seed N] [--every] [--keep FOLDER]

A case is a random chain, diamond or tangle of branches, and one or two node names: a model that has all of them fails the check. Both programs
must leave models of equal node count. Cases take turns in the two modes, with both phases or one; --every runs each graph in all six ways. The
original runs inside this process, because its start takes seconds.
"""
import argparse
import contextlib
import io
import os
import random
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
import onnx  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
import one_tool  # noqa: E402

original = one_tool.keep("debug")

UNARY, BINARY = ("Relu", "Neg", "Abs", "Identity", "Tanh"), ("Add", "Sub", "Mul", "Max")
WAYS = [(mode, phase) for mode in ("bisect", "linear") for phase in ([], ["--no-reduce-inputs"], ["--no-reduce-outputs"])]


def make_model(rng):
    """A graph of 2 to 24 nodes whose later nodes read few tensors (a chain) or many (branches)."""
    count, reach = rng.randint(2, 24), rng.choice((1, 2, 3, 24))
    join = rng.choice((0.0, 0.2, 0.5))
    tensors, nodes, used = ["x"], [], set()
    for i in range(count):
        reads = [rng.choice(tensors[-reach:])]
        if rng.random() < join:
            reads.append(rng.choice(tensors[-reach:]))
        op = rng.choice(BINARY if len(reads) == 2 else UNARY)
        nodes.append(helper.make_node(op, reads, [f"t{i}"], name=f"node_{i}_"))
        used.update(reads)
        tensors.append(f"t{i}")
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4])  # noqa: E731
    outputs = [value(t) for t in tensors[1:] if t not in used]
    graph = helper.make_graph(nodes, "random", [value("x")], outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run_original(words):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            code = original(words)
        except SystemExit as e:
            code = e.code
    return code, out.getvalue()


def count_nodes(path):
    return len(onnx.load(path).graph.node) if os.path.exists(path) else None


def run_case(program, rng, mode, phase, model, bad):
    onnx.save(model, "model.onnx")
    check = " || ".join(f"! grep -aq {name} polygraphy_debug.onnx" for name in bad)
    words = ["debug", "reduce", "model.onnx", "--mode", mode, *phase]
    end = ["--check", "sh", "-c", check]
    theirs = run_original(words + ["-o", "theirs.onnx"] + end)
    ours = subprocess.run([program, *words, "-o", "ours.onnx", *end], capture_output=True, text=True)
    counts = count_nodes("theirs.onnx"), count_nodes("ours.onnx")
    for path in ("theirs.onnx", "ours.onnx", "polygraphy_debug.onnx"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    return counts, theirs, (ours.returncode, ours.stdout + ours.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--keep")
    line = parser.parse_args()
    program = os.path.abspath(line.program)
    failures = runs = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.abspath(line.keep) if line.keep else scratch
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        for i in range(line.cases):
            rng = random.Random(line.seed * 100003 + i)
            model = make_model(rng)
            names = [n.name for n in model.graph.node]
            bad = rng.sample(names, 2 if len(names) > 3 and rng.random() < 0.3 else 1)
            for mode, phase in WAYS if line.every else [WAYS[i % len(WAYS)]]:
                counts, theirs, ours = run_case(program, rng, mode, phase, model, bad)
                runs += 1
                if counts[0] == counts[1] and counts[0] is not None:
                    continue
                failures += 1
                print(f"reduce: case {i} (seed {line.seed}), {mode} {' '.join(phase)}, bad {bad}, {len(names)} nodes: "
                      f"the original leaves {counts[0]}, we leave {counts[1]}")
                if line.keep:
                    onnx.save(model, f"case{i}.onnx")
                    open(f"case{i}.log", "w").write(f"{theirs}\n\n{ours}".replace("\\n", "\n"))
    print(f"reduce: {runs} reductions of {line.cases} graphs, {failures} with another number of nodes")
    return 1 if failures or not runs else 0


sys.exit(main())
