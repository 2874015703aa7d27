#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_chain.py FILE COUNT: so many nameless Relus, every second of which nobody uses. Needs no packages."""
import sys


def field(number, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def info(name):
    return field(1, name) + field(2, field(1, varint(8) + varint(1) + field(2, field(1, varint(8) + varint(2)))))


path, count = sys.argv[1], int(sys.argv[2])
nodes = [field(1, field(1, f"t{i - i % 2 - 2}" if i > 1 else "x") + field(2, f"t{i}") + field(4, "Relu")) for i in range(count)]
graph = b"".join(nodes) + field(2, "g") + field(11, info("x")) + field(12, info(f"t{count - count % 2 - 2}"))
open(path, "wb").write(varint(8) + varint(8) + field(7, graph) + field(8, varint(16) + varint(17)))
