#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the models of tests/cli/where: good.onnx; inside.onnx and inside_bad.onnx, which differ in a function, a loop and a branch;
endless.onnx, whose loop does not end; bad.onnx with three wrong slopes; renamed.onnx, which is bad.onnx with other names of
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


def scalar(name, value, dtype):
    return numpy_helper.from_array(np.array(value, dtype), name)


def save_inside(name, slope, loop_slope, factor):
    """A call, then a loop of 5 iterations with a branch in each that multiplies from iteration 3 on."""
    f32, info = TensorProto.FLOAT, helper.make_tensor_value_info
    weight = numpy_helper.from_array((np.random.RandomState(2).standard_normal((8, 8)) / 3).astype(np.float32), "w")
    block = helper.make_function("local", "Block", ["a", "m"], ["r"], [
        helper.make_node("MatMul", ["a", "m"], ["p"], name="matmul"),
        helper.make_node("LeakyRelu", ["p"], ["r0"], name="leaky", alpha=slope),
        helper.make_node("Neg", ["r0"], ["r"], name="neg"),
    ], [helper.make_opsetid("", 17)])
    late = helper.make_graph([helper.make_node("Constant", [], ["k"], value=scalar("", factor, np.float32)),
                              helper.make_node("Mul", ["act", "k"], ["scaled"], name="scale")], "late", [], [info("scaled", f32, [4, 8])])
    early = helper.make_graph([helper.make_node("Abs", ["act"], ["size"], name="abs")], "early", [], [info("size", f32, [4, 8])])
    body = helper.make_graph([
        helper.make_node("Identity", ["go"], ["go_on"]),
        helper.make_node("MatMul", ["state", "w"], ["sum"], name="matmul"),
        helper.make_node("LeakyRelu", ["sum"], ["act"], name="leaky", alpha=loop_slope),
        helper.make_node("Greater", ["i", "two"], ["is_late"]),
        helper.make_node("If", ["is_late"], ["picked"], name="pick", then_branch=late, else_branch=early),
        helper.make_node("Tanh", ["picked"], ["next"], name="tanh"),
    ], "body", [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("state", f32, [4, 8])],
        [info("go_on", TensorProto.BOOL, []), info("next", f32, [4, 8])])
    graph = helper.make_graph([
        helper.make_node("Block", ["x", "w"], ["start"], name="call_0", domain="local"),
        helper.make_node("Loop", ["trips", "", "start"], ["end"], name="loop_3", body=body),
        helper.make_node("Relu", ["end"], ["y"], name="relu"),
    ], "net", [info("x", f32, [4, 8])], [info("y", f32, [4, 8])],
        [weight, scalar("trips", 5, np.int64), scalar("two", 2, np.int64)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)], functions=[block],
                              ir_version=8)
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


save_inside("inside", 0.1, 0.2, 1.5)
save_inside("inside_bad", 0.11, 0.22, 1.6)


def save_endless():
    info = helper.make_tensor_value_info
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["go_on"]), helper.make_node("Neg", ["state"], ["next"])], "body",
                             [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("state", TensorProto.FLOAT, [2])],
                             [info("go_on", TensorProto.BOOL, []), info("next", TensorProto.FLOAT, [2])])
    graph = helper.make_graph([helper.make_node("Loop", ["", "", "x"], ["y"], name="forever", body=body)], "net",
                              [info("x", TensorProto.FLOAT, [2])], [info("y", TensorProto.FLOAT, [2])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(HERE, "endless.onnx"))


save_endless()
