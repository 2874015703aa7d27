#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The registry against the schemas of the installed onnx package: signatures.py BUILD_FOLDER

The table of signatures must be what tools/gen_signatures makes now. Every row of the registry in ONNX's domain, in every opset from 7 on that
it serves, must have the schema's attributes (names, kinds, required, defaults), counts of inputs and outputs, and accept the schema's types
of input 0. Differences fail unless signatures.expected lists them: `operator what: reason`.
"""
import fnmatch
import json
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import defs

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OLDEST = 7


def dump(build):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "registry.json")
        subprocess.run([os.path.join(build, "tests", "test.ops.dump")], env=dict(os.environ, OP_DUMP=path), check=True, capture_output=True)
        with open(path, encoding="utf-8") as f:
            return json.load(f)


def number(text, kind):
    return float(text) if kind == "FLOAT" else int(text)


def same_default(kind, ours, theirs):
    """theirs: AttributeProto; ours: text or None."""
    has = theirs.type != onnx.AttributeProto.UNDEFINED
    if kind in ("FLOATS", "INTS", "STRINGS", "TENSOR", "TYPE_PROTO", "GRAPH", "SPARSE_TENSOR"):
        return True  # the operator's business
    if not has:
        return ours is None
    value = onnx.helper.get_attribute_value(theirs)
    if ours is None:
        return kind == "STRING" and value == b""
    if kind == "STRING":
        return value.decode() == ours
    return abs(number(ours, kind) - value) <= 1e-6 * abs(value)


def compare_attributes(row, schema):
    ours = {a["name"]: a for a in row["attributes"]}
    for name, theirs in schema.attributes.items():
        kind = theirs.type.name
        a = ours.pop(name, None)
        if a is None:
            yield f"lacks attribute {name}"
        elif a["kind"] != kind:
            yield f"attribute {name} is {a['kind']}, not {kind}"
        elif bool(a["required"]) != theirs.required:
            yield f"attribute {name} is {'' if a['required'] else 'not '}required"
        elif not theirs.required and not same_default(kind, a["default"], theirs.default_value):
            yield f"attribute {name} has default {a['default']}, not {onnx.helper.get_attribute_value(theirs.default_value) if theirs.default_value.type else None}"
    for name in ours:
        yield f"has attribute {name}"


def count(n):
    return -1 if n > 1 << 20 else n


def compare(row, schema):
    yield from compare_attributes(row, schema)
    for what, ours, theirs in [("min_inputs", row["min_inputs"], schema.min_input), ("max_inputs", row["max_inputs"], count(schema.max_input)),
                               ("min_outputs", row["min_outputs"], schema.min_output), ("max_outputs", row["max_outputs"], count(schema.max_output))]:
        if ours != theirs:
            yield f"{what} is {ours}, not {theirs}"
    if row["types"] and schema.inputs:
        names = {"float": "FLOAT", "double": "DOUBLE"}
        theirs = {names.get(t[7:-1], t[7:-1].upper()) for t in schema.inputs[0].types if t.startswith("tensor(")}
        missing = theirs - set(row["types"])
        if missing:
            yield "types lacks " + " ".join(sorted(missing))
    if bool(row["deprecated"] and row["deprecated"] <= schema.since_version) != schema.deprecated:
        yield f"deprecated is {row['deprecated']}"


def expected():
    with open(os.path.join(HERE, "signatures.expected"), encoding="utf-8") as f:
        rows = [line.strip().partition(": ") for line in f if line.strip() and not line.startswith("#")]
    return {pattern: reason for pattern, _, reason in rows}


def main():
    rows = [r for r in dump(os.path.abspath(sys.argv[1])) if r["domain"] == ""]
    status = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "gen_signatures"), "--check"]).returncode
    reasons, used, bad, pairs = expected(), set(), 0, 0
    newest = defs.onnx_opset_version()
    for row in rows:
        later = [r["since"] for r in rows if r["name"] == row["name"] and r["since"] > row["since"]]
        seen = set()
        for opset in range(max(OLDEST, row["since"]), min(later + [newest + 1])):
            try:
                schema = defs.get_schema(row["name"], opset)
            except defs.SchemaError:
                continue
            if schema.since_version in seen:
                continue
            seen.add(schema.since_version)
            pairs += 1
            for what in compare(row, schema):
                line = f"{row['name']} {what}"
                pattern = next((p for p in reasons if fnmatch.fnmatch(line, p)), None)
                used.add(pattern)
                if pattern is None:
                    bad += 1
                    print(f"{row['name']} of opset {schema.since_version} (row {row['since']}): {what}")
    have = {r["name"] for r in rows}
    absent = sorted({s.name for s in defs.get_all_schemas() if s.domain == ""} - have)
    for pattern in sorted(set(reasons) - used):
        print(f"signatures.expected lists '{pattern}', which is not so any more")
    print("operators without a row:", ", ".join(absent) or "none")
    print(f"registry against onnx {onnx.__version__}: {pairs} schema versions, {bad} differences without a reason")
    return 1 if bad or status else 0


if __name__ == "__main__":
    sys.exit(main())
