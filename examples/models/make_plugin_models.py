#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models for plug-ins beside it; needs numpy and onnx. tanh_limits.onnx limits values twice with Div, Tanh and Mul; soft_clip.onnx
does it with the operator SoftClip of examples/operators/soft_clip.c."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, nodes, weights, domains):
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 256]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, name, values[:1], values[1:], [numpy_helper.from_array(np.asarray(v, np.float32), k) for k, v in weights.items()])
    opsets = [helper.make_opsetid(d, v) for d, v in domains]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), os.path.join(HERE, name + ".onnx"))


def main():
    node, weights = helper.make_node, {"limit_1": 2, "limit_2": 0.5, "shift": 0.25}
    limits = []
    for i, x, y in ((1, "x", "a"), (2, "b", "y")):
        limits += [node("Div", [x, f"limit_{i}"], [f"d{i}"], f"div_{i}"), node("Tanh", [f"d{i}"], [f"t{i}"], f"tanh_{i}"),
                   node("Mul", [f"t{i}", f"limit_{i}"], [y], f"mul_{i}")]
    limits.insert(3, node("Add", ["a", "shift"], ["b"], "shift"))
    save("tanh_limits", limits, weights, [("", 17)])
    clips = [node("SoftClip", ["x"], ["a"], "clip_1", domain="example", limit=2.0), node("Add", ["a", "shift"], ["b"], "shift"),
             node("SoftClip", ["b"], ["y"], "clip_2", domain="example", limit=0.5)]
    save("soft_clip", clips, {"shift": 0.25}, [("", 17), ("example", 1)])


if __name__ == "__main__":
    main()
