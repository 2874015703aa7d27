#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`surgeon prune` beside the original's: prune.py PROGRAM. Weights behind Transposes, casts, Q/DQ and other operators: the same weights are
pruned, along the same axis, to the same bytes, and the original's warnings are ours."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ORIGINAL = os.path.join(os.path.dirname(sys.executable), "polygraphy")
node = helper.make_node


def turn(perm, source="w", target="t"):
    return node("Transpose", [source], [target], **({"perm": perm} if perm else {}))


def cases():
    """(name, nodes, shape of w, shape of x)"""
    for name, perm, shape in [("transposed", [1, 0], (8, 4)), ("no_perm", None, (8, 4)), ("kept", [0, 1], (4, 8))]:
        yield "matmul_" + name, [turn(perm), node("MatMul", ["x", "t"], ["y"])], shape, [2, 4]
        yield "gemm_" + name, [turn(perm), node("Gemm", ["x", "t"], ["y"])], shape, [2, 4]
        yield "gemm_b_" + name, [turn(perm), node("Gemm", ["x", "t"], ["y"], transB=1)], shape, [2, 8]
        yield "left_" + name, [turn(perm), node("MatMul", ["t", "x"], ["y"])], shape, [8, 2]
    for perm in ([3, 2, 0, 1], [3, 0, 1, 2], [1, 2, 3, 0], [0, 1, 2, 3], [0, 3, 1, 2], [1, 0, 2, 3], None):
        yield f"conv_{perm}", [turn(perm), node("Conv", ["x", "t"], ["y"])], (4, 4, 4, 4), [1, 4, 5, 5]
    for perm in ([0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        yield f"stack_{perm}", [turn(perm), node("MatMul", ["x", "t"], ["y"])], (4, 4, 4), [4, 2, 4]
    yield "stack", [node("MatMul", ["x", "w"], ["y"])], (4, 4, 8), [4, 2, 4]
    yield "vector", [node("MatMul", ["x", "w"], ["y"])], (4,), [2, 4]
    yield "identity", [node("Identity", ["w"], ["t"]), node("MatMul", ["x", "t"], ["y"])], (4, 8), [2, 4]
    yield "reshape", [node("Reshape", ["w", "r"], ["t"]), node("MatMul", ["x", "t"], ["y"])], (8, 4), [2, 4]
    yield "twice", [turn([1, 0], "w", "t0"), turn([1, 0], "t0"), node("MatMul", ["x", "t"], ["y"])], (4, 8), [2, 4]
    yield "shared", [turn([1, 0]), node("MatMul", ["x", "t"], ["a"]), node("MatMul", ["a", "w"], ["y"])], (8, 4), [2, 4]
    yield "quantised", [node("QuantizeLinear", ["w", "s"], ["q"]), node("DequantizeLinear", ["q", "s"], ["d"]), turn([1, 0], "d"),
                        node("MatMul", ["x", "t"], ["y"])], (8, 4), [2, 4]


def make(path, nodes, shape, x):
    w = np.random.RandomState(0).randn(*shape).astype(np.float32)
    weights = [numpy_helper.from_array(a, n) for n, a in (("w", w), ("s", np.float32(0.02)), ("r", np.array([4, 8])))]
    g = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], weights)
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def prune(program, path, out):
    done = subprocess.run([program, "surgeon", "prune", path, "-o", out], capture_output=True, text=True)
    if done.returncode:
        return f"exit {done.returncode}", []
    w = [t for t in onnx.load(out).graph.initializer if t.name == "w"]
    return numpy_helper.to_array(w[0]).tobytes(), [x for x in (done.stdout + done.stderr).splitlines() if x.startswith("[W]")]


def main():
    program, bad, count = sys.argv[1], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "o.onnx")
        for name, nodes, shape, x in cases():
            make(path, nodes, shape, x)
            theirs, mine = prune(ORIGINAL, path, out), prune(program, path, out)
            count += 1
            if theirs[0] != mine[0] or not set(theirs[1]) <= set(mine[1]):
                bad += 1
                print(f"{name}: {theirs[1]} became {mine[1]}, weights {'equal' if theirs[0] == mine[0] else 'differ'}")
    print(f"prune: {count} models, {bad} differ")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
