#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the verdicts of this project's `run` with those of the original, on generated results.

    verdicts.py --ours build/release/bin/polygraphy [--cases 1000] [--seed 1] [--logs] [--keep DIR]

Needs a Python with the original (polygraphy 0.53.6 and numpy), whose API judges in this process; ours is started once per
case. Equal verdicts, equal exit codes and, where both save them, equal metrics are expected. A difference is accepted only
with one of the reasons in REASONS, and only where `--compat` gives the original's verdict back (or the original ends in a
Python exception). Exit code 1 if there is any other difference. --logs compares the log lines as well.
"""
import argparse
import collections
import contextlib
import io
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
from polygraphy.comparator import (
    AccuracyResults,
    Comparator,
    CosineSimilarityCompareFunc,
    IndicesCompareFunc,
    IterationResult,
    L2CompareFunc,
    PsnrCompareFunc,
    RunResults,
    SimpleCompareFunc,
    SnrCompareFunc,
)
from polygraphy.logger import G_LOGGER

warnings.simplefilter("ignore")
np.seterr(all="ignore")

REASONS = {
    "exception": "the original ends in a Python exception, where there is an answer (bool, strings, scalars, element counts)",
    "empty": "the outputs have no elements, so that nothing was compared",
    "unmatched": "an output was compared with nothing, which the original leaves out of its verdict",
    "integers": "integer differences wrap around or are rounded in the original",
}

STATS = ["elemwise", "max", "mean", "median", "quantile"]
FLOATS = [np.float16, np.float32, np.float64]
INTS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
SHAPES = [(), (1,), (3,), (2, 3), (0,), (2, 0), (10, 11), (2, 3, 4), (129,), (1000,), (8193,), (20001,)]
TOLERANCES = [0, 1, 1e-5, 1e-3, 0.1, 0.5, 1e-7, 2, 100]


def pick(rng, items):
    return items[rng.randint(len(items))]


def draw_array(rng, dtype, shape):
    dtype = np.dtype(dtype)
    if dtype == bool:
        return rng.randint(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        style = rng.randint(4)
        if style == 0:
            low, high = info.min, info.max
        elif style == 1:
            low, high = info.max - 3, info.max
        else:
            low, high = max(info.min, -5), 5
        return np.asarray(rng.randint(low, high, shape, dtype=dtype), dtype)
    style = rng.randint(5)
    x = [rng.randn(*shape), rng.rand(*shape), np.zeros(shape), rng.randn(*shape) * 1e4,
         np.round(rng.randn(*shape) * 4) / 4][style]
    return np.asarray(x, dtype)


def disturb(rng, a):
    """A second output that is equal, close or far."""
    b = np.array(a)
    style = rng.randint(6)
    if b.dtype == bool:
        if style > 2 and b.size:
            b.flat[rng.randint(b.size)] ^= True
    elif b.dtype.kind in "iu":
        if style > 2 and b.size:
            with np.errstate(all="ignore"):
                b.flat[rng.randint(b.size)] += np.array(pick(rng, [1, 2, 100])).astype(b.dtype)
    elif style == 1:
        b = b + np.asarray(pick(rng, TOLERANCES), b.dtype)
    elif style == 2:
        b = b * np.asarray(1 + pick(rng, [1e-5, 1e-6, 1e-3, -1e-5]), b.dtype)
    elif style == 3:
        b = b + np.asarray(rng.randn(*b.shape) * pick(rng, [1e-6, 1e-4, 1e-2, 1]), b.dtype)
    elif style == 4 and b.size:
        b.flat[rng.randint(b.size)] = pick(rng, [np.nan, np.inf, -np.inf, 0])
    elif style == 5:
        b = np.asarray(rng.randn(*b.shape), b.dtype)
    return np.asarray(b, a.dtype)


def poison(rng, a, b):
    if a.dtype.kind == "f" and a.size and rng.randint(4) == 0:
        at = rng.randint(a.size)
        a.flat[at] = pick(rng, [np.nan, np.inf, -np.inf])
        if rng.randint(2):
            b.flat[at] = a.flat[at]


def draw_pair(rng):
    kind = rng.randint(10)
    if rng.randint(3) == 0:  # equal or nearly so, for verdicts that pass
        a = draw_array(rng, pick(rng, FLOATS + INTS + [bool]), pick(rng, SHAPES))
        return a, np.array(a) if rng.randint(2) or a.dtype.kind != "f" else np.asarray(a * (1 + 3e-6), a.dtype)
    dtype = bool if kind == 0 else pick(rng, INTS) if kind < 4 else pick(rng, FLOATS)
    shape = pick(rng, SHAPES)
    a = draw_array(rng, dtype, shape)
    b = disturb(rng, a)
    if rng.randint(12) == 0:
        b = b.astype(pick(rng, INTS + FLOATS + [bool]))
    if rng.randint(25) == 0:
        b = draw_array(rng, dtype, pick(rng, SHAPES))
    elif a.ndim > 1 and rng.randint(15) == 0:
        b = b.reshape(-1) if rng.randint(2) else np.ascontiguousarray(np.moveaxis(b, 0, -1))
    if a.shape == b.shape and a.dtype == b.dtype:
        poison(rng, a, b)
    return a, b


Case = collections.namedtuple("Case", "a b functions options check_average fail_fast no_shape_check infinities")


def draw_per_output(rng, names, values):
    if rng.randint(4):
        return pick(rng, values)
    chosen = {n: pick(rng, values) for n in names if rng.randint(2)}
    if rng.randint(2):
        chosen[""] = pick(rng, values)
    return chosen or pick(rng, values)


def draw_options(rng, names):
    options = {}
    for key, values in [("rtol", TOLERANCES), ("atol", TOLERANCES), ("check_error_stat", STATS),
                        ("error_quantile", [0.5, 0.9, 0.99, 1.0, 0.0, 0.123]), ("index_tolerance", [0, 1, 2, 5]),
                        ("l2_threshold", TOLERANCES), ("cosine_similarity_threshold", [0.997, 0.5, 1, 0.99999]),
                        ("psnr_threshold", [30, 20.5, 0, 100]), ("snr_threshold", [20, 0, 5.5, 60])]:
        if rng.randint(2):
            options[key] = draw_per_output(rng, names, values)
    return options


def draw_case(rng):
    names = ["out", "Out_1", "logits", "b"][: 1 + rng.randint(3)]
    iterations = 1 + (rng.randint(4) == 0) * rng.randint(1, 4)
    a, b = [], []
    pairs = {}
    for _ in range(iterations):
        first, second = {}, {}
        for name in names:
            if name not in pairs or rng.randint(2):
                pairs[name] = draw_pair(rng)
            first[name], second[name] = pairs[name]
        if rng.randint(40) == 0:
            second = {("x_" + k): v for k, v in second.items()}
        if rng.randint(40) == 0 and len(second) > 1:
            second.popitem()
        a.append(first)
        b.append(second)
    functions = ["simple"] if rng.randint(2) else [
        f for f in ["simple", "indices", "l2", "cosine_similarity", "psnr", "snr"] if rng.randint(3) == 0] or ["l2"]
    fail_fast = rng.randint(10) == 0
    return Case(a, b, functions, draw_options(rng, names), rng.randint(8) == 0, fail_fast, rng.randint(8) == 0,
                rng.randint(6) == 0)


def run_results(name, iterations):
    r = RunResults()
    r.append((name, [IterationResult(outputs=dict(o), runner_name=name) for o in iterations]))
    return r


def function_objects(case):
    o, shared = case.options, {"check_shapes": not case.no_shape_check, "fail_fast": case.fail_fast}

    def one(cls, key):
        return cls(**{key: o[key]} if key in o else {}, **shared)

    def simple():
        keys = ["rtol", "atol", "check_error_stat", "error_quantile"]
        return SimpleCompareFunc(**{k: o[k] for k in keys if k in o}, infinities_compare_equal=case.infinities, **shared)

    def indices():
        keys = {"index_tolerance": o["index_tolerance"]} if "index_tolerance" in o else {}
        return IndicesCompareFunc(fail_fast=case.fail_fast, **keys)

    makers = {
        "simple": simple,
        "indices": indices,
        "l2": lambda: one(L2CompareFunc, "l2_threshold"),
        "cosine_similarity": lambda: one(CosineSimilarityCompareFunc, "cosine_similarity_threshold"),
        "psnr": lambda: one(PsnrCompareFunc, "psnr_threshold"),
        "snr": lambda: one(SnrCompareFunc, "snr_threshold"),
    }
    return [makers[f]() for f in case.functions]


def judge_original(case, accuracy_path, verbosity):
    """-> exit code, name of a Python exception that is not the original's own or None, log"""
    log = io.StringIO()
    runs = run_results("runner-a", case.a)
    runs.append(run_results("runner-b", case.b)[0])
    forget_once_messages()
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log), G_LOGGER.verbosity(verbosity):
        try:
            result = Comparator.compare_accuracy(runs, compare_func=function_objects(case), fail_fast=case.fail_fast,
                                                 check_average=case.check_average)
            code, error = (0 if bool(result) else 1), None
            result.save(accuracy_path)
        except Exception as e:  # noqa: BLE001: whatever it is, it is the answer
            code = 1
            error = None if type(e).__name__ == "PolygraphyException" else type(e).__name__
    return code, error, log.getvalue()


