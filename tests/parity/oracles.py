#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which operators no outside oracle checks: oracles.py PROGRAM NODE_TESTS_FOLDER

Every operator of the table must have a case in tests/ops with values (those below a line `# By hand` do not count), a node in ONNX's own node
tests, or one in a model whose results another program recorded (MODELS); else ELSEWHERE must say which test compares it with another
implementation.
"""
import glob
import os
import re
import subprocess
import sys

import onnx

from operators import of_table

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DRAWN = "tests/parity/random_ops.py draws graphs of it and runs them in ONNX Runtime, too"
ELSEWHERE = {
    "ai.onnx:ConcatFromSequence": DRAWN,
    "ai.onnx:SequenceAt": DRAWN,
    "ai.onnx:SequenceEmpty": DRAWN,
    "ai.onnx:SequenceErase": DRAWN,
    "ai.onnx:SequenceLength": DRAWN,
}
MODELS = {"classic_ml": "results.json", "generate": "{}.out.json"}


def of_cases():
    """title: number of cases with values from outside"""
    found = {}
    for path in glob.glob(os.path.join(ROOT, "tests", "ops", "*.txt")):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        by_hand, title, has_values = False, None, False
        for line in text.splitlines() + ["case: end"]:
            if line.startswith("#"):
                by_hand = line.startswith("# By hand")
            elif line.startswith("case:"):
                if title and has_values:
                    found[title] = found.get(title, 0) + 1
                title, has_values = None, False
            elif line.startswith("op:") and not by_hand:
                domain, _, name = line.split()[1].rpartition(":")
                title = f"{domain or 'ai.onnx'}:{name}"
            elif re.match(r"out: (?!-)", line):
                has_values = has_values or not line.rstrip().endswith("?")
    return found


def nodes_of(graph):
    for node in graph.node:
        yield f"{node.domain or 'ai.onnx'}:{node.op_type}"
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                yield from nodes_of(inner)


def of_node_tests(folder):
    found = set()
    for path in glob.glob(os.path.join(folder, "test_*", "model.onnx")):
        if "_expanded" not in path:  # those have functions' bodies, not the operators under test
            found.update(nodes_of(onnx.load(path, load_external_data=False).graph))
    return found


def of_models():
    found = set()
    for name, results in MODELS.items():
        folder = os.path.join(ROOT, "tests", "data", name)
        for path in glob.glob(os.path.join(folder, "*.onnx")):
            if os.path.exists(os.path.join(folder, results.format(os.path.basename(path)[:-5]))):
                found.update(nodes_of(onnx.load(path).graph))
    return found


def main():
    done = subprocess.run([sys.argv[1], "inspect", "capability", "--operators"], capture_output=True, text=True, check=True)
    ours, cases, nodes = of_table(done.stdout), of_cases(), of_node_tests(sys.argv[2]) | of_models()
    without = [key for key in ours if key not in cases and key not in nodes]
    bad = [f"{key} has no case from outside" for key in without if key not in ELSEWHERE]
    bad += [f"ELSEWHERE lists {key}, which has cases" for key in ELSEWHERE if key not in without]
    if len(cases) < 200 or len(nodes) < 150:
        bad.append(f"read only cases of {len(cases)} operators and nodes of {len(nodes)}")
    print("\n".join(bad + [f"operators with cases from outside: {len(ours) - len(without)} of {len(ours)}; the others are compared elsewhere"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
