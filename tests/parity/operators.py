#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of operators against the schemas of onnx and ONNX Runtime: operators.py PROGRAM

Every operator of both packages' schemas must be in `inspect capability --operators`, and every version that ONNX Runtime's CPU provider has a
kernel for must be served; what is not must be listed in operators.expected with a reason, and that list must stand in docs/operators.md. For the
domains that tests/parity/signatures.py does not compare, the numbers of inputs and outputs must be the schema's, unless COUNTS says why.
"""
import collections
import fnmatch
import os
import re
import subprocess
import sys

import onnx
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COUNTS = {
    "com.microsoft:AttnLSTM": "the memory and its weights, optional in the schema, are read by ONNX Runtime's kernel in any case",
    "com.microsoft:QEmbedLayerNormalization": "the second output may be left out, as ONNX Runtime's kernel has it",
    "com.microsoft:QLinearConcat": "the schema counts one tensor, scale and zero point as one input",
    "com.microsoft:QLinearWhere": "the last zero point may be left out",
    "com.microsoft:QMoE": "the types of weights that are supported need their scales",
    "com.microsoft:RemovePadding": "outputs that nobody reads may be left out",
    "com.microsoft:SparseAttention": "caches that nobody reads may be left out",
}


def title(domain, name):
    return f"{domain or 'ai.onnx'}:{name}"


def of_table(text):
    """title: (versions, inputs, outputs)"""
    rows = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) > 4 and re.fullmatch(r"\d+(, \d+)*", cells[2]):
            rows[f"{cells[1]}:{cells[0]}"] = [int(v) for v in cells[2].split(", ")], cells[3], cells[4]
    return rows


def of_schemas():
    """title: the newest schema; of both packages"""
    newest = {}
    for schema in [*onnx.defs.get_all_schemas_with_history(), *runtime.get_all_operator_schema()]:
        key = title(schema.domain, schema.name)
        if key not in newest or schema.since_version > newest[key].since_version:
            newest[key] = schema
    return newest


def of_kernels():
    """title: the first version of each kernel of the CPU provider"""
    first = collections.defaultdict(set)
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider":
            first[title(kernel.domain, kernel.op_name)].add(kernel.version_range[0])
    return first


def reasons():
    listed = {}
    with open(os.path.join(HERE, "operators.expected"), encoding="utf-8") as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                domain, name, reason = line.strip().split(":", 2)
                listed[f"{domain}:{name}"] = reason.strip()
    return listed


def count(least, most):
    return f"{least} or more" if most > 255 else str(least) if least == most else f"{least} to {most}"


def main():
    done = subprocess.run([sys.argv[1], "inspect", "capability", "--operators"], capture_output=True, text=True, check=True)
    ours, schemas, kernels, listed, used, bad = of_table(done.stdout), of_schemas(), of_kernels(), reasons(), set(), []
    if len(ours) < 300 or len(kernels) < 250:
        bad.append(f"read only {len(ours)} operators of the program and {len(kernels)} kernels of ONNX Runtime")
    missing = [key for key in sorted(set(schemas) | set(kernels)) if key not in ours]
    missing += [f"{key}@{v}" for key in sorted(set(kernels) & set(ours)) for v in sorted(kernels[key]) if v < min(ours[key][0])]
    for key in missing:
        pattern = next((p for p in listed if fnmatch.fnmatchcase(key, p)), None)
        used.add(pattern)
        if pattern is None:
            bad.append(f"{key} is not in the table, and operators.expected gives no reason")
    bad += [f"operators.expected lists {p}, which is not missing" for p in listed if p not in used]
    with open(os.path.join(ROOT, "docs", "operators.md"), encoding="utf-8") as f:
        page = f.read()
    for key, reason in listed.items():
        domain, name = key.split(":")
        if f"| {name} | {domain} | {reason} |" not in page:
            bad.append(f"docs/operators.md does not give the reason of {key}; run tools/gen_docs")
    different = set()
    for key, (_, inputs, outputs) in ours.items():
        schema = schemas.get(key)
        if schema is None or not key.startswith("com.microsoft"):
            continue
        theirs = count(schema.min_input, schema.max_input), count(schema.min_output, schema.max_output)
        if theirs != (inputs, outputs):
            different.add(key)
            if key not in COUNTS:
                bad.append(f"{key} has {inputs} inputs and {outputs} outputs; the schema has {theirs[0]} and {theirs[1]}")
    bad += [f"COUNTS lists {key}, whose counts are the schema's" for key in COUNTS if key not in different]
    print("\n".join(bad + [f"operators: {len(set(schemas) | set(kernels))} named by onnx {onnx.__version__} and ONNX Runtime, {len(missing)} missing with a listed reason"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
