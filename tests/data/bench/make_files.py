#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes old.json, new.json and sweep.json beside this script: made-up measurements of the sides a and b. In new.json b takes 4 % longer. In sweep.json
the time grows with batch and length, b takes twice as long at batch 2, length 16, where its output was NaN, and its errors grow with the length."""
import json
import os
import random

HERE = os.path.dirname(os.path.abspath(__file__))


def side(name, ns, generator):
    slices = []
    for place in range(12):
        times = [round(ns * generator.uniform(0.995, 1.005)) for _ in range(4)]
        slices.append({"place": place % 2, "disturbed": place == 5, "others": 1.5 if place == 5 else 0.02, "runs": 4,
                       "total_ns": sum(times), "times_ns": times})
    return {"name": name, "load_ms": 2.5, "first_run_ms": 1.25, "peak_bytes": 3 << 20, "slices": slices}


def document(sides):
    options = {"duration_s": 3, "slices": 12, "seed": 1, "warm_up_ms": 200, "confidence": 0.99, "least_effect": 0.01}
    machine = {"processor": "Made-up processor", "processors": 2, "governor": "", "mhz_before": 3000, "mhz_after": 3000, "throttled": 0, "flags": "avx2"}
    return {"format": "polygraphy-bench", "version": 1, "options": options, "machine": machine, "sides": sides}


def write(path, file):
    with open(os.path.join(HERE, path), "w", encoding="utf-8") as out:
        out.write(json.dumps(file) + "\n")


def pair(b_ns, seed):
    generator = random.Random(seed)
    return document([side("a", 1e6, generator), side("b", b_ns, generator)])


def point(batch, length, generator):
    worst = batch == 2 and length == 16
    b = side("b", 1e4 * batch * length * (2 if worst else 1), generator)
    reason = "the largest difference of output 'y' is NaN" if worst else ""
    b["accuracy"] = {"reference": "opref", "error": None if worst else length * 1e-6, "relative_error": None if worst else length * 1e-5,
                     "passed": not worst, "reason": reason}
    bench = document([side("a", 1e4 * batch * length, generator), b])
    bench["machine"]["energy"] = "CPU from RAPL (1 package), GPU unknown (libnvidia-ml.so.1 is not there)"
    for one in bench["sides"]:
        one["slices"] = one["slices"][:8]
        for part in one["slices"]:
            part.update(cpu_joules=part["total_ns"] * 5e-8, gpu_joules=None)
    return {"sizes": [batch, length], "bench": bench}


def sweep(seed):
    generator = random.Random(seed)
    return {"format": "polygraphy-bench-sweep", "version": 1, "axes": [{"name": "batch", "sizes": [1, 2]}, {"name": "length", "sizes": [8, 16, 32]}],
            "points": [point(batch, length, generator) for batch in (1, 2) for length in (8, 16, 32)]}


write("old.json", pair(1e6, 1))
write("new.json", pair(1.04e6, 2))
write("sweep.json", sweep(3))