def forget_once_messages():
    logged = getattr(G_LOGGER, "once_logged", None)
    if logged is not None:
        logged.clear()


def words(value):
    if isinstance(value, dict):
        return ["%s:%s" % (k, v) if k else ":%s" % v for k, v in value.items()]
    return [str(value)]


FLAGS = {"rtol": "--rtol", "atol": "--atol", "check_error_stat": "--check-error-stat", "error_quantile": "--error-quantile",
         "index_tolerance": "--index-tolerance", "l2_threshold": "--l2-threshold",
         "cosine_similarity_threshold": "--cosine-similarity-threshold", "psnr_threshold": "--psnr-threshold",
         "snr_threshold": "--snr-threshold"}
USED_BY = {"rtol": "simple", "atol": "simple", "check_error_stat": "simple", "error_quantile": "simple",
           "index_tolerance": "indices", "l2_threshold": "l2", "cosine_similarity_threshold": "cosine_similarity",
           "psnr_threshold": "psnr", "snr_threshold": "snr"}


def command_line(case, ours, first, second, accuracy_path):
    line = [ours, "run", "--load-outputs", first, second, "--save-accuracy-results", accuracy_path, "--compare"]
    line += case.functions
    for key, value in case.options.items():
        if USED_BY[key] in case.functions:
            line += [FLAGS[key]] + words(value)
    for flag, on in [("--check-average", case.check_average), ("--fail-fast", case.fail_fast),
                     ("--no-shape-check", case.no_shape_check),
                     ("--infinities-compare-equal", case.infinities and "simple" in case.functions)]:
        if on:
            line.append(flag)
    return line


