# SPDX-License-Identifier: Apache-2.0
"""ONNX files for the tests, written without packages. Names may be bytes, so that a file can have names that are no UTF-8.

    model([node("Relu", ["x"], ["y"], "relu")], inputs=[tensor("x", [1, "N"])], outputs=[tensor("y")])
"""
import struct

FLOAT, INT64, BOOL, FLOAT16 = 1, 7, 9, 10


def _varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, value):
    if isinstance(value, str):
        value = value.encode()
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _float(field, value):
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _all(field, values):
    return b"".join(_bytes(field, v) for v in values)


def attribute(name, value):
    """An attribute of an int, a float, a text, a list of ints, or a graph (what graph() made)."""
    body = _bytes(1, name)
    if isinstance(value, Graph):
        return body + _bytes(6, value.data) + _number(20, 5)
    if isinstance(value, int):
        return body + _number(3, value) + _number(20, 2)
    if isinstance(value, float):
        return body + _float(2, value) + _number(20, 1)
    if isinstance(value, list):
        return body + b"".join(_number(8, v) for v in value) + _number(20, 7)
    return body + _bytes(4, value) + _number(20, 3)


def node(op, inputs, outputs, name="", domain="", doc="", metadata=(), **attributes):
    return (_all(1, inputs) + _all(2, outputs) + _bytes(3, name) + _bytes(4, op) + _all(5, (attribute(k, v) for k, v in attributes.items()))
            + (_bytes(6, doc) if doc else b"") + (_bytes(7, domain) if domain else b"") + _all(9, (_bytes(1, k) + _bytes(2, v) for k, v in metadata)))


def tensor(name, shape=None, dtype=FLOAT, doc=""):
    """A declared value; a dimension is a number or a name."""
    dims = b"" if shape is None else _bytes(2, b"".join(_bytes(1, _number(1, d) if isinstance(d, int) else _bytes(2, d)) for d in shape))
    return _bytes(1, name) + _bytes(2, _bytes(1, _number(1, dtype) + dims)) + (_bytes(3, doc) if doc else b"")


def weight(name, shape, values=None, dtype=FLOAT, location=None):
    """A weight of float32; values: a list, or one number for all. `location`: the file that its bytes are in, which need not exist."""
    count = 1
    for d in shape:
        count *= d
    dims = b"".join(_number(1, d) for d in shape)
    if location is not None:
        return dims + _number(2, dtype) + _bytes(8, name) + _bytes(13, _bytes(1, "location") + _bytes(2, location)) + _number(14, 1)
    numbers = values if isinstance(values, list) else [1.0 if values is None else values] * count
    kind = {FLOAT: "f", INT64: "q"}[dtype]
    return dims + _number(2, dtype) + _bytes(8, name) + _bytes(9, struct.pack(f"<{count}{kind}", *numbers))


class Graph:
    def __init__(self, data):
        self.data = data


def graph(nodes, inputs=(), outputs=(), weights=(), values=(), name="g", doc=""):
    return Graph(_all(1, nodes) + _bytes(2, name) + _all(5, weights) + (_bytes(10, doc) if doc else b"") + _all(11, inputs) + _all(12, outputs) + _all(13, values))


def function(name, nodes, inputs, outputs, domain="local"):
    return _bytes(1, name) + _all(4, inputs) + _all(5, outputs) + _all(7, nodes) + _bytes(9, _number(2, 17)) + _bytes(10, domain)


def model(nodes, inputs=(), outputs=(), weights=(), values=(), name="g", doc="", producer="tests", opset=17, domains=(), metadata=(), functions=()):
    """The bytes of a file."""
    imports = [_number(2, opset), *(_bytes(1, d) + _number(2, 1) for d in domains)]
    return (_number(1, 8) + _bytes(2, producer) + _bytes(7, graph(nodes, inputs, outputs, weights, values, name, doc).data) + _all(8, imports)
            + _all(14, (_bytes(1, k) + _bytes(2, v) for k, v in metadata)) + _all(25, functions))


def chain(ops, shape=(1, 4), **more):
    """A model of nodes one after the other: chain(["Relu", "Tanh"])."""
    nodes = [node(op, [f"t{i}" if i else "x"], [f"t{i + 1}" if i + 1 < len(ops) else "y"], f"{op.lower()}_{i}") for i, op in enumerate(ops)]
    return model(nodes, [tensor("x", list(shape))], [tensor("y", list(shape))], **more)
