#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Divisions that small numbers keep from 0, in 16 bits: guards.py PROGRAM

A family of models that divide by, or take the logarithm of, what a small number keeps from 0 goes through --fp16, --bf16, --fp-to-fp16 and --fp-to-bf16.
Some rows of the data are 0, or so small that the number decides. Where the float32 model gives finite numbers, the 16-bit one must give nearly the same:
in the built-in engine, and the converted models in ONNX Runtime where it has the kernels, too.
"""
import concurrent.futures
import itertools
import os
import sys
import tempfile

import numpy as np
import onnx
from masks import engine, node, runtime
from onnx import TensorProto, helper, numpy_helper
from polygraphy.json import from_json, to_json
from polygraphy.logger import G_LOGGER

F = TensorProto.FLOAT
ROWS, N = 6, 16
EPSILONS = {"1e-12": 1e-12, "1e-8": 1e-8, "1e-6": 1e-6, "1e-4": 1e-4, "denormal": 1e-41, "least": 1.4e-45}


def scalar(v):
    return np.array(v, np.float32)


def info(name, shape=(ROWS, N)):
    return helper.make_tensor_value_info(name, F, shape)


def model(nodes, weights=None, opset=18):
    """Between two layers that are in 16 bits."""
    w = [numpy_helper.from_array(np.asarray(v), n) for n, v in (weights or {}).items()]
    nodes = [node("Mul", "x unit", "a"), *nodes, node("Mul", "r unit", "b"), node("Neg", "b", "c"), node("Abs", "c", "y")]
    graph = helper.make_graph(nodes, "g", [info("x")], [info("y")], [*w, numpy_helper.from_array(scalar(1), "unit")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


NORM = [node("ReduceL2", "a", "n", axes=[1], keepdims=1)]
NORM_18 = [node("ReduceL2", "a last", "n", keepdims=1)]
VARIANCE = [node("Mul", "a a", "s"), node("ReduceMean", "s last", "n", keepdims=1)]
LAST = {"last": np.array([1])}


def guards(eps):
    """Nodes that make g of n, weights, opset."""
    e = scalar(eps)
    yield "clip", [node("Clip", "n e", "g")], {"e": e}, 18
    yield "old_clip", [node("Clip", "n", "g", min=float(e))], {}, 9
    yield "max", [node("Max", "n e", "g")], {"e": e}, 18
    yield "add", [node("Add", "n e", "g")], {"e": e}, 18
    yield "add_vector", [node("Add", "n e", "g")], {"e": np.full((ROWS, 1), eps, np.float32)}, 18
    yield "subtract", [node("Sub", "n e", "g")], {"e": -e}, 18
    yield "sum", [node("Sum", "n e", "g")], {"e": e}, 18
    yield "constant", [node("Constant", "", "e", value=numpy_helper.from_array(e)), node("Add", "n e", "g")], {}, 18
    yield "constant_float", [node("Constant", "", "e", value_float=float(e)), node("Add", "n e", "g")], {}, 18
    yield "where", [node("Less", "n e", "small"), node("Where", "small e n", "g")], {"e": e}, 18
    yield "filled", [node("Shape", "n", "sizes"), node("ConstantOfShape", "sizes", "e", value=numpy_helper.from_array(e.reshape(1))), node("Max", "n e", "g")], {}, 18
    yield "shared", [node("Max", "n e", "g"), node("Mul", "a e", "u"), node("Neg", "u", "unused")], {"e": e}, 18
    yield "in_double", [node("Cast", "d", "e", to=F), node("Max", "n e", "g")], {"d": np.float64(e)}, 18


def divisions():
    """Nodes that make r of a and the guarded g."""
    yield "div", [node("Div", "a g", "r")]
    yield "expanded", [node("Expand", "g size", "h"), node("Div", "a h", "r")]
    yield "moved", [node("Unsqueeze", "g zero", "h"), node("Squeeze", "h zero", "i"), node("Tile", "i tiles", "j"), node("Div", "a j", "r")]
    yield "reciprocal", [node("Reciprocal", "g", "h"), node("Mul", "a h", "r")]
    yield "one_over", [node("Div", "unit g", "h"), node("Mul", "a h", "r")]
    yield "root", [node("Sqrt", "g", "h"), node("Div", "a h", "r")]
    yield "root_reciprocal", [node("Sqrt", "g", "h"), node("Reciprocal", "h", "i"), node("Mul", "a i", "r")]
    yield "power", [node("Pow", "g minus", "h"), node("Mul", "a h", "r")]
    yield "root_power", [node("Pow", "g half", "h"), node("Mul", "a h", "r")]
    yield "log", [node("Log", "g", "h"), node("Add", "a h", "r")]
    yield "scaled_log", [node("Mul", "g two", "h"), node("Log", "h", "i"), node("Add", "a i", "r")]


DIVIDES = {"size": np.array([ROWS, N]), "zero": np.array([0]), "tiles": np.array([1, N]), "minus": scalar(-1), "half": scalar(-0.5), "two": scalar(2)}


def chosen(nodes):
    """Those of DIVIDES that nodes read."""
    return {n: v for n, v in DIVIDES.items() if any(n in d.input for d in nodes)}


def family():
    for name, eps in EPSILONS.items():
        forms = list(guards(eps))
        for (guard, made, weights, opset), (how, divides) in itertools.product(forms, divisions()):
            if guard not in ("clip", "add") and how not in ("div", "expanded", "reciprocal", "log"):
                continue
            if how == "one_over" and eps < 1e-38:
                continue  # 1 / eps is infinite in float32
            if opset < 13 and any(n.op_type in ("Unsqueeze", "Squeeze") for n in divides):
                continue
            squares = "root" in how and opset >= 18
            start = VARIANCE if squares else NORM_18 if opset >= 18 else NORM
            extra = LAST if opset >= 18 else {}
            yield f"{guard}_{how}_{name}", model([*start, *made, *divides], {**weights, **extra, **chosen(divides)}, opset)
        e = scalar(eps)
        yield f"logit_{name}", model([node("Abs", "a", "p"), node("Clip", "p e f", "q"), node("Sub", "unit q", "o"), node("Div", "q o", "d"), node("Log", "d", "r")],
                                     {"e": e, "f": scalar(1) - e})
        yield f"entropy_{name}", model([node("Softmax", "a", "p"), node("Max", "p e", "q"), node("Log", "q", "l"), node("Mul", "p l", "r")], {"e": e})
        yield f"root_of_reciprocal_{name}", model([*VARIANCE, node("Add", "n e", "g"), node("Reciprocal", "g", "h"), node("Sqrt", "h", "i"), node("Mul", "a i", "r")],
                                                  {"e": e, **LAST})
        for op, weights in (("LayerNormalization", "w w"), ("GroupNormalization", "v v"), ("InstanceNormalization", "w1 w1"), ("BatchNormalization", "w w o t")):
            if op != "InstanceNormalization" or eps > 1e-30:  # ONNX Runtime is imprecise there
                yield f"{op}_{name}", normalisation(op, weights, float(e))
    yield "MeanVarianceNormalization", model([node("Reshape", "a four", "b4"), node("MeanVarianceNormalization", "b4", "m"), node("Reshape", "m two", "r")],
                                             {"four": np.array([1, ROWS, 4, 4]), "two": np.array([ROWS, N])})
    yield "quantized", model([node("QuantizeLinear", "a e", "q"), node("DequantizeLinear", "q f", "r")], {"e": scalar(1e-12), "f": scalar(0.01)}, 19)


def normalisation(op, weights, eps):
    w = {"w": np.ones(N, np.float32), "v": np.ones(2, np.float32), "w1": np.ones(ROWS, np.float32), "o": np.zeros(N, np.float32), "t": np.full(N, 1e-9, np.float32)}
    if op == "BatchNormalization":
        made = [node(op, f"a {weights}", "r", epsilon=eps)]
    elif op == "InstanceNormalization":
        made = [node("Unsqueeze", "a zero", "b3"), node(op, f"b3 {weights}", "m", epsilon=eps), node("Squeeze", "m zero", "r")]
    elif op == "GroupNormalization":
        made = [node("Unsqueeze", "a last2", "b3"), node(op, f"b3 {weights}", "m", epsilon=eps, num_groups=2), node("Squeeze", "m last2", "r")]
    else:
        made = [node(op, f"a {weights}", "r", epsilon=eps)]
    extra = {"zero": np.array([0]), "last2": np.array([2])}
    used = {n: v for n, v in {**w, **extra}.items() if any(n in m.input for m in made)}
    return model(made, used)


def feed():
    x = np.random.RandomState(3).randn(ROWS, N).astype(np.float32)
    x[1] = 0
    x[2] *= 1e-3
    x[3, 4:] = 0
    x[4] = 0.5
    return {"x": x}


def verdict(name, kind, given, wanted):
    """What is wrong with numbers of a 16-bit model, or a text that says why there are none."""
    if isinstance(given, str):
        return given
    if not np.isfinite(given).all():
        return f"{np.isnan(given).sum()} NaN, {np.isinf(given).sum()} infinities"
    worst = (np.abs(given - wanted) / (1 + np.abs(wanted))).max()
    return f"differs by {worst:.3g}" if worst > (0.01 if kind == "fp16" else 0.05) else ""


def judge(program, folder, name, m):
    path, data = f"{folder}/{name}.onnx", f"{folder}/x.npz"
    onnx.save(m, path)
    wanted = runtime(m, feed())
    if isinstance(wanted, str):
        return [f"{name}: ONNX Runtime does not run it: {wanted[:200]}"]
    if not np.isfinite(wanted).all() or np.abs(wanted).max() > 6e4:
        return None
    wrong = {}
    for kind in ("fp16", "bf16"):
        wrong[f"--{kind}"] = verdict(name, kind, engine(program, path, data, f"{folder}/{name}.{kind}.json", f"--{kind}"), wanted)
        half = f"{folder}/{name}.{kind}.onnx"
        text = os.popen(f"'{program}' convert '{path}' -o '{half}' --fp-to-{kind} 2>&1").read()
        if "bfloat16 needs opset" in text:
            continue
        if not os.path.exists(half):
            wrong[f"--fp-to-{kind}"] = text[-300:]
            continue
        wrong[f"--fp-to-{kind}"] = verdict(name, kind, engine(program, half, data, f"{folder}/{name}.{kind}2.json"), wanted)
        given = runtime(onnx.load(half), feed())
        if not isinstance(given, str):  # else it lacks kernels of the type
            wrong[f"--fp-to-{kind} in ONNX Runtime"] = verdict(name, kind, given, wanted)
    return [f"{name} {how}: {why}" for how, why in wrong.items() if why]


def main():
    G_LOGGER.module_severity = G_LOGGER.ERROR
    program = os.path.abspath(sys.argv[1])
    judged, bad = 0, []
    from_json(to_json(np.zeros(1)))  # the original registers types at first use, and fails where two threads are first
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        np.savez(f"{folder}/x.npz", **feed())
        for wrong in pool.map(lambda f: judge(program, folder, *f), list(family())):
            judged += wrong is not None
            bad += wrong or []
    print("\n".join(bad))
    print(f"{judged} models with guarded divisions, whose float32 results are finite, in 4 forms each: {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
