#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models that each show one fault, for the examples and tests.

    nan_source.onnx        a variance comes out slightly negative and its square root is NaN, three nodes before the output
    fp16_overflow.onnx     a sum of squares in float16 passes 65504 and becomes infinity; in float32 all is well
    leaky_relu_good.onnx   a small network, and
    leaky_relu_bad.onnx    the same with one attribute lost in conversion (alpha 0.2 -> the default 0.01)

    python3 examples/models/make_fault_models.py
"""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, nodes, inputs, outputs, weights=(), opset=13):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="make_fault_models", ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def nan_source():
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], name="mean", axes=[1], keepdims=1),
        helper.make_node("Mul", ["x", "x"], ["square"], name="square"),
        helper.make_node("ReduceMean", ["square"], ["mean_square"], name="mean_square", axes=[1], keepdims=1),
        helper.make_node("Mul", ["mean", "mean"], ["square_mean"], name="square_mean"),
        helper.make_node("Sub", ["square_mean", "mean_square"], ["variance"], name="variance"),
        helper.make_node("Sqrt", ["variance"], ["deviation"], name="deviation"),
        helper.make_node("Add", ["deviation", "epsilon"], ["scale"], name="scale"),
        helper.make_node("Div", ["x", "scale"], ["y"], name="normalise"),
    ]
    save("nan_source", nodes, [info("x", ["batch", 16])], [info("y", ["batch", 16])],
         [numpy_helper.from_array(np.float32(1e-5), "epsilon")])


def fp16_overflow():
    weight = numpy_helper.from_array(np.full((64, 8), 0.5, np.float16), "weight")
    gain = numpy_helper.from_array(np.float16(100), "gain")
    nodes = [
        helper.make_node("Cast", ["x"], ["x16"], name="to_half", to=TensorProto.FLOAT16),
        helper.make_node("Mul", ["x16", "gain"], ["scaled"], name="gain"),
        helper.make_node("Mul", ["scaled", "scaled"], ["energy"], name="energy"),
        helper.make_node("MatMul", ["energy", "weight"], ["mixed"], name="mix"),
        helper.make_node("Cast", ["mixed"], ["y"], name="to_float", to=TensorProto.FLOAT),
    ]
    save("fp16_overflow", nodes, [info("x", ["batch", 64])], [info("y", ["batch", 8])], [weight, gain])


def leaky_relu(name, **attributes):
    rng = np.random.default_rng(0)
    w1 = numpy_helper.from_array(rng.standard_normal((16, 32)).astype(np.float32), "w1")
    w2 = numpy_helper.from_array(rng.standard_normal((32, 4)).astype(np.float32), "w2")
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["hidden"], name="hidden"),
        helper.make_node("LeakyRelu", ["hidden"], ["active"], name="activation", **attributes),
        helper.make_node("MatMul", ["active", "w2"], ["y"], name="out"),
    ]
    save(name, nodes, [info("x", ["batch", 16])], [info("y", ["batch", 4])], [w1, w2])


if __name__ == "__main__":
    nan_source()
    fp16_overflow()
    leaky_relu("leaky_relu_good", alpha=0.2)
    leaky_relu("leaky_relu_bad")