def judge_ours(line):
    done = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
    return done.returncode, done.stdout


def same_number(x, y, path=""):
    if path.endswith(("psnr", "snr")) and x is not None and y is not None:
        # The last bit of a logarithm is the C library's or NumPy's own, by processor.
        return x == y or (math.isnan(x) and math.isnan(y)) or abs(x - y) <= 1e-13 * max(abs(x), abs(y), 1)
    if x is None or y is None or isinstance(x, (bool, str)) or isinstance(y, (bool, str)):
        return x == y
    return x == y or (math.isnan(x) and math.isnan(y))


def metric_differences(x, y, path=""):
    """Paths at which two parsed accuracy files differ."""
    if isinstance(x, dict) and isinstance(y, dict):
        for key in sorted(set(x) | set(y)):
            if key not in x or key not in y:
                yield "%s.%s: only on one side" % (path, key)
            else:
                yield from metric_differences(x[key], y[key], path + "." + key)
    elif isinstance(x, list) and isinstance(y, list):
        if len(x) != len(y):
            yield "%s: %d and %d entries" % (path, len(x), len(y))
        for i, (p, q) in enumerate(zip(x, y)):
            yield from metric_differences(p, q, "%s[%d]" % (path, i))
    elif not (isinstance(x, (dict, list)) or isinstance(y, (dict, list))) and same_number(x, y, path):
        return
    else:
        yield "%s: %r and %r" % (path, x, y)


def load(path):
    try:
        with open(path) as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def is_unmatched(case):
    return any(set(a) != set(b) for a, b in zip(case.a, case.b))


def is_empty(case):
    return any(not any(x.size for it in side for x in it.values()) for side in (case.a, case.b))


def load_ours(path):
    """An accuracy file of ours, which the original must be able to read; without the list that only we have."""
    text = load(path)
    if text is not None:
        with G_LOGGER.verbosity(G_LOGGER.CRITICAL + 10):
            AccuracyResults.load(path)
        text.pop("failures", None)
    return text


def has_integers(case):
    return any(x.dtype.kind in "iub" for side in (case.a, case.b) for it in side for x in it.values())


def explain(case, error, ours, theirs, compat_code):
    """The reason for a difference in exit codes, or None."""
    if error:
        return "exception"
    if compat_code != theirs:
        return None
    if is_unmatched(case):
        return "unmatched"
    if is_empty(case):
        return "empty"
    if has_integers(case):
        return "integers"
    return None


