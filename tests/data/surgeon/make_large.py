#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_large.py FILE MIB [Cast | Transpose]: y = (x w) * c with a weight of so many MiB of zeros, a hole in FILE.data; of
float16 that is cast, or transposed first. Needs no packages."""
import os
import sys

ROWS = 4096


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(op, inputs, output, attributes=b""):
    return field(1, b"".join(field(1, name) for name in inputs) + field(2, output) + field(3, op.lower()) + field(4, op) + attributes)


def value(number, name, columns):
    shape = field(1, field(2, "N")) + field(1, field(1, columns))
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


path, size = sys.argv[1], int(sys.argv[2]) << 20
before = sys.argv[3] if len(sys.argv) > 3 else None
columns = size // ROWS // (2 if before == "Cast" else 4)
places = (("location", os.path.basename(path) + ".data"), ("offset", "0"), ("length", str(size)))
weight = field(1, ROWS) + field(1, columns) + field(2, 10 if before == "Cast" else 1) + field(8, "w" if not before else "v")
attribute = field(1, "to") + field(3, 1) + field(20, 2) if before == "Cast" else field(1, "perm") + field(8, 1) + varint(8 << 3) + b"\0" + field(20, 7)
weight += b"".join(field(13, field(1, key) + field(2, text)) for key, text in places) + field(14, 1)
ends = (columns, ROWS) if before == "Transpose" else (ROWS, columns)
graph = node(before, ("v",), "w", field(5, attribute)) if before else b""
graph += node("Gemm", ("x", "w"), "g") + node("Mul", ("g", "c"), "y") + field(2, "large")
graph += field(5, weight) + field(5, field(2, 1) + field(8, "c") + field(9, b"\0\0\0\x3f"))
graph += value(11, "x", ends[0]) + value(12, "y", ends[1])
with open(path, "wb") as f:
    f.write(field(1, 8) + field(8, field(2, 17)) + field(7, graph))
with open(path + ".data", "wb") as f:
    f.truncate(size)
