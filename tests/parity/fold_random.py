#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs of products, biases, scales, Reshapes and elementwise operators, folded: fold_random.py PROGRAM [COUNT]

The folded model is valid, has no more nodes, gives in ONNX Runtime what the original gives, and stays as it is when it is folded again.
"""
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FUNCTIONS = ("Relu", "Tanh", "Sigmoid", "Neg", "Abs")
onnxruntime.set_default_logger_severity(4)


class Maker:
    """One graph: x [rows, depth] and z [batch, length, depth], and what is made of them."""

    def __init__(self, seed):
        self.random, self.numbers = random.Random(seed), np.random.default_rng(seed)
        self.batch, self.length = self.random.choice(((1, 3), (2, 3), (2, 2)))
        self.rows, self.depth = self.batch * self.length, self.random.choice((2, 4, 6))
        self.shapes = {"x": (self.rows, self.depth), "z": (self.batch, self.length, self.depth)}
        self.weights, self.nodes = {}, []

    def weight(self, array):
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(array)
        return name

    def floats(self, *shape):
        return self.weight((self.numbers.integers(-4, 5, shape) / 2).astype(np.float32))

    def one(self, number):
        return self.weight(np.full(self.random.choice(((), (1,))), number, np.float32))

    def add(self, op, inputs, shape, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"n{len(self.nodes)}", **attributes))
        self.shapes[name] = shape
        return name

    def product(self, x):
        shape, width = self.shapes[x], self.random.choice((1, 2, 4, 6))
        if len(shape) == 2 and self.random.random() < 0.6:
            turned = self.random.randrange(2)
            inputs = [x, self.floats(*(width, shape[1])[:: 1 if turned else -1])] + [self.floats(width)] * (self.random.random() < 0.6)
            y = self.add("Gemm", inputs, (shape[0], width), transB=turned)
        else:
            y = self.add("MatMul", [x, self.floats(shape[-1], width)], shape[:-1] + (width,))
            if self.random.random() < 0.5:
                y = self.add("Add", self.random.sample((y, self.floats(width)), 2), self.shapes[y])
        if self.random.random() < 0.4:
            y = self.add(self.random.choice(("Mul", "Div")), [y, self.one(self.random.choice((0.5, 0.3, 2, -1, 0.125)))], self.shapes[y])
        if self.random.random() < 0.7 and len(shape) == 3:
            first, second, third = self.shapes[y]
            self.add("Transpose", [y], (first, third, second), perm=[0, 2, 1])

    def reshape(self, x):
        shape = self.shapes[x]
        if len(shape) == 3:
            self.add("Reshape", [x, self.weight([-1, shape[2]])], (shape[0] * shape[1], shape[2]))
        elif shape[0] == self.rows and self.random.random() < 0.7:
            self.add("Reshape", [x, self.weight([-1, self.length, shape[1]])], (self.batch, self.length, shape[1]))
        elif shape[1] % 2 == 0:
            self.add("Reshape", [x, self.weight([shape[0], 2, shape[1] // 2])], (shape[0], 2, shape[1] // 2))

    def binary(self, x):
        shape, kind = self.shapes[x], self.random.random()
        if kind < 0.35:
            other = self.random.choice([name for name, s in self.shapes.items() if s == shape])
        elif kind < 0.7:
            other = self.floats(*self.random.choice(((shape[-1],), (1,) * (len(shape) - 1) + shape[-1:], (), (1,))))
        else:
            other = self.floats(*self.random.choice((shape, (shape[-2], 1), shape[1:])))
        self.add(self.random.choice(("Add", "Mul", "Sub")), self.random.sample((x, other), 2), shape)

    def step(self):
        names = list(self.shapes)
        x = self.random.choice(names[-5:] if self.random.random() < 0.6 else names)
        kind = self.random.random()
        if kind < 0.3:
            for _ in range(self.random.choice((2, 3, 4))):
                self.product(x)
        elif kind < 0.6:
            self.reshape(x)
        elif kind < 0.8:
            self.add(self.random.choice(FUNCTIONS), [x], self.shapes[x])
        elif kind < 0.85:
            self.add("Clip", [x, self.weight(np.float32(-1))], self.shapes[x])
        else:
            self.binary(x)

    def model(self):
        for _ in range(self.random.randint(6, 18)):
            self.step()
        used = {name for node in self.nodes for name in node.input}
        outputs = [name for name in self.shapes if name not in "xz" and (name not in used or self.random.random() < 0.08)]
        dynamic = self.random.random() < 0.3
        value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        inputs = [value("x", ["P", self.depth] if dynamic else self.shapes["x"]), value("z", ["B", "S", self.depth] if dynamic else self.shapes["z"])]
        graph = helper.make_graph(self.nodes, "random", inputs, [value(name, [None] * len(self.shapes[name])) for name in outputs],
                                  [numpy_helper.from_array(array, name) for name, array in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.random.choice((11, 13, 17, 18)))], ir_version=8)


def fold(program, before, after):
    done = subprocess.run([program, "surgeon", "sanitize", before, "--fold-constants", "-o", after], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout + done.stderr)
    return onnx.load(after)


def check(program, folder, seed):
    """What is wrong with this graph, or None."""
    paths = [os.path.join(folder, name) for name in ("original.onnx", "folded.onnx", "again.onnx")]
    maker = Maker(seed)
    model = maker.model()
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, paths[0])
    folded = fold(program, *paths[:2])
    onnx.checker.check_model(folded, full_check=True)
    again = fold(program, *paths[1:])
    feed = {name: maker.numbers.standard_normal(maker.shapes[name]).astype(np.float32) for name in "xz"}
    wanted, got = (onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed) for path in paths[:2])
    for output, a, b in zip(model.graph.output, wanted, got):
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-4, atol=1e-4 * max(1, np.abs(a).max())):
            return f"output {output.name} differs"
    if len(folded.graph.node) > len(model.graph.node):
        return "more nodes"
    return None if len(again.graph.node) == len(folded.graph.node) else "folding again changes it"


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 150
    with tempfile.TemporaryDirectory() as folder:
        found = {seed: text for seed in range(count) if (text := check(program, folder, seed))}
    for seed, text in found.items():
        print(f"graph {seed}: {text}")
    print(f"{count} random graphs folded, {len(found)} wrong")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
