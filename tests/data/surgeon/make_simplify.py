#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the models of `surgeon simplify` beside it; needs numpy and onnx. block.onnx is a layer of a transformer as exporters write it (opset 17, any
batch and length); double.onnx is a LayerNormalization in float64 whose epsilon is no float32; decoder.onnx is the attention of a decoder: four heads share two of
keys and values, scores are capped, and a triangle chooses among them."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEADS = 8, 2
node = helper.make_node


def value(name, shape, kind):
    return helper.make_tensor_value_info(name, kind, shape)


def layer_norm(x, y, n, scaled):
    nodes = [
        node("ReduceMean", [x], [n + ".mean"], axes=[-1]), node("Sub", [x, n + ".mean"], [n + ".d"]), node("Pow", [n + ".d", "two"], [n + ".square"]),
        node("ReduceMean", [n + ".square"], [n + ".variance"], axes=[-1]), node("Add", [n + ".variance", "epsilon"], [n + ".sum"]),
        node("Sqrt", [n + ".sum"], [n + ".root"]), node("Div", [n + ".d", n + ".root"], [n + ".q" if scaled else y]),
    ]
    return nodes + [node("Mul", [n + ".q", "scale"], [n + ".m"]), node("Add", [n + ".m", "shift"], [y])] if scaled else nodes


def heads(x, y, weight, perm):
    return [node("MatMul", [x, weight], [y + ".p"]), node("Reshape", [y + ".p", "split"], [y + ".r"]), node("Transpose", [y + ".r"], [y], perm=perm)]


def block():
    rng = np.random.RandomState(0)
    weights = {name: rng.randn(WIDTH, WIDTH).astype(np.float32) for name in ("wq", "wk", "wv", "wo", "wi")}
    weights.update(two=np.float32(2), epsilon=np.float32(1e-5), scale=rng.rand(WIDTH).astype(np.float32), shift=rng.rand(WIDTH).astype(np.float32),
                   split=np.int64([0, 0, HEADS, WIDTH // HEADS]), join=np.int64([0, 0, WIDTH]), root=np.float32(2 ** 0.5), one=np.float32(1),
                   half=np.float32(0.5), factor=np.float32((WIDTH / HEADS) ** -0.5))
    nodes = layer_norm("x", "a", "norm", True)
    nodes += heads("a", "q", "wq", [0, 2, 1, 3]) + heads("a", "k", "wk", [0, 2, 3, 1]) + heads("a", "v", "wv", [0, 2, 1, 3])
    nodes += [
        node("MatMul", ["q", "k"], ["scores"]), node("Mul", ["scores", "factor"], ["scaled"]), node("Softmax", ["scaled"], ["p"], axis=-1),
        node("MatMul", ["p", "v"], ["o"]), node("Transpose", ["o"], ["t"], perm=[0, 2, 1, 3]), node("Reshape", ["t", "join"], ["r"]),
        node("MatMul", ["r", "wo"], ["attended"]), node("Add", ["x", "attended"], ["b"]), node("MatMul", ["b", "wi"], ["c"]),
        node("Div", ["c", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["f"]), node("Mul", ["c", "f"], ["g"]),
        node("Mul", ["g", "half"], ["y"]),
    ]
    save("block", nodes, TensorProto.FLOAT, ["batch", "length", WIDTH], weights)


def decoder():
    batch, length, queries, shared, size = 2, 5, 4, 2, 4
    rng = np.random.RandomState(1)
    weights = dict(wq=rng.randn(WIDTH, queries * size).astype(np.float32), wk=rng.randn(WIDTH, shared * size).astype(np.float32),
                   wv=rng.randn(WIDTH, shared * size).astype(np.float32), wo=rng.randn(queries * size, WIDTH).astype(np.float32),
                   split=np.int64([batch, length, queries, size]), split_shared=np.int64([batch, length, shared, size]), axis=np.int64([2]),
                   many=np.int64([batch, shared, queries // shared, length, size]), heads=np.int64([batch, queries, length, size]),
                   join=np.int64([batch, length, queries * size]), root=np.float32(2 ** -0.5), cap=np.float32(5), closed=np.float32("-inf"),
                   open=np.tril(np.ones((length, length), bool)))
    nodes = []
    for name, shape in (("q", "split"), ("k", "split_shared"), ("v", "split_shared")):
        nodes += [node("MatMul", ["x", "w" + name], [name + ".p"]), node("Reshape", [name + ".p", shape], [name + ".r"]),
                  node("Transpose", [name + ".r"], [name], perm=[0, 2, 1, 3])]
    for name in "kv":
        nodes += [node("Unsqueeze", [name, "axis"], [name + ".u"]), node("Expand", [name + ".u", "many"], [name + ".e"]),
                  node("Reshape", [name + ".e", "heads"], [name + ".all"])]
    nodes += [
        node("Transpose", ["k.all"], ["k.t"], perm=[0, 1, 3, 2]), node("Mul", ["q", "root"], ["q.s"]), node("Mul", ["k.t", "root"], ["k.s"]),
        node("MatMul", ["q.s", "k.s"], ["scores"]), node("Div", ["scores", "cap"], ["small"]), node("Tanh", ["small"], ["bent"]),
        node("Mul", ["bent", "cap"], ["capped"]), node("Where", ["open", "capped", "closed"], ["masked"]), node("Softmax", ["masked"], ["p"], axis=-1),
        node("MatMul", ["p", "v.all"], ["o"]), node("Transpose", ["o"], ["t"], perm=[0, 2, 1, 3]), node("Reshape", ["t", "join"], ["r"]),
        node("MatMul", ["r", "wo"], ["y"]),
    ]
    save("decoder", nodes, TensorProto.FLOAT, [batch, length, WIDTH], weights)


def double():
    weights = {"two": np.float64(2), "epsilon": np.float64(1e-5)}
    save("double", layer_norm("x", "y", "norm", False), TensorProto.DOUBLE, [2, WIDTH], weights)


def save(name, nodes, kind, shape, weights):
    weights = [numpy_helper.from_array(np.asarray(w), n) for n, w in weights.items()]
    graph = helper.make_graph(nodes, name, [value("x", shape, kind)], [value("y", shape, kind)], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(HERE, name + ".onnx"))


block()
decoder()
double()
