# SPDX-License-Identifier: Apache-2.0
"""Writes model.onnx, a network of the tutorials' size: x:0 of shape [N, 1, 28, 28] to probabilities y:0 and classes z:0. Needs onnx and NumPy."""
import os

import numpy as np
import onnx
from onnx import helper, numpy_helper

random = np.random.default_rng(0)
weights = {"k": random.normal(0, 0.3, (4, 1, 5, 5)), "b": random.normal(0, 0.1, 4), "w": random.normal(0, 0.2, (196, 10)), "c": random.normal(0, 0.1, 10)}
nodes = [
    helper.make_node("Conv", ["x:0", "k", "b"], ["conv"], "conv", kernel_shape=[5, 5], strides=[2, 2], pads=[2, 2, 2, 2]),
    helper.make_node("Relu", ["conv"], ["relu"], "relu"),
    helper.make_node("MaxPool", ["relu"], ["pool"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
    helper.make_node("Flatten", ["pool"], ["flat"], "flatten"),
    helper.make_node("Gemm", ["flat", "w", "c"], ["logits"], "dense"),
    helper.make_node("Softmax", ["logits"], ["y:0"], "softmax", axis=1),
    helper.make_node("ArgMax", ["y:0"], ["z:0"], "argmax", axis=1, keepdims=0),
]
float32, int64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
graph = helper.make_graph(nodes, "digits", [helper.make_tensor_value_info("x:0", float32, ["N", 1, 28, 28])],
                          [helper.make_tensor_value_info("y:0", float32, ["N", 10]), helper.make_tensor_value_info("z:0", int64, ["N"])],
                          [numpy_helper.from_array(v.astype(np.float32), n) for n, v in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
onnx.checker.check_model(model)
onnx.save(model, os.path.join(os.path.dirname(os.path.abspath(__file__)), "model.onnx"))
