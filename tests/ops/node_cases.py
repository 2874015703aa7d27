#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operator cases (README.md) from the node cases that the `onnx` package generates.

    node_cases.py OPERATOR [FILE]        e.g. node_cases.py CumProd; FILE is by default the operator in snake case

Small cases of one node with tensors are taken, values as the package gives them; at most 10 of one operator.
"""
import os
import re
import sys
import warnings

import numpy as np
from onnx import numpy_helper
from onnx.backend.test.case import node as node_cases

from make_cases import NAMES, attribute_lines, tensor_lines

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
MOST, LARGEST = 10, 130


def name_of(value):
    return NAMES[value.type.tensor_type.elem_type]


def is_small(model, inputs, outputs):
    values = list(model.graph.input) + list(model.graph.output)
    if len(model.graph.node) != 1 or not all(v.type.HasField("tensor_type") for v in values):
        return False
    if any(a.type in (5, 10) for a in model.graph.node[0].attribute):
        return False
    return all(np.asarray(x).size <= LARGEST for x in list(inputs) + list(outputs))


def case_text(case, inputs, outputs):
    model = case.model
    node = model.graph.node[0]
    given = {v.name: (x, name_of(v)) for v, x in zip(model.graph.input, inputs)}
    made = {v.name: (x, name_of(v)) for v, x in zip(model.graph.output, outputs)}
    opset = [o.version for o in model.opset_import if o.domain == node.domain][0]
    prefix = node.domain + ":" if node.domain else ""
    lines = ["case: " + case.name[5:], "op: %s%s %d" % (prefix, node.op_type, opset)]
    for a in node.attribute:
        lines += attribute_lines(a)
    for name in node.input:
        lines += tensor_lines("in:", *given[name]) if name else ["in: -"]
    for name in node.output:
        lines += tensor_lines("out:", *made[name]) if name else ["out: -"]
    if any(name in ("float32", "float16", "bfloat16") for _, name in made.values()):
        lines.append("tolerance: %g" % (1e-5 if all(n != "float16" and n != "bfloat16" for _, n in made.values()) else 1e-2))
    return "\n".join(lines)


def array_of(x):
    return numpy_helper.to_array(x) if hasattr(x, "raw_data") else x


def main():
    operator = sys.argv[1]
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operator).lower()
    path = os.path.join(HERE, (sys.argv[2] if len(sys.argv) > 2 else snake) + ".txt")
    texts = []
    for case in node_cases.collect_testcases(operator):
        inputs, outputs = ([array_of(x) for x in side] for side in case.data_sets[0])
        if "_expanded" in case.name or len(texts) >= MOST or not is_small(case.model, inputs, outputs):
            continue
        texts.append(case_text(case, inputs, outputs))
    with open(path, "w") as f:
        f.write("# Values made by node_cases.py.\n" + "\n\n".join(texts) + "\n")
    print(path, len(texts))


if __name__ == "__main__":
    main()
