#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in both programs: models.py PROGRAM [text|data|runs]

text    `inspect model` in all forms prints what the original prints
data    --save-inputs holds the bytes of the original's DataLoader, for many types, ranges, shapes and seeds
runs    ONNX Runtime and the reference agree on the light models of the onnx package (how closely is printed) and on small made-up ones
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper
from polygraphy.common import TensorMetadata
from polygraphy.comparator import DataLoader
from polygraphy.json import load_json
from polygraphy.logger import G_LOGGER

G_LOGGER.module_severity = G_LOGGER.CRITICAL
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ORIGINAL = os.path.join(os.path.dirname(sys.executable), "polygraphy")
LIGHT = sorted(glob.glob(os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/light/*.onnx")))
SMALL = sorted(glob.glob(os.path.join(ROOT, "examples/models/*.onnx")) + glob.glob(os.path.join(ROOT, "tests/data/onnx/*.onnx")))
FORMS = [[], ["--show", "layers"], ["--show", "layers", "attrs"], ["--show", "layers", "attrs", "weights"], ["--show", "weights"]]
# Models whose text differs, and why.
DIFFERENT = {
    "attributes.onnx": "the original warns of kinds of attributes in other words",
    "every_element_type.onnx": "the original shows numbers for types that NumPy lacks",
    "sparse.onnx": "the original does not see sparse initializers",
    "types.onnx": "the original takes sequences, optionals and maps for tensors",
}
failures = []


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=300, env=dict(os.environ, NO_COLOR="1"))
    return done.returncode, done.stdout + done.stderr


# ---- Text


def structure(text):
    """Without lines of the log other than those of the model, and without blanks at line ends."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return [line.rstrip() for line in text.split("\n") if not re.match(r"\[[IWV!]\] (Loading model|Loaded|.*[Ll]oad)", line)]


def original_texts(path):
    """All forms in one process: the original takes long to start."""
    script = ("import sys, io, contextlib\nfrom polygraphy.tools import main\nfor form in %r:\n    sys.argv = ['polygraphy', 'inspect', 'model', %r] + form\n"
              "    try:\n        main()\n    except SystemExit as e:\n        print('exit', e.code)\n    sys.stdout.flush()\n    print('=====')\n" % (FORMS, path))
    _, text = run(sys.executable, "-c", script)
    return [re.sub(r"exit \d+\n$", "", part) for part in text.split("=====\n")]


def check_text(program):
    same = 0
    for path in LIGHT + SMALL:
        if os.path.basename(path) in DIFFERENT:
            continue
        theirs = original_texts(path)
        for form, wanted in zip(FORMS, theirs):
            _, got = run(program, "inspect", "model", path, *form)
            p, q = structure(wanted), structure(got)
            if p == q:
                same += 1
                continue
            at = next((i for i, (a, b) in enumerate(zip(p, q)) if a != b), min(len(p), len(q)))
            failures.append(f"inspect model {os.path.basename(path)} {' '.join(form)}: line {at}\n  - {(p + ['(end)'])[at][:300]}\n  + {(q + ['(end)'])[at][:300]}")
    print(f"text: {same} of {len(FORMS) * (len(LIGHT) + len(SMALL) - len(DIFFERENT))} forms of {len(LIGHT) + len(SMALL)} models are the same")


# ---- Generated inputs

TYPES = {"f16": TensorProto.FLOAT16, "f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "i8": TensorProto.INT8, "i16": TensorProto.INT16,
         "i32": TensorProto.INT32, "i64": TensorProto.INT64, "u8": TensorProto.UINT8, "u16": TensorProto.UINT16, "u32": TensorProto.UINT32,
         "u64": TensorProto.UINT64, "flag": TensorProto.BOOL}
RANGES = [None, (-1, 1), (0, 100), (-1000.5, 2.25), (3, 3)]


def check_data(program, folder):
    inputs = [helper.make_tensor_value_info(n, t, s) for (n, t), s in zip(TYPES.items(), [[2, 3], [4, 5, 6], [], [7], ["N", 3], [1, 9], [0, 2], [3, 3],
                                                                                           [11], [2, 2, 2], [5], [33]])]
    nodes = [helper.make_node("Identity", [i.name], ["o_" + i.name]) for i in inputs]
    outputs = [helper.make_tensor_value_info("o_" + i.name, i.type.tensor_type.elem_type, None) for i in inputs]
    path = os.path.join(folder, "types.onnx")
    onnx.save(helper.make_model(helper.make_graph(nodes, "types", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)]), path)
    shapes = {i.name: [d.dim_value or (4 if d.dim_param else 0) for d in i.type.tensor_type.shape.dim] for i in inputs}
    metadata = TensorMetadata()
    for i in inputs:
        metadata.add(i.name, helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type), shapes[i.name])
    same = count = 0
    for seed in (0, 1, 7, 2**31, 2**32 - 3):
        for bounds in RANGES:
            saved = os.path.join(folder, "inputs.json")
            words = [program, "run", path, "--opref", "--input-shapes", "i16:[4,3]", "--seed", str(seed), "--iterations", "2", "--save-inputs", saved]
            ranges = {}
            if bounds:  # a range that a type cannot hold is refused here, and wraps around or raises in the original
                ranges = {n: bounds for n in TYPES if not (n[0] in "iu" and (bounds[0] < 0 and n[0] == "u" or abs(bounds[0]) > 127 and n == "i8"))}
                words += ["--val-range"] + [f"{n}:[{lo},{hi}]" for n, (lo, hi) in ranges.items()]
            code, text = run(*words)
            if code:
                failures.append(f"generated inputs, seed {seed}, range {bounds}: exit code {code}\n{text[-600:]}")
                continue
            loader = DataLoader(seed=seed, iterations=2, val_range=ranges or None)
            loader.input_metadata = metadata
            for ours, theirs in zip(load_json(saved), loader):
                for name, value in theirs.items():
                    count += 1
                    a, b = np.asarray(ours[name]), np.asarray(value)
                    if a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes():
                        same += 1
                    else:
                        failures.append(f"generated input {name}, seed {seed}, range {bounds}: {a.dtype}{a.shape} {a.flat[:3]}, original {b.dtype}{b.shape} {b.flat[:3]}")
    print(f"data: {same} of {count} generated arrays are the original's")


# ---- Runs


def made_up(folder):
    rng = np.random.RandomState(0)

    def save(name, nodes, inputs, weights, opset=17):
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                  [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in weights.items()])
        path = os.path.join(folder, name + ".onnx")
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        model.ir_version = 8
        onnx.save(model, path)
        return path

    w = rng.randn(64, 64).astype(np.float32)
    k = rng.randn(8, 3, 3, 3).astype(np.float32)
    return [
        save("mlp", [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Tanh", ["h"], ["t"]),
                     helper.make_node("MatMul", ["t", "w"], ["y"])], {"x": [5, 64]}, {"w": w, "b": w[0]}),
        save("attention", [helper.make_node("MatMul", ["x", "w"], ["q"]), helper.make_node("Transpose", ["x"], ["k"], perm=[1, 0]),
                           helper.make_node("MatMul", ["q", "k"], ["s"]), helper.make_node("Softmax", ["s"], ["p"], axis=-1),
                           helper.make_node("MatMul", ["p", "x"], ["y"])], {"x": [7, 64]}, {"w": w}),
        save("convolution", [helper.make_node("Conv", ["x", "k"], ["c"], pads=[1, 1, 1, 1], strides=[2, 2]), helper.make_node("Relu", ["c"], ["r"]),
                             helper.make_node("AveragePool", ["r"], ["y"], kernel_shape=[3, 3])], {"x": [2, 3, 17, 19]}, {"k": k}),
        save("normal", [helper.make_node("LayerNormalization", ["x", "g"], ["n"]), helper.make_node("Erf", ["n"], ["e"]),
                        helper.make_node("ReduceMean", ["e"], ["y"], axes=[0])], {"x": [9, 64]}, {"g": w[1]}),
    ]


def check_runs(program, folder):
    results = os.path.join(folder, "results.json")
    agree = 0
    paths = LIGHT + made_up(folder)
    for path in paths:
        name = os.path.basename(path)
        words = [program, "run", path, "--onnxrt", "--opref", "--atol", "1e-4", "--rtol", "1e-3", "--save-outputs", results]
        code, text = run(*words)
        closest = re.findall(r"Minimum Required Tolerance: .*?\[abs=(\S+)\] OR \[rel=(\S+)\]", text)
        print(f"  {name}: " + "; ".join(f"max abs {a}, max rel {r}" for a, r in closest))
        if code or not closest:
            failures.append(f"run {name}: exit code {code}\n{text[-900:]}")
        else:
            agree += 1
    print(f"runs: ONNX Runtime and the reference agree on {agree} of {len(paths)} models")


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for check in (check_text, check_data, check_runs):
            if len(sys.argv) < 3 or check.__name__ == "check_" + sys.argv[2]:
                check(*[program, folder][: check.__code__.co_argcount])
    for failure in failures:
        print("FAIL", failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
