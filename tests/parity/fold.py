#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folded models give what they gave: fold.py PROGRAM

Some of ONNX's own node cases of every operator, with all inputs made constants and with every other one, are folded by `surgeon sanitize`.
Where nothing is left of a model its outputs are compared with those the case expects; where something is, ONNX Runtime runs both.
"""
import collections
import concurrent.futures
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.simplefilter("ignore")
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

# Expected values that opref does not give either, with reasons in node_tests.expected.
OTHER = ("bf16", "align_corners", "maxunpool_export_with_output_shape")
EVERY = 5  # of the cases that have the same operators, the first and each fifth after it
onnxruntime.set_default_logger_severity(4)


def sample(cases):
    """Some cases of every operator."""
    seen = collections.Counter()
    for case in cases:
        operators = frozenset(node.op_type for node in case.model.graph.node)
        if seen[operators] % EVERY == 0:
            yield case
        seen[operators] += 1


def variant(case, constant):
    """The model with some inputs as weights, and what is left to feed; None if there is nothing to do."""
    model, feed, left = onnx.ModelProto(), {}, []
    model.CopyFrom(case.model)
    for i, (info, array) in enumerate(zip(case.model.graph.input, case.data_sets[0][0])):
        if constant(i) and info.type.HasField("tensor_type") and isinstance(array, (np.ndarray, np.generic)):
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), info.name))
        else:
            left.append(info)
            feed[info.name] = array
    if len(left) == len(case.model.graph.input):
        return None
    del model.graph.input[:]
    model.graph.input.extend(left)
    return model, feed


def close(a, b, case):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(close(x, y, case) for x, y in zip(a, b))
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "OSUV" or "float8" in str(a.dtype):
        return a.tobytes() == b.tobytes() if a.dtype.kind == "V" else bool((a == b).all())
    near = (1e-2, 2e-3) if a.dtype == np.float16 else (1e-3, 1e-5)
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    return np.allclose(a.astype(wide), b.astype(wide), rtol=max(case.rtol, near[0]), atol=max(case.atol, near[1]), equal_nan=True)


def run(path, feed):
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feed)


def check(program, folder, case, kind, constant):
    """"" or what is wrong."""
    made = variant(case, constant)
    if not made:
        return None
    model, feed = made
    before, after = (os.path.join(folder, f"{case.name}.{kind}.{end}.onnx") for end in ("before", "after"))
    onnx.save(model, before)
    done = subprocess.run([program, "surgeon", "sanitize", before, "--fold-constants", "-o", after, "-qqqq"], capture_output=True, text=True)
    if done.returncode:
        return (done.stdout + done.stderr).strip()[-300:]
    folded = onnx.load(after)
    if [o.name for o in folded.graph.output] != [o.name for o in model.graph.output]:
        return "has other outputs"
    if not folded.graph.node:
        weights = {t.name: numpy_helper.to_array(t) for t in folded.graph.initializer}
        good = all(close(x, weights[o.name], case) for x, o in zip(case.data_sets[0][1], folded.graph.output))
        return "" if good else "gives other values"
    try:
        wanted = run(before, feed)
    except Exception:
        return None  # the runtime has no such operator
    try:
        return "" if all(close(x, y, case) for x, y in zip(wanted, run(after, feed))) else "gives other values in ONNX Runtime"
    except Exception as e:
        return f"is refused by ONNX Runtime: {str(e)[:200]}"


def main():
    from onnx.backend.test.case.node import collect_testcases

    program = os.path.abspath(sys.argv[1])
    with contextlib.redirect_stdout(io.StringIO()):
        cases = list(sample(c for c in collect_testcases(None) if not any(o in c.name for o in OTHER)))
    kinds = {"all": lambda i: True, "odd": lambda i: i % 2 == 1}
    bad, judged = [], 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(c.name, k, pool.submit(check, program, folder, c, k, f)) for c in cases for k, f in kinds.items()]
        for name, kind, job in jobs:
            wrong = job.result()
            judged += wrong is not None
            if wrong:
                bad.append(f"{name} ({kind} inputs constant): {wrong}")
    for line in bad:
        print(line)
    print(f"fold: {judged} folded models compared, {len(bad)} differ")
    sys.exit(1 if bad or judged < 200 else 0)


if __name__ == "__main__":
    main()
