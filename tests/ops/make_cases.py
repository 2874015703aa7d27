#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operator cases (README.md) with expected values from the reference evaluator of the `onnx` package.

    make_cases.py [OPERATOR FILE...]        e.g. make_cases.py slice pad; all of the tables below by default

Where ONNX Runtime knows the operator in that version, its answer is compared too and differences are printed: they
are to be understood, not to be averaged. Cases that need no values (symbolic shapes, errors) are kept here as text, so
that a file can be made again whole. Needs onnx, numpy and, for the comparison, onnxruntime.
"""
import os
import sys
import warnings

import numpy as np
import onnx
from onnx import TensorProto as TP
from onnx import helper, numpy_helper

import cases_move  # noqa: F401  (adds to the tables)
from cases_table import TABLE, TEXT

warnings.filterwarnings("ignore")
HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {getattr(TP, k): v for k, v in {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT16": "float16", "BFLOAT16": "bfloat16", "BOOL": "bool",
    "STRING": "string", "COMPLEX64": "complex64", "COMPLEX128": "complex128", "INT8": "int8", "INT16": "int16",
    "INT32": "int32", "INT64": "int64", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT4": "int4", "UINT4": "uint4", "FLOAT8E4M3FN": "float8e4m3fn", "FLOAT8E4M3FNUZ": "float8e4m3fnuz",
    "FLOAT8E5M2": "float8e5m2", "FLOAT8E5M2FNUZ": "float8e5m2fnuz", "FLOAT4E2M1": "float4"}.items()}
CODES = {v: k for k, v in NAMES.items()}


def number(x):
    if isinstance(x, complex):
        return repr(x).strip("()")
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, int):
        return str(x)
    if np.isnan(x):
        return "nan"
    if np.isinf(x):
        return "inf" if x > 0 else "-inf"
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


def elements(array, name):
    flat = np.asarray(array).reshape(-1)
    if name == "string":
        return ['"%s"' % (x.decode() if isinstance(x, bytes) else x) for x in flat.tolist()]
    if name == "float32":
        return [number(float(str(x))) for x in flat.astype(np.float32)]
    if name.startswith(("float", "bfloat")):
        return [number(x) for x in flat.astype(np.float64).tolist()]
    if name in ("int4", "uint4"):
        return [number(int(x)) for x in flat.astype(np.int64)]
    return [number(x) for x in flat.tolist()]


def wrapped(head, words):
    lines, line = [], head
    for word in words:
        if len(line) + 1 + len(word) > 110:
            lines.append(line)
            line = "    " + word
        else:
            line += " " + word
    return lines + [line]


def tensor_lines(head, array, name):
    shape = "[" + ", ".join(str(d) for d in np.asarray(array).shape) + "]"
    words = elements(array, name)
    if len(words) > 4 and len(set(words)) == 1:
        words = ["*" + words[0]]
    return wrapped("%s %s %s" % (head, name, shape), words)


def attribute_lines(a):
    v = helper.get_attribute_value(a)
    kind = onnx.AttributeProto
    if a.type == kind.TENSOR:
        return tensor_lines("attr: %s = tensor" % a.name, numpy_helper.to_array(v), NAMES[v.data_type])
    if a.type == kind.STRING:
        return ['attr: %s = "%s"' % (a.name, v.decode())]
    if a.type == kind.STRINGS:
        return ["attr: %s = [%s]" % (a.name, ", ".join('"%s"' % x.decode() for x in v))]
    if a.type == kind.FLOAT:
        return ["attr: %s = %r" % (a.name, float(str(np.float32(v))))]
    if a.type == kind.FLOATS:
        return ["attr: %s = [%s]" % (a.name, ", ".join(repr(float(str(np.float32(x)))) for x in v))]
    return ["attr: %s = %s" % (a.name, v if a.type == kind.INT else list(v))]


def type_of(array):
    if array.dtype.kind in "OUS":
        return "string"
    return NAMES[helper.np_dtype_to_tensor_dtype(array.dtype)]


def model_of(op, opset, attrs, inputs, outputs):
    names = ["" if x is None else "x%d" % i for i, x in enumerate(inputs)]
    given = [helper.make_tensor_value_info(n, CODES[type_of(x)], x.shape) for n, x in zip(names, inputs) if n]
    made = ["y%d" % i for i in range(outputs)]
    node = helper.make_node(op, names, made, **attrs)
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=n) for n in made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    inferred = onnx.shape_inference.infer_shapes(model)
    for slot, found in zip(model.graph.output, inferred.graph.output):
        slot.CopyFrom(found)
    return model, node, dict((n, x) for n, x in zip(names, inputs) if n)


def run_reference(model, feed):
    from onnx.reference import ReferenceEvaluator
    return [np.asarray(x) for x in ReferenceEvaluator(model).run(None, feed)]


def run_runtime(model, feed):
    import onnxruntime
    onnxruntime.set_default_logger_severity(4)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(x) for x in session.run(None, feed)]


def attempt(run, model, feed):
    try:
        return run(model, feed), None
    except Exception as e:  # any failure means only that this side gives no answer
        return None, str(e).split("\n")[0][:100]


def differ(a, b):
    for x, y in zip(a, b):
        if x.shape != y.shape or x.dtype.kind != y.dtype.kind:
            return "shape or type %s %s / %s %s" % (x.dtype, x.shape, y.dtype, y.shape)
        if x.dtype.kind in "OUSb" and not (x.astype(str) == y.astype(str)).all():
            return "%s / %s" % (x.ravel().tolist(), y.ravel().tolist())
        if x.dtype.kind in "iufV" and not np.allclose(
                x.astype(np.float64), y.astype(np.float64), 1e-5, 1e-6, equal_nan=True):
            return "%s / %s" % (x.ravel().tolist(), y.ravel().tolist())
    return None


def make_case(row):
    title, op, opset, attrs, inputs, options = row
    inputs = [None if x is None else np.asarray(x) for x in inputs]
    model, node, feed = model_of(op, opset, attrs, inputs, options.get("outputs", 1))
    if "expect" in options:
        wanted = [np.asarray(x) for x in options["expect"]]
    else:
        reference, why = attempt(run_reference, model, feed)
        runtime, why_not = attempt(run_runtime, model, feed)
        first = runtime if options.get("trust") == "ort" else reference
        wanted = first if first is not None else runtime if reference is None else reference
        if wanted is None:
            raise SystemExit("%s '%s': %s; %s" % (op, title, why, why_not))
        if reference is not None and runtime is not None and differ(reference, runtime) and "trust" not in options:
            print("%s '%s' opset %d: reference / runtime: %s" % (op, title, opset, differ(reference, runtime)))
    lines = ["case: " + title, "op: %s %d" % (op, opset)]
    for a in node.attribute:
        lines += attribute_lines(a)
    for x in inputs:
        lines += ["in: -"] if x is None else tensor_lines("in:", x, type_of(x))
    for y in wanted:
        lines += tensor_lines("out:", y, type_of(y))
    if "tolerance" in options:
        lines.append("tolerance: %g" % options["tolerance"])
    return "\n".join(lines)


def main():
    for name in sys.argv[1:] or sorted(set(TABLE) | set(TEXT)):
        parts = [make_case(row) for row in TABLE.get(name, [])]
        if name in TEXT:
            parts.append(TEXT[name].strip("\n"))
        with open(os.path.join(HERE, name + ".txt"), "w") as f:
            f.write("# Values made by make_cases.py.\n" + "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
