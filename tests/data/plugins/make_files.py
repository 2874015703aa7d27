#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the files beside it; needs numpy, onnx and PyYAML. chain.onnx is Relu, Neg, Relu, Neg, Abs, slow.onnx many Erf; awkward.yaml has texts that need quotes, as PyYAML
writes them; folded.yaml has texts that PyYAML breaks into lines; toys/ has plugins for chain.onnx, bad/ one whose script fails."""
import os

import onnx
import yaml
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))
TEXTS = ["", "~", "null", "true", "No", "on", "1", "-1", "1.5", "1e5", "1.0e+5", ".inf", "-.inf", ".nan", "0x1F", "1_000", "12:30:45", "2024-01-01", "=", "<<", "a: b",
         "a:b", "a #b", "a#b", "#a", "-", "- a", "-a", "?", "? a", ":", ":a", "a:", " a", "a ", "[a", "]a", "{a", "}a", ",a", "a,b", "&a", "*a", "!a", "|a", ">a", "'a", '"a', "it's",
         "%a", "@a", "`a", "---", "--- a", "...", "a\tb", "a\\b", "caf\u00e9", "\u4e2d", "\U0001F600", "/model/Relu_output_0", "onnx::Add_12", "510", "x.y-z_w"]
LONG = ["word " * 30 + "end", "'quoted: " + "word " * 30 + "end", "tab\t" + "word " * 30 + "end"]


def document(texts):
    attributes = {f"t{i}": t for i, t in enumerate(texts)}
    attributes.update(whole=3, real=2.5, small=1e-30, large=1e22, yes=True, no=False, none=[], many=[1, 2], reals=[0.5, float("inf")], texts=["a", "1"])
    return {"name": "toy", "op": "Toy", "instances": [{"inputs": texts[:3], "outputs": ["y"], "attributes": attributes}, {"inputs": [], "outputs": ["z"], "attributes": {}}]}


def write(name, texts):
    second = {"name": "other", "op": "Other", "instances": [{"inputs": ["x"], "outputs": ["y"], "attributes": {}}]}
    with open(os.path.join(HERE, name), "w") as file:
        yaml.dump_all([document(texts), second], file, sort_keys=False)


def chain():
    nodes, x = [], "x"
    for i in range(2):
        nodes += [helper.make_node("Relu", [x], [f"r{i}"], f"relu_{i}"), helper.make_node("Neg", [f"r{i}"], [f"n{i}"], f"neg_{i}")]
        x = f"n{i}"
    nodes.append(helper.make_node("Abs", [x], ["y"], "abs"))
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(HERE, "chain.onnx"))


def slow():
    nodes, x = [], "x"
    for i in range(24):
        nodes.append(helper.make_node("Erf", [x], [f"e{i}"], f"erf_{i}"))
        x = f"e{i}"
    nodes.append(helper.make_node("Neg", [x], ["y"], "neg"))
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 64, 64, 32]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "slow", values[:1], values[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), os.path.join(HERE, "slow.onnx"))


if __name__ == "__main__":
    chain()
    slow()
    write("awkward.yaml", TEXTS)
    write("folded.yaml", LONG)