def strip_log(text):
    """The lines from the first comparison on, without what only one side can print."""
    lines = [l.rstrip() for l in text.splitlines()]
    start = next((i for i, l in enumerate(lines) if "Accuracy Comparison" in l), len(lines))
    skip = ("Loaded Module", "Runtime:", "Saving accuracy", "Could not convert")
    return [l for l in lines[start:] if not any(s in l for s in skip)]


def describe(case):
    def shape(side):
        return [{k: "%s%s" % (v.dtype, v.shape) for k, v in it.items()} for it in side]

    return "%s options=%s average=%s fail_fast=%s no_shape_check=%s inf=%s\n      a=%s\n      b=%s" % (
        case.functions, case.options, case.check_average, case.fail_fast, case.no_shape_check, case.infinities,
        shape(case.a), shape(case.b))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True, help="the program to test")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="run one case and print both logs")
    parser.add_argument("--logs", action="store_true", help="compare the log lines as well")
    parser.add_argument("--keep", help="folder for the files of the cases that differ")
    args = parser.parse_args()

    reasons, bad, metric_bad, log_bad, passes, integer_metrics = collections.Counter(), 0, 0, 0, 0, 0
    folder = tempfile.TemporaryDirectory()
    verbosity = G_LOGGER.INFO if args.logs or args.only is not None else G_LOGGER.CRITICAL + 10
    for number in range(args.cases) if args.only is None else [args.only]:
        case = draw_case(np.random.RandomState(args.seed * 1000003 + number))
        where = os.path.join(args.keep or folder.name, str(number))
        os.makedirs(where, exist_ok=True)
        paths = [os.path.join(where, n) for n in ("a.json", "b.json", "original.json", "ours.json", "compat.json")]
        with G_LOGGER.verbosity(G_LOGGER.CRITICAL + 10):
            run_results("runner-a", case.a).save(paths[0])
            run_results("runner-b", case.b).save(paths[1])
        theirs, error, their_log = judge_original(case, paths[2], verbosity)
        line = command_line(case, args.ours, paths[0], paths[1], paths[3])
        ours, our_log = judge_ours(line)
        passes += theirs == 0
        if args.only is not None:
            print(" ".join(line), "\n--- original", theirs, error, "\n" + their_log, "\n--- ours", ours, "\n" + our_log)
        if ours not in (0, 1):
            bad += 1
            print("CASE %d: exit code %d\n      %s\n%s" % (number, ours, describe(case), our_log[-2000:]))
            continue
        if ours != theirs:
            line[line.index(paths[3])] = paths[4]
            compat, _ = judge_ours(line + ["--compat"])
            reason = explain(case, error, ours, theirs, compat)
            if reason:
                reasons[reason] += 1
            else:
                bad += 1
                print("CASE %d: ours %d, original %d, --compat %d, exception %s\n      %s" % (
                    number, ours, theirs, compat, error, describe(case)))
            continue
        x, y = load(paths[2]), load_ours(paths[3])
        if x is not None and y is not None and not error and not is_unmatched(case):
            differences = list(metric_differences(x, y))
            if differences and has_integers(case):
                line[line.index(paths[3])] = paths[4]
                judge_ours(line + ["--compat"])
                differences = list(metric_differences(x, load(paths[4])))
                integer_metrics += not differences
            if differences:
                metric_bad += 1
                print("CASE %d: metrics (original and ours)\n      %s\n      %s" % (
                    number, describe(case), "\n      ".join(differences[:4])))
        if args.logs and not error:
            p, q = strip_log(their_log), strip_log(our_log)
            if p != q:
                log_bad += 1
                at = next((i for i, (m, n) in enumerate(zip(p, q)) if m != n), min(len(p), len(q)))
                print("CASE %d: logs\n    - %s\n    + %s" % (number, p[at] if at < len(p) else "(end)",
                                                             q[at] if at < len(q) else "(end)"))
    print("%d cases (%d pass in the original); verdicts that differ without a reason: %d; metrics: %d%s" % (
        args.cases, passes, bad, metric_bad, "; logs: %d" % log_bad if args.logs else ""))
    print("  %4d  metrics that only --compat makes equal, since integers wrap around in the original" % integer_metrics)
    for reason, count in reasons.most_common():
        print("  %4d  %s" % (count, REASONS[reason]))
    return 1 if bad or metric_bad else 0


if __name__ == "__main__":
    sys.exit(main())
