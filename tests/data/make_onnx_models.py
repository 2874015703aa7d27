#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small models of tests/data/onnx with the onnx package: one file per thing the codec must keep.

Run without arguments; it writes beside itself. The files are committed, so tests need no Python.
"""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx")
OPSET = [h.make_opsetid("", 17)]


def tensor(name, array):
    return nh.from_array(np.asarray(array), name)


def value(name, shape, elem=T.FLOAT):
    return h.make_tensor_value_info(name, elem, shape)


def model(nodes, inputs, outputs, initializers=(), opsets=OPSET, **kw):
    graph = h.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return h.make_model(graph, opset_imports=opsets, ir_version=8, producer_name="make_onnx_models", **kw)


def subgraph_if_loop():
    then = h.make_graph([h.make_node("Add", ["x", "one"], ["t"])], "then", [], [value("t", ["N"])],
                        [tensor("one", np.ones(1, np.float32))])
    other = h.make_graph([h.make_node("Neg", ["x"], ["e"])], "else", [], [value("e", ["N"])])
    body = h.make_graph(
        [h.make_node("Identity", ["cond_in"], ["cond_out"]), h.make_node("Mul", ["v", "x"], ["v_out"])], "body",
        [value("i", [], T.INT64), value("cond_in", [], T.BOOL), value("v", ["N"])],
        [value("cond_out", [], T.BOOL), value("v_out", ["N"])])
    return model(
        [h.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
         h.make_node("Loop", ["trips", "", "y"], ["z"], body=body, name="loop")],
        [value("x", ["N"]), value("c", [], T.BOOL)], [value("z", ["N"])], [tensor("trips", np.array(3, np.int64))])


def function():
    attribute = onnx.AttributeProto(name="slope", type=onnx.AttributeProto.FLOAT, f=0.25)
    leaky = h.make_node("LeakyRelu", ["a"], ["b"])
    leaky.attribute.append(onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT))
    f = h.make_function("my.domain", "Slope", ["a"], ["b"], [leaky], OPSET, ["kind"], [attribute])
    f.doc_string = "a function with a default"
    return model([h.make_node("Slope", ["x"], ["y"], domain="my.domain", kind="k")], [value("x", [2, 3])],
                 [value("y", [2, 3])], opsets=OPSET + [h.make_opsetid("my.domain", 1)], functions=[f])


def sparse():
    m = model([h.make_node("Add", ["x", "w"], ["y"])], [value("x", [3, 4])], [value("y", [3, 4])])
    s = h.make_sparse_tensor(tensor("w", np.array([1.5, 2.5], np.float32)), tensor("", np.array([1, 7], np.int64)), [3, 4])
    m.graph.sparse_initializer.append(s)
    return m


def quantization():
    m = model([h.make_node("Relu", ["x"], ["y"])], [value("x", [4])], [value("y", [4])],
              [tensor("scale", np.array(0.5, np.float32)), tensor("zero", np.array(3, np.uint8))])
    a = m.graph.quantization_annotation.add(tensor_name="y")
    a.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    a.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="zero")
    m.metadata_props.add(key="author", value="nobody")
    m.graph.metadata_props.add(key="empty", value="")
    return m


def attributes():
    g = h.make_graph([h.make_node("Relu", ["p"], ["q"])], "inner", [value("p", [1])], [value("q", [1])])
    sp = h.make_sparse_tensor(tensor("v", np.array([9], np.int64)), tensor("i", np.array([0], np.int64)), [2])
    tp = h.make_tensor_type_proto(T.FLOAT16, ["B", 3])
    n = h.make_node(
        "Everything", ["x"], ["y"], domain="my.domain", name="all", f=1.5, i=-7, s="text", t=tensor("t", np.arange(3)), g=g,
        floats=[1.0, -2.0], ints=[1, -2, 3], strings=["a", "b"], tensors=[tensor("t0", np.zeros(1, np.int8))],
        graphs=[g, g], sparse_tensor=sp, sparse_tensors=[sp], type_proto=tp,
        type_protos=[tp, h.make_sequence_type_proto(h.make_tensor_type_proto(T.STRING, []))], i_zero=0, s_empty="")
    return model([n], [value("x", [1])], [value("y", [1])], opsets=OPSET + [h.make_opsetid("my.domain", 1)])


def types():
    inputs = [
        h.make_value_info("seq", h.make_sequence_type_proto(h.make_tensor_type_proto(T.INT64, None))),
        h.make_value_info("map", h.make_map_type_proto(T.STRING, h.make_tensor_type_proto(T.FLOAT, [1]))),
        h.make_value_info("opt", h.make_optional_type_proto(h.make_tensor_type_proto(T.DOUBLE, ["N", 0, None]))),
        h.make_value_info("sparse", h.make_sparse_tensor_type_proto(T.FLOAT, [5, 6])),
        value("no_shape", None), value("scalar", []), value("mixed", ["N", 0, None, 4]),
    ]
    return model([h.make_node("Identity", ["scalar"], ["y"])], inputs, [value("y", [])])


def every_element_type():
    numbers = [0, 1, 2]
    tensors = []
    for code in sorted(T.DataType.values()):
        if code == T.UNDEFINED or code > T.INT2:
            continue
        name = T.DataType.Name(code)
        values = ["a", "bc", ""] if code == T.STRING else numbers
        tensors.append(h.make_tensor("typed_" + name, code, [3], values))
        if code != T.STRING:
            tensors.append(nh.from_array(nh.to_array(tensors[-1]), "raw_" + name))
    m = model([h.make_node("Relu", ["x"], ["y"])], [value("x", [1])], [value("y", [1])], tensors)
    m.ir_version = 13
    return m


def external():
    w = np.arange(600, dtype=np.float32).reshape(20, 30)
    m = model([h.make_node("MatMul", ["x", "w"], ["h"]), h.make_node("Add", ["h", "b"], ["y"])], [value("x", ["N", 20])],
              [value("y", ["N", 30])], [tensor("w", w), tensor("b", np.ones(30, np.float32))])
    return m


def varint(v):
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7F | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def block(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def unusual_bytes():
    """Unknown fields and a group, packed where writers write unpacked and the reverse, fields out of order."""
    group = varint(60 << 3 | 3) + varint(1 << 3) + b"\x05" + varint(60 << 3 | 4)
    unknown = block(100, b"kept") + varint(101 << 3 | 5) + b"\x01\x02\x03\x04"
    dims = block(1, b"\x02\x02")  # packed
    floats = b"".join(varint(4 << 3 | 5) + np.float32(v).tobytes() for v in (1, 2, 3))
    floats += block(4, np.array([4], np.float32).tobytes())
    init = block(8, b"w") + floats + varint(2 << 3) + b"\x01" + dims
    ints = block(8, varint(1) + varint(300)) + varint(8 << 3) + b"\x07"
    attribute = block(1, b"axes") + ints + varint(20 << 3) + b"\x07"
    node = unknown + block(4, b"Relu") + block(1, b"x") + block(2, b"y") + block(5, attribute)
    value_info = block(1, b"x") + block(2, block(1, varint(1 << 3) + b"\x01"))
    graph = block(2, b"g") + group + block(5, init) + block(1, node) + block(11, value_info)
    opset = block(8, varint(2 << 3) + varint(13))
    return b"\x08\x08" + opset + unknown + block(7, graph)


def main():
    os.makedirs(HERE, exist_ok=True)
    makers = (subgraph_if_loop, function, sparse, quantization, attributes, types, every_element_type)
    for make in makers:
        onnx.save(make(), os.path.join(HERE, make.__name__ + ".onnx"))
    path = os.path.join(HERE, "external.onnx")
    for name in ("external.onnx", "external.bin"):
        if os.path.exists(os.path.join(HERE, name)):
            os.remove(os.path.join(HERE, name))
    onnx.save(external(), path, save_as_external_data=True, location="external.bin", size_threshold=0)
    with open(os.path.join(HERE, "unusual_bytes.onnx"), "wb") as f:
        f.write(unusual_bytes())


if __name__ == "__main__":
    main()
