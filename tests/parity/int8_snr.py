#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What int8 costs by the calibrator: int8_snr.py PROGRAM

Prints the signal-to-noise ratio, in dB, of the outputs of networks in int8 against float32, for each way to find ranges. The default must be the
best of the symmetric ones on average, and for no network more than MARGIN below another one: which errors cancel out differs by some dB from network
to network.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from polygraphy.comparator import RunResults
from polygraphy.json import load_json, save_json
from polygraphy.logger import G_LOGGER

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MARGIN = 8.0
WAYS = {"entropy 2": ["--calibration-base-class", "IInt8EntropyCalibrator2"], "entropy": ["--calibration-base-class", "IInt8EntropyCalibrator"],
        "min-max": ["--calibration-base-class", "IInt8MinMaxCalibrator"], "default": [], "asymmetric": ["--quantization", "asymmetric"]}


class Net:
    """Layers one behind the other, with weights whose channels differ in size as trained ones do."""

    def __init__(self, shape, seed):
        self.r, self.nodes, self.weights, self.shape, self.at = np.random.RandomState(seed), [], [], shape, "x"

    def weight(self, values):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values, np.float32), name))
        return name

    def node(self, op, *inputs, **attributes):
        out = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], name=f"{op}_{len(self.nodes)}", **attributes))
        return out

    def conv(self, cin, cout, dims=2, group=1, stride=1, size=3):
        w = self.r.standard_t(5, (cout, cin // group) + (size,) * dims) / np.sqrt(cin / group * size**dims)
        w *= np.exp(0.4 * self.r.randn(cout)).reshape((-1,) + (1,) * (dims + 1))
        self.at = self.node("Conv", self.at, self.weight(w), self.weight(0.2 * self.r.randn(cout)), pads=[size // 2] * 2 * dims, group=group, strides=[stride] * dims)
        return self

    def act(self, kind):
        if kind == "silu":
            self.at = self.node("Mul", self.at, self.node("Sigmoid", self.at))
        elif kind == "gelu":
            self.at = self.node("Gelu", self.at)
        else:
            self.at = self.node(kind, self.at)
        return self

    def skip(self, body):
        before = self.at
        body(self)
        self.at = self.node("Add", self.at, before)
        return self

    def dense(self, n, m):
        self.at = self.node("Gemm", self.at, self.weight(self.r.randn(n, m) / np.sqrt(n)), self.weight(0.1 * self.r.randn(m)))
        return self

    def head(self, channels, classes=10):
        self.at = self.node("Flatten", self.node("GlobalAveragePool", self.at))
        return self.dense(channels, classes)

    def finish(self):
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
                                  [helper.make_tensor_value_info(self.at, TensorProto.FLOAT, None)], self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=8)


def residual(kind, dims, seed, blocks=4, channels=16):
    n = Net([4, 3] + [12 if dims == 3 else 24] * dims, seed).conv(3, channels, dims).act(kind)
    for _ in range(blocks):
        n.skip(lambda n: n.conv(channels, channels, dims).act(kind).conv(channels, channels, dims)).act(kind)
    return n.head(channels).finish()


def mobile(kind, seed, blocks=4, channels=16):
    n = Net([4, 3, 24, 24], seed).conv(3, channels).act(kind)
    for _ in range(blocks):
        n.skip(lambda n: n.conv(channels, 3 * channels, size=1).act(kind).conv(3 * channels, 3 * channels, group=3 * channels).act(kind)
               .conv(3 * channels, channels, size=1))
    return n.head(channels).finish()


def perceptron(kind, seed):
    n = Net([16, 64], seed)
    for _ in range(4):
        n.dense(64, 64).act(kind)
    return n.dense(64, 10).finish()


def networks():
    yield "relu 2-D", residual("Relu", 2, 1)
    yield "hardswish 2-D", residual("HardSwish", 2, 2)
    yield "silu 2-D", residual("silu", 2, 3)
    yield "relu 3-D", residual("Relu", 3, 4)
    yield "silu 3-D", residual("silu", 3, 5)
    yield "mobile relu", mobile("Relu", 6)
    yield "mobile hardswish", mobile("HardSwish", 7)
    yield "mobile silu", mobile("silu", 8)
    yield "gelu perceptron", perceptron("gelu", 9)
    yield "tanh perceptron", perceptron("Tanh", 10)


def snr(wanted, given):
    signal = sum(float((w.astype(np.float64) ** 2).sum()) for w in wanted)
    noise = sum(float(((w.astype(np.float64) - g) ** 2).sum()) for w, g in zip(wanted, given))
    return 10 * np.log10(signal / noise) if noise else np.inf


def measure(program, folder, name, path, feeds, words):
    """On the second half of the data; the first calibrates."""
    half = len(feeds) // 2
    given, checked, out, cache = (f"{folder}/{n}" for n in ("calibration.json", "checked.json", "out.json", "cache"))
    if os.path.exists(cache):
        os.remove(cache)
    save_json(feeds[:half], given)
    save_json(feeds[half:], checked)
    for data in (given, checked):
        done = subprocess.run([program, "run", path, "--trt", "--int8", "--calibration-cache", cache, "--load-inputs", data, "--save-outputs", out, *words],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name} {words}: {done.stdout[-500:]}{done.stderr[-500:]}")
    session = onnxruntime.InferenceSession(path)
    wanted = [session.run(None, f)[0] for f in feeds[half:]]
    return snr(wanted, [next(iter(r.values())) for r in RunResults.load(out)[0][1]])


def main():
    program = os.path.abspath(sys.argv[1])
    G_LOGGER.module_severity = G_LOGGER.ERROR
    ways = {w: words for w, words in WAYS.items() if len(sys.argv) < 3 or w in sys.argv[2:]}
    print(f"{'':<18}" + "".join(f"{w:>12}" for w in ways))
    rows, bad = [], 0
    with tempfile.TemporaryDirectory() as folder:
        cases = []
        for name, m in networks():
            path = f"{folder}/{name.replace(' ', '_')}.onnx"
            onnx.save(m, path)
            r = np.random.RandomState(0)
            shape = [d.dim_value for d in m.graph.input[0].type.tensor_type.shape.dim]
            cases.append((name, path, [{"x": r.standard_t(6, shape).astype(np.float32)} for _ in range(8)]))
        cases.insert(0, ("digits", f"{ROOT}/examples/models/digits.onnx", load_json(f"{ROOT}/examples/data/digits_inputs.json")))
        for name, path, feeds in cases:
            row = {w: measure(program, folder, name, path, feeds, words) for w, words in ways.items()}
            rows.append(row)
            print(f"{name:<18}" + "".join(f"{v:>12.1f}" for v in row.values()), flush=True)
            others = [v for w, v in row.items() if w not in ("default", "asymmetric")]
            if "default" in row and others and row["default"] < max(others) - MARGIN:
                bad += 1
                print(f"{name}: the default is {max(others) - row['default']:.1f} dB below another one")
    means = {w: np.mean([r[w] for r in rows]) for w in ways}
    print(f"{'mean':<18}" + "".join(f"{v:>12.1f}" for v in means.values()))
    bad += "default" in means and means["default"] < max(v for w, v in means.items() if w != "asymmetric")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
