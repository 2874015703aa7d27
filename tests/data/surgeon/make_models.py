#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small models beside it; needs numpy and onnx. shapes.onnx is full of arithmetic on shapes and has an unused node; bounds.onnx has
sizes that depend on data; limits.onnx has a constant that is large, and one that cannot be computed; wide.onnx has one of 2 MiB; branch.onnx has an If that is decided;
channels.onnx has scales and shifts of channels, a Pad and a bias beside convolutions and a product; products.onnx has
products of one value; nested.onnx has an If within an If, both of which read a weight from outside."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
node = helper.make_node


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, outputs, weights):
    weights = [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()]
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


def shapes():
    one = np.ones(1, np.float32)
    nodes = [
        node("Shape", ["x"], ["s"], name="shape"), node("Gather", ["s", "one"], ["g"], name="gather"),
        node("Unsqueeze", ["g", "axes"], ["u"], name="unsqueeze"), node("Concat", ["u", "rest"], ["c"], axis=0, name="concat"),
        node("Add", ["a", "b"], ["ab"], name="add"), node("Reshape", ["x", "c"], ["r"], name="reshape"),
        node("Mul", ["r", "ab"], ["y"], name="mul"), node("Neg", ["x"], ["unused"], name="neg"),
    ]
    save("shapes", nodes, [value("x", ["N", 3, 4])], [value("y", None)], {"one": np.int64(1), "axes": [0], "rest": [-1], "a": one, "b": one})


def bounds():
    nodes = [node("ReduceMax", ["x"], ["n"], name="max", keepdims=0), node("Range", ["zero", "n", "one"], ["y"], name="range")]
    save("bounds", nodes, [value("x", [4], TensorProto.INT64)], [value("y", None, TensorProto.INT64)], {"zero": np.int64(0), "one": np.int64(1)})


def limits():
    nodes = [node("Expand", ["one", "wide"], ["e"], name="expand"), node("Add", ["x", "e"], ["y"], name="add"),
             node("Gather", ["one", "seven"], ["z"], name="gather")]
    save("limits", nodes, [value("x", [1000])], [value("y", [1000]), value("z", [])],
         {"one": np.ones(1, np.float32), "wide": [1000], "seven": np.int64(7)})


def wide():
    nodes = [node("Expand", ["one", "shape"], ["e"], name="expand"), node("Add", ["x", "e"], ["y"], name="add")]
    save("wide", nodes, [value("x", [1])], [value("y", [512, 1024])], {"one": np.ones(1, np.float32), "shape": [512, 1024]})


def branch():
    yes = helper.make_graph([node("Relu", ["x"], ["t"], name="inner")], "yes", [], [value("t", [2])])
    no = helper.make_graph([node("Neg", ["x"], ["e"], name="inner")], "no", [], [value("e", [2])])
    nodes = [node("If", ["c"], ["r"], name="decide", then_branch=yes, else_branch=no), node("Abs", ["r"], ["y"], name="abs")]
    save("branch", nodes, [value("x", [2])], [value("y", [2])], {"c": np.bool_(True)})


def channels():
    """Numbers are sums of powers of two, so that no order of operations rounds."""
    nodes = [node("Pad", ["x", "pads"], ["p"], name="pad"), node("Conv", ["p", "w"], ["a"], name="conv"), node("Mul", ["a", "c"], ["b"], name="scale"),
             node("Add", ["b", "d"], ["e"], name="shift"), node("Relu", ["e"], ["f"], name="relu"), node("Conv", ["f", "v"], ["g"], name="second"),
             node("BatchNormalization", ["g", "gamma", "beta", "mean", "variance"], ["h"], name="norm", epsilon=0.0),
             node("GlobalAveragePool", ["h"], ["i"], name="pool"), node("Flatten", ["i"], ["j"], name="flat"),
             node("MatMul", ["j", "m"], ["k"], name="product"), node("Add", ["k", "bias"], ["y"], name="add")]
    f = lambda *a: np.array(a, np.float32)
    save("channels", nodes, [value("x", ["N", 1, 2, 2])], [value("y", ["N", 2])],
         {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "w": f(1, 2, 3, 4, 0.5, 1, 0, -1).reshape(2, 1, 2, 2), "c": f(2, 4).reshape(2, 1, 1),
          "d": f(1, -1).reshape(1, 2, 1, 1), "v": f(1, 2, -1, 0.5).reshape(2, 2, 1, 1), "gamma": f(2, 1), "beta": f(1, 3), "mean": f(0.5, -2),
          "variance": f(4, 0.25), "m": f(1, 2, 3, 4).reshape(2, 2), "bias": f(5, 6)})


