# SPDX-License-Identifier: Apache-2.0
"""A model as text, in the notation of tests/data/gs: what tests/harness/gs_text.c writes too.

    in   name:TYPE[dims]     (none): no shape field, [] : a scalar, ? : a dimension without value or name
    Op "node" (inputs -> outputs) {attribute=value ...}
    init name TYPE[dims] = values
"""
import zlib

import numpy as np
import onnx
from onnx import numpy_helper

SHOWN = 16  # elements; above, equal ones are shown once and others by their checksum
TYPES = onnx.TensorProto.DataType
KINDS = onnx.AttributeProto.AttributeType


def number(x):
    text = "%g" % x
    return text if any(c in text for c in ".en") else text + ".0"


def dims_text(dims):
    return "[" + ",".join(dims) + "]"


def type_text(value):
    if not value.type.HasField("tensor_type"):
        return value.type.WhichOneof("value") or "(no type)"
    t = value.type.tensor_type
    name = TYPES.Name(t.elem_type)
    if not t.HasField("shape"):
        return name + "(none)"
    return name + dims_text(str(d.dim_value) if d.HasField("dim_value") else f"'{d.dim_param}'" if d.dim_param else "?" for d in t.shape.dim)


def values_text(t):
    array = numpy_helper.to_array(t)
    flat = array.reshape(-1)
    if array.dtype.kind == "O":
        shown = ["'" + (x if isinstance(x, str) else x.decode()) + "'" for x in flat]
    elif array.dtype.kind in "iub":
        shown = [str(int(x)) for x in flat[:SHOWN]]
    else:
        shown = ["%g" % x for x in flat[:SHOWN].astype(np.float32 if array.dtype.kind == "V" else array.dtype)]
    if flat.size and (array.dtype.kind != "O") and flat.size > 1 and bool((flat == flat[0]).all()):
        return "all " + shown[0]
    if flat.size > SHOWN:
        return f"crc32 {zlib.crc32(np.ascontiguousarray(array).tobytes()):08x}"
    return shown[0] if not array.shape else "[" + ",".join(shown) + "]"


def tensor_text(t):
    return f"{TYPES.Name(t.data_type)}{dims_text(str(d) for d in t.dims)} = {values_text(t)}"


def attribute_text(a):
    if a.ref_attr_name:
        return f"{a.name}=@{a.ref_attr_name}:{KINDS.Name(a.type)}"
    forms = {
        KINDS.FLOAT: lambda: number(a.f), KINDS.INT: lambda: str(a.i), KINDS.STRING: lambda: "'" + a.s.decode() + "'",
        KINDS.FLOATS: lambda: "[" + ",".join(number(x) for x in a.floats) + "]", KINDS.INTS: lambda: "[" + ",".join(str(x) for x in a.ints) + "]",
        KINDS.STRINGS: lambda: "[" + ",".join("'" + s.decode() + "'" for s in a.strings) + "]", KINDS.TENSOR: lambda: tensor_text(a.t),
    }
    return a.name + "=" + forms.get(a.type, lambda: f"<{KINDS.Name(a.type)}>")()


def node_lines(n, indent):
    name = (n.domain + "." if n.domain else "") + n.op_type
    text = f'{indent}{name} "{n.name}" ({", ".join(n.input)} -> {", ".join(n.output)})'
    if n.attribute:
        text += " {" + " ".join(attribute_text(a) for a in n.attribute) + "}"
    lines = [text]
    for a in n.attribute:
        for g in [a.g] if a.type == KINDS.GRAPH else a.graphs:
            lines += [f'{indent}  graph {a.name} "{g.name}"'] + graph_lines(g, indent + "    ")
    return lines


def graph_lines(g, indent=""):
    lines = [f"{indent}in   {v.name}:{type_text(v)}" for v in g.input]
    for n in g.node:
        lines += node_lines(n, indent)
    lines += [f"{indent}out  {v.name}:{type_text(v)}" for v in g.output]
    lines += [f"{indent}vi   {v.name}:{type_text(v)}" for v in g.value_info]
    lines += [f"{indent}init {t.name} {tensor_text(t)}" for t in g.initializer]
    return lines


def function_lines(f):
    required = " [" + ", ".join(f.attribute) + "]" if f.attribute else ""
    given = " {" + " ".join(attribute_text(a) for a in f.attribute_proto) + "}" if f.attribute_proto else ""
    lines = [f'function {f.domain}.{f.name} ({", ".join(f.input)} -> {", ".join(f.output)}){required}{given}']
    lines += [f'  opset "{o.domain}" {o.version}' for o in f.opset_import]
    for n in f.node:
        lines += node_lines(n, "  ")
    return lines


def model_text(m):
    lines = [f'opset "{o.domain}" {o.version}' for o in m.opset_import] + [f'graph "{m.graph.name}"'] + graph_lines(m.graph)
    for f in m.functions:
        lines += function_lines(f)
    return "\n".join(lines) + "\n"
