#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the digits classifier of the examples and writes it as ONNX, with real inputs.

Data: the 1797 handwritten digits (8 x 8 pixels) that scikit-learn ships (UCI "Optical Recognition of Handwritten Digits").
Network: conv 3x3 (16) - relu - maxpool 2 - conv 3x3 (32) - relu - fully connected, trained with plain NumPy, so that the
script needs only numpy, scikit-learn and onnx. Everything is seeded; the accuracy on the 360 held-out digits is printed and
stored in the model's metadata.

    python3 examples/models/train_digits.py     # writes digits.onnx and ../data/digits_inputs.json here
"""
import base64
import io
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

HERE = os.path.dirname(os.path.abspath(__file__))
TEST_COUNT = 360
EPOCHS = 40
BATCH = 32


def im2col(x):
    """[N, C, H, W] -> [N, H*W, C*9] patches of 3 x 3 with padding 1."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    patches = np.stack([padded[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)], axis=2)
    return patches.reshape(n, c * 9, h * w).transpose(0, 2, 1)


def col2im(g, shape):
    n, c, h, w = shape
    g = g.transpose(0, 2, 1).reshape(n, c, 9, h, w)
    out = np.zeros((n, c, h + 2, w + 2), g.dtype)
    for k in range(9):
        out[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w] += g[:, :, k]
    return out[:, :, 1:-1, 1:-1]


class Network:
    def __init__(self, rng):
        def init(*shape):
            return (rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float64)
        self.p = {"conv1.weight": init(16, 1, 3, 3), "conv1.bias": np.zeros(16), "conv2.weight": init(32, 16, 3, 3),
                  "conv2.bias": np.zeros(32), "fc.weight": init(10, 32 * 16), "fc.bias": np.zeros(10)}

    def conv(self, name, x):
        w, b = self.p[name + ".weight"], self.p[name + ".bias"]
        cols = im2col(x)
        y = cols @ w.reshape(len(w), -1).T + b
        return y.transpose(0, 2, 1).reshape(len(x), len(w), *x.shape[2:]), cols

    def forward(self, x):
        self.x = x
        self.a1, self.c1 = self.conv("conv1", x)
        self.r1 = np.maximum(self.a1, 0)
        n, c, h, w = self.r1.shape
        self.blocks = self.r1.reshape(n, c, h // 2, 2, w // 2, 2)
        self.m1 = self.blocks.max(axis=(3, 5))
        self.a2, self.c2 = self.conv("conv2", self.m1)
        self.r2 = np.maximum(self.a2, 0)
        self.flat = self.r2.reshape(n, -1)
        return self.flat @ self.p["fc.weight"].T + self.p["fc.bias"]

    def backward(self, g):
        d = {"fc.weight": g.T @ self.flat, "fc.bias": g.sum(0)}
        g = (g @ self.p["fc.weight"]).reshape(self.r2.shape) * (self.a2 > 0)
        g = self.conv_backward(d, "conv2", g, self.c2, self.m1.shape)
        mask = self.blocks == self.m1[:, :, :, None, :, None]
        g = (mask * g[:, :, :, None, :, None]).reshape(self.r1.shape) * (self.a1 > 0)
        self.conv_backward(d, "conv1", g, self.c1, self.x.shape)
        return d

    def conv_backward(self, d, name, g, cols, shape):
        w = self.p[name + ".weight"]
        g = g.reshape(g.shape[0], g.shape[1], -1).transpose(0, 2, 1)
        d[name + ".weight"] = np.einsum("nko,nki->oi", g, cols).reshape(w.shape)
        d[name + ".bias"] = g.sum((0, 1))
        return col2im(g @ w.reshape(len(w), -1), shape)


def train(x, y):
    rng = np.random.default_rng(0)
    net = Network(rng)
    moment = {k: (np.zeros_like(v), np.zeros_like(v)) for k, v in net.p.items()}
    step = 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(x))
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * epoch / EPOCHS))
        for start in range(0, len(x), BATCH):
            index = order[start:start + BATCH]
            logits = net.forward(x[index])
            e = np.exp(logits - logits.max(1, keepdims=True))
            g = e / e.sum(1, keepdims=True)
            g[np.arange(len(index)), y[index]] -= 1
            step += 1
            for k, d in net.backward(g / len(index)).items():
                m, v = moment[k]
                m += 0.1 * (d - m)
                v += 0.001 * (d * d - v)
                net.p[k] -= rate * (m / (1 - 0.9 ** step) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8) + 1e-4 * net.p[k])
    return net


def export(net, accuracy, path):
    nodes = [
        helper.make_node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"], name="conv1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv1"], ["relu1"], name="relu1"),
        helper.make_node("MaxPool", ["relu1"], ["pool1"], name="pool1", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["pool1", "conv2.weight", "conv2.bias"], ["conv2"], name="conv2", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv2"], ["relu2"], name="relu2"),
        helper.make_node("Flatten", ["relu2"], ["flat"], name="flatten", axis=1),
        helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], name="fc", transB=1),
        helper.make_node("Softmax", ["logits"], ["probabilities"], name="softmax", axis=1),
    ]
    weights = [numpy_helper.from_array(v.astype(np.float32), k) for k, v in net.p.items()]
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", 10]),
         helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="train_digits", ir_version=8)
    helper.set_model_props(model, {"accuracy": f"{accuracy:.4f} on {TEST_COUNT} held-out digits", "data": "scikit-learn load_digits"})
    onnx.checker.check_model(model)
    onnx.save(model, path)


def save_inputs(batches, path):
    """A feed list as Polygraphy stores it."""
    def encode(a):
        buffer = io.BytesIO()
        np.save(buffer, a, allow_pickle=False)
        return {"array": base64.b64encode(buffer.getvalue()).decode(), "polygraphy_class": "ndarray"}
    with open(path, "w") as f:
        json.dump([{"image": encode(b)} for b in batches], f, indent="    ")


def main():
    digits = load_digits()
    x = (digits.images / 16.0).astype(np.float32)[:, None]
    order = np.random.default_rng(1).permutation(len(x))
    x, y = x[order], digits.target[order]
    train_x, train_y, test_x, test_y = x[:-TEST_COUNT], y[:-TEST_COUNT], x[-TEST_COUNT:], y[-TEST_COUNT:]
    net = train(train_x.astype(np.float64), train_y)
    accuracy = (net.forward(test_x.astype(np.float64)).argmax(1) == test_y).mean()
    print(f"accuracy on {TEST_COUNT} held-out digits: {accuracy:.4f}")
    export(net, accuracy, os.path.join(HERE, "digits.onnx"))
    save_inputs([test_x[i * 8:(i + 1) * 8] for i in range(4)], os.path.join(HERE, "..", "data", "digits_inputs.json"))


if __name__ == "__main__":
    main()
