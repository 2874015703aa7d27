#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals at random moments: moments.py [-n MOMENTS] [--bound SECONDS] [--seed N] [COMMAND ...]

Runs commands that take long, sends each a signal after a random time, and checks that it dies of the
signal within the bound and leaves no temporary, no part of a file and no process. Prints the slowest
death of each command. Models are made here, without the onnx package.
"""
import argparse
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

MAX64 = 2**63 - 1


# ---- Models, as protobuf ----

def varint(value):
    out = bytearray()
    value &= 2**64 - 1
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def tensor(name, dtype, shape, raw):
    return b"".join(number(1, d) for d in shape) + number(2, dtype) + text(8, name) + text(9, raw)


def floats(name, shape, count):
    return tensor(name, 1, shape, struct.pack("<f", 0.001) * count)


def int64s(name, values, shape=None):
    return tensor(name, 7, [len(values)] if shape is None else shape, struct.pack(f"<{len(values)}q", *values))


def ints_attribute(name, values):
    return text(5, text(1, name) + b"".join(number(8, v) for v in values) + number(20, 7))


def int_attribute(name, value):
    return text(5, text(1, name) + number(3, value) + number(20, 2))


def graph_attribute(name, graph):
    return text(5, text(1, name) + text(6, graph) + number(20, 5))


def node(op, inputs, outputs, *attributes):
    return b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs) + text(4, op) + b"".join(attributes)


def value(name, dtype, shape):
    dims = b"".join(text(1, number(1, d)) for d in shape)
    return text(1, name) + text(2, text(1, number(1, dtype) + text(2, dims)))


def graph(nodes, inputs, outputs, weights=()):
    return (b"".join(text(1, n) for n in nodes) + text(2, "g") + b"".join(text(5, w) for w in weights) +
            b"".join(text(11, i) for i in inputs) + b"".join(text(12, o) for o in outputs))


def save(path, body):
    with open(path, "wb") as file:
        file.write(number(1, 8) + text(7, body) + text(8, number(2, 17)))


def loop_model(path, scans):
    """A Loop of 2^63 - 1 iterations."""
    nodes = [node("Identity", ["c"], ["c2"]), node("Add", ["v", "v"], ["v2"])]
    outputs = [value("c2", 9, []), value("v2", 1, [2])]
    if scans:
        nodes.append(node("Identity", ["v2"], ["s"]))
        outputs.append(value("s", 1, [2]))
    body = graph(nodes, [value("i", 7, []), value("c", 9, []), value("v", 1, [2])], outputs)
    loop = node("Loop", ["n", "", "x"], ["y", "z"] if scans else ["y"], graph_attribute("body", body))
    save(path, graph([loop], [value("x", 1, [2])], [value("y", 1, [2])], [int64s("n", [MAX64], [])]))


def constant_model(path):
    """Products of large constants, for folding."""
    n, products = 2000, 40
    nodes = [node("ConstantOfShape", ["shape"], ["k0"])]
    nodes += [node("MatMul", [f"k{i}", f"k{i}"], [f"k{i + 1}"]) for i in range(products)]
    nodes.append(node("Add", ["x", f"k{products}"], ["y"]))
    save(path, graph(nodes, [value("x", 1, [n])], [value("y", 1, [n, n])], [int64s("shape", [n, n])]))


def conv_model(path, layers=60, channels=128, size=128):
    """Convolutions that take the reference seconds each, and a build of the engine a second or more."""
    nodes, weights = [], []
    for i in range(layers):
        nodes.append(node("Conv", [f"t{i}", f"w{i}"], [f"c{i}"], ints_attribute("kernel_shape", [3, 3]), ints_attribute("pads", [1, 1, 1, 1])))
        nodes.append(node("Tanh", [f"c{i}"], [f"t{i + 1}"]))
        weights.append(floats(f"w{i}", [channels, channels, 3, 3], channels * channels * 9))
    shape = [1, channels, size, size]
    save(path, graph(nodes, [value("t0", 1, shape)], [value(f"t{layers}", 1, shape)], weights))


def gather_model(path):
    """Operators that are one long loop each: sorting, a sum along an axis, a cumulative sum."""
    n = 4_000_000
    nodes = [node("Expand", ["x", "shape"], ["e"]), node("TopK", ["e", "k"], ["v", "i"]), node("CumSum", ["v", "axis"], ["s"]),
             node("ReduceLogSumExp", ["s"], ["y"], ints_attribute("axes", [0]))]
    save(path, graph(nodes, [value("x", 1, [1, 1])], [value("y", 1, [1, n])],
                     [int64s("shape", [8, n]), int64s("k", [n]), int64s("axis", [1], [])]))


def big_model(path, tensors=12, count=4 << 20):
    """200 MB of weights, for saving."""
    nodes = [node("Add", [f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(tensors)]
    weights = [floats(f"w{i}", [count], count) for i in range(tensors)]
    save(path, graph(nodes, [value("t0", 1, [1])], [value(f"t{tensors}", 1, [count])], weights))


def make_models(folder):
    at = lambda name: os.path.join(folder, name)
    loop_model(at("loop.onnx"), False)
    loop_model(at("scan.onnx"), True)
    constant_model(at("fold.onnx"))
    conv_model(at("conv.onnx"))
    conv_model(at("small.onnx"), layers=4, channels=16, size=32)
    gather_model(at("long.onnx"))
    big_model(at("big.onnx"))
    with open(at("sleeps.py"), "w") as file:
        file.write("import time\ndef load_data():\n    time.sleep(1000)\n    yield {}\n")
    with open(at("busy.py"), "w") as file:
        file.write("def load_data():\n    n = 7 ** (7 ** 8)\n    yield {}\n")


# What runs, the file that it would write, and the latest moment if the command is soon over.
COMMANDS = {
    "loop-opref": ("run {m}/loop.onnx --opref --save-outputs out", "out"),
    "loop-trt": ("run {m}/loop.onnx --trt --save-outputs out", "out"),
    "scan-opref": ("run {m}/scan.onnx --opref --max-memory 1000000000", None),
    "fold": ("surgeon sanitize {m}/fold.onnx --fold-constants -o out", "out"),
    "simplify": ("surgeon simplify {m}/conv.onnx -o out", "out"),
    "conv-opref": ("run {m}/conv.onnx --opref --save-inputs in --save-outputs out", "out"),
    "conv-trt": ("run {m}/conv.onnx --trt --iterations 1000000 --save-outputs out", "out"),
    "long-opref": ("run {m}/long.onnx --opref", None),
    "long-trt": ("run {m}/long.onnx --trt", None),
    "subprocess": ("run {m}/conv.onnx --opref --use-subprocess --save-outputs out", "out"),
    "build": ("convert {m}/conv.onnx -o out --convert-to trt", "out"),
    "calibrate": ("convert {m}/small.onnx -o out --convert-to trt --int8 --iterations 100000", "out"),
    "lint": ("check lint {m}/conv.onnx -o out", "out"),
    "save": ("surgeon sanitize {m}/big.onnx -o out", "out", 0.25),
    "save-data": ("convert {m}/big.onnx --convert-to onnx -o out --save-external-data out.data --external-data-size-threshold 0", None, 0.25),
    "save-plan": ("convert {m}/big.onnx -o out --convert-to trt", "out", 0.25),
    "script-sleeps": ("run {m}/conv.onnx --opref --data-loader-script {m}/sleeps.py", None),
    "script-computes": ("run {m}/conv.onnx --opref --data-loader-script {m}/busy.py", None),
}
NEEDS_NUMPY = {"script-sleeps", "script-computes"}
HAS_CHILDREN = NEEDS_NUMPY | {"subprocess"}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


# ---- Judging ----

def session_members(session):
    found = []
    for entry in os.listdir("/proc"):
        try:
            fields = open(f"/proc/{entry}/stat").read().rpartition(")")[2].split() if entry.isdigit() else None
        except OSError:
            continue
        if fields and int(fields[3]) == session and fields[0] not in "ZX":
            found.append(f"{entry} {open(f'/proc/{entry}/cmdline').read()[:40]!r}" if os.path.exists(f"/proc/{entry}") else entry)
    return found


def wait_alone(session):
    """Processes that were killed may need a moment."""
    until = time.monotonic() + 2
    while (left := session_members(session)) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def came_too_late(line, folder, status):
    """A signal that arrives after the output file got its name (it is whole then) finds nothing left to stop."""
    words = line.split()
    return status == 0 and "-o" in words and os.path.exists(f"{folder}/{words[words.index('-o') + 1]}")


def interrupt_once(name, line, target, models, delay, number):
    """None if the command ended before, else the seconds that it took to die."""
    folder = tempfile.mkdtemp(prefix="moments-")
    os.mkdir(f"{folder}/tmp")
    before = set(os.listdir(folder))
    env = {**os.environ, "TMPDIR": f"{folder}/tmp"}
    process = subprocess.Popen(["polygraphy", *line.format(m=models).split()], cwd=folder, env=env, start_new_session=True,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        try:
            process.wait(delay)
            return None, process.stderr.read().decode(errors="replace")
        except subprocess.TimeoutExpired:
            pass
        start = time.monotonic()
        process.send_signal(number)
        process.wait(30)
        took = time.monotonic() - start
        wrong = []
        if process.returncode != -number and not came_too_late(line, folder, process.returncode):
            wrong.append(f"status {process.returncode}, not death by signal {int(number)}")
        left = set(os.listdir(f"{folder}/tmp")) - {".ses"}  # ONNX Runtime's, which is meant to stay
        if left and number != signal.SIGKILL:
            wrong.append(f"temporaries are left: {left}")
        beside = set(os.listdir(folder)) - before - {"out", "in", "out.data", "timing.cache"}
        if beside:
            wrong.append(f"files are left: {beside}")
        path = f"{folder}/{target}"
        if target and os.path.exists(path) and os.path.getsize(path) == 0:
            wrong.append(f"'{target}' is empty")
        if left := wait_alone(process.pid):
            wrong.append(f"processes are left: {left}")
        if wrong:
            raise SystemExit(f"{name}, signal {int(number)} after {delay:.3f} s: {'; '.join(wrong)}")
        return took, ""
    finally:
        if process.poll() is None:
            process.kill()
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-n", type=int, default=2)
    parser.add_argument("--bound", type=float, default=1)
    parser.add_argument("--longest", type=float, default=1, help="the latest moment")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("commands", nargs="*", default=list(COMMANDS))
    args = parser.parse_args()
    random.seed(args.seed)
    models = tempfile.mkdtemp(prefix="moments-models-")
    try:
        make_models(models)
        for name in args.commands:
            slowest, ended, why = 0, 0, ""
            numbers = [SIGNALS[i % len(SIGNALS)] for i in range(args.n)] + [signal.SIGKILL] * (name in HAS_CHILDREN)
            for number in numbers:
                line, target, *longest = COMMANDS[name]
                delay = random.uniform(0.05, longest[0] if longest else args.longest)
                took, said = interrupt_once(name, line, target, models, delay, number)
                ended += took is None
                why = said or why
                slowest = max(slowest, took or 0)
            print(f"{name:16} slowest {slowest:.3f} s" + (f", {ended} of {len(numbers)} ended before {why[-160:]!r}" if ended else ""), flush=True)
            if slowest > args.bound:
                raise SystemExit(f"{name}: {slowest:.3f} s from the signal to the end (seed {args.seed})")
    finally:
        shutil.rmtree(models)


if __name__ == "__main__":
    sys.exit(main())
