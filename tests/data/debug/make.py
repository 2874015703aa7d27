#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models of the tests of `debug`: make.py, in this folder; needs the package onnx."""
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def save(path, nodes, shape, output, weights=()):
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", output)]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], list(weights))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


OPERATORS = ("Relu", "Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Sqrt", "Softplus")
save("chain.onnx", [helper.make_node(op, [f"t{i - 1}" if i else "x"], [f"t{i}"], name=f"n{i}") for i, op in enumerate(OPERATORS)], [2, 3], "t7")

BRANCHES = (("Relu", "x", "a"), ("Neg", "a", "b"), ("Abs", "a", "c"), ("Exp", "c", "c2"), ("Add", "b c2", "d"), ("Tanh", "d", "e"), ("Mul", "e w", "f"))
save("diamond.onnx", [helper.make_node(op, inputs.split(), [out], name=out) for op, inputs, out in BRANCHES], ["N", 3], "f",
     [numpy_helper.from_array(np.ones(3, np.float32), "w")])

MASK = numpy_helper.from_array(np.array([True, False, True]), "mask")
OTHER = numpy_helper.from_array(np.array([np.nan, 1, 2], np.float32), "other")
save("weights.onnx", [helper.make_node("Where", ["mask", "x", "other"], ["y"], name="where")], [2, 3], "y", [MASK, OTHER])

# A node whose attribute cannot go; only with it "scaled" has a NaN.
VALUE = numpy_helper.from_array(np.array([[np.nan, -2, 3], [1, 0, 7]], np.float32), "value")
save("constant.onnx", [helper.make_node("Constant", [], ["c"], name="fixed", value=VALUE), helper.make_node("Mul", ["x", "c"], ["scaled"], name="scale"),
                       helper.make_node("Neg", ["scaled"], ["y"], name="neg")], [2, 3], "y")

# Models whose nodes are all Constants, and one with a Constant that nothing reads.
FIXED = [helper.make_node("Constant", [], [name], name=f"fixed_{name}", value=numpy_helper.from_array(np.array(values, np.float32), name))
         for name, values in (("good", [1, 2]), ("bad", [3, np.nan]))]
TWO = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("good", "bad")]
X, Y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
for path, nodes, inputs, outputs in (("constants.onnx", FIXED, [], TWO), ("unread.onnx", FIXED + [helper.make_node("Relu", ["x"], ["y"], name="relu")], [X], [Y, *TWO])):
    onnx.save(helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
