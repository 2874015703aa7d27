#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of the original through the program and back: files.py PROGRAM

What Python's Polygraphy writes is read and written again byte for byte; what the program writes is read by Python's with equal content.
"""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from polygraphy.comparator import Comparator, IterationResult, RunResults, SimpleCompareFunc, L2CompareFunc
from polygraphy.json import load_json, save_json
from polygraphy.logger import G_LOGGER

warnings.simplefilter("ignore")
G_LOGGER.module_severity = G_LOGGER.CRITICAL
TYPES = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, bool]
SHAPES = [(), (1,), (0,), (3,), (2, 3), (2, 0, 4), (1, 3, 5, 2), (1000,)]
failures = 0


def check(condition, what):
    global failures
    if not condition:
        failures += 1
        print(f"FAIL {what}")


def run(*words, codes=(0,)):
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=60)
    check(done.returncode in codes, f"{' '.join(words[1:])}: exit code {done.returncode}\n{done.stderr[-500:]}")
    return done


def draw(rng, dtype, shape):
    a = np.asarray(rng.randint(-100, 100, shape) if rng.randint(2) else rng.randn(*shape) * 50).astype(dtype)
    if a.dtype.kind == "f" and a.size and rng.randint(2):
        a.flat[rng.randint(a.size)] = [np.nan, np.inf, -np.inf, -0.0, 1e-6][rng.randint(5)]
    return a


def draw_map(rng, prefix):
    names = [f"{prefix}{i}" for i in range(rng.randint(1, 5))] + ["ünï \"q\"\\/\n"][: rng.randint(2)]
    return {n: draw(rng, TYPES[rng.randint(len(TYPES))], SHAPES[rng.randint(len(SHAPES))]) for n in names}


def draw_results(rng):
    r = RunResults()
    outputs = [draw_map(rng, "out") for _ in range(rng.randint(1, 4))]
    for k in range(rng.randint(1, 4)):
        its = [IterationResult({n: a if rng.randint(3) else a.copy() for n, a in o.items()}, runtime=rng.rand() * 10 ** -rng.randint(1, 6),
                               runner_name=f"runner-{k}") for o in outputs]
        r.append((f"runner-{k}", its))
    return r


def same_arrays(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def same_bytes(a, b, what):
    with open(a, "rb") as f, open(b, "rb") as g:
        check(f.read() == g.read(), f"{what}: {a} is not written again as it was")


def main():
    program = os.path.abspath(sys.argv[1])
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for seed in range(25):
            rng = np.random.RandomState(seed)
            results, feeds = draw_results(rng), [draw_map(rng, "in") for _ in range(rng.randint(1, 4))]
            results.save("results.json")
            save_json(feeds, "feeds.json")
            run(program, "data", "concat", "results.json", "-o", "again.json")
            same_bytes("results.json", "again.json", f"results {seed}")
            run(program, "data", "concat", "feeds.json", "-o", "again.json")
            same_bytes("feeds.json", "again.json", f"inputs {seed}")
            run(program, "data", "merge", "feeds.json", "-o", "again.json")
            same_bytes("feeds.json", "again.json", f"merged inputs {seed}")
            run(program, "data", "merge", "results.json", "-o", "merged.json")
            merged = load_json("merged.json")
            last = results[-1][1]
            check(len(merged) == len(last) and all(set(m) == set(i) and all(same_arrays(m[n], i[n]) for n in m) for m, i in zip(merged, last)),
                  f"results {seed} as inputs")
            if len(results) > 1:
                accuracy = None
                try:
                    func = [SimpleCompareFunc(check_error_stat="max"), L2CompareFunc()][: 1 + seed % 2]
                    accuracy = Comparator.compare_accuracy(results, compare_func=func)
                except Exception:  # noqa: BLE001: e.g. empty arrays; verdicts.py is about that
                    pass
                if accuracy is not None:
                    accuracy.save("accuracy.json")
                    run(program, "check", "accuracy", "accuracy.json", "--save-accuracy-results", "again.json", codes=(0, 1))
                    same_bytes("accuracy.json", "again.json", f"accuracy {seed}")
                    count += 1
                run(program, "run", "--load-outputs", "results.json", "--save-accuracy-results", "ours.json", codes=(0, 1))
                loaded = load_json("ours.json")[0]
                check(len(loaded) == len(results) - 1, f"accuracy results of the program {seed}: {len(loaded)} pairs of {len(results)} runners")
            count += 4
    print(f"files: {count} passed through, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
