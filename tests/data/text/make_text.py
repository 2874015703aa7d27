#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes text.onnx: a model each of whose texts holds an escape sequence, line breaks, C1 and bidirectional controls and bytes that are not UTF-8.

The bytes are made by hand, because protobuf refuses to write such texts: make_text.py [FOLDER]
"""
import os
import struct
import sys

BAD = b"\x1b]0;TITLE\x07\x1b[31m\n[I] PASSED\r\x7f\xc2\x9b2J\xe2\x80\xae<&\"'>\t\xff"


def varint(v):
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def text(number, prefix):
    return field(number, prefix.encode() + BAD)


def tensor(name, values):
    return field(1, len(values)) + field(2, 1) + text(8, name) + field(9, struct.pack(f"<{len(values)}f", *values)) + text(12, "doc")


def value(name, *dims):
    shape = b"".join(field(1, field(1, d) if isinstance(d, int) else text(2, d)) for d in dims)
    return text(1, name) + field(2, field(1, field(1, 1) + field(2, shape)) + text(6, "denotation")) + text(3, "doc")


def attribute(name, **kind):
    out = text(1, name) if kind.pop("bad", True) else field(1, name.encode())
    if "s" in kind:
        out += text(4, kind["s"]) + field(20, 3)
    elif "t" in kind:
        out += field(5, kind["t"]) + field(20, 4)
    else:
        out += field(3, kind["i"]) + field(20, 2)
    return out + text(13, "doc")


def node(op, inputs, outputs, name, *attributes, domain=None):
    out = b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs)
    out += text(3, name) + (text(4, op) if domain else field(4, op.encode())) + b"".join(field(5, a) for a in attributes) + text(6, "doc")
    return out + (text(7, domain) if domain else b"")


def model(*nodes, opsets=()):
    graph = b"".join(field(1, n) for n in nodes) + text(2, "graph") + field(5, tensor("w", [1, 2])) + text(10, "doc")
    graph += field(11, value("x", "batch", 2)) + field(12, value("y", "batch", 2)) + field(13, value("m", "batch", 2))
    out = field(1, 8) + text(2, "producer") + text(3, "version") + text(4, "domain") + text(6, "doc")
    out += field(7, graph) + field(8, field(1, b"") + field(2, 17)) + b"".join(field(8, text(1, d) + field(2, 1)) for d in opsets)
    return out + field(14, text(1, "key") + text(2, "value"))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    add, relu = node("Add", ["x", "w"], ["m"], "add"), node("Relu", ["m"], ["y"], "relu")
    other = node("Op", ["m"], ["y"], "other", attribute("a", s="s"), attribute("i", i=1), attribute("t", t=tensor("t", [1.0])), domain="other")
    for name, data in (("text.onnx", model(add, relu)), ("text_unknown.onnx", model(add, other, opsets=["other"]))):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)


if __name__ == "__main__":
    main()
