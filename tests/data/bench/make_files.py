#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes old.json and new.json beside this script: two made-up measurements of the sides a and b. In new.json b takes 4 % longer."""
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


def write(path, b_ns, seed):
    generator = random.Random(seed)
    options = {"duration_s": 3, "slices": 12, "seed": 1, "warm_up_ms": 200, "confidence": 0.99, "least_effect": 0.01}
    machine = {"processor": "Made-up processor", "processors": 2, "governor": "", "mhz_before": 3000, "mhz_after": 3000, "throttled": 0, "flags": "avx2"}
    file = {"format": "polygraphy-bench", "version": 1, "options": options, "machine": machine,
            "sides": [side("a", 1e6, generator), side("b", b_ns, generator)]}
    with open(os.path.join(HERE, path), "w", encoding="utf-8") as out:
        out.write(json.dumps(file) + "\n")


write("old.json", 1e6, 1)
write("new.json", 1.04e6, 2)
