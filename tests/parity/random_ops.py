#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random single-operator models: the reference backend against ONNX Runtime and ONNX's ReferenceEvaluator.

    random_ops.py LIBRARY_FOLDER WORK_FOLDER [--seed N] [--cases N] [--time S] [--op NAME[,NAME]] [--case N]

Every case is made from the seed, the operator and its number alone, so `--op NAME --case N` runs one again and prints it. What the three
say is compared, and what inference says with what comes out. A difference must be listed in tests/disagreements/table.json, else it
fails. --minimise keeps the smallest model of every listed row that names one, --write-docs writes docs/disagreements.md, --kept runs the
kept models through the reference, --bad gives invalid models and compares who refuses them.
"""
import argparse
import collections
import fnmatch
import json
import math
import os
import re
import struct
import subprocess
import sys
import time
import zlib
from fractions import Fraction

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import op_generators as generators  # noqa: E402
from op_generators import DTYPES, NAMES, ONNX_TYPES, GENERATORS, Gen  # noqa: E402
from op_peers import PARTS, Peers  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FOLDER = os.path.join(ROOT, "tests", "disagreements")
TABLE = os.path.join(FOLDER, "table.json")
NEWEST = onnx.defs.onnx_opset_version()
OF_ONNXRT = 26  # newest opset that it loads
BATCH = 48
EPSILON = {"float": 1e-5, "double": 1e-9, "float16": 4e-3, "bfloat16": 3e-2}
# What rounding after every step, in the element type, may cost the evaluator
EPSILON_STEPS = {"float": 3e-5, "double": 1e-9, "float16": 3e-2, "bfloat16": 2e-1}


# ---- Cases

class Case:
    """One model with its inputs. `node` may be None: the generator passed on this one."""

    def __init__(self, op, seed, number):
        rng = np.random.default_rng([seed, zlib.crc32(op.encode()), number])
        self.op, self.seed, self.number = op, seed, number
        versions = [v for v in range(7, NEWEST + 1) if is_valid(op, v)]
        top = [v for v in versions if v <= OF_ONNXRT]
        self.opset = top[-1] if top and rng.random() < 0.4 else versions[int(rng.integers(len(versions)))]
        gen = Gen(rng, onnx.defs.get_schema(op, self.opset, ""), self.opset)
        self.special = gen.special
        self.node = GENERATORS[op](gen)
        if self.node:
            self.build(gen)

    def build(self, gen):
        node, rng = self.node, gen.rng
        while node.inputs and node.inputs[-1] is None:
            node.inputs.pop()
        self.attributes = {k: v for k, v in node.attributes.items() if k in gen.schema.attributes}
        share = gen.pick([0, 0, 0.5, 1])
        self.names = [f"x{i}" if x is not None else "" for i, x in enumerate(node.inputs)]
        self.constant = {n for i, n in enumerate(self.names) if n and (i in node.constant or rng.random() < share)}
        self.outputs = node.outputs if isinstance(node.outputs, list) else [f"y{i}" for i in range(node.outputs)]
        self.arrays = {n: np.asarray(x) for n, x in zip(self.names, node.inputs) if n}
        self.feed = {n: x for n, x in self.arrays.items() if n not in self.constant}
        self.type = NAMES[next(iter(self.arrays.values())).dtype] if self.arrays else ""
        self.symbols, dims = {}, {}
        for n, x in self.feed.items():
            dims[n] = []
            for d in x.shape:
                name = f"n{d}" if rng.random() < 0.5 else f"s{len(self.symbols)}"
                if rng.random() < 0.5:
                    self.symbols[name] = d
                    dims[n].append(name)
                else:
                    dims[n].append(d)
        self.model = self.make({n: list(x.shape) for n, x in self.feed.items()})
        self.symbolic = self.make(dims) if self.symbols else b""

    def closed(self):
        """The model with all inputs inside."""
        self.constant, self.feed = set(self.arrays), {}
        return self.make({})

    def make(self, dims):
        inputs = [helper.make_tensor_value_info(n, ONNX_TYPES[NAMES[x.dtype]], dims[n]) for n, x in self.feed.items()]
        weights = [numpy_helper.from_array(self.arrays[n], n) for n in self.names if n in self.constant]
        nodes = []
        for op, takes, gives, attributes in self.node.nodes or [(self.op, self.names, self.outputs, self.attributes)]:
            nodes.append(helper.make_node(op, takes, gives, name="n" if op == self.op else "n" + op))
            for name, value in attributes.items():
                kind = onnx.AttributeProto.INTS if isinstance(value, list) and not value else None  # an empty list has no type of its own
                nodes[-1].attribute.append(helper.make_attribute(name, tensor_of(value), attr_type=kind))
        graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name=n) for n in self.outputs if n], weights)
        ir = 8 if self.opset < 19 else 10 if self.opset < 23 else 11 if self.opset < 25 else 13
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=ir).SerializeToString()

    def describe(self):
        parts = [f"{self.op} {self.opset} {self.attributes}"]
        for n, x in self.arrays.items():
            values = np.array2string(x, threshold=24, separator=",").replace("\n", "") if x.dtype == object or x.size else ""
            parts.append(f"  {n}{' const' if n in self.constant else ''}: {NAMES[x.dtype]} {list(x.shape)} {values[:300]}")
        return "\n".join(parts)


EXTREMES = [-1, 0, 1, 2, 3, 7, 99, -99, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63), 2**40]


class BadCase(Case):
    """A case with one or two mistakes: attributes and integers out of their ranges, other types, ranks, sizes and counts."""

    def build(self, gen):
        self.mistakes = []
        for _ in range(1 if gen.chance(0.7) else 2):
            self.spoil(gen)
        super().build(gen)
        self.symbolic = b""

    def spoil(self, gen):
        inputs = [i for i, x in enumerate(self.node.inputs) if x is not None]
        kind = gen.pick(["attribute"] * 3 + ["value", "type", "rank", "size", "size", "omit", "extra"])
        if kind == "attribute" and self.node.attributes:
            name = gen.pick(sorted(self.node.attributes))
            self.node.attributes[name] = self.spoiled(gen, self.node.attributes[name])
        elif kind == "omit" and inputs:
            self.node.inputs[gen.pick(inputs)] = None
        elif kind == "extra":
            self.node.inputs = list(self.node.inputs) + [gen.values(np.float32, [2])]
        elif inputs:
            i = gen.pick(inputs)
            self.node.inputs[i] = getattr(self, "spoil_" + kind, self.spoil_value)(gen, np.asarray(self.node.inputs[i]))
        self.mistakes.append(kind)

    @staticmethod
    def spoiled(gen, value):
        if isinstance(value, list) and value and isinstance(value[0], int):
            value = list(value)
            kind = gen.int(0, 2)
            if kind == 0:
                value.append(gen.pick(EXTREMES))
            elif kind == 1 and len(value) > 1:
                value.pop()
            else:
                value[gen.int(0, len(value) - 1)] = gen.pick(EXTREMES)
            return value
        if isinstance(value, int):
            return gen.pick(EXTREMES)
        if isinstance(value, float):
            return gen.pick([float("nan"), float("inf"), -1.0, 0.0, 1e30])
        return "bogus" if isinstance(value, str) else value

    @staticmethod
    def spoil_value(gen, x):
        if not x.size or x.dtype == object or x.dtype == bool:
            return gen.values(x.dtype, [2])
        flat = x.reshape(-1).copy()
        least, most = generators.int_range(x.dtype) if generators.is_int(x.dtype) else (0, 0)
        value = gen.pick([e for e in EXTREMES if least <= e <= most] or [0]) if generators.is_int(x.dtype) else gen.pick([0.0, -1.0, 1e4, float("nan")])
        flat[gen.int(0, flat.size - 1)] = np.array(value).astype(x.dtype)
        return flat.reshape(x.shape)

    @staticmethod
    def spoil_type(gen, x):
        return gen.values(DTYPES[gen.pick(["float", "int64", "bool", "string", "uint8", "double", "int32", "float16"])], x.shape)

    @staticmethod
    def spoil_rank(gen, x):
        return x.reshape((1,) + x.shape) if gen.chance(0.5) or not x.ndim else gen.values(x.dtype, x.shape[1:])

    @staticmethod
    def spoil_size(gen, x):
        shape = list(x.shape) or [1]
        shape[gen.int(0, len(shape) - 1)] = gen.pick([0, 1, 2, 5, 7])
        return gen.values(x.dtype, shape)


def tensor_of(v):
    return numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v


def is_valid(op, opset):
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError:
        return False
    return not schema.deprecated


# ---- Ours

class Ours:
    """op_runner, started again after a crash."""

    def __init__(self, library, work):
        self.program = os.path.join(work, "op_runner")
        os.makedirs(work, exist_ok=True)
        subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, "op_runner.c"), "-o", self.program,
                        "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy"], check=True)
        self.process = None

    def ask(self, model, symbolic, feed):
        if not self.process:
            self.process = subprocess.Popen([self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        parts = [model, symbolic]
        request = b"".join(struct.pack("<I", len(p)) + p for p in parts) + struct.pack("<I", len(feed))
        for name, value in feed.items():
            proto = numpy_helper.from_array(value, name).SerializeToString()
            request += struct.pack("<I", len(name)) + name.encode() + struct.pack("<I", len(proto)) + proto
        answer = []
        try:
            self.process.stdin.write(request)
            self.process.stdin.flush()
            for _ in range(4):
                status, size = struct.unpack("<II", self.read(8))
                answer.append((status, self.read(size)))
        except (EOFError, BrokenPipeError):
            code = self.process.wait()
            self.process = None
            answer += [(99, f"the process ended with {code}".encode())] * (4 - len(answer))
        return answer

    def read(self, size):
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return data


def arrays_of(data):
    got, at = [], 0
    kinds = {v: k for k, v in ONNX_TYPES.items()}
    while at < len(data):
        kind, rank = struct.unpack_from("<II", data, at)
        shape = struct.unpack_from(f"<{rank}q", data, at + 8)
        at += 8 + 8 * rank
        if kinds[kind] == "string":
            texts = []
            for _ in range(math.prod(shape)):
                size, = struct.unpack_from("<I", data, at)
                texts.append(data[at + 4:at + 4 + size].decode("utf-8", "replace"))
                at += 4 + size
            got.append(np.array(texts, object).reshape(shape))
        else:
            size, = struct.unpack_from("<I", data, at)
            tensor = onnx.TensorProto(data_type=kind, dims=shape, raw_data=data[at + 4:at + 4 + size])
            got.append(numpy_helper.to_array(tensor))
            at += 4 + size
    return got


# ---- Judging

def tidy(x):
    x = np.asarray(x)
    return x.astype(object) if x.dtype.kind in "USO" else x


def differ(got, want, node, epsilons):
    """None where two lists of outputs agree, else the kind of the first difference."""
    if len(got) != len(want):
        return "count"
    for a, b in zip(map(tidy, got), map(tidy, want)):
        if a.dtype != b.dtype:
            return "type"
        if a.shape != b.shape:
            return "shape"
        if node.random:
            continue
        kind = differ_values(a, b, node, epsilons)
        if kind:
            return kind
    return None


def differ_values(a, b, node, epsilons):
    if a.dtype == object or not (generators.is_float(a.dtype) or a.dtype.kind == "c"):
        return None if bool(np.all(a == b)) else "value"
    if a.dtype.kind == "c":
        a, b = (np.stack([x.real, x.imag]) for x in (a, b))
    name = NAMES[a.dtype]
    a, b = a.astype(np.float64), b.astype(np.float64)
    if np.any(np.isnan(a) != np.isnan(b)):
        return "nan"
    finite = np.isfinite(a) & np.isfinite(b)
    if np.any(np.where(finite | np.isnan(a), 0.0, a) != np.where(finite | np.isnan(b), 0.0, b)):
        return "inf"
    a, b = a[finite], b[finite]
    if not a.size:
        return None
    if name not in epsilons:
        return None if np.array_equal(a, b) else "value"
    scale = max(float(np.sqrt(np.mean(np.minimum(np.abs(b), 1e150) ** 2))), 0.0)
    floor = {"float16": 1.2e-7, "bfloat16": 1e-38, "float": 2e-45, "double": 1e-300}[name]
    with np.errstate(over="ignore"):
        allowed = node.loose * epsilons[name] * (np.abs(b) + min(scale, 10 * float(np.median(np.abs(b))) + 1) + node.accumulated) + floor
    return None if bool(np.all(np.abs(a - b) <= allowed)) else "value"


SYMBOL_FUNCTIONS = {"Min": min, "Max": max, "floor": math.floor}


def infer_findings(part, peer, actual, symbols):
    """What inference gets wrong: kinds of findings against us."""
    status, text = part
    if status:
        return [("inference refuses", text.decode("utf-8", "replace"))] if actual else []
    findings = []
    rows = [line.split("\t") for line in text.decode().splitlines()]
    known = peer[1] if peer[0] == "ok" else []
    for i, (row, value) in enumerate(zip(rows, actual or [])):
        kind, rank, dims = int(row[0]), int(row[1]), row[2:]
        if kind and kind != ONNX_TYPES[NAMES[tidy(value).dtype]]:
            findings.append(("inferred type", f"type {kind}, is {tidy(value).dtype}"))
        other_kind, other = known[i] if i < len(known) else (0, None)
        if other_kind and not kind:
            findings.append(("unknown type", ""))
        if rank >= 0 and rank != value.ndim:
            findings.append(("inferred rank", f"rank {rank}, is {value.ndim}"))
            continue
        if rank < 0:
            if other is not None and len(other) == value.ndim:
                findings.append(("unknown rank", f"onnx knows {other}"))
            continue
        for d, (dim, true) in enumerate(zip(dims, value.shape)):
            names = {n: Fraction(v) for n, v in symbols.items()}
            unknown = "unk__" in dim or dim == "?"
            if not unknown and eval(dim, {"__builtins__": {}}, {**SYMBOL_FUNCTIONS, **names}) != true:
                findings.append(("inferred dimension", f"dimension {d} is {dim}, is {true}"))
            if not dim.lstrip("-").isdigit() and other is not None and len(other) > d and other[d] is not None and other[d] == true:
                findings.append(("unknown dimension", f"dimension {d} is {dim}, onnx knows {other[d]}"))
    return findings


def judge(case, ours, peers):
    """Findings as (side, kind, text). Sides: ours, onnxrt, evaluator, all."""
    status, data = ours[2]
    text = data.decode("utf-8", "replace") if status else ""
    if status == 99:
        return [("ours", "crashed", text)]
    results = {}
    findings = []
    for name in ("onnxrt", "evaluator"):
        outcome, value = peers[name]
        if outcome == "crashed":
            findings.append((name, "crashed", value))
        elif outcome != "absent":
            results[name] = (outcome, value)
    good = {n: v for n, (o, v) in results.items() if o == "ok"}
    bad = {n: v for n, (o, v) in results.items() if o != "ok"}
    if status:
        if "does not implement" in text:
            return [("ours", "absent", text)]
        if good:
            side = "ours" if not bad else next(iter(good))
            findings.append((side, "refused" if not bad else "accepted", f"{text} | {next(iter(bad.values()), '')[:200]}"))
        elif bad:
            findings.append(("", "invalid", f"{text} | {bad}"))
        return findings
    actual = arrays_of(data)
    if ours[3][0] or differ(arrays_of(ours[3][1]), actual, case.node, EPSILON_STEPS):
        findings.append(("ours", "model precision", str(ours[3])[:300]))
    kinds = {n: differ(actual, v, case.node, EPSILON_STEPS if n == "evaluator" else EPSILON) for n, v in good.items()}
    wrong = [n for n, k in kinds.items() if k]
    if len(good) == 2 and len(wrong) == 2:
        alike = differ(good["onnxrt"], good["evaluator"], case.node, EPSILON_STEPS) is None
        findings.append(("ours" if alike else "all", kinds[wrong[0]], ""))
    else:
        findings += [(n, kinds[n], "" if len(good) == 2 else "alone") for n in wrong]
    if good:
        findings += [(n, "refused", v) for n, v in bad.items()]
    elif bad:  # one peer alone that refuses says more of itself
        findings.append(("ours", "accepted", str(bad)) if len(bad) == 2 else (next(iter(bad)), "refused", str(bad)))
    for part, peer, symbols in ((ours[0], peers["inferred"], {}), (ours[1], peers["symbolic"], case.symbols)):
        if symbols or peer is peers["inferred"]:
            findings += [("ours", kind, f"{symbols} {why}") for kind, why in infer_findings(part, peer, actual, symbols)]
    return findings


def judge_bad(case, ours, peers):
    """What is wrong with the answer to a model that may be invalid."""
    findings = []
    for name, (status, data) in zip(("inference", "symbolic", "float64", "model"), ours):
        text = data.decode("utf-8", "replace") if status else ""
        if status == 99:
            return [("ours", "crashed", f"{name}: {text}")]
        if status and case.op not in text and " 'n" not in text and "input" not in text and "'x" not in text:
            findings.append(("ours", "message", f"{name}: {text}"))
    outcome, why = peers["onnxrt"]
    if not ours[2][0] and outcome == "refused":
        findings.append(("ours", "accepted", f"{case.mistakes} {why[:250]}"))
    if outcome == "crashed":
        findings.append(("onnxrt", "crashed", why))
    return findings


# ---- The table

def read_table():
    with open(TABLE, encoding="utf-8") as f:
        return json.load(f)


def find_row(rows, case, side, kind):
    for row in rows:
        low, high = row.get("opsets", [7, NEWEST])
        if (any(fnmatch.fnmatchcase(case.op, p) for p in row["op"].split()) and side == row["side"] and kind in row["kind"].split(", ") and low <= case.opset <= high
                and case.type in row.get("types", case.type or "none").split() + [""] and (case.special or row.get("when") != "special")
                and (row.get("when") != "empty" or any(x.size == 0 for x in case.arrays.values()))):
            return row
    return None


def show(x):
    return np.array2string(tidy(x), threshold=40, separator=",").replace("\n", "")[:600] if isinstance(x, np.ndarray) else str(x)[:400]


def report(case, ours, peers, findings):
    print(case.describe())
    print("  ours:", ours[2][1].decode("utf-8", "replace") if ours[2][0] else [f"{a.dtype}{list(a.shape)} {show(a)}" for a in arrays_of(ours[2][1])])
    for name in ("onnxrt", "evaluator"):
        outcome, value = peers[name]
        print(f"  {name}:", [f"{np.asarray(a).dtype}{list(np.asarray(a).shape)} {show(np.asarray(a))}" for a in value] if outcome == "ok" else f"{outcome} {value}")
    print("  inference:", ours[0][1].decode("utf-8", "replace").replace("\t", " ").strip(), "|", ours[1][1].decode("utf-8", "replace").replace("\t", " ").strip(), "|", peers["inferred"], peers["symbolic"])
    for f in findings:
        print("  ->", f)


class Run:
    def __init__(self, options):
        self.options = options
        self.ours, self.peers = Ours(os.path.abspath(options.library), os.path.abspath(options.work)), Peers()
        self.rows = read_table()
        self.counts, self.found, self.listed = collections.Counter(), {}, collections.Counter()
        self.operators = collections.Counter()
        self.smallest = {}

    def batch(self, cases):
        without = PARTS[1:] if self.options.bad else ()
        self.peers.send([(c.model, c.symbolic, c.feed, (without or PARTS[:1]) if c.opset > OF_ONNXRT else without) for c in cases])
        ours = [self.ours.ask(c.model, c.symbolic, c.feed) for c in cases]
        for case, mine, theirs in zip(cases, ours, self.peers.receive()):
            self.take(case, mine, theirs)

    def take(self, case, ours, peers):
        findings = judge_bad(case, ours, peers) if self.options.bad else judge(case, ours, peers)
        self.counts["cases"] += 1
        self.operators[case.op] += 1
        for name in ("onnxrt", "evaluator"):
            self.counts[f"{name} {peers[name][0]}"] += 1
        if self.options.case is not None:
            report(case, ours, peers, findings)
        for side, kind, text in findings:
            row = find_row(self.rows, case, side, kind)
            if row:
                self.listed[self.rows.index(row)] += 1
                size = sum(x.nbytes if x.dtype != object else 8 * x.size for x in case.arrays.values()) + 8 * len(case.attributes)
                if "model" in row and not ours[2][0] and size < self.smallest.get(row["model"], [size + 1])[0]:
                    self.smallest[row["model"]] = (size, case, ours[2][1])
                continue
            self.found.setdefault((case.op, side, kind), []).append((case, ours, peers, text))

    def go(self):
        o = self.options
        names = sorted(n for n in GENERATORS if any(fnmatch.fnmatchcase(n, p) for p in o.op.split(",")) and any(is_valid(n, v) for v in range(7, NEWEST + 1)))
        start, number, waiting = time.monotonic(), 0 if o.case is None else o.case, []
        total = o.cases if o.case is None else 1
        while total > 0 and time.monotonic() - start < o.time:
            for name in names:
                if total <= 0:
                    break
                try:
                    case = (BadCase if o.bad else Case)(name, o.seed, number)
                except Exception as e:
                    e.add_note(f"{name}, case {number}")
                    raise
                total -= 1
                if case.node:
                    waiting.append(case)
                if len(waiting) >= BATCH:
                    self.batch(waiting)
                    waiting = []
            number += 1
        if waiting:
            self.batch(waiting)
        self.peers.stop()

    def summary(self):
        for (op, side, kind), cases in sorted(self.found.items()):
            case, ours, peers, text = min(cases, key=lambda c: sum(x.nbytes for x in c[0].arrays.values()))
            print(f"=== {op}: {side or 'nobody'} {kind}: {len(cases)} times, opsets {sorted({c[0].opset for c in cases})}, types {sorted({c[0].type for c in cases})}; --op {op} --case {case.number}: {text[:300]}")
            if self.options.verbose:
                report(case, ours, peers, [])
        if self.options.minimise:
            for i, row in enumerate(self.rows):
                print(f"row {i}: {self.listed[i]} times: {row['op']} {row['side']} {row['kind']}")
        absent = {op for op, side, kind in self.found if kind == "absent"}
        sides = collections.Counter()
        for i, count in self.listed.items():
            sides[self.rows[i]["side"]] += count
        print(f"random operators, seed {self.options.seed}: {self.counts['cases']} cases of {len(self.operators)} operators, ONNX Runtime ran {self.counts['onnxrt ok']}, "
              f"the evaluator {self.counts['evaluator ok']}; {len(self.found)} unlisted differences, listed ones: {dict(sides)}; operators that the reference lacks: {sorted(absent)}")
        if self.options.bad:
            return 1 if any(side == "ours" and kind != "accepted" for _, side, kind in self.found) else 0
        return 1 if self.found else 0


# ---- Models that are kept

def keep(run):
    """Writes the smallest model of each listed row that has none yet, with what the reference says."""
    for name, (_, case, outputs) in sorted(run.smallest.items()):
        path = os.path.join(FOLDER, name)
        if os.path.exists(path + ".onnx"):
            continue
        model = onnx.ModelProto.FromString(case.closed())
        expected = []
        for info, value in zip(model.graph.output, map(tidy, arrays_of(outputs))):
            kind = NAMES[value.dtype]
            info.CopyFrom(helper.make_tensor_value_info(info.name, ONNX_TYPES[kind], value.shape))
            expected.append({"type": kind, "shape": list(value.shape), "values": (value if value.dtype == object else value.astype(plain(value.dtype))).reshape(-1).tolist()})
        if len(model.SerializeToString()) > 4096:
            print(f"{name}: the smallest model has {len(model.SerializeToString())} bytes")
            continue
        with open(path + ".onnx", "wb") as f:
            f.write(model.SerializeToString())
        with open(path + ".json", "w", encoding="utf-8") as f:
            json.dump(expected, f, ensure_ascii=False)
            f.write("\n")


def plain(dtype):
    return np.float64 if generators.is_float(dtype) else bool if dtype == bool else np.uint64 if dtype == np.uint64 else np.int64


def run_kept(ours, rows):
    """The kept models through the reference: lines about those that are not as they were."""
    bad = []
    for name in sorted({row["model"] for row in rows if "model" in row}):
        path = os.path.join(FOLDER, name)
        if not os.path.exists(path + ".onnx"):
            bad.append(f"{name}: the table names it, but there is no such model")
            continue
        with open(path + ".onnx", "rb") as f:
            status, data = ours.ask(f.read(), b"", {})[2]
        with open(path + ".json", encoding="utf-8") as f:
            expected = [np.array(o["values"], object if o["type"] == "string" else plain(DTYPES[o["type"]])).astype(DTYPES[o["type"]]).reshape(o["shape"]) for o in json.load(f)]
        kind = data.decode("utf-8", "replace") if status else differ(arrays_of(data), expected, generators.Node([]), EPSILON)
        if kind:
            bad.append(f"{name}: {kind}")
    return bad


HALF_MODELS = [
    "## Whole models in 16-bit floats", "",
    "Models in float16 or bfloat16 can split the runtimes into two groups that differ by more than 1 although no operator is wrong: those that round to 16 bits after every node",
    "(PyTorch, `--trt`, `--opref --opref-precision model`), and those that compute longer stretches in a wider type (`--opref`, which rounds once at the end, and",
    "ONNX Runtime, which computes most 16-bit operators of a CPU in float32 and drops the Casts between them). This happens where a rounding decides a result:", "",
    "- **additive masks**: a score plus -65504 or -1e4 keeps 5 to 0 bits of the score, so in rows that are masked completely, or nearly so, the attention depends on",
    "  the last bit; in float32 the same row is a uniform average, or has other weights;",
    "- **rotary angles** and positions: float16 cannot represent 2049, bfloat16 cannot represent 257, and the cosine of an angle of several hundred has no correct digit;",
    "- arguments of ArgMax, TopK, buckets and comparisons that are almost equal.", "",
    "To distinguish this from a fault, run both `--opref --opref-precision model` and `--opref`. If each group agrees with one of them, rounding is the cause, and the",
    "model needs those nodes in float32 (`--keep-fp32`, `--layer-precisions`). The log says so after a failed comparison of 16-bit outputs, and when the reference",
    "runs a model that computes in 16 bits.",
]


CLASSIC_MODELS = [
    "## Classic models (ai.onnx.ml)", "",
    "The reference follows ONNX Runtime, also against the text of ONNX; `tests/ops/ml_cases.py` has a case for each line.", "",
    "| operators | what ONNX Runtime does |", "| --- | --- |",
    "| LinearRegressor, TreeEnsembleRegressor, TreeEnsemble | of SOFTMAX, LOGISTIC and SOFTMAX_ZERO nothing is applied to a single target; TreeEnsemble is the exception: there the reference follows the text |",
    "| LinearClassifier | a single score s with two labels becomes 1 - s and s, whatever `multi_class` and the transform say, except LOGISTIC: the logistic functions of -s and s |",
    "| LinearClassifier, SVMClassifier, TreeEnsembleClassifier | PROBIT of a single score sets the first of two columns; ONNX Runtime leaves the second as it was in memory, the reference sets 0 |",
    "| all with `post_transform` | PROBIT is the approximation of ONNX's reference evaluator and ONNX Runtime, 0.004 off at worst |",
    "| SOFTMAX_ZERO | scores nearer to 0 than 1e-7 are left out of the sum and divided by it |",
    "| TreeEnsembleClassifier | two classes whose weights have both class ids, or a single class: the label is 1 or 0 by the sign of the score, not an entry of `classlabels_int64s`. ONNX Runtime reads beyond `classlabels_strings` if it has one entry; the reference gives the text 1 |",
    "| TreeEnsembleClassifier | two classes and two base values: the second score is base_values[1] plus the first sum, the first its negative; with one base value it counts for the first class only |",
    "| TreeEnsembleRegressor | several targets: one that no reached leaf has a weight for is 0, without its base value |",
    "| TreeEnsembleRegressor | one target: a leaf counts with its first weight only and, without weights, with its entry in `nodes_values` |",
    "| TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble | a NaN that passes a test by `nodes_missing_value_tracks_true` passes in addition to the test, so BRANCH_NEQ always lets it pass; a threshold of NaN fails all tests but BRANCH_NEQ; trees in turns have several roots each |",
    "| TreeEnsemble | `post_transform` 1 is LOGISTIC and 2 SOFTMAX, the reverse of the text, which the reference follows |",
    "| SVMRegressor | `post_transform` is ignored |",
    "| SVMClassifier | without probabilities there is a score per pair of classes, not per class; two classes give -s and s, or 1 - s and s with a transform |",
    "| Normalizer | MAX divides by the largest element, not by the largest magnitude |",
    "| Scaler, Imputer | with three or more dimensions the features are those of the second one, and the list repeats along the last |",
    "| OneHotEncoder | texts with integer categories, and the reverse, give zeros |",
    "| CastMap | missing positions of texts are `0.f` |",
    "| Imputer | a list of another length than 1 or the number of features: ONNX Runtime takes its first number, the reference refuses |",
    "| LinearRegressor, LinearClassifier | coefficients beyond those needed, intercepts of another number: ONNX Runtime ignores them, the reference refuses |",
    "| LabelEncoder | of a repeated key the first counts, and in version 2 no element equals a key of NaN; the reference follows the text of version 4: the last counts, and NaN equals NaN |",
]


CONTRIB = [
    "## Operators of com.microsoft", "",
    "ONNX Runtime 1.31 defines these operators. Where its CPU provider computes something else than its definition says, the reference follows the definition.", "",
    "| operators | what ONNX Runtime does |", "| --- | --- |",
    "| DynamicQuantizeLSTM | H of the whole batch is rounded with one scale in each step, as the reference does, only if one thread computes it. With batches of two and up to 256 units, or of five, ONNX Runtime divides the batch among its threads, and each rounds its rows with their own scale: results depend on the number of threads, by 1e-3 to 1e-1. int8 zero points of columns must be 0, and those of uint8 equal; scales of columns with one zero point for each of two directions make it read another byte in the second one. A sequence of length 0 gives states of 0 in place of the initial ones |",
    "| MatMulNBits | `g_idx` with packed zero points of 2 or 4 bits, or with the default ones of 2 bits: wrong by 0.2 to 8 times the largest number of the result; accuracy_level 4 with scales that are no initializer: wrong by its largest number |",
    "| MoE | float16: the products of the second layer are missing, so that the result is its biases, or 0 without them; float32 is right |",
    "| MoE, QMoE | of experts with equal scores the last is chosen; the definition does not say which, and the reference takes the first |",
    "| QMoE | blocks of 8 bits: activations are rounded to 8 bits, too, which costs 0.01 of the largest number |",
    "| MoE, QMoE | `use_sparse_mixer` = 1 needs k = 2 and is then ignored. The definition does not give its rule; the reference computes that of Phi-3.5-MoE, for which the attribute was made, as ONNX Runtime's CUDA provider does: each of the two experts has its share of the softmax over the scores within 2 % of its own, and the shares are not normalised |",
    "| MultiHeadAttention | `unidirectional` with more keys than queries: query i of the reference sees the past and the first i + 1 keys; ONNX Runtime lets a single query see all, and gives several queries weights that belong to no such rule |",
    "| RotaryEmbedding | `scale` is ignored, in the reference, too |",
    "| Rfft, Irfft | ONNX Runtime has a kernel for CUDA only. The reference follows NumPy's rfftn and irfftn over one to three axes; `normalized` and `onesided` have one value each, by the definition |",
    "| GreedySearch | a negative word of the prompt stays as it is, and counts from the end of tables; the reference refuses it |",
]


def write_docs(rows):
    sides = {"ours": "The reference differs from both", "all": "All three differ", "onnxrt": "ONNX Runtime differs", "evaluator": "ONNX's ReferenceEvaluator differs"}
    text = ["# Where the reference and others disagree", "",
            "`tests/parity/random_ops.py` runs random single-operator models in the reference, in ONNX Runtime (CPU, no graph optimisation) and in ONNX's",
            "ReferenceEvaluator. This page explains every difference found; the tests fail on any other difference. The page is made from `tests/disagreements/table.json` by",
            "`random_ops.py --write-docs`. `tests/disagreements/` has the models and the outputs of the reference.", ""]
    for side, title in sides.items():
        text += [f"## {title}", "", "| operators | opsets | what | when | why | model |", "| --- | --- | --- | --- | --- | --- |"]
        for row in sorted((r for r in rows if r["side"] == side), key=lambda r: r["op"]):
            low, high = row.get("opsets", [7, NEWEST])
            when = ", ".join(filter(None, [row.get("types", "").replace(" ", ", "), {"special": "special values", "empty": "no elements"}.get(row.get("when"), "")]))
            op = "all" if row["op"] == "*" else row["op"].replace(" ", ", ").replace("*", "…")
            text.append(f"| {op} | {low} to {high} | {row['kind']} | {when} | {row['why'].replace('|', '/')} | {row.get('model', '')} |")
        text.append("")
    text += [*HALF_MODELS, "", *CLASSIC_MODELS, "", *CONTRIB, ""]
    with open(os.path.join(ROOT, "docs", "disagreements.md"), "w", encoding="utf-8") as f:
        f.write("\n".join(text[:-1]) + "\n")


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("library")
    p.add_argument("work")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--cases", type=int, default=10**9)
    p.add_argument("--time", type=float, default=10**9)
    p.add_argument("--op", default="*")
    p.add_argument("--case", type=int)
    p.add_argument("--verbose", action="store_true")
    p.add_argument("--minimise", action="store_true")
    p.add_argument("--write-docs", action="store_true")
    p.add_argument("--kept", action="store_true")
    p.add_argument("--bad", action="store_true")
    return p.parse_args()


def main():
    options = arguments()
    run = Run(options)
    if options.write_docs:
        write_docs(run.rows)
        return 0
    changed = [] if options.minimise or options.case is not None else run_kept(run.ours, run.rows)
    changed = [] if options.bad else changed
    for line in changed:
        print("=== kept model", line)
    if options.kept:
        return 1 if changed else 0
    run.go()
    if options.minimise:
        keep(run)
    return run.summary() or (1 if changed else 0)


if __name__ == "__main__":
    sys.exit(main())
