#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`check lint` beside the original's: lint.py PROGRAM [--cases N] [--seed N] [--only PATTERN] [--keep DIR]

Models: ONNX's node cases (whole, and broken by the mutations of checker.py), the shipped ones, and hand-made chains of several nodes with one
fault. The exit status must be the same, and each entry of the original's report must be in ours with the same level, source and nodes, and
without a code; nodes that the original lists as passing or failing must be in the same list of ours. Entries that only our checker has must
have a code. Differences are accepted only for a reason in ACCEPTED. A model that onnx.checker accepts in full and that runs gets no warning
that is only ours. Exit code 1 if there is any other difference.
"""
import argparse
import collections
import contextlib
import fnmatch
import glob
import io
import json
import os
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
import checker  # noqa: E402  (its mutations)

import one_tool  # noqa: E402

run_original = one_tool.keep("check")


def original(path, options, report):
    """Exit status ("crash" for a Python exception), the report or None, and what was printed."""
    argv, sys.argv = sys.argv, ["polygraphy", "check", "lint", path, "-o", report, *options]
    try:
        with silence() as out:
            status = run_original()
    except SystemExit as e:
        status = e.code
    except BaseException as e:  # what a user sees as a traceback
        status, out = f"crash: {type(e).__name__}", io.StringIO()
    finally:
        sys.argv = argv
    return status, load(report), out.getvalue()


@contextlib.contextmanager
def silence():
    """Descriptors 1 and 2 go to a file: the original listens to them itself to hear ONNX Runtime."""
    with tempfile.TemporaryFile() as f:
        kept = os.dup(1), os.dup(2)
        sys.stdout.flush(), sys.stderr.flush()
        os.dup2(f.fileno(), 1), os.dup2(f.fileno(), 2)
        out = io.StringIO()
        try:
            yield out
        finally:
            sys.stdout.flush(), sys.stderr.flush()
            os.dup2(kept[0], 1), os.dup2(kept[1], 2)
            os.close(kept[0]), os.close(kept[1])
            f.seek(0)
            out.write(f.read().decode(errors="replace"))


def ours(program, path, options, report):
    done = subprocess.run([program, "check", "lint", path, "-o", report, *options], capture_output=True, text=True)
    return done.returncode, load(report), done.stdout + done.stderr


def load(report):
    if not os.path.exists(report):
        return None
    with open(report, encoding="utf-8") as f:
        r = json.load(f)
    os.remove(report)
    return r


def key(e):
    return e["level"], e["source"], tuple(e.get("nodes", ()))


def differences(theirs, mine, valid):
    """What must be the same and is not, as short texts."""
    (status, report, _), (own_status, own, _) = theirs, mine
    if isinstance(status, str) or (report is None and own is not None):
        return []  # a traceback, or a type that it does not know (bfloat16, 4 bits), is not followed
    found = []
    if status != own_status:
        found.append(f"exit {status} became {own_status}")
    if report is None or own is None:
        if own is None and report is not None:
            found.append("report missing")
        return found
    have = collections.Counter(key(e) for e in own["lint_entries"] if "code" not in e)
    for k, n in collections.Counter(key(e) for e in report["lint_entries"]).items():
        if have[k] < (1 if k[1] in ("onnx_checker", "onnxruntime") and not k[2] else n):
            found.append(f"entry missing: {k}")
    wanted = collections.Counter(key(e) for e in report["lint_entries"])
    for k in have:
        if not wanted[k]:
            found.append(f"entry without code that only ours has: {k}")
    for name in ("passing", "failing"):
        lost = set(report["summary"][name]) - set(own["summary"][name])
        coded = {n.split("/")[0].split(":")[0] for e in own["lint_entries"] if "code" in e and e["level"] == "exception" for n in e.get("nodes", ())}
        if name == "passing":
            lost -= coded | set(report["summary"]["failing"])
        if lost:
            found.append(f"{name}: {sorted(lost)} missing")
    spare = set(own["summary"]["failing"]) - set(report["summary"]["failing"]) - {n for e in own["lint_entries"] if "code" in e for n in e.get("nodes", ())}
    if spare:
        found.append(f"failing: {sorted(spare)} only in ours")
    if valid:
        found += [f"warning of a valid model: {e['code']}: {e['message']}" for e in own["lint_entries"] if "code" in e and e["level"] != "info" and e["code"] not in ("generated-data", "unknown-custom-operator")]
    return found


# (pattern of the case, pattern of the difference): reason
ACCEPTED = [(c, d, why) for why, names, texts in [
    ("values that are defined twice or not at all make no graph: nothing is run, no part is called unused",
     "undefined_* node_twice:* output_defined_twice:* output_is_an_input:* input_twice:* shipped_tests_data_hostile_*", "passing:* failing:* entry?missing*"),
    ("onnx-graphsurgeon repairs or drops what is wrong before the original looks, or it skips nodes that omit an optional input",
     "omitted_input:* unknown_attribute:* attribute_* drop_attribute:* metadata_twice:* tensor_* external_* graph_without_name:* input_of_other_type:*",
     "exit?0?became?1 entry?without?code*exception* failing:*only?in?ours"),
    ("onnx-graphsurgeon repairs attributes, so that ONNX Runtime runs the node", "attribute_*", "passing:*missing"),
    ("data are not made for an input without shape: --input-shapes", "input_without_shape:* shipped_tests_data_onnx_unusual_bytes.onnx", "*"),
    ("what subgraphs take from outside, as below", "shipped_tests_data_cli_faults.onnx shipped_tests_data_cli_custom.onnx", "*choose* *exit?1?became?0*"),
    ("the original gives texts of another type to ONNX Runtime, and its models of one node have no maps", "shipped_tests_data_classic_ml_*",
     "exit?1?became?0 entry?missing* failing:*missing"),
    ("the exporter declares another shape than its operators give, or imports a domain twice, which onnx.checker does not see", "shipped_tests_data_classic_ml_*",
     "warning?of?a?valid?model:?declared-shape* warning?of?a?valid?model:?duplicate-opset-import*"),
    ("the subgraphs of a text generator have inputs with names of the main graph", "shipped_tests_data_generate_*", "warning?of?a?valid?model:?shadowed-input*"),
    ("the original's models of one node lack what subgraphs take from outside", "*test_affine_grid*", "*polygraphy_unnamed_node_*"),
] for c in names.split() for d in texts.split()]


def accepted(name, difference, path, own):
    finds_more = difference == "exit 0 became 1" or "only" in difference
    coded = own and any("code" in e and e["level"] == "exception" for e in own["lint_entries"])
    if finds_more and (skipped_by_original(path) or (coded and ":" in name and not name.startswith("whole:"))):
        return True  # a node that the original skips fails, or our checker finds what ONNX Runtime tolerates in a broken model
    return any(fnmatch.fnmatchcase(name, c) and fnmatch.fnmatchcase(difference, d) for c, d, _ in ACCEPTED)


# ---- Models ------------------------------------------------------------------------------------


def node_cases():
    from onnx.backend.test.loader import load_model_tests

    for case in load_model_tests(kind="node"):
        yield case.name, case.model if case.model else onnx.load(os.path.join(case.model_dir, "model.onnx"))


def skipped_by_original(path):
    """Has any node an omitted input? The original never runs such a node alone."""
    return any("" in n.input for n in onnx.load(path, load_external_data=False).graph.node)


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=(), opset=17, **more):
    g = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in weights])
    return helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, **more)


def hand_made():
    """(name, model, options): chains with one fault, where what fails and what is skipped can be told."""
    x, y = value("x", [2, 3]), value("y", None)
    node = helper.make_node
    relu, neg = node("Relu", ["x"], ["a"], name="one"), node("Neg", ["b"], ["y"], name="three")
    for name, middle, weights in [
        ("good", node("Abs", ["a"], ["b"], name="two"), ()),
        ("matmul", node("MatMul", ["a", "w"], ["b"], name="two"), [("w", np.ones((4, 5), np.float32))]),
        ("attribute", node("LeakyRelu", ["a"], ["b"], name="two", slope=0.1), ()),
        ("operator", node("NoSuch", ["a"], ["b"], name="two"), ()),
        ("domain", node("NoSuch", ["a"], ["b"], name="two", domain="com.example"), ()),
        ("type", node("And", ["a", "a"], ["b"], name="two"), ()),
        ("axis", node("Softmax", ["a"], ["b"], name="two", axis=7), ()),
        ("reshape", node("Reshape", ["a", "s"], ["b"], name="two"), [("s", np.array([4, 5], np.int64))]),
        ("perm", node("Transpose", ["a"], ["b"], name="two", perm=[0, 0]), ()),
        ("few", node("Conv", ["a"], ["b"], name="two"), ()),
        ("broadcast", node("Add", ["a", "w"], ["b"], name="two"), [("w", np.ones((4, 5), np.float32))]),
        ("unnamed", node("Abs", ["a"], ["b"]), ()),
        ("taken", node("Abs", ["a"], ["b"], name="polygraphy_unnamed_node_1"), ()),
    ]:
        yield "chain_" + name, model([relu, middle, neg], [x], [y], weights), []
        unused = node("Exp", ["x"], ["z"], name="spare")
        yield "spare_" + name, model([relu, unused, middle, neg], [x, value("lonely", [1])], [y], weights), []
        yield "nameless_" + name, model([node("Relu", ["x"], ["a"]), middle, node("Neg", ["b"], ["y"])], [x], [y], weights), []
    good = node("Abs", ["a"], ["b"], name="two")
    yield "duplicate_names", model([relu, node("Abs", ["a"], ["b"], name="one"), neg], [x], [y]), []
    yield "unsorted", model([good, relu, neg], [x], [y]), []
    yield "metadata_twice", onnx.ModelProto.FromString(model([relu, good, neg], [x], [y]).SerializeToString()), []
    yield "no_nodes", model([], [x], [x]), []
    yield "sequence", model([node("SplitToSequence", ["x"], ["s"], name="split", axis=0), node("SequenceAt", ["s", "i"], ["y"], name="at")],
                            [x], [y], [("i", np.array(0, np.int64))]), []
    dynamic = model([relu, good, neg], [value("x", ["n", 3])], [value("y", ["n", 3])])
    yield "shapes_fit", dynamic, ["--input-shapes", "x:[5,3]"]
    yield "shapes_contradict", dynamic, ["--input-shapes", "x:[5,4]"]
    yield "shapes_of_other_rank", dynamic, ["--input-shapes", "x:[5,3,1]"]
    yield "shapes_of_nothing", dynamic, ["--input-shapes", "z:[5,3]"]
    yield "shapes_of_one_size", model([relu, good, neg], [x], [y]), ["--input-shapes", "x:[5,3]"]
    # Data decide: of one element there are no two to take, of [0,1] no index.
    gather = node("Gather", ["a", "i"], ["b"], name="two")
    yield "index_out_of_range", model([relu, gather, neg], [x, value("i", [1], TensorProto.INT64)], [y]), []
    yield "index_in_range", model([relu, gather, neg], [x, value("i", [1], TensorProto.INT64)], [y]), ["--val-range", "i:[0,1]"]
    split = node("Slice", ["x", "b", "e"], ["a"], name="one")
    sizes = [("b", np.array([1], np.int64)), ("e", np.array([9], np.int64)), ("s", np.array([-1, 2, 3], np.int64))]
    yield "size_one", model([split, node("Reshape", ["x", "s"], ["b2"], name="two"), node("Neg", ["b2"], ["y"], name="three")],
                            [value("x", ["n", 3])], [y], sizes), []


# Without the types that bodies contradict, which the original does not look at.
MUTATIONS = [m for m in checker.MUTATIONS if m not in ("body_output_of_other_type", "body_input_of_other_type", "body_value_of_other_type", "body_weight_of_other_type")]
# Take all memory there is: the original has no limit.
ENDLESS = {"doubled.onnx", "endless.onnx", "loop_grows.onnx", "many_large.onnx"}


def shipped():
    for path in sorted(glob.glob(os.path.join(ROOT, "examples/models/*.onnx")) + glob.glob(os.path.join(ROOT, "tests/data/**/*.onnx"), recursive=True)):
        if os.path.getsize(path) < 1 << 20 and os.path.basename(path) not in ENDLESS:
            yield "shipped_" + os.path.relpath(path, ROOT).replace("/", "_"), path


def is_valid(m):
    try:
        onnx.checker.check_model(m, full_check=True)
        return True
    except Exception:
        return False


# ---- The run -----------------------------------------------------------------------------------


def cases(folder, count, r):
    for name, m, options in hand_made():
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as f:
            f.write(m.SerializeToString())
        yield name, path, options, is_valid(m)
    for name, path in shipped():
        try:
            valid = is_valid(onnx.load(path, load_external_data=False))
        except Exception:
            valid = False
        yield name, path, [], valid
    nodes = list(node_cases())
    for i in range(count):
        name, m = r.choice(nodes)
        m = onnx.ModelProto.FromString(m.SerializeToString())
        mutation = r.choice(MUTATIONS) if i % 4 else ""
        if mutation and not (m.graph.node and checker.MUTATIONS[mutation](m, r)):
            continue
        path = os.path.join(folder, f"{i}.onnx")
        with open(path, "wb") as f:
            f.write(m.SerializeToString())
        yield f"{mutation or 'whole'}:{name}", path, [], not mutation and is_valid(m)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("program")
    p.add_argument("--cases", type=int, default=600)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="*")
    p.add_argument("--keep")
    p.add_argument("--show", action="store_true")
    a = p.parse_args()
    count, bad, excused = 0, collections.Counter(), 0
    with contextlib.ExitStack() as stack:
        folder = a.keep or stack.enter_context(tempfile.TemporaryDirectory())
        os.makedirs(folder, exist_ok=True)
        report = os.path.join(folder, "report.json")
        for name, path, options, valid in cases(folder, a.cases, random.Random(a.seed)):
            if not fnmatch.fnmatch(name, a.only):
                continue
            count += 1
            theirs, mine = original(path, options, report), ours(a.program, path, options, report)
            if a.show:
                print(name, theirs, mine, sep="\n")
            for d in differences(theirs, mine, valid):
                if accepted(name, d, path, mine[1]):
                    excused += 1
                    continue
                bad[name.split(":")[0]] += 1
                print(f"{name}: {d}")
    print(f"lint: {count} models, {sum(bad.values())} differences, {excused} accepted")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
