#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the malformed models and data files beside it; needs numpy and onnx. Each is named for what is wrong with it."""
import base64
import io
import json
import os
import struct
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def path(name):
    return os.path.join(HERE, name)


def value(name, shape=(2,), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs=("x",), outputs=("y",), initializers=()):
    graph = helper.make_graph(nodes, "hostile", [value(n) for n in inputs], [value(n) for n in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def save(name, proto):
    with open(path(name), "wb") as f:
        f.write(proto if isinstance(proto, bytes) else proto.SerializeToString())


def weight(name, dims, kind=TensorProto.FLOAT, raw=b""):
    t = TensorProto(name=name, dims=dims, data_type=kind)
    t.raw_data = raw
    return t


def outside(location):
    t = TensorProto(name="w", dims=[2], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, text in (("location", location), ("offset", "0"), ("length", "8")):
        t.external_data.add(key=key, value=text)
    return t


def models():
    node = helper.make_node
    relu, add = node("Relu", ["x"], ["y"], name="relu"), node("Add", ["x", "w"], ["y"], name="add")
    whole = model([add], initializers=[weight("w", [2], raw=b"\0" * 8)]).SerializeToString()
    save("truncated.onnx", whole[:-9])
    save("cyclic.onnx", model([node("Add", ["x", "b"], ["a"], name="first"), node("Relu", ["a"], ["b"], name="second"), node("Relu", ["b"], ["y"])]))
    save("duplicate_value.onnx", model([relu, node("Neg", ["x"], ["y"], name="neg")]))
    save("duplicate_node.onnx", model([node("Relu", ["x"], ["a"], name="twin"), node("Neg", ["a"], ["y"], name="twin")]))
    save("dangling.onnx", model([node("Add", ["x", "nowhere"], ["y"], name="add")]))
    save("no_such_output.onnx", model([node("Relu", ["x"], ["a"], name="relu")]))
    save("newer_operator.onnx", model([node("Gelu", ["x"], ["y"], name="gelu")]))
    mixed = model([node("Add", ["x", "d"], ["y"], name="add"), node("Relu", ["x"], ["z"], name="relu")], outputs=("y", "z"))
    mixed.graph.input.append(value("d", kind=TensorProto.DOUBLE))
    save("mixed_types.onnx", mixed)
    save("unknown_operator.onnx", model([node("Frob", ["x"], ["y"], name="frob")]))
    save("omitted_input.onnx", model([node("Sub", ["x", ""], ["y"], name="sub")]))
    save("wrong_type.onnx", model([node("And", ["x", "x"], ["y"], name="and")]))
    save("unknown_element_type.onnx", model([add], initializers=[weight("w", [2], 99, b"\0" * 8)]))
    save("huge_shape.onnx", model([add], initializers=[weight("w", [1 << 40, 1 << 40], raw=b"\0" * 8)]))
    save("negative_shape.onnx", model([add], initializers=[weight("w", [-2], raw=b"\0" * 8)]))
    save("short_weight.onnx", model([add], initializers=[weight("w", [2], raw=b"\0" * 7)]))
    save("huge_constant.onnx", model([node("ConstantOfShape", ["s"], ["big"], name="fill"), node("ReduceSum", ["big"], ["y"], name="sum")],
                                     initializers=[numpy_helper.from_array(np.array([1 << 40], np.int64), "s")]))
    save("outside_parent.onnx", model([add], initializers=[outside("../onnx/external.bin")]))
    save("outside_absolute.onnx", model([add], initializers=[outside("/etc/hostname")]))
    deep = b""
    for _ in range(300):  # a graph in an attribute of a node of a graph ...
        attribute = b"\x32" + varint(len(deep)) + deep
        inner = b"\x2a" + varint(len(attribute)) + attribute
        deep = b"\x0a" + varint(len(inner)) + inner
    save("deep.onnx", b"\x08\x08\x3a" + varint(len(deep)) + deep)


def varint(n):
    out = b""
    while n > 0x7F:
        out += bytes([n & 0x7F | 0x80])
        n >>= 7
    return out + bytes([n])


def large_models():
    node = helper.make_node
    fill = [node("ConstantOfShape", ["s"], [f"c{i}"], name=f"c{i}") for i in range(16)]
    ends = [node("Sum", [f"c{i}" for i in range(16)], ["t"], name="t"), node("ReduceSum", ["t"], ["r"], name="r", keepdims=0), node("Add", ["x", "r"], ["y"])]
    save("many_large.onnx", model(fill + ends, initializers=[numpy_helper.from_array(np.array([1 << 26]), "s")]))
    twice = [node("Concat", [f"c{i}" if i else "x"] * 2, [f"c{i + 1}"], name=f"c{i + 1}", axis=0) for i in range(40)]
    save("doubled.onnx", model(twice + [node("ReduceSum", ["c40"], ["y"], keepdims=0)]))
    step = [node("Identity", ["c"], ["d"]), node("Concat", ["s", "s"], ["t"], name="grow", axis=0)]
    scalar = lambda name, kind: helper.make_tensor_value_info(name, kind, [])
    body = helper.make_graph(step, "body", [scalar("i", TensorProto.INT64), scalar("c", TensorProto.BOOL), value("s", ("n",))],
                             [scalar("d", TensorProto.BOOL), value("t", ("m",))])
    save("loop_grows.onnx", model([node("Loop", ["count", "", "x"], ["y"], name="loop", body=body)], initializers=[numpy_helper.from_array(np.array(60), "count")]))


def npy(a):
    f = io.BytesIO()
    np.save(f, a)
    return f.getvalue()


def data():
    good = npy(np.zeros((1, 1, 8, 8), np.float32))
    feed = lambda text: json.dumps([{"image": {"array": text, "polygraphy_class": "ndarray"}}])
    texts = {
        "bad_base64.json": feed("!!!!" + base64.b64encode(good).decode()[4:]),
        "short_array.json": feed(base64.b64encode(good[:-4]).decode()),
        "huge_array.json": feed(base64.b64encode(good.replace(b"(1, 1, 8, 8)", b"(9999999999,)")).decode()),
        "deep.json": "[" * 2000 + "]" * 2000,
        "cut.json": feed(base64.b64encode(good).decode())[:-20],
        "unknown_class.json": json.dumps([{"image": {"polygraphy_class": "Bogus"}}]),
    }
    for name, text in texts.items():
        with open(path(name), "w", encoding="ascii") as f:
            f.write(text)
    save("short.npy", good[:-4])
    save("huge.npy", good.replace(b"(1, 1, 8, 8)", b"(9999999999,)"))
    save("object.npy", good.replace(b"'<f4'", b"'|O' "))
    save("not_a_zip.npz", b"PK\x03\x04nothing")
    save("overlap.npz", overlap(npy(np.zeros((1, 1, 512, 512), np.float32)), 40))


def overlap(member, count):
    """An archive with `count` names for one member."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("a00.npy"), member, zipfile.ZIP_DEFLATED)
    whole = file.getvalue()
    begin, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    entries = b"".join(whole[begin:end].replace(b"a00.npy", b"a%02d.npy" % i) for i in range(count))
    return whole[:begin] + entries + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, count, count, len(entries), begin, 0)


if __name__ == "__main__":
    models()
    large_models()
    data()
