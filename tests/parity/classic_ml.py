#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the exports of tests/data/classic_ml by ONNX Runtime, the reference and the engine, and compares the outputs with
what scikit-learn, XGBoost and LightGBM gave (results.json) and with ONNX Runtime.

    classic_ml.py PROGRAM [NAME...]
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from polygraphy.comparator import RunResults
from polygraphy.json import save_json

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "classic_ml")
RUNNERS = ["onnxrt", "opref", "trt"]


def array(plain):
    if plain is None:
        return None
    data = [np.nan if v is None else v for v in plain["data"]]
    kind = str if plain["dtype"] == "string" else plain["dtype"]
    return np.array(data, kind).reshape(plain["shape"])



def difference(got, wanted, tolerance):
    """Nothing, or how two arrays differ. Shapes may differ by axes of length one."""
    if wanted is None:
        return None
    if got.size != wanted.size:
        return "shape %s, wanted %s" % (got.shape, wanted.shape)
    got, wanted = got.ravel(), wanted.ravel()
    if wanted.dtype.kind in "OU" or got.dtype.kind in "OU":
        return None if (got.astype(str) == wanted.astype(str)).all() else "%s, wanted %s" % (got[:8], wanted[:8])
    close = np.isclose(got.astype(np.float64), wanted.astype(np.float64), tolerance, tolerance, equal_nan=True)
    if close.all():
        return None
    i = int(np.argmin(close))
    return "element %d is %s, wanted %s" % (i, got[i], wanted[i])


def match(outputs, wanted):
    """Pairs of an output and the library's array: a map's values count, with the columns in the order of its keys."""
    arrays = [v for k, v in outputs.items() if not k.endswith("[keys]")]
    return zip([k for k in outputs if not k.endswith("[keys]")], arrays, wanted)


def check(program, name, case, folder):
    feed, saved = os.path.join(folder, name + ".in.json"), os.path.join(folder, name + ".out.json")
    save_json([{k: array(v) for k, v in case["inputs"].items()}], feed)
    command = [program, "run", os.path.join(FOLDER, name + ".onnx")] + ["--" + r for r in RUNNERS]
    command += ["--load-inputs", feed, "--save-outputs", saved, "--atol", "1e-4", "--rtol", "1e-4"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        lines = [x for x in done.stdout.split("\n") if "[!]" in x or "[E]" in x]
        return ["exit code %d: %s" % (done.returncode, (lines or [""])[0][:200])]
    results = RunResults.load(saved)
    wanted = [array(x) for x in case["outputs"]]
    problems = []
    for runner, iterations in results.items():
        outputs = {k: np.asarray(v) for k, v in iterations[0].items()}
        for output, got, value in match(outputs, wanted):
            found = difference(got, value, case["tolerance"])
            if found:
                problems.append("%s, output %s: %s" % (runner.split("-runner")[0], output, found))
    return problems


def main():
    program, names = sys.argv[1], sys.argv[2:]
    with open(os.path.join(FOLDER, "results.json")) as f:
        cases = json.load(f)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or sorted(cases):
            for problem in check(program, name, cases[name], folder):
                print("%s: %s" % (name, problem))
                failed += 1
    print("%d pipelines, %d differences" % (len(names or cases), failed))
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
