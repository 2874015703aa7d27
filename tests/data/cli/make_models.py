#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small models beside it; needs numpy and onnx. sparsity.onnx has one weight of each kind that `inspect sparsity` tells apart;
lint.onnx has a node that fails, one that only it feeds, and things nobody uses; faults.onnx has what only a check without a runtime can
place: faults in a branch and in a function, of weights, of the order; broken.onnx is no graph, for many reasons; cyclic.onnx has a circle; custom.onnx has operators that nobody has; size_one.onnx fails on data of size 1;
guards.onnx divides rows, of which one is 0, by their norms, which 1e-12 keeps from 0, and takes the logarithm of what 1e-30 does."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def sparse(shape, axis, dtype=np.float32):
    """Two zeros in each four neighbours along the axis."""
    a = np.moveaxis(np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype), axis, -1).copy()
    a.reshape(-1, 4)[:, 1:3] = 0
    return np.moveaxis(a, -1, axis).copy()


def dense(shape, dtype=np.float32):
    return np.ones(shape, dtype)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def bfloat16(name, a):
    raw = (a.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return helper.make_tensor(name, TensorProto.BFLOAT16, a.shape, raw, raw=True)


def save(name, nodes, inputs, outputs, initializers, domains=(), functions=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 13)] + [helper.make_opsetid(d, 1) for d in domains]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)
    model.producer_name = ""
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


def sparsity():
    weights = {"conv_sparse": sparse((8, 8, 3, 3), 1), "conv_dense": dense((8, 8, 1, 1)), "right": sparse((8, 4), 0), "turned": sparse((4, 8), 1),
               "gemm_a": sparse((8, 8), 1), "gemm_b": sparse((8, 8), 1), "odd": dense((6, 5)), "half": sparse((8, 4), 0, np.float16),
               "double": dense((4, 4), np.float64), "after_relu": dense((4, 4)), "quantized": sparse((8, 4), 0), "wrong_axis": sparse((8, 8), 1),
               "scale": np.float32(1), "zero": np.int8(0)}
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "conv_sparse"], ["c1"]), node("Conv", ["x", "conv_dense"], ["c2"]), node("MatMul", ["m", "right"], ["o1"]),
        node("Transpose", ["turned"], ["t1"], perm=[1, 0]), node("MatMul", ["m", "t1"], ["o2"]),
        node("Gemm", ["gemm_a", "gemm_b"], ["o3"], transB=1), node("MatMul", ["m6", "odd"], ["o4"]),
        node("Cast", ["half"], ["h1"], to=TensorProto.FLOAT), node("MatMul", ["m", "h1"], ["o5"]), node("MatMul", ["m64", "double"], ["o6"]),
        node("Relu", ["after_relu"], ["r1"], name="rectify"), node("MatMul", ["m4", "r1"], ["o7"]),
        node("QuantizeLinear", ["quantized", "scale", "zero"], ["q1"]), node("DequantizeLinear", ["q1", "scale", "zero"], ["q2"]),
        node("MatMul", ["m", "q2"], ["o8"]), node("MatMul", ["mb", "brain"], ["o9"]), node("MatMul", ["m", "right"], ["o10"]),
        node("MatMul", ["m", "wrong_axis"], ["o11"]),
    ]
    inputs = [value("x", [1, 8, 8, 8]), value("m", [2, 8]), value("m6", [2, 6]), value("m64", [2, 4], TensorProto.DOUBLE), value("m4", [2, 4]),
              value("mb", [2, 8], TensorProto.BFLOAT16)]
    outputs = [value("c1", [1, 8, 6, 6]), value("o1", [2, 4])]
    save("sparsity", nodes, inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()] + [bfloat16("brain", sparse((8, 4), 0))])


def lint():
    node = helper.make_node
    nodes = [node("Relu", ["x"], ["a"], name="good"), node("MatMul", ["a", "w"], ["b"], name="bad"), node("Relu", ["b"], ["y"], name="below"),
             node("Neg", ["x"], ["z"], name="unused")]
    save("lint", nodes, [value("x", [2, 3]), value("lonely", [1])], [value("y", [2, 5])], [numpy_helper.from_array(dense((4, 5)), "w")])


def size_one():
    """A node that cannot work if the dynamic dimension is 1."""
    node = helper.make_node
    nodes = [node("Reshape", ["x", "s"], ["a"], name="two"), node("Neg", ["a"], ["y"], name="three")]
    save("size_one", nodes, [value("x", ["n", 3])], [value("y", None)], [numpy_helper.from_array(np.array([-1, 2, 3], np.int64), "s")])


def guards():
    node = helper.make_node
    nodes = [node("Mul", ["x", "rows"], ["a"], name="scale"), node("ReduceL2", ["a"], ["n"], name="norm", axes=[1], keepdims=1),
             node("Clip", ["n", "least"], ["g"], name="limit"), node("Shape", ["a"], ["s"], name="shape"), node("Expand", ["g", "s"], ["h"], name="expand"),
             node("Div", ["a", "h"], ["d"], name="divide"), node("MatMul", ["d", "w"], ["y"], name="product"),
             node("Abs", ["a"], ["p"], name="size"), node("Max", ["p", "tiny"], ["q"], name="above"), node("Log", ["q"], ["l"], name="log"),
             node("MatMul", ["l", "w"], ["z"], name="sum")]
    weights = {"rows": np.array([[0], [1], [0.001]], np.float32), "least": np.float32(1e-12), "tiny": np.float32(1e-30), "w": dense((4, 2))}
    save("guards", nodes, [value("x", [3, 4])], [value("y", [3, 2]), value("z", [3, 2])], [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()])


