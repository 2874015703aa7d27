#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/golden/*.json with the original tool (Polygraphy 0.53.6, NumPy 2, PyTorch): results, input lists and accuracy
results, and by hand the forms that only older releases wrote. Run it again only when a file is added."""
import base64
import io
import json
import os
from collections import OrderedDict

import numpy as np
import torch
from polygraphy.comparator import (
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
from polygraphy.json import save_json

OUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden")


def path(name):
    return os.path.join(OUT, name)


def iteration(runner, runtime=0.5, **outputs):
    return IterationResult(OrderedDict(outputs), runtime=runtime, runner_name=runner)


def run_results(*runners):
    results = RunResults()
    for name, iterations in runners:
        results.append((name, iterations))
    return results


TYPES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()


def results():
    every = {name: np.array([[0, 1, 2], [3, 4, 100]], name) for name in TYPES}
    return run_results(
        ("onnxrt-runner-N0-07/07/26-14:42:10", [iteration("a", 0.00029540061950683594, **every), iteration("a", None)]),
        (
            'quote " backslash \\ ü \U0001f600',
            [
                iteration(
                    "b",
                    1e-05,
                    scalar=np.array(True),
                    bools=np.array([True, False, True]),
                    empty=np.zeros((0, 2), np.float32),
                    text=np.array([["a", "longer"], ["é\U0001f600", ""]]),
                    special=np.array([np.nan, np.inf, -np.inf, -0.0], np.float32),
                )
            ],
        ),
    )


def feeds():
    return [
        {"x": np.array([0, 1], np.float32), "flag": np.array(True)},
        {"x": np.arange(6, dtype=np.float32).reshape(1, 2, 3), "name": np.array(["input"])},
        {},
    ]


def f32(*values):
    return np.array(values, np.float32)


def accuracy():
    """Every kind of verdict: metrics of each function, plain booleans, a shape mismatch, infinite and missing numbers."""
    first = [
        iteration("r0", x=f32(1, 2, 3), y=f32(1, 2), z=np.array([3, 1, 2])),
        iteration("r0", x=f32(1, 2, 4), y=f32(1, 2, 3), z=np.array([3, 1, 2])),
    ]
    second = [
        iteration("r1", x=f32(1, 2, 3.5), y=f32(1, 2), z=np.array([3, 2, 1])),
        iteration("r1", x=f32(1, 2, np.inf), y=f32(1, 2), z=np.array([3, 1, 2])),
    ]
    functions = [
        SimpleCompareFunc(check_error_stat={"": "elemwise", "x": "quantile"}, atol={"x": 1, "": 0.5}),
        SimpleCompareFunc(check_error_stat="mean", rtol=0.25, atol=0),
        IndicesCompareFunc(),
        L2CompareFunc(),
        CosineSimilarityCompareFunc(),
        PsnrCompareFunc(),
        SnrCompareFunc(),
        lambda a, b: OrderedDict([("x", True), ("w", False)]),
    ]
    return Comparator.compare_accuracy(run_results(("r0", first), ("r1", second)), compare_func=functions)


def average():
    first = [iteration("r0", x=f32(1, 2)), iteration("r0", x=f32(3, 4))]
    second = [iteration("r1", x=f32(1, 2.5)), iteration("r1", x=f32(3, 4))]
    return Comparator.compare_accuracy(
        run_results(("r0", first), ("r1", second)), compare_func=[L2CompareFunc({"": 3, "x": 0.25}), PsnrCompareFunc()], check_average=True
    )


def npy(array):
    f = io.BytesIO()
    np.save(f, array)
    return f.getvalue()


def legacy(name, body):
    return dict(body, **{"__polygraphy_encoded_" + name: "polygraphy_serialized_json_type"})


def legacy_results():
    """As releases before 0.35 marked their objects."""
    array = legacy("ndarray", {"array": base64.b64encode(npy(f32(1, 2))).decode()})
    one = legacy("IterationResult", {"outputs": {"y": legacy("LazyNumpyArray", {"values": array})}, "runtime": 0.25, "runner_name": "old"})
    return legacy("RunResults", {"lst": [["old", [one]]]})


def latin1_feeds():
    """The bytes as text, of a .npy file and of a .npz archive."""
    archive = io.BytesIO()
    np.savez(archive, f32(5, 6), f32(7))
    return [
        {
            "npy": legacy("ndarray", {"array": npy(f32(1.5, -2)).decode("latin-1")}),
            "npz": legacy("ndarray", {"array": archive.getvalue().decode("latin-1")}),
        }
    ]


def torch_feeds():
    return [
        {
            "bfloat16": torch.arange(6, dtype=torch.bfloat16).reshape(2, 3).t(),
            "float32": torch.arange(4.0)[1:3],
            "expanded": torch.tensor([7], dtype=torch.int16).expand(3),
            "scalar": torch.tensor(9),
            "float8": torch.tensor([1.5], dtype=torch.float8_e4m3fn),
            "empty": torch.zeros(0, 2),
        }
    ]


def fortran_feeds():
    return [{"x": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)), "big": np.array([1, 2], ">i4")}]


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    results().save(path("results.json"))
    save_json(feeds(), path("feeds.json"))
    accuracy().save(path("accuracy.json"))
    average().save(path("accuracy_average.json"))
    save_json(torch_feeds(), path("torch_feeds.json"))
    save_json(fortran_feeds(), path("fortran_feeds.json"))
    for name, value in (("legacy_results", legacy_results()), ("latin1_feeds", latin1_feeds())):
        with open(path(name + ".json"), "w") as f:
            json.dump(value, f)