def products():
    """Attention with one head: queries, keys and values of one value, and behind it a Gemm of rows, an activation and a scale between Reshapes.
    Small integers, so that nothing rounds."""
    count = iter(range(1, 100))
    w = lambda *shape: ((np.arange(np.prod(shape)) * next(count) + next(count)) % 5 - 2).astype(np.float32).reshape(shape)
    nodes = [node("Relu", ["x"], ["h"], name="relu")]
    nodes += [node("MatMul", ["h", f"w{i}"], [f"p{i}"], name=f"to_{i}") for i in "qkv"]
    nodes += [node("Mul", ["pq", "quarter"], ["sq"], name="scale"), node("Reshape", ["sq", "heads"], ["q"], name="q"),
              node("Transpose", ["pk"], ["k"], perm=[0, 2, 1], name="turn"), node("Reshape", ["pv", "heads"], ["v"], name="v"),
              node("MatMul", ["q", "k"], ["s"], name="scores"), node("Relu", ["s"], ["p"], name="weigh"), node("MatMul", ["p", "v"], ["c"], name="context"),
              node("Reshape", ["c", "rows"], ["r"], name="rows"), node("Gemm", ["r", "wa", "ba"], ["g"], name="up"),
              node("Reshape", ["g", "parted"], ["a"], name="part"), node("Relu", ["a"], ["l"], name="activate"), node("Mul", ["l", "two"], ["t"], name="double"),
              node("Reshape", ["t", "rows"], ["z"], name="join"), node("Gemm", ["z", "wb", "bb"], ["e"], name="down"),
              node("Reshape", ["e", "columns"], ["f"], name="columns"), node("Mul", ["f", "two"], ["y"], name="last")]
    save("products", nodes, [value("x", [2, 3, 4])], [value("y", [6, 2, 2])],
         {"wq": w(4, 4), "wk": w(4, 4), "wv": w(4, 4), "wa": w(4, 4), "wb": w(4, 4), "ba": w(4), "bb": w(4), "quarter": np.float32(0.25),
          "two": np.float32(2), "heads": [0, -1, 4], "rows": [-1, 4], "parted": [2, 3, 4], "columns": [-1, 2, 2]})


def nested():
    deep = helper.make_graph([node("Mul", ["a", "w"], ["d"], name="deep")], "deep", [], [value("d", [2])])
    flat = helper.make_graph([node("Neg", ["a"], ["f"], name="flat")], "flat", [], [value("f", [2])])
    inner = [node("Add", ["r", "w"], ["a"], name="sum"), node("If", ["c"], ["i"], name="inner", then_branch=deep, else_branch=flat)]
    yes = helper.make_graph(inner, "yes", [], [value("i", [2])])
    no = helper.make_graph([node("Identity", ["w"], ["n"], name="keep")], "no", [], [value("n", [2])])
    nodes = [node("Relu", ["x"], ["r"], name="relu"), node("If", ["c"], ["y"], name="outer", then_branch=yes, else_branch=no)]
    save("nested", nodes, [value("x", [2]), value("c", [], TensorProto.BOOL)], [value("y", [2])], {"w": np.ones(2, np.float32)})


if __name__ == "__main__":
    for make in (shapes, bounds, limits, wide, branch, channels, products, nested):
        make()
