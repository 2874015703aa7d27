#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_products.py FILE COUNT: a chain of COUNT matrix products, each with a weight of 4 MiB in the file, at any address. Needs no packages."""
import sys

SIZE = 1024


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


def value(number, name):
    shape = field(1, field(1, 1)) + field(1, field(1, SIZE))
    return field(number, field(1, name) + field(2, field(1, field(1, 1) + field(2, shape))))


count = int(sys.argv[2])
nodes = [field(1, field(1, f"t{i}") + field(1, f"w{i}") + field(2, f"t{i + 1}") + field(3, f"product{i}") + field(4, "MatMul")) for i in range(count)]
# names of growing length move the weights to other addresses
weights = [field(5, field(1, SIZE) + field(1, SIZE) + field(2, 1) + field(8, f"w{i}") + field(12, "x" * (i % 4)) + field(9, bytes(4 * SIZE * SIZE))) for i in range(count)]
with open(sys.argv[1], "wb") as f:
    f.write(field(1, 8) + field(8, field(2, 17)) + field(7, b"".join(nodes + weights) + field(2, "g") + value(11, "t0") + value(12, f"t{count}")))
