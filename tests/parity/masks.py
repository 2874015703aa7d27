#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention masks in 16 bits: masks.py PROGRAM

A family of models whose masks are made in the ways that exporters make them goes through --fp16, --bf16, --fp-to-fp16 and --fp-to-bf16. Where the float32
model gives finite numbers, the 16-bit one must: in the built-in engine, and the converted models in ONNX Runtime where it has the kernels, too.
"""
import concurrent.futures
import itertools
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from polygraphy.comparator import RunResults
from polygraphy.json import from_json, to_json
from polygraphy.logger import G_LOGGER

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LOWEST = float(np.finfo(np.float32).min)
VALUES = {"lowest": LOWEST, "1e9": -1e9, "1e4": -1e4, "infinite": -np.inf}
N, D = 8, 16


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def info(name, shape, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def attention(mask_nodes, weights, inputs=(), last=(), scores="s", opset=18, bias="mask"):
    """softmax(q k + mask) v; mask_nodes make `mask` (or, with bias None, `a` from `s`)."""
    r = np.random.RandomState(0)
    w = [numpy_helper.from_array((r.randn(D, D) * 0.5).astype(np.float32), n) for n in ("wq", "wk", "wv")]
    w += [numpy_helper.from_array(v, n) for n, v in weights.items()]
    nodes = [node("MatMul", "x wq", "q"), node("MatMul", "x wk", "k"), node("MatMul", "x wv", "v"), node("Transpose", "k", "kt", perm=[0, 2, 1]),
             node("MatMul", "q kt", "s"), *mask_nodes]
    nodes += [node("Add", f"{scores} {bias}", "a")] if bias else []
    nodes += [node("Softmax", "a", "p", axis=-1), *(last or [node("Identity", "p", "p2")]), node("MatMul", "p2 v", "o"), node("Relu", "o", "y")]
    graph = helper.make_graph(nodes, "g", [info("x", [2, N, D]), *inputs], [info("y", [2, N, D])], w)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def scalar(v):
    return np.array(v, np.float32)


def family():
    keep = np.tril(np.ones((1, N, N), bool))
    closed = keep.copy()
    closed[0, 3] = False
    for (name, low), rows in itertools.product(VALUES.items(), ("causal", "closed")):
        open_ = keep if rows == "causal" else closed
        if rows == "closed" and name == "infinite":
            continue  # NaN in float32
        form = f"{name}_{rows}"
        stored = np.where(open_, 0, low).astype(np.float32)
        yield f"added_{form}", attention([], {"mask": stored})
        yield f"where_{form}", attention([node("Where", "open zero low", "mask")], {"open": open_, "zero": scalar(0), "low": scalar(low)})
        yield f"where_scores_{form}", attention([node("Where", "open s low", "a")], {"open": open_, "low": scalar(low)}, bias=None)
        slicing = {"b": np.array([0]), "e": np.array([N]), "ax": np.array([1])}
        yield f"where_sliced_{form}", attention([node("Where", "open zero low", "m"), node("Slice", "m b e ax", "n"), node("Abs", "zero", "z"),
                                                 node("Add", "n z", "mask")], {"open": open_, "zero": scalar(0), "low": scalar(low), **slicing})
        yield f"gathered_{form}", attention([node("Gather", "table rows", "mask", axis=1)], {"table": stored, "rows": np.arange(N)})
        yield f"maximum_{form}", attention([node("Add", "s m", "t"), node("Max", "t low", "a")], {"m": stored, "low": scalar(max(low, LOWEST))}, bias=None)
        yield f"twice_{form}", attention([node("Where", "open zero low", "m"), node("Expand", "m size", "n"), node("Add", "s n", "t")],
                                         {"open": open_, "zero": scalar(0), "low": scalar(low), "size": np.array([2, N, N]), "mask": stored * np.float32(0.25)}, scores="t")
        yield f"after_{form}", attention([], {"mask": stored, "gate": open_.astype(np.float32)}, last=[node("Mul", "p gate", "p2")])
        yield f"input_where_{form}", attention([node("Cast", "keep", "open", to=B), node("Not", "open", "shut"), node("Where", "shut low zero", "mask")],
                                               {"zero": scalar(0), "low": scalar(low)}, [info("keep", [1, 1, N], I)])
        yield f"input_mask_{form}", attention([], {}, [info("mask", [1, N, N])])
        yield f"old_input_mask_{form}", attention([], {}, [info("mask", [1, N, N])], opset=9)
        yield f"input_bias_{form}", attention([node("Unsqueeze", "given zero", "mask")], {"zero": np.array([0])}, [info("given", [N, N])])
        yield f"relative_{form}", attention([node("Gather", "table buckets", "b"), node("Transpose", "b", "c", perm=[2, 0, 1]), node("Add", "c m", "mask")],
                                            {"table": np.random.RandomState(1).randn(32, 1).astype(np.float32), "buckets": np.arange(N * N).reshape(N, N) % 32, "m": stored})
        if np.isfinite(low):
            yield f"one_minus_{form}", attention([node("Cast", "keep", "f", to=F), node("Sub", "one f", "i"), node("Mul", "i low", "mask")],
                                                 {"one": scalar(1), "low": scalar(low)}, [info("keep", [1, N, N], I)])
            yield f"filled_{form}", attention([node("ConstantOfShape", "size", "full", value=numpy_helper.from_array(np.array([low], np.float32))),
                                               node("Trilu", "full above", "mask", upper=1)], {"size": np.array([N, N]), "above": np.array(1 if rows == "causal" else 0)})
            yield f"computed_{form}", attention([node("Shape", "s", "size"), node("ConstantOfShape", "size", "full", value=numpy_helper.from_array(np.array([low], np.float32))),
                                                 node("Cast", "keep", "f", to=F), node("Sub", "one f", "i"), node("Mul", "i full", "mask")],
                                                {"one": scalar(1)}, [info("keep", [1, N, N], I)])
        yield f"operator_{form}", operator(stored)


def operator(mask):
    m = attention([], {"mask": mask[None]}, opset=23, bias=None)
    del m.graph.node[4:]
    m.graph.node[3].CopyFrom(node("Attention", "q k v mask", "o", q_num_heads=2, kv_num_heads=2))
    m.graph.node.append(node("Relu", "o", "y"))
    return m


def feeds(name, m):
    r = np.random.RandomState(2)
    rows = name.rsplit("_", 1)[1]
    low = next(v for n, v in VALUES.items() if f"_{n}_" in name)
    keep = np.tril(np.ones((1, N, N), np.int64))
    if rows == "closed":
        keep[0, 3] = 0
    mask = np.where(keep, 0, low).astype(np.float32)
    data = {"x": r.randn(2, N, D).astype(np.float32) * 3, "mask": mask, "given": mask[0],
            "keep": np.zeros((1, 1, N), np.int64) if name.startswith("input_where") and rows == "closed" else keep}
    if name.startswith("input_where") and rows == "causal":
        data["keep"] = keep[:, 3:4]
    return {i.name: data[i.name] for i in m.graph.input}


def runtime(m, feed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as e:  # noqa: BLE001
        return str(e)
    return session.run(None, feed)[0]


def engine(program, path, data, out, *words):
    done = subprocess.run([program, "run", path, "--trt", "--load-inputs", data, "--save-outputs", out, *words], capture_output=True, text=True)
    return done.stderr[-300:] + done.stdout[-300:] if done.returncode else RunResults.load(out)[0][1][0]["y"]


def verdict(name, kind, given, wanted):
    """What is wrong with numbers of a 16-bit model, or a text that says why there are none."""
    if isinstance(given, str):
        return given
    if not np.isfinite(given).all():
        return f"{np.isnan(given).sum()} NaN, {np.isinf(given).sum()} infinities"
    worst = np.abs(given - wanted).max()
    # Rows that are closed look anywhere: what they give depends on the order of rounding.
    return f"differs by {worst}" if name.endswith("causal") and worst > (0.1 if kind == "fp16" else 1) else ""


def judge(program, folder, name, m):
    feed = feeds(name, m)
    path, data = f"{folder}/{name}.onnx", f"{folder}/{name}.npz"
    onnx.save(m, path)
    wanted = runtime(m, feed)
    if isinstance(wanted, str):
        return [f"{name}: ONNX Runtime does not run it: {wanted[:200]}"]
    if not np.isfinite(wanted).all():
        return None
    np.savez(data, **feed)
    wrong = {}
    for kind in ("fp16", "bf16"):
        wrong[f"--{kind}"] = verdict(name, kind, engine(program, path, data, f"{folder}/{name}.{kind}.json", f"--{kind}"), wanted)
        half = f"{folder}/{name}.{kind}.onnx"
        done = subprocess.run([program, "convert", path, "-o", half, f"--fp-to-{kind}"], capture_output=True, text=True)
        if "bfloat16 needs opset" in done.stdout + done.stderr:
            continue
        if done.returncode:
            wrong[f"--fp-to-{kind}"] = done.stderr[-300:]
            continue
        wrong[f"--fp-to-{kind}"] = verdict(name, kind, engine(program, half, data, f"{folder}/{name}.{kind}2.json"), wanted)
        given = runtime(onnx.load(half), feed)
        if not isinstance(given, str):  # else it lacks kernels of the type
            wrong[f"--fp-to-{kind} in ONNX Runtime"] = verdict(name, kind, given, wanted)
    return [f"{name} {how}: {why}" for how, why in wrong.items() if why]


def main():
    G_LOGGER.module_severity = G_LOGGER.ERROR
    program = os.path.abspath(sys.argv[1])
    judged, bad = 0, []
    from_json(to_json(np.zeros(1)))  # the original registers types at first use, and fails where two threads are first
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for wrong in pool.map(lambda f: judge(program, folder, *f), list(family())):
            judged += wrong is not None
            bad += wrong or []
    print("\n".join(bad))
    print(f"{judged} models with masks, whose float32 results are finite, in 4 forms each: {len(bad)} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
