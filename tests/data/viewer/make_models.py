# SPDX-License-Identifier: Apache-2.0
"""Makes the models of tests/data/viewer: net.onnx, net_wrong.onnx with one wrong weight in layer 2, and states.onnx, whose tensors have all states.

    python make_models.py
"""
import base64
import io
import json
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
LAYERS, WIDTH = 4, 8


def save(name, nodes, inputs, outputs, weights):
    graph = helper.make_graph(nodes, name, inputs, outputs, [numpy_helper.from_array(v, n) for n, v in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


def net(name, wrong):
    rng = np.random.default_rng(1)
    nodes, weights, last = [], {}, "x"
    for i in range(LAYERS):
        weights[f"w{i}"] = rng.normal(0, 0.4, (WIDTH, WIDTH)).astype(np.float32)
        weights[f"b{i}"] = rng.normal(0.3, 0.1, WIDTH).astype(np.float32)
        nodes += [
            helper.make_node("MatMul", [last, f"w{i}"], [f"m{i}"], name=f"/layer.{i}/matmul"),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"], name=f"/layer.{i}/add"),
            helper.make_node("Relu", [f"a{i}"], [f"r{i}"], name=f"/layer.{i}/relu"),
        ]
        last = f"r{i}"
    nodes.append(helper.make_node("Softmax", [last], ["y"], name="/softmax", axis=1))
    if wrong:
        weights["w2"][3, 7] += 0.75
    value = helper.make_tensor_value_info
    save(name, nodes, [value("x", TensorProto.FLOAT, [2, WIDTH])], [value("y", TensorProto.FLOAT, [2, WIDTH])], weights)


def states():
    """Each output is named after its state, if x is -1 and ramp_in goes beyond what int8 holds."""
    nodes = [
        helper.make_node("Log", ["x"], ["not_a_number"], name="log"),
        helper.make_node("Div", ["x", "zero"], ["infinite"], name="div"),
        helper.make_node("Sub", ["x", "x"], ["zeros"], name="sub"),
        helper.make_node("Add", ["x", "zero"], ["constants"], name="add"),
        helper.make_node("QuantizeLinear", ["ramp_in", "scale", "point"], ["saturated"], name="quantize"),
        helper.make_node("Mul", ["ramp_in", "scale"], ["normal"], name="mul"),
    ]
    weights = {"zero": np.zeros(1, np.float32), "scale": np.float32(0.5), "point": np.int8(0)}
    value = helper.make_tensor_value_info
    outputs = [value(n, TensorProto.INT8 if n == "saturated" else TensorProto.FLOAT, [4]) for n in ("not_a_number", "infinite", "zeros", "constants", "saturated", "normal")]
    save("states", nodes, [value("x", TensorProto.FLOAT, [4]), value("ramp_in", TensorProto.FLOAT, [4])], outputs, weights)


def encoded(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return {"array": base64.b64encode(buffer.getvalue()).decode(), "polygraphy_class": "ndarray"}


def states_inputs():
    feed = {"x": encoded(np.full(4, -1, np.float32)), "ramp_in": encoded(np.array([-100, -1, 1, 100], np.float32))}
    with open(os.path.join(HERE, "states_inputs.json"), "w") as out:
        json.dump([feed], out)


net("net", False)
net("net_wrong", True)
states()
states_inputs()
