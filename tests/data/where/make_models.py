#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of tests/cli/where: good.onnx; bad.onnx with three wrong slopes; renamed.onnx, which is bad.onnx with other names of
tensors and nodes inside; other_output.onnx, whose output has no counterpart in good.onnx.

    python3 tests/data/where/make_models.py
"""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, slopes, prefix="", more=False):
    rng = np.random.RandomState(1)
    nodes, weights, x = [], [], "x"
    for i, slope in enumerate(slopes):
        weights.append(numpy_helper.from_array((rng.standard_normal((8, 8)) / 3).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [f"{prefix}h{i}"], name=f"{prefix}block.{i}/matmul"))
        x = "y" if i + 1 == len(slopes) else f"{prefix}a{i}"
        nodes.append(helper.make_node("LeakyRelu", [f"{prefix}h{i}"], [x], name=f"{prefix}block.{i}/leaky", alpha=slope))
    if more:
        nodes.append(helper.make_node("Exp", [x], ["z"], name="more"))
        x = "z"
    graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, [4, 8])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


save("good", [0.1] * 6)
save("bad", [0.1, 0.11, 0.1, 0.12, 0.1, 0.13])
save("renamed", [0.1, 0.11, 0.1, 0.12, 0.1, 0.13], prefix="other_")
save("other_output", [0.1] * 6, more=True)