def faults():
    node = helper.make_node
    body = helper.make_function("local", "Twist", ["a"], ["b"], [node("Relu", ["a"], ["b"], name="bent", slope=2)], [helper.make_opsetid("", 13)])
    then = helper.make_graph([node("Mul", ["a", "ones"], ["then_out"], name="mixed")], "then", [], [value("then_out", [2, 3])])
    other = helper.make_graph([node("Neg", ["a"], ["else_out"])], "else", [], [value("else_out", [2, 3])])
    nodes = [
        node("Neg", ["late"], ["n"], name="early"), node("Relu", ["x"], ["late"], name="source"), node("Twist", ["n"], ["a"], name="call", domain="local"),
        node("If", ["flag"], ["i"], name="choose", then_branch=then, else_branch=other), node("Cast", ["large"], ["l"], name="narrow", to=TensorProto.FLOAT16),
        node("QuantizeLinear", ["i", "scale"], ["q"], name="coarse"), node("Transpose", ["i"], ["t"], name="turn", perm=[0, 0]),
    ]
    weights = {"ones": dense((2, 3), np.int32), "large": np.float32([1, 70000]), "scale": np.float32(0), "spare": np.float32([1]), "nan": np.float32([np.nan])}
    save("faults", nodes, [value("x", [2, 3]), value("flag", [], TensorProto.BOOL)],
         [value("l", [2], TensorProto.FLOAT16), value("q", [2, 3], TensorProto.UINT8), value("t", [3, 2]), value("nan", [1])],
         [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()], ["local"], [body])


def custom():
    """Operators that nobody has: two at the top level, one in a function, one in a branch."""
    node = helper.make_node
    inner = helper.make_function("local", "Inner", ["a"], ["b"], [node("Lost", ["a"], ["b"], name="lost", domain="custom")],
                                 [helper.make_opsetid("custom", 1)])
    outer = helper.make_function("local", "Outer", ["a"], ["b"], [node("Inner", ["a"], ["t"], name="inner_1", domain="local"), node("Relu", ["t"], ["b"])],
                                 [helper.make_opsetid("", 13), helper.make_opsetid("local", 1)])
    then = helper.make_graph([node("Fake", ["c"], ["then_out"], name="hidden", domain="custom")], "then", [], [value("then_out", [2, 3])])
    other = helper.make_graph([node("Neg", ["c"], ["else_out"])], "else", [], [value("else_out", [2, 3])])
    nodes = [
        node("Relu", ["x"], ["a"], name="first"), node("Add", ["a", "w"], ["b"], name="second"),
        node("Fake", ["b"], ["c"], name="n7", domain="custom"), node("Mul", ["c", "a"], ["d"], name="after"),
        node("If", ["flag"], ["e"], name="choose", then_branch=then, else_branch=other), node("Outer", ["e"], ["f"], name="outer_1", domain="local"),
        node("Sub", ["d", "f"], ["y"], name="last"),
    ]
    save("custom", nodes, [value("x", [2, 3]), value("flag", [], TensorProto.BOOL)], [value("y", [2, 3])],
         [numpy_helper.from_array(dense((2, 3)), "w")], ["custom", "local"], [inner, outer])


def broken():
    node = helper.make_node
    then = helper.make_graph([node("Add", ["y", "nothing"], ["t"])], "then", [], [value("t", [2])])
    other = helper.make_graph([], "else", [], [value("e", [2])])
    f = helper.make_function("local", "F", ["a"], ["c"], [node("Neg", ["void"], ["b"])], [helper.make_opsetid("", 13)])
    nodes = [
        node("If", ["flag"], ["y"], name="choose", then_branch=then, else_branch=other), node("Add", ["x", "nowhere"], ["a"], name="first"),
        node("Mul", ["x", "x"], ["a"], name="second"), node("F", ["x"], ["f"], name="call", domain="local"),
    ]
    w = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
    w.data_type = 77
    save("broken", nodes, [value("x", [2]), value("x", [2]), value("flag", [], TensorProto.BOOL)], [value("a", [2]), value("lost", [2])], [w], ["local"], [f])


def cyclic():
    node = helper.make_node
    nodes = [node("Neg", ["b"], ["a"], name="one"), node("Neg", ["a"], ["b"], name="two"), node("Relu", ["x", "b"], ["y"], name="three")]
    save("cyclic", nodes, [value("x", [2])], [value("y", [2])], [])


def plugin():
    """Operators of examples/operators, in a model with a symbolic dimension."""
    node = helper.make_node
    nodes = [node("SoftClip", ["x"], ["a"], name="clip", domain="example", limit=2.0), node("PadRows", ["a"], ["b"], name="pad", domain="example", rows=2),
             node("Relu", ["b"], ["y"], name="last")]
    save("plugin", nodes, [value("x", ["N", 3])], [value("y", None)], [], ["example"])


if __name__ == "__main__":
    broken()
    cyclic()
    custom()
    plugin()
    sparsity()
    lint()
    size_one()
    guards()
    faults()
