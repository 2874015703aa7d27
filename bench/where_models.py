# SPDX-License-Identifier: Apache-2.0
"""Models for bench/where and bench/where_large, with random weights: where_models.py KIND OUTPUT

KIND is resnet50 or bert (base). plant() makes one node of a model wrong: `row` scales a row of a weight by 1.01,
`slope` changes a LeakyRelu's slope, `transpose` flips transB of a Gemm with a square weight."""
import argparse
import random

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Net:
    def __init__(self):
        self.nodes, self.weights, self.rng, self.n = [], [], np.random.RandomState(1), 0

    def weight(self, name, shape, fan):
        value = (self.rng.standard_normal(shape) / np.sqrt(fan)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def constant(self, name, value):
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def op(self, kind, inputs, name=None, **attributes):
        self.n += 1
        name = name or f"{kind.lower()}_{self.n}"
        self.nodes.append(helper.make_node(kind, inputs, [name + "_out"], name=name, **attributes))
        return name + "_out"

    def conv(self, x, name, cin, cout, k, stride=1, act="Relu"):
        w = self.weight(name + ".w", (cout, cin, k, k), cin * k * k / 2)
        b = self.constant(name + ".b", np.zeros(cout, np.float32))
        y = self.op("Conv", [x, w, b], name, kernel_shape=[k, k], strides=[stride] * 2, pads=[k // 2] * 4)
        return self.op(act, [y], name + "_act", **({"alpha": 0.1} if act == "LeakyRelu" else {})) if act else y

    def dense(self, x, name, cin, cout):
        y = self.op("MatMul", [x, self.weight(name + ".w", (cin, cout), cin)], name + "_matmul")
        return self.op("Add", [y, self.constant(name + ".b", np.zeros(cout, np.float32))], name + "_bias")

    def norm(self, x, name, size):
        return self.op("LayerNormalization", [x, self.constant(name + ".g", np.ones(size, np.float32)), self.constant(name + ".b", np.zeros(size, np.float32))], name, axis=-1)

    def save(self, path, x, shape, y):
        graph = helper.make_graph(self.nodes, "net", [helper.make_tensor_value_info(x, TensorProto.FLOAT, shape)],
                                  [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def resnet50(net, act="Relu"):
    x = net.conv("x", "stem", 3, 64, 7, 2, act)
    x = net.op("MaxPool", [x], "pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    cin = 64
    for stage, (width, blocks) in enumerate([(64, 3), (128, 4), (256, 6), (512, 3)]):
        for i in range(blocks):
            name, stride = f"layer{stage + 1}.{i}", 2 if stage and not i else 1
            y = net.conv(x, name + ".conv1", cin, width, 1, 1, act)
            y = net.conv(y, name + ".conv2", width, width, 3, stride, act)
            y = net.conv(y, name + ".conv3", width, 4 * width, 1, 1, None)
            if not i:
                x = net.conv(x, name + ".down", cin, 4 * width, 1, stride, None)
            half = net.constant(name + ".half", np.float32(0.7))
            x = net.op("Mul", [net.op("Add", [x, y], name + ".sum"), half], name + ".scale")
            x = net.op("Relu", [x], name + ".relu")
            cin = 4 * width
    x = net.op("Flatten", [net.op("GlobalAveragePool", [x], "average")], "flat")
    y = net.op("Gemm", [x, net.weight("square.w", (2048, 2048), 2048), net.constant("square.b", np.zeros(2048, np.float32))], "square", transB=1)
    return "x", [1, 3, 224, 224], net.op("Gemm", [y, net.weight("fc.w", (1000, 2048), 2048), net.constant("fc.b", np.zeros(1000, np.float32))], "fc", transB=1)


def bert(net, layers=12, size=768, heads=12, length=128):
    x = net.norm("x", "embeddings", size)
    for i in range(layers):
        p = f"layer.{i}/"
        q, k, v = (net.dense(x, p + n, size, size) for n in ("query", "key", "value"))
        shape = net.constant(p + "split", np.array([0, 0, heads, size // heads], np.int64))
        q, v = (net.op("Transpose", [net.op("Reshape", [t, shape])], perm=[0, 2, 1, 3]) for t in (q, v))
        k = net.op("Transpose", [net.op("Reshape", [k, shape])], perm=[0, 2, 3, 1])
        s = net.op("Div", [net.op("MatMul", [q, k], p + "scores"), net.constant(p + "root", np.float32((size // heads) ** 0.5))], p + "scaled")
        c = net.op("Transpose", [net.op("MatMul", [net.op("Softmax", [s], p + "softmax", axis=-1), v], p + "context")], perm=[0, 2, 1, 3])
        c = net.op("Reshape", [c, net.constant(p + "join", np.array([0, 0, size], np.int64))])
        x = net.norm(net.op("Add", [net.dense(c, p + "output", size, size), x], p + "sum1"), p + "norm1", size)
        h = net.op("LeakyRelu", [net.dense(x, p + "up", size, 4 * size)], p + "leaky", alpha=0.1)
        x = net.norm(net.op("Add", [net.dense(h, p + "down", 4 * size, size), x], p + "sum2"), p + "norm2", size)
    x = net.op("Squeeze", [net.op("Slice", [x, net.constant("zero", np.array([0], np.int64)), net.constant("one", np.array([1], np.int64)), net.constant("axis", np.array([1], np.int64))], "first"),
                           "axis"], "pooled")
    return "x", [1, length, size], net.op("Gemm", [x, net.weight("pooler.w", (size, size), size), net.constant("pooler.b", np.zeros(size, np.float32))], "pooler", transB=1)


def plant(model, fault, rng, taken=()):
    """Makes one node wrong that is not in `taken`. Returns its name and a function that mends it; None: the model has no such node."""
    weights = {w.name: w for w in model.graph.initializer}

    def fits(n):
        if n.name in taken:
            return False
        if fault == "row":
            return n.op_type in ("Conv", "MatMul", "Gemm") and n.input[1] in weights
        if fault == "slope":
            return n.op_type == "LeakyRelu"
        return n.op_type == "Gemm" and len(set(weights[n.input[1]].dims)) == 1

    nodes = [n for n in model.graph.node if fits(n)]
    if not nodes:
        return None
    n = rng.choice(nodes)
    if fault == "row":
        w = weights[n.input[1]]
        before, value = w.raw_data, numpy_helper.to_array(w).copy()
        row = rng.randrange(value.shape[0])
        value[row] *= 1.01
        w.raw_data = value.tobytes()

        def mend():
            w.raw_data = before
    elif fault == "slope":
        a, slope = n.attribute[0], n.attribute[0].f
        a.f *= 1.05

        def mend():
            a.f = slope
    else:
        a = [a for a in n.attribute if a.name == "transB"][0]
        a.i ^= 1

        def mend():
            a.i ^= 1
    return n.name, mend


def make(kind):
    net = Net()
    x, shape, y = bert(net) if kind == "bert" else resnet50(net, "LeakyRelu")
    return net, x, shape, y


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=("resnet50", "bert"))
    p.add_argument("output")
    o = p.parse_args()
    net, x, shape, y = make(o.kind)
    net.save(o.output, x, shape, y)
