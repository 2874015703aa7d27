#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that ONNX Runtime's optimizer saved at level all, whose images are in blocks of channels: nchwc.py PROGRAM

Convolutional networks are saved by ONNX Runtime with all optimizations. Each saved model must give in --opref and --trt what ONNX Runtime
gives for it and for the original, with every tensor as an output, too, and from a plan. Every operator of com.microsoft.nchwc must occur.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft.nchwc"
OPERATORS = {"Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "Upsample", "ReorderInput", "ReorderOutput"}
node = helper.make_node
rng = np.random.RandomState(0)


def w(*shape):
    return rng.randn(*shape).astype(np.float32) / 4


def networks():
    """(name, nodes, weights, shape of x)"""
    yield "residual", [node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1] * 4), node("Relu", ["c1"], ["r1"]),
                       node("MaxPool", ["r1"], ["p1"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), node("Conv", ["p1", "w2", "b2"], ["c2"], pads=[1] * 4),
                       node("Add", ["c2", "p1"], ["s"]), node("Relu", ["s"], ["y"])], {"w1": w(32, 3, 3, 3), "b1": w(32), "w2": w(32, 32, 3, 3), "b2": w(32)}, [1, 3, 16, 16]
    yield "average", [node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4), node("LeakyRelu", ["c1"], ["r1"], alpha=0.2),
                      node("AveragePool", ["r1"], ["p1"], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), node("Conv", ["p1", "w2"], ["c2"]),
                      node("GlobalAveragePool", ["c2"], ["y"])], {"w1": w(32, 16, 3, 3), "w2": w(64, 32, 1, 1)}, [2, 16, 9, 7]
    yield "depthwise", [node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4), node("Clip", ["c1", "lo", "hi"], ["r1"]),
                        node("Conv", ["r1", "w2"], ["c2"], group=20, pads=[1] * 4, strides=[2, 2]), node("Sigmoid", ["c2"], ["r2"]), node("Conv", ["r2", "w3"], ["y"])],\
        {"w1": w(20, 8, 3, 3), "w2": w(20, 1, 3, 3), "w3": w(40, 20, 1, 1), "lo": np.float32(0), "hi": np.float32(6)}, [1, 8, 12, 10]
    for mode, extra in (("nearest", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}), ("linear", {"coordinate_transformation_mode": "align_corners"}),
                        ("linear", {"coordinate_transformation_mode": "half_pixel"}), ("linear", {"coordinate_transformation_mode": "asymmetric"})):
        yield f"upsample {mode} {extra['coordinate_transformation_mode']}", [node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4, strides=[2, 2]),
            node("Resize", ["c1", "", "sc"], ["u"], mode=mode, **extra), node("Conv", ["u", "w2"], ["c2"]), node("GlobalMaxPool", ["u"], ["g"]), node("Add", ["c2", "g"], ["y"])],\
            {"w1": w(32, 3, 3, 3), "w2": w(32, 32, 1, 1), "sc": np.array([1, 1, 2, 3], np.float32)}, [1, 3, 12, 8]
    yield "channels last", [node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), node("Conv", ["t", "w1"], ["c1"], pads=[1] * 4), node("Tanh", ["c1"], ["r"]),
                            node("Transpose", ["r"], ["y"], perm=[0, 2, 3, 1])], {"w1": w(32, 16, 3, 3)}, [2, 8, 6, 16]
    yield "groups", [node("Conv", ["x", "w1"], ["c1"], pads=[1] * 4), node("Conv", ["c1", "w2"], ["c2"], group=2, pads=[1] * 4), node("Concat", ["c1", "c2"], ["k"], axis=1),
                     node("Conv", ["k", "w3"], ["c3"]), node("HardSigmoid", ["c3"], ["y"], alpha=0.3)],\
        {"w1": w(64, 16, 3, 3), "w2": w(64, 32, 3, 3), "w3": w(32, 128, 1, 1)}, [2, 16, 8, 8]


def save(folder, nodes, weights, shape):
    plain, saved = os.path.join(folder, "plain.onnx"), os.path.join(folder, "saved.onnx")
    g = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                          [numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()])
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), plain)
    o = onnxruntime.SessionOptions()
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    o.optimized_model_filepath, o.log_severity_level = saved, 3
    onnxruntime.InferenceSession(plain, o, providers=["CPUExecutionProvider"])
    return plain, saved


def main():
    program, bad, count, seen = sys.argv[1], 0, 0, set()

    def run(what, *args):
        nonlocal bad
        done = subprocess.run([program, *args], capture_output=True, text=True)
        if done.returncode:
            bad += 1
            print(f"{what}: " + next((x for x in (done.stdout + done.stderr).splitlines() if x.startswith(("[E]", "[!]"))), "failed"))

    with tempfile.TemporaryDirectory() as folder:
        results, inputs, plan = (os.path.join(folder, n) for n in ("results.json", "inputs.json", "m.plan"))
        close = ["--atol", "1e-4", "--rtol", "1e-4", "--val-range", "[-1,1]"]
        for name, nodes, weights, shape in networks():
            plain, saved = save(folder, nodes, weights, shape)
            seen |= {n.op_type for n in onnx.load(saved).graph.node if n.domain == DOMAIN}
            count += 1
            run(f"{name}, original", "run", plain, "--onnxrt", "--save-inputs", inputs, "--save-outputs", results, "--val-range", "[-1,1]")
            run(f"{name}, saved beside the original", "run", saved, "--onnxrt", "--opref", "--trt", *close[:4], "--load-inputs", inputs, "--load-outputs", results)
            run(f"{name}, every tensor", "run", saved, "--onnxrt", "--opref", *close, "--onnx-outputs", "mark", "all")
            run(f"{name}, every tensor, engine", "run", saved, "--opref", "--trt", *close, "--onnx-outputs", "mark", "all", "--trt-outputs", "mark", "all")
            run(f"{name}, plan", "convert", saved, "-o", plan)
            run(f"{name}, plan beside the original", "run", plan, "--trt", *close[:4], "--load-inputs", inputs, "--load-outputs", results)
            run(f"{name}, inspect", "inspect", "model", saved, "--show", "layers")
            run(f"{name}, lint", "check", "lint", saved, "--static")
    for op in sorted(OPERATORS - seen):
        bad += 1
        print(f"{op}: no network has it")
    print(f"nchwc: {count} networks, {bad} failures")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
