# SPDX-License-Identifier: Apache-2.0
"""Random single nodes of ONNX's operators: GENERATORS[operator](gen) gives a Node with inputs, attributes and outputs that the
standard allows. A Gen holds the random numbers, the schema of the chosen opset, and helpers for shapes and values."""
import math

import ml_dtypes
import numpy as np

DTYPES = {
    "bool": np.dtype(bool), "string": np.dtype(object), "float16": np.dtype(np.float16), "float": np.dtype(np.float32), "double": np.dtype(np.float64),
    "bfloat16": np.dtype(ml_dtypes.bfloat16), "complex64": np.dtype(np.complex64), "complex128": np.dtype(np.complex128),
    "float8e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn), "float8e4m3fnuz": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "float8e5m2": np.dtype(ml_dtypes.float8_e5m2), "float8e5m2fnuz": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "float8e8m0": np.dtype(ml_dtypes.float8_e8m0fnu), "float4e2m1": np.dtype(ml_dtypes.float4_e2m1fn),
    "int4": np.dtype(ml_dtypes.int4), "uint4": np.dtype(ml_dtypes.uint4), "int2": np.dtype(ml_dtypes.int2), "uint2": np.dtype(ml_dtypes.uint2),
    **{f"{u}int{n}": np.dtype(f"{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
}
NAMES = {d: n for n, d in DTYPES.items()}
ONNX_TYPES = {"float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "string": 8, "bool": 9, "float16": 10, "double": 11, "uint32": 12,
              "uint64": 13, "complex64": 14, "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17, "float8e4m3fnuz": 18, "float8e5m2": 19, "float8e5m2fnuz": 20,
              "uint4": 21, "int4": 22, "float4e2m1": 23, "float8e8m0": 24, "uint2": 25, "int2": 26}
WEIGHTS = {"float": 8, "double": 2, "float16": 2, "int64": 2, "int32": 2, "complex64": 0.3, "complex128": 0.3}
FLOATS = {"float16", "float", "double", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0", "float4e2m1"}
WORDS = ["", "a", "b", "A", "abc", "x y", "1", "-2.5", "ß", "日本", "zz"]


def is_float(dtype):
    return NAMES[dtype] in FLOATS


def is_int(dtype):
    return "int" in NAMES[dtype]


def int_range(dtype):
    info = ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


class Node:
    """inputs: arrays, or None where omitted; outputs: how many are named, or their names; accumulated: size of the terms that are summed;
    constant: inputs that must be initializers; random: only types and shapes can be compared; nodes: all nodes of a model of several, as
    (operator, inputs, outputs, attributes); loose: factor of the tolerance."""

    def __init__(self, inputs, attributes=None, outputs=1, accumulated=0.0, constant=(), random=False, nodes=None, loose=1.0):
        self.inputs, self.attributes, self.outputs = inputs, attributes or {}, outputs
        self.accumulated, self.constant, self.random, self.nodes, self.loose = accumulated, set(constant), random, nodes, loose


class Gen:
    def __init__(self, rng, schema, opset):
        self.rng, self.schema, self.opset = rng, schema, opset
        self.special = self.chance(0.15)
        self.chosen = {}

    # ---- choices
    def chance(self, p):
        return self.rng.random() < p

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def real(self, low, high):
        return float(np.float32(self.rng.uniform(low, high)))

    def some(self, p=0.5, /, **attributes):
        """Each attribute that the schema has, with probability p."""
        return {k: v for k, v in attributes.items() if k in self.schema.attributes and self.chance(p)}

    def known(self, **attributes):
        return {k: v for k, v in attributes.items() if k in self.schema.attributes}

    # ---- types
    def allowed(self, i, outputs=False):
        formals = self.schema.outputs if outputs else self.schema.inputs
        kind = formals[min(i, len(formals) - 1)].type_str
        for constraint in self.schema.type_constraints:
            if constraint.type_param_str == kind:
                return kind, [t[7:-1] for t in constraint.allowed_type_strs if t.startswith("tensor(")]
        return kind, [kind[7:-1]]

    def t(self, i, among=None, outputs=False):
        """Type of input i: the same for all inputs of one type parameter."""
        kind, names = self.allowed(i, outputs)
        if kind not in self.chosen:
            names = [n for n in names if n in DTYPES and (among is None or n in among)]
            weights = np.array([WEIGHTS.get(n, 1) for n in names], float)
            self.chosen[kind] = DTYPES[names[int(self.rng.choice(len(names), p=weights / weights.sum()))]]
        return self.chosen[kind]

    # ---- shapes
    def size(self, zero=0.03, most=5):
        return 0 if self.chance(zero) else self.pick([1, 1, 2, 2, 3, 3, 4, most])

    def shape(self, least=0, most=5, zero=0.03, largest=5):
        rank = self.int(least, most)
        if rank > 4 and self.chance(0.5):
            rank = self.int(least, 4)
        return [self.size(zero, largest) for _ in range(rank)]

    def broadcast(self, count, onto=None, **options):
        """Shapes that broadcast together; with `onto`, to that shape."""
        full = self.shape(**options) if onto is None else list(onto)
        shapes = []
        for _ in range(count):
            s = [1 if self.chance(0.25) else d for d in full]
            shapes.append(s[self.int(0, len(s)):] if self.chance(0.3) else s)
        return shapes

    def axis(self, rank, least=None):
        return self.int(-rank if least is None else least, rank - 1)

    def axes(self, rank, count=None):
        count = self.int(0 if rank == 0 else 1, rank) if count is None else count
        axes = [int(a) for a in self.rng.permutation(rank)[:count]]
        return [a - rank if self.chance(0.3) else a for a in axes]

    # ---- values
    def x(self, i=0, shape=None, low=-4.0, high=4.0, special=None, dtype=None, among=None):
        dtype = dtype if dtype is not None else self.t(i, among)
        shape = self.shape() if shape is None else shape
        special = self.special if special is None else special and self.special
        return self.values(dtype, shape, low, high, special, self.schema.name in EXTREMES)

    def values(self, dtype, shape, low=-4.0, high=4.0, special=False, extremes=True):
        dtype, rng = np.dtype(dtype), self.rng
        if dtype == object:
            return np.array([self.pick(WORDS) for _ in range(math.prod(shape))], object).reshape(shape)
        if dtype == bool:
            return rng.integers(0, 2, shape).astype(bool)
        if dtype.kind == "c":
            return np.asarray(rng.uniform(low, high, shape) + 1j * rng.uniform(low, high, shape)).astype(dtype)
        if is_int(dtype):
            least, most = int_range(dtype)
            a, b = max(least, math.ceil(low * 3)), min(most, math.floor(high * 3))
            x = np.asarray(rng.integers(a, max(a, b) + 1, shape)).astype(dtype)
            places = [least, most, 0, most - 1] if extremes else [0, min(most, 100)]
        else:
            x = np.asarray(rng.uniform(low, high, shape)).astype(dtype)
            if self.chance(0.2):
                x = np.asarray(np.round(x.astype(np.float64) * 2) / 2).astype(dtype)
            info = ml_dtypes.finfo(dtype)
            places = [-0.0, 0.0] + [float(v) for v in (info.max, info.min, info.smallest_subnormal, info.tiny) if extremes]
            if NAMES[dtype] != "float4e2m1":
                places += [np.nan] + ([np.inf, -np.inf] if NAMES[dtype] in ("float", "double", "float16", "bfloat16", "float8e5m2") else [])
            if NAMES[dtype] == "float8e8m0":
                places = [np.nan, 1.0]
        if special and x.size:
            flat = x.reshape(-1)
            for _ in range(self.int(1, max(1, min(4, flat.size)))):
                flat[self.int(0, flat.size - 1)] = np.array(self.pick(places)).astype(dtype)
            x = flat.reshape(shape)
        return x

    def ints(self, values, dtype=np.int64, shape=None):
        x = np.asarray(values, dtype)
        return x if shape is None else x.reshape(shape)

    def indices(self, shape, size, dtype=np.int64, negative=True):
        return np.asarray(self.rng.integers(-size if negative else 0, size, shape)).astype(dtype) if size else np.zeros(list(shape) + [0], dtype)

    def listed(self, name, values):
        """A list that is an attribute in older opsets and an input in newer ones: (inputs to append, attributes)."""
        if name in self.schema.attributes:
            return [], {name: [int(v) for v in values]}
        return [self.ints(values)], {}


def sized(x):
    x = np.asarray(x)
    if x.size == 0 or x.dtype == object or x.dtype.kind == "c":
        return 0.0
    v = x.astype(np.float64)
    v = np.abs(v[np.isfinite(v)])
    return float(v.max()) if v.size else 0.0


def terms(a, b, n=1):
    return sized(a) * sized(b) * max(1, n)


# ---- Elementwise

DOMAINS = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.95, 0.95), "Acosh": (1, 5), "Log": (0, 6), "Sqrt": (0, 6), "Exp": (-5, 5), "Tan": (-1.4, 1.4)}


def unary(g):
    low, high = DOMAINS.get(g.schema.name, (-4, 4))
    if g.special:
        low, high = -4, 4
    attributes = {}
    for name, a in g.schema.attributes.items():
        if "FLOAT" in str(a.type) and g.chance(0.6):
            attributes[name] = g.real(0.1, 2)
    attributes.update(g.some(approximate=g.pick(["none", "tanh"]), detect_negative=g.int(0, 1), detect_positive=g.int(0, 1)))
    return Node([g.x(0, None, low, high)], attributes, accumulated=1.0 if g.schema.name in ("Gelu", "Mish", "Swish", "Erf", "Softplus", "Celu", "Elu", "Selu") else 0)


def binary(g):
    op = g.schema.name
    a, b = g.broadcast(2)
    dtype = g.t(0)
    low = 0 if op in ("Pow",) and is_float(dtype) and not g.special else -4
    x, y = g.x(0, a, low, 4), g.x(1, b)
    attributes = {}
    if op in ("Div", "Mod") and is_int(x.dtype):
        y = np.where(y == 0, np.array(1, y.dtype), y).astype(y.dtype)
        least, _ = int_range(x.dtype)
        if least < 0 and np.any(y.astype(object) == -1):
            x = np.where(x == least, np.array(0, x.dtype), x).astype(x.dtype)
    if op == "Div" and is_int(x.dtype) and g.chance(0.5):
        x, y = abs_int(x), abs_int(y)
    if op == "Mod":
        attributes = {"fmod": 1} if is_float(dtype) else g.some(fmod=g.int(0, 1))
    if op == "Pow" and is_int(x.dtype):
        x = g.values(x.dtype, a, -1, 1)
    if op == "Pow" and is_int(y.dtype):
        y = g.values(y.dtype, b, 0, 1)
    if op == "Pow" and is_int(x.dtype) and is_float(y.dtype):
        y = np.abs(np.round(y.astype(np.float64))).clip(0, 3).astype(y.dtype)
    if op == "BitShift":
        y = np.asarray(g.rng.integers(0, x.dtype.itemsize * 8, b)).astype(y.dtype)
        attributes = {"direction": g.pick(["LEFT", "RIGHT"])}
    if op == "PRelu":
        x = g.x(0, g.shape())
        y = g.x(1, g.broadcast(1, onto=x.shape)[0])
    return Node([x, y], attributes)


def abs_int(x):
    least, most = int_range(x.dtype)
    return np.asarray([min(abs(int(v)), most) for v in x.reshape(-1)]).reshape(x.shape).astype(x.dtype)


def variadic(g):
    shapes = g.broadcast(g.int(1, 4), most=4)
    return Node([g.x(0, s) for s in shapes])


def clip(g):
    x = g.x(0)
    low, high = sorted([g.real(-3, 3), g.real(-3, 3)])
    if "min" in g.schema.attributes:
        return Node([x], g.some(min=low, max=high))
    low, high = (np.asarray(v).astype(x.dtype) for v in (max(low, 0) if NAMES[x.dtype].startswith("u") else low, max(high, 0) if NAMES[x.dtype].startswith("u") else high))
    return Node([x, low if g.chance(0.7) else None, high if g.chance(0.7) else None])


def where(g):
    a, b, c = g.broadcast(3)
    return Node([g.x(0, a), g.x(1, b), g.x(1, c)])


def cast(g):
    kind, targets = g.allowed(0, outputs=True)
    g.t(0)
    targets = [t for t in targets if t in DTYPES and not t.startswith("complex")]
    to = g.pick(targets if g.chance(0.5) else [t for t in targets if t in ("float", "int32", "int64", "float16", "double", "bool", "uint8")])
    g.chosen.setdefault(kind, DTYPES[to])
    source = g.t(0)
    target = DTYPES[to]
    x = g.x(0, special=is_float(target) or target == bool or not is_float(source))
    if source == object:
        x = np.array([g.pick(["0", "1", "2.5", "-3", "1e3", "7"] if is_float(target) else ["0", "1", "7"]) for _ in range(x.size)], object).reshape(x.shape)
        if target == bool:
            x[...] = "1"
    elif is_int(target) and is_float(source) and NAMES[target].startswith("u"):
        x = np.abs(x)
    if g.schema.name == "CastLike":
        return Node([x, g.values(target, g.shape(0, 2), 0, 2)], g.some(saturate=g.int(0, 1)) if "float8" in to else {})
    saturate = g.some(0.5, saturate=g.int(0, 1)) if "float8" in to else {}
    return Node([x], {"to": ONNX_TYPES[to], **saturate})


def bit_cast(g):
    x = g.x(0)
    same = [n for n in g.allowed(0, outputs=True)[1] if n in DTYPES and DTYPES[n].itemsize == x.dtype.itemsize and ("4" not in n[-2:] or "64" in n)
            and n not in ("int2", "uint2", "int4", "uint4", "float4e2m1", "string", "bool")]
    if NAMES[x.dtype] in ("int2", "uint2", "int4", "uint4", "float4e2m1", "bool", "string") or not same:
        return None
    return Node([x], {"to": ONNX_TYPES[g.pick(same)]})


# ---- Reductions and rows

def reduce(g):
    op = g.schema.name
    shape = g.shape(0, 4)
    low, high = (0.1, 4) if "Log" in op else (-2, 2) if op in ("ReduceProd", "ReduceLogSumExp") else (-4, 4)
    x = g.x(0, shape, low, high)
    inputs, attributes = [x], g.some(keepdims=g.int(0, 1))
    if g.chance(0.75):
        axes = g.axes(len(shape)) if shape else []
        if axes or "axes" not in g.schema.attributes:
            more, extra = g.listed("axes", axes)
            inputs += more
            attributes.update(extra)
    attributes.update(g.some(0.3, noop_with_empty_axes=g.int(0, 1)))
    size = sized(x) * (max(1.0, sized(x)) if "Square" in op or op == "ReduceL2" else 1)
    return Node(inputs, attributes, accumulated=size * max(1, x.size) if "Sum" in op or "Mean" in op or "L1" in op else 0)


def arg(g):
    shape = g.shape(1, 4, zero=0)
    x = g.x(0, shape)
    if g.chance(0.4):
        x = g.values(x.dtype, shape, 0, 1).astype(x.dtype)
        x = np.round(x.astype(np.float64)).astype(x.dtype) if is_float(x.dtype) else x
    return Node([x], {**g.some(axis=g.axis(len(shape), None if g.opset >= 11 else 0)), **g.some(keepdims=g.int(0, 1), select_last_index=g.int(0, 1))})


def rows(g):
    shape = g.shape(1, 4)
    x = g.x(0, shape)
    if g.opset < 11:
        return Node([x], g.some(axis=g.int(0, len(shape) - 1)) if len(shape) > 1 else {"axis": 0})
    axis = g.some(axis=g.axis(len(shape)))
    if g.opset < 13 and len(shape) < 2:
        axis = {"axis": 0}
    return Node([x], axis)


def cumulative(g):
    shape = g.shape(1, 4)
    x = g.x(0, shape, -2, 2)
    return Node([x, np.asarray(g.axis(len(shape)), g.t(1))], g.some(exclusive=g.int(0, 1), reverse=g.int(0, 1)), accumulated=sized(x) * max(1, x.size) if "Sum" in g.schema.name else 0)


def top_k(g):
    shape = g.shape(1, 4, zero=0.01)
    axis = g.axis(len(shape), None if g.opset >= 11 else 0)
    x = g.x(0, shape, special=False)
    k = g.int(0 if g.opset >= 11 else 1, shape[axis]) if shape[axis] else 0
    if g.chance(0.7) and is_float(x.dtype):
        x = g.rng.permutation(x.size).reshape(shape).astype(x.dtype)
    attributes = g.some(0.6, axis=axis, largest=g.int(0, 1), sorted=1)
    if "axis" not in attributes:
        k = min(k, shape[-1])
    if "k" in g.schema.attributes:
        return Node([x], {"k": k, **attributes}, 2) if k else None
    return Node([x, g.ints([k])], attributes, 2)


def unique(g):
    shape = g.shape(0, 3, zero=0)
    x = g.x(0, shape, -1, 1, special=False, among=[n for n in g.allowed(0)[1] if "complex" not in n])
    if is_float(x.dtype):
        x = np.round(x.astype(np.float64)).astype(x.dtype) + np.array(0).astype(x.dtype)
    return Node([x], g.some(axis=g.axis(len(shape)) if shape else 0, sorted=g.int(0, 1)) if shape else {}, g.int(1, 4))


def non_zero(g):
    x = g.x(0, g.shape(0, 4))
    return Node([np.asarray(np.where(g.rng.random(x.shape) < 0.4, np.zeros((), x.dtype), x)).astype(x.dtype) if x.dtype != object else x])


def hardmax(g):
    return rows(g)


# ---- Moving data

def reshape(g):
    shape = g.shape(0, 4)
    x = g.x(0, shape)
    target, rest = [], x.size
    zero = g.some(0.2, allowzero=1)
    if x.size == 0:
        if zero or g.opset >= 14 and g.chance(0.5):
            target, zero = list(g.rng.permutation(shape)) if g.chance(0.5) else [0] + g.shape(0, 3), {"allowzero": 1} if "allowzero" in g.schema.attributes else {}
            if not zero:
                target = [0] * len(shape)
        else:
            target = [0] * len(shape)
        return Node([x, g.ints(target)], zero)
    while rest > 1:
        d = g.pick([d for d in range(1, rest + 1) if rest % d == 0])
        target.append(d)
        rest //= d
    for _ in range(g.int(0, 2)):
        target.insert(g.int(0, len(target)), 1)
    if target and g.chance(0.5):
        target[g.int(0, len(target) - 1)] = -1
    if not zero:
        target = [0 if i < len(shape) and d == shape[i] and g.chance(0.4) else d for i, d in enumerate(target)]
    return Node([x, g.ints(target)], zero)


def flatten(g):
    shape = g.shape(0, 4)
    return Node([g.x(0, shape)], g.some(0.8, axis=g.int(-len(shape) if g.opset >= 11 else 0, len(shape))) if shape else {"axis": 0})


def squeeze(g):
    shape = g.shape(0, 5)
    ones = [i for i, d in enumerate(shape) if d == 1]
    x = g.x(0, shape)
    if not ones or g.chance(0.2):
        return Node([x])
    axes = [int(a) for a in g.rng.permutation(ones)[: g.int(1, len(ones))]]
    if g.opset >= 11:
        axes = [a - len(shape) if g.chance(0.3) else a for a in axes]
    more, attributes = g.listed("axes", axes)
    return Node([x] + more, attributes)


def unsqueeze(g):
    shape = g.shape(0, 3)
    count = g.int(1, 2)
    axes = g.axes(len(shape) + count, count)
    if g.opset < 11:
        axes = sorted(a % (len(shape) + count) for a in axes)
    more, attributes = g.listed("axes", axes)
    return Node([g.x(0, shape)] + more, attributes)


def transpose(g):
    shape = g.shape(0, 5)
    return Node([g.x(0, shape)], g.some(0.8, perm=[int(p) for p in g.rng.permutation(len(shape))]) if shape else {})


def expand(g):
    full = g.shape(0, 4)
    x, target = g.broadcast(2, onto=full)
    return Node([g.x(0, x), g.ints(target)])


def tile(g):
    shape = g.shape(1, 4)
    return Node([g.x(0, shape), g.ints([g.int(0 if g.chance(0.1) else 1, 3) for _ in shape])])


def concat(g):
    shape = g.shape(1, 4)
    axis = g.axis(len(shape), None if g.opset >= 11 else 0)
    parts = []
    for _ in range(g.int(1, 4)):
        s = list(shape)
        s[axis] = g.size(0.1)
        parts.append(g.x(0, s))
    return Node(parts, {"axis": axis})


def split(g):
    shape = g.shape(1, 4)
    axis = g.axis(len(shape), None if g.opset >= 11 else 0)
    count = g.int(1, 4)
    attributes = {"axis": axis}
    if g.chance(0.6):
        lengths = [g.size(0.1) for _ in range(count)]
        shape[axis] = sum(lengths)
        more, extra = g.listed("split", lengths)
        return Node([g.x(0, shape)] + more, {**attributes, **extra}, count)
    if "num_outputs" in g.schema.attributes:
        attributes["num_outputs"] = count
        shape[axis] = g.int(count, 9)
        if -(-shape[axis] // count) * (count - 1) > shape[axis]:
            return None
    else:
        shape[axis] = count * g.int(1, 3)
    return Node([g.x(0, shape)], attributes, count)


def slice_(g):
    shape = g.shape(1, 4)
    rank = len(shape)
    chosen = sorted(g.axes(rank), key=lambda a: a % rank) if g.chance(0.7) else list(range(g.int(1, rank)))
    if g.opset < 10:
        chosen = [a % rank for a in chosen]
    starts, ends, steps = [], [], []
    for a in chosen:
        d = shape[a]
        steps.append(g.pick([1, 1, 1, 2, 3, -1, -2, -7]) if g.opset >= 10 else 1)
        starts.append(g.pick([0, g.int(-d - 2, d + 2), g.int(-d, d), 2**31 - 1 if steps[-1] < 0 else 0, -(2**31)]))
        ends.append(g.pick([d, g.int(-d - 2, d + 2), g.int(-d, d), 2**31 - 1, -(2**31) if steps[-1] < 0 else d]))
    x = g.x(0, shape)
    if g.opset < 10:
        return Node([x], {"starts": starts, "ends": ends, **({"axes": chosen} if g.chance(0.5) or chosen != list(range(len(chosen))) else {})})
    t = g.t(1)
    if t == np.int64 and g.chance(0.3):
        ends = [2**63 - 1 if e == 2**31 - 1 else e for e in ends]
    inputs = [x, g.ints(starts, t), g.ints(ends, t)]
    steps_input = g.ints(steps, t) if g.chance(0.6) or any(s != 1 for s in steps) else None
    axes_input = g.ints(chosen, t) if chosen != list(range(len(chosen))) or g.chance(0.5) else None
    return Node(inputs + [axes_input, steps_input])


def gather(g):
    shape = g.shape(1, 4, zero=0.01)
    axis = g.axis(len(shape))
    return Node([g.x(0, shape), g.indices(g.shape(0, 3), shape[axis], g.t(1), g.opset >= 11)], {"axis": axis} if axis or g.chance(0.5) else {})


def gather_elements(g):
    shape = g.shape(1, 4, zero=0)
    axis = g.axis(len(shape))
    s = [g.int(1, d) for d in shape]
    s[axis] = g.size()
    return Node([g.x(0, shape), g.indices(s, shape[axis], g.t(1))], {"axis": axis} if axis or g.chance(0.5) else {})


def gather_nd(g):
    shape = g.shape(1, 4, zero=0)
    batch = g.int(0, len(shape) - 1) if g.opset >= 12 and g.chance(0.5) else 0
    last = g.int(1, len(shape) - batch)
    outer = shape[:batch] + g.shape(0, 2, zero=0.02)
    if len(outer) == batch and g.chance(0.5):
        outer.append(2)
    index = np.stack([np.asarray(g.indices(outer, shape[batch + k])) for k in range(last)], -1)
    return Node([g.x(0, shape), index], {"batch_dims": batch} if batch else {})


def scatter_elements(g):
    shape = g.shape(1, 3, zero=0)
    axis = g.axis(len(shape))
    s = [g.int(1, d) for d in shape]
    reduction = g.some(0.4, reduction=g.pick(["none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else [])))
    if reduction.get("reduction", "none") == "none":  # which of two writes to one place wins is not defined
        index = np.argsort(g.rng.random([shape[i] if i == axis % len(shape) else n for i, n in enumerate(s)]), axis)
        index = np.take(index, range(s[axis]), axis)
        index = np.where(g.rng.random(index.shape) < 0.3, index - shape[axis], index)
    else:
        index = g.indices(s, shape[axis])
    among = [n for n in g.allowed(0)[1] if n not in ("string", "bool", "complex64", "complex128")] if reduction else None
    x = g.x(0, shape, among=among)
    return Node([x, index.astype(g.t(1) if len(g.schema.inputs) > 1 else np.int64), g.x(0, s)], {**({"axis": axis} if axis % len(shape) or g.chance(0.5) else {}), **reduction},
                accumulated=sized(x) * x.size)


def scatter_nd(g):
    shape = g.shape(1, 3, zero=0)
    last = g.int(1, len(shape))
    places = math.prod(shape[:last])
    count = g.int(0 if g.chance(0.1) else 1, places)
    reduction = g.some(0.4, reduction=g.pick(["none", "add", "mul"] + (["max", "min"] if g.opset >= 18 else [])))
    flat = g.rng.permutation(places)[:count] if reduction.get("reduction", "none") == "none" else g.rng.integers(0, places, count)
    index = np.stack(np.unravel_index(flat, shape[:last]), -1).reshape(count, last).astype(np.int64)
    index = np.where(g.rng.random(index.shape) < 0.2, index - np.array(shape[:last]), index).astype(np.int64)
    among = [n for n in g.allowed(0)[1] if n not in ("string", "bool", "complex64", "complex128")] if reduction else None
    x = g.x(0, shape, among=among)
    return Node([x, index, g.x(0, [count] + shape[last:])], reduction, accumulated=sized(x) * x.size)


def pad(g):
    mode = g.pick(["constant", "constant", "edge", "reflect"] + (["wrap"] if g.opset >= 19 else []))
    shape = g.shape(1, 4, zero=0.02 if mode == "constant" else 0)
    x = g.x(0, shape)
    axes = sorted(a % len(shape) for a in g.axes(len(shape))) if g.opset >= 18 and g.chance(0.3) else list(range(len(shape)))
    begins, ends = [], []
    for a in axes:
        d = shape[a]
        most = {"constant": 3, "edge": 3, "reflect": d - 1, "wrap": d}[mode]
        low = -(d // 2) if g.chance(0.15) and mode in ("constant", "edge") else 0
        begins.append(g.int(low, min(3, most)))
        ends.append(g.int(low, min(3, most)))
        if mode == "edge" and d + min(0, begins[-1]) + min(0, ends[-1]) <= 0:
            ends[-1] = 0
    pads = begins + ends
    if "pads" in g.schema.attributes:
        return Node([x], {"pads": pads, **g.some(0.9, mode=mode), **g.some(value=g.real(-2, 2))} if mode == "constant" else {"pads": pads, "mode": mode})
    value = g.values(x.dtype, [], -2, 2) if mode == "constant" and (g.chance(0.6) or x.dtype == object) else None
    return Node([x, g.ints(pads), value] + ([g.ints(axes, g.t(3))] if axes != list(range(len(shape))) else []), {"mode": mode} if mode != "constant" or g.chance(0.5) else {})


def shape_(g):
    shape = g.shape(0, 5)
    return Node([g.x(0, shape)], g.some(0.6, start=g.int(-7, 7), end=g.int(-7, 7)))


def identity(g):
    return Node([g.x(0)])


def compress(g):
    shape = g.shape(1, 4)
    x = g.x(0, shape)
    if g.chance(0.3):
        return Node([x, g.values(bool, [g.int(0, x.size)])])
    axis = g.axis(len(shape), None if g.opset >= 11 else 0)
    return Node([x, g.values(bool, [g.int(0, shape[axis])])], {"axis": axis})


def one_hot(g):
    depth = g.int(1, 5)
    shape = g.shape(1, 3)
    index = np.asarray(g.rng.integers(-depth - 1 if g.opset >= 11 else 0, depth + 2, shape))
    t = g.t(0, [n for n in g.allowed(0)[1] if n not in ("uint2", "int2")])
    index = np.abs(index) if NAMES[t].startswith("u") or g.opset < 11 else index
    d = np.asarray(depth, g.t(1))
    return Node([index.astype(t), d if g.chance(0.5) else d.reshape(1), g.x(2, [2])], g.some(axis=g.int(-len(shape) - 1, len(shape))))


def range_(g):
    t = g.t(0)
    start, delta = g.int(-5, 5), g.pick([1, 2, -1, 3, -2])
    limit = start + delta * g.int(-1, 6) + (0 if g.chance(0.5) else g.int(0, 1))
    scale = 0.5 if is_float(t) and g.chance(0.5) else 1
    return Node([np.asarray(v * scale, np.float64).astype(t) for v in (start, limit, delta)])


def constant_of_shape(g):
    value = {}
    if g.chance(0.7):
        t = g.t(0, outputs=True)
        value = {"value": g.values(t, [1], special=True)}
    return Node([g.ints(g.shape(0, 4))], value)


def constant(g):
    kinds = [k for k in ("value", "value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings") if k in g.schema.attributes]
    kind = g.pick(kinds)
    value = {"value": lambda: g.x(0, dtype=g.t(0, outputs=True)), "value_float": lambda: g.real(-3, 3), "value_floats": lambda: [g.real(-3, 3) for _ in range(g.int(1, 3))],
             "value_int": lambda: g.int(-9, 9), "value_ints": lambda: [g.int(-9, 9) for _ in range(g.int(1, 3))], "value_string": lambda: "ab",
             "value_strings": lambda: ["ab", "c"]}[kind]()
    return Node([], {kind: value})


def eye_like(g):
    out = g.pick([n for n in g.allowed(0, True)[1] if n in DTYPES and n != "string"])
    if g.chance(0.5):
        return Node([g.x(0, g.shape(2, 2), among=[n for n in g.allowed(0, True)[1]])], g.some(k=g.int(-3, 3)))
    return Node([g.x(0, g.shape(2, 2))], {"dtype": ONNX_TYPES[out], **g.some(k=g.int(-3, 3))})


def trilu(g):
    return Node([g.x(0, g.shape(2, 4))] + ([g.ints(g.int(-4, 4), shape=[])] if g.chance(0.7) else []), g.some(upper=g.int(0, 1)))


def depth_to_space(g):
    b = g.int(1, 3)
    if g.schema.name == "DepthToSpace":
        return Node([g.x(0, [g.size(), g.int(1, 2) * b * b, g.size(), g.size()])], {"blocksize": b, **g.some(mode=g.pick(["DCR", "CRD"]))})
    return Node([g.x(0, [g.size(), g.int(1, 3), b * g.int(1, 3), b * g.int(1, 2)])], {"blocksize": b})


def reverse_sequence(g):
    shape = g.shape(2, 4, zero=0)
    batch = g.int(0, 1)
    return Node([g.x(0, shape), g.ints(g.rng.integers(1, shape[1 - batch] + 1, shape[batch]))], {"batch_axis": batch, "time_axis": 1 - batch})


def center_crop_pad(g):
    shape = g.shape(1, 4, zero=0)
    axes = g.axes(len(shape)) if g.chance(0.5) else None
    count = len(shape) if axes is None else len(axes)
    return Node([g.x(0, shape), g.ints([g.int(1, 6) for _ in range(count)], g.t(1))], {} if axes is None else {"axes": axes})


def tensor_scatter(g):
    b, s, d = g.int(1, 3), g.int(2, 6), g.int(1, 3)
    heads = [g.int(1, 2)] if g.chance(0.5) else []
    n = g.int(1, s)
    mode = g.pick(["linear", "circular"])
    write = g.rng.integers(0, s - n + 1 if mode == "linear" else s, b)
    shape = [b] + heads + [s, d]
    update = [b] + heads + [n, d]
    return Node([g.x(0, shape), g.x(0, update)] + ([write.astype(np.int64)] if g.chance(0.7) else []), {"mode": mode, **g.some(axis=len(shape) - 2)})


def size_op(g):
    return Node([g.x(0)])


# ---- Convolutions and pools

def windows(g, ceil=False, dims=None):
    """Spatial sizes with kernel, strides, dilations and pads that give at least one output per axis."""
    n = dims or g.pick([1, 2, 2, 2, 3])
    spatial = [g.int(3, 8) for _ in range(n)]
    kernel = [g.int(1, 3) for _ in range(n)]
    dilations = [g.int(1, 2) if (k - 1) * 2 + 1 <= s else 1 for k, s in zip(kernel, spatial)]
    strides = [g.int(1, 3) for _ in range(n)]
    attributes = {}
    if g.chance(0.7):
        attributes["strides"] = strides
    if g.chance(0.4) and "dilations" in g.schema.attributes:
        attributes["dilations"] = dilations
    kind = g.pick(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "pads", "pads"])
    if kind == "pads":
        attributes["pads"] = [g.int(0, k - 1) for k in kernel + kernel]
    elif g.chance(0.7):
        attributes["auto_pad"] = kind
    if attributes.get("auto_pad", "").startswith("SAME") and "dilations" in attributes and g.opset < 11:
        del attributes["dilations"]
    return spatial, kernel, attributes


def conv(g):
    spatial, kernel, attributes = windows(g)
    group = g.pick([1, 1, 2, 3])
    per_in, per_out, batch = g.int(1, 3), g.int(1, 2), g.int(1, 2)
    if group > 1:
        attributes["group"] = group
    attributes.update(g.some(kernel_shape=kernel))
    x, w = g.x(0, [batch, group * per_in] + spatial, -2, 2), g.x(0, [group * per_out, per_in] + kernel, -1, 1)
    inputs = [x, w] + ([g.x(0, [group * per_out], -1, 1)] if g.chance(0.5) else [])
    return Node(inputs, attributes, accumulated=terms(x, w, per_in * math.prod(kernel)))


def conv_transpose(g):
    spatial, kernel, attributes = windows(g)
    spatial = [g.int(1, 4) for _ in spatial]
    group = g.pick([1, 1, 2])
    per_in, per_out, batch = g.int(1, 3), g.int(1, 2), g.int(1, 2)
    if group > 1:
        attributes["group"] = group
    strides = attributes.get("strides", [1] * len(kernel))
    dilations = attributes.get("dilations", [1] * len(kernel))
    full = [(s - 1) * st + (k - 1) * d + 1 for s, st, k, d in zip(spatial, strides, kernel, dilations)]
    attributes.update(g.some(kernel_shape=kernel))
    if g.chance(0.3):
        attributes["output_padding"] = [g.int(0, max(st, d) - 1) for st, d in zip(strides, dilations)]
    elif g.chance(0.2) and "pads" not in attributes and attributes.get("auto_pad", "NOTSET") in ("NOTSET",):
        attributes.pop("auto_pad", None)
        attributes["output_shape"] = [max(1, f - g.int(0, 2)) for f in full]
    if "pads" in attributes and any(f - p - q < 1 for f, p, q in zip(full, attributes["pads"], attributes["pads"][len(full):])):
        del attributes["pads"]
    x, w = g.x(0, [batch, group * per_in] + spatial, -2, 2), g.x(0, [group * per_in, per_out] + kernel, -1, 1)
    inputs = [x, w] + ([g.x(0, [group * per_out], -1, 1)] if g.chance(0.5) else [])
    return Node(inputs, attributes, accumulated=terms(x, w, per_in * math.prod(kernel)))


def pool(g):
    spatial, kernel, attributes = windows(g)
    attributes = {k: v for k, v in attributes.items() if k in g.schema.attributes}
    attributes["kernel_shape"] = kernel
    op = g.schema.name
    attributes.update(g.some(0.3, ceil_mode=g.int(0, 1), count_include_pad=g.int(0, 1), p=g.int(1, 3)))
    outputs = 1
    x = g.x(0, [g.int(1, 2), g.int(1, 3)] + spatial)
    if op == "MaxPool" and g.opset >= 8 and g.chance(0.3):
        outputs = 2
        attributes.update(g.some(0.5, storage_order=g.int(0, 1)))
        x = g.x(0, x.shape, special=False)
        if is_float(x.dtype):
            x = g.rng.permutation(x.size).reshape(x.shape).astype(x.dtype)
    return Node([x], attributes, outputs, accumulated=sized(x) * 4)


def global_pool(g):
    x = g.x(0, g.shape(3, 5, zero=0))
    return Node([x], g.some(p=g.int(1, 3)), accumulated=sized(x) * x.size)


def lrn(g):
    return Node([g.x(0, g.shape(3, 5, zero=0))], {"size": g.pick([1, 3, 5]), **g.some(alpha=g.real(0.0001, 0.1), beta=g.real(0.3, 1), bias=g.real(0.5, 2))})


def resize(g):
    n = g.int(1, 2) if g.chance(0.9) else 3
    shape = [g.int(1, 2), g.int(1, 2)] + [g.int(1, 6) for _ in range(n)]
    rank = len(shape)
    x = g.x(0, shape, special=False)
    mode = g.pick(["nearest", "linear", "cubic"]) if is_float(x.dtype) or is_int(x.dtype) else "nearest"
    if g.opset < 11:
        mode = g.pick(["nearest", "linear"]) if is_float(x.dtype) else "nearest"
        scales = np.array([1, 1] + [g.pick([0.5, 1, 1.5, 2, 3]) for _ in range(n)], np.float32)
        if g.schema.name == "Upsample":
            scales = np.maximum(scales, 1)
        if "scales" in g.schema.attributes:
            return Node([x], {"mode": mode, "scales": [float(s) for s in scales]})
        return Node([x, scales], g.some(0.9 if mode != "nearest" else 0.3, mode=mode) if mode == "nearest" else {"mode": mode})
    transform = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize"]
                       + (["half_pixel_symmetric"] if g.opset >= 19 else []) + (["tf_half_pixel_for_nn"] if g.opset < 13 and mode == "nearest" else []))
    attributes = {"mode": mode, "coordinate_transformation_mode": transform}
    if mode == "nearest":
        attributes.update(g.some(nearest_mode=g.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])))
    if mode == "cubic":
        attributes.update(g.some(0.4, cubic_coeff_a=g.pick([-0.75, -0.5]), exclude_outside=g.int(0, 1)))
    if mode != "nearest" and transform != "tf_crop_and_resize":
        attributes.update(g.some(0.3, antialias=1))
    axes = None
    if g.opset >= 18 and g.chance(0.3):
        axes = sorted(int(a) for a in range(2, rank))
        attributes["axes"] = axes
    roi = None
    t_roi = g.t(1)
    if transform == "tf_crop_and_resize":
        roi = np.array([0.0] * 2 + [g.real(0, 0.4) for _ in range(n)] + [1.0] * 2 + [g.real(0.6, 1.2) for _ in range(n)], np.float64).astype(t_roi)
        if axes:
            roi = np.concatenate([roi[2:rank], roi[rank + 2:]])
        attributes.update(g.some(extrapolation_value=g.real(-3, 3)))
    elif g.opset < 13:
        roi = np.zeros([0], t_roi)
    if g.chance(0.5):
        scales = [g.pick([0.5, 0.6, 1.0, 1.5, 2.0, 2.6, 3.0]) for _ in range(n)]
        scales = [s if int(np.float32(s) * np.float32(d)) >= 1 else 1.0 for s, d in zip(scales, shape[2:])]
        scales = scales if axes else [1.0, 1.0] + scales
        return Node([x, roi, np.array(scales, np.float32)], attributes)
    sizes = [g.int(1, 9) for _ in range(n)]
    if g.opset >= 18 and g.chance(0.3):
        attributes["keep_aspect_ratio_policy"] = g.pick(["stretch", "not_larger", "not_smaller"])
        if attributes["keep_aspect_ratio_policy"] != "stretch" and not axes:
            attributes["axes"] = axes = list(range(2, rank))
            roi = None if roi is None or not roi.size else np.concatenate([roi[2:rank], roi[rank + 2:]])
    sizes = sizes if axes else shape[:2] + sizes
    return Node([x, roi, np.zeros([0], np.float32) if g.opset < 13 else None, g.ints(sizes)], attributes)


def grid_sample(g):
    n = 2 if g.opset < 20 or g.chance(0.7) else 3
    shape = [g.int(1, 2), g.int(1, 2)] + [g.int(2, 5) for _ in range(n)]
    grid = [shape[0]] + [g.int(1, 4) for _ in range(n)] + [n]
    modes = ["bilinear", "nearest", "bicubic"] if g.opset < 20 else ["linear", "nearest"] + (["cubic"] if n == 2 else [])
    numbers = [n for n in g.allowed(0)[1] if n not in ("string", "bool", "complex64", "complex128")]
    return Node([g.x(0, shape, special=False, among=numbers), g.x(1, grid, -1.3, 1.3, special=False)],
                g.some(mode=g.pick(modes), padding_mode=g.pick(["zeros", "border", "reflection"]), align_corners=g.int(0, 1)), loose=20)


def affine_grid(g):
    n = g.int(2, 3)
    batch = g.int(1, 2)
    return Node([g.x(0, [batch, n, n + 1], -2, 2), g.ints([batch, g.int(1, 3)] + [g.int(1, 4) for _ in range(n)])], g.some(align_corners=g.int(0, 1)), accumulated=10)


def roi_align(g):
    batch, c = g.int(1, 2), g.int(1, 2)
    count = g.int(0 if g.chance(0.1) else 1, 3)
    start = g.rng.uniform(0, 4, [count, 2])
    rois = np.concatenate([start, start + g.rng.uniform(0.5, 5, [count, 2])], 1)
    x = g.x(0, [batch, c, g.int(4, 8), g.int(4, 8)], special=False)
    return Node([x, rois.astype(x.dtype), g.ints(g.rng.integers(0, batch, count))],
                g.some(mode=g.pick(["avg", "max"]), output_height=g.int(1, 3), output_width=g.int(1, 3), sampling_ratio=g.int(0, 3), spatial_scale=g.pick([0.5, 1.0]),
                       coordinate_transformation_mode=g.pick(["half_pixel", "output_half_pixel"])), loose=10)


def max_roi_pool(g):
    batch = g.int(1, 2)
    count = g.int(1, 3)
    start = g.rng.integers(0, 3, [count, 2])
    rois = np.concatenate([g.rng.integers(0, batch, [count, 1]), start, start + g.rng.integers(0, 4, [count, 2])], 1)
    x = g.x(0, [batch, g.int(1, 2), 6, 6], special=False)
    return Node([x, rois.astype(x.dtype)], {"pooled_shape": [g.int(1, 3), g.int(1, 3)], **g.some(0.3, spatial_scale=g.pick([0.5, 1.0]))})


def max_unpool(g):
    n = g.int(1, 2)
    pooled = [g.int(1, 3) for _ in range(n)]
    full = [2 * p for p in pooled]
    shape = [g.int(1, 2), g.int(1, 2)] + pooled
    planes = shape[0] * shape[1]
    index = np.stack([g.rng.permutation(math.prod(full))[: math.prod(pooled)] + i * math.prod(full) for i in range(planes)]).reshape(shape)
    return Node([g.x(0, shape), index.astype(np.int64)], {"kernel_shape": [2] * n, "strides": [2] * n})


def col2im(g):
    image = [g.int(3, 6), g.int(3, 6)]
    block = [g.int(1, 3), g.int(1, 3)]
    strides, dilations, pads = [g.int(1, 2) for _ in image], [1, 1], [g.int(0, 1) for _ in range(4)]
    blocks = math.prod((i + p + q - (b - 1) - 1) // s + 1 for i, b, s, p, q in zip(image, block, strides, pads, pads[2:]))
    c = g.int(1, 2)
    numbers = [n for n in g.allowed(0)[1] if n not in ("string", "bool", "complex64", "complex128")]
    return Node([g.x(0, [g.int(1, 2), c * math.prod(block), blocks], among=numbers), g.ints(image), g.ints(block)], {"strides": strides, "dilations": dilations, "pads": pads}, accumulated=20)


def deform_conv(g):
    group, offset_group = 1, g.int(1, 2)
    c, out = offset_group * g.int(1, 2), g.int(1, 2)
    kernel, spatial = [g.int(1, 2), g.int(1, 3)], [g.int(3, 5), g.int(3, 5)]
    size = [s - k + 1 for s, k in zip(spatial, kernel)]
    n = g.int(1, 2)
    inputs = [g.x(0, [n, c] + spatial, special=False), g.x(0, [out, c] + kernel, -1, 1, special=False),
              g.x(0, [n, offset_group * math.prod(kernel) * 2] + size, -1, 1, special=False)]
    if g.chance(0.5):
        inputs.append(g.x(0, [out], special=False) if g.chance(0.5) else None)
        inputs.append(g.x(0, [n, offset_group * math.prod(kernel)] + size, 0, 1, special=False) if g.chance(0.5) else None)
    return Node(inputs, {"group": group, "offset_group": offset_group, "kernel_shape": kernel, "pads": [0] * 4}, accumulated=20)


# ---- Products

def matmul(g):
    batch = g.shape(0, 2)
    a_batch, b_batch = g.broadcast(2, onto=batch)
    m, k, n = g.size(), g.size(), g.size()
    a = a_batch + [m, k] if g.chance(0.85) else [k]
    b = b_batch + [k, n] if g.chance(0.85) else [k]
    x, y = g.x(0, a), g.x(1, b)
    if g.schema.name == "MatMulInteger":
        inputs = [x, y]
        if g.chance(0.6):
            inputs.append(g.values(x.dtype, [] if g.chance(0.7) else [1], 0, 3))
            if g.chance(0.6):
                inputs.append(g.values(y.dtype, [] if g.chance(0.7) or len(b) < 2 else [b[-1]], 0, 3))
        return Node(inputs)
    return Node([x, y], accumulated=terms(x, y, k))


def gemm(g):
    m, k, n = g.size(0.01), g.size(0.01), g.size(0.01)
    ta, tb = g.int(0, 1), g.int(0, 1)
    x, y = g.x(0, [k, m] if ta else [m, k]), g.x(0, [n, k] if tb else [k, n])
    inputs = [x, y]
    if g.opset < 11 or g.chance(0.7):
        inputs.append(g.x(0, g.broadcast(1, onto=[m, n])[0]))
    if is_int(x.dtype):
        return Node(inputs, {"transA": ta, "transB": tb})
    return Node(inputs, {"transA": ta, "transB": tb, **g.some(alpha=g.real(0.1, 2), beta=g.real(0.1, 2))}, accumulated=terms(x, y, k))


def einsum(g):
    letters = list("ijkl")
    sizes = {c: g.int(1, 3) for c in letters}
    count = g.int(1, 3)
    words = ["".join(g.pick(letters) for _ in range(g.int(1, 3))) for _ in range(count)]
    if not g.chance(0.2):
        words = ["".join(dict.fromkeys(w)) for w in words]
    used = "".join(dict.fromkeys("".join(words)))
    out = "".join(c for c in g.rng.permutation(list(used)) if g.chance(0.6))
    equation = ",".join(words) + ("->" + out if g.chance(0.8) else "")
    arrays = [g.x(0, [sizes[c] for c in w], special=False) for w in words]
    return Node(arrays, {"equation": equation}, accumulated=math.prod(sized(a) for a in arrays) * math.prod(sizes.values()))


def det(g):
    n = g.int(1, 4)
    return Node([g.x(0, g.shape(0, 2) + [n, n])], accumulated=200)


# ---- Quantisation

def scale_of(g, dtype, shape=()):
    return np.asarray(g.rng.uniform(0.02, 0.5, shape)).astype(dtype)


def zero_point(g, dtype, shape=()):
    if is_float(dtype):
        return np.zeros(shape, dtype)
    least, most = int_range(dtype)
    return np.asarray(g.rng.integers(max(least, -8), min(most, 8) + 1, shape)).astype(dtype)


def quantise(g):
    linear = g.schema.name == "QuantizeLinear"
    x_type = g.t(0, None if g.opset >= 19 else None)
    shape = g.shape(0, 4)
    kind = "tensor"
    if g.opset >= 13 and shape and g.chance(0.4):
        kind = "axis"
    if g.opset >= 21 and shape and g.chance(0.3) and 0 not in shape:
        kind = "blocks"
    attributes, s_shape = {}, []
    if kind != "tensor":
        axis = g.axis(len(shape))
        attributes["axis"] = axis
        s_shape = [shape[axis]]
        if kind == "blocks":
            block = g.int(1, 3)
            attributes["block_size"] = block
            s_shape = list(shape)
            s_shape[axis] = -(-shape[axis] // block)
            if g.chance(0.8):
                shape[axis] = s_shape[axis] * block
    x = g.x(0, shape, -20 if linear else -4, 20 if linear else 4, special=linear)
    s_type = g.t(1) if g.schema.inputs[1].type_str != g.schema.inputs[0].type_str else x.dtype
    if is_int(s_type):
        s_type = np.dtype(np.float32)
        return None
    if NAMES[s_type] == "float8e8m0":
        return None
    scale = scale_of(g, s_type, s_shape)
    inputs = [x, scale]
    if linear:
        kinds = [n for n in g.allowed(2)[1]]
        names = [n for n in g.allowed(0, True)[1] if n in DTYPES and n in kinds]
        if g.chance(0.75):
            inputs.append(zero_point(g, DTYPES[g.pick(names)] if g.chance(0.5) else np.dtype(g.pick([np.uint8, np.int8])), s_shape))
        attributes.update(g.some(0.2, saturate=g.int(0, 1)))
    elif x_type == np.int32 or g.chance(0.5):
        inputs += [np.zeros(s_shape, x.dtype)] if g.chance(0.3) else []
    else:
        inputs.append(zero_point(g, x.dtype, s_shape))
    return Node(inputs, attributes)


def dynamic_quantize(g):
    return Node([g.x(0, g.shape(0, 4, zero=0), special=False)], {}, 3)


def qlinear_matmul(g):
    batch = g.shape(0, 1, zero=0)
    m, k, n = g.int(1, 3), g.int(1, 4), g.int(1, 3)
    eight = ["int8", "uint8"]
    a, b = g.x(0, batch + [m, k], among=eight), g.x(3, batch + [k, n], among=eight)
    st = np.dtype(np.float32) if g.opset < 21 else g.t(1)
    y = g.t(7, eight)
    return Node([a, scale_of(g, st), zero_point(g, a.dtype), b, scale_of(g, st), zero_point(g, b.dtype), scale_of(g, st), zero_point(g, y)])


def qlinear_conv(g):
    spatial, kernel, attributes = windows(g, dims=g.int(1, 2))
    group, per_in, per_out = g.pick([1, 1, 2]), g.int(1, 2), g.int(1, 2)
    attributes["group"] = group
    x, w = g.x(0, [1, group * per_in] + spatial), g.x(3 if g.schema.name == "QLinearConv" else 1, [group * per_out, per_in] + kernel)
    if g.schema.name == "ConvInteger":
        inputs = [x, w]
        if g.chance(0.6):
            inputs.append(zero_point(g, x.dtype))
            if g.chance(0.4):
                inputs.append(zero_point(g, w.dtype))
        return Node(inputs, attributes)
    per_channel = [group * per_out] if g.chance(0.4) else []
    y = g.t(7)
    wz = np.zeros(per_channel, w.dtype) if per_channel else zero_point(g, w.dtype)
    inputs = [x, scale_of(g, np.float32), zero_point(g, x.dtype), w, scale_of(g, np.float32, per_channel), wz, scale_of(g, np.float32), zero_point(g, y)]
    if g.chance(0.5):
        inputs.append(g.values(np.int32, [group * per_out], -20, 20))
    return Node(inputs, attributes)


# ---- Normalisations

def batch_norm(g):
    x = g.x(0, g.shape(2, 4, zero=0), special=False)
    c = x.shape[1]
    f = [n for n in ("float", "double", "float16") if x.dtype == DTYPES[n]] or ["float"]
    t1, t2 = (g.t(1, f), g.t(3, f)) if g.opset >= 15 else (x.dtype, x.dtype)
    inputs = [x, g.x(1, [c], dtype=t1, special=False), g.x(1, [c], dtype=t1, special=False), g.x(3, [c], dtype=t2, special=False), g.x(3, [c], 0.1, 3, dtype=t2, special=False)]
    attributes = g.some(epsilon=g.real(1e-5, 0.1))
    if g.opset >= 14 and g.chance(0.2):
        return Node(inputs, {**attributes, "training_mode": 1, **g.some(momentum=g.real(0.1, 0.9))}, 3, accumulated=40, loose=4)
    return Node(inputs, attributes, accumulated=40, loose=4)


def instance_norm(g):
    x = g.x(0, g.shape(3, 5, zero=0), special=False)
    return Node([x, g.x(0, [x.shape[1]], special=False), g.x(0, [x.shape[1]], special=False)], g.some(epsilon=g.real(1e-4, 0.1)), accumulated=30, loose=30)


def group_norm(g):
    groups, per = g.int(1, 3), g.int(1, 2)
    x = g.x(0, [g.int(1, 2), groups * per] + [g.int(1, 4) for _ in range(g.int(1, 2))], special=False)
    c = groups if g.opset < 21 else groups * per
    return Node([x, g.x(0, [c], special=False), g.x(0, [c], special=False)], {"num_groups": groups, **g.some(epsilon=g.real(1e-4, 0.1), stash_type=1)}, accumulated=30, loose=30)


def layer_norm(g):
    shape = g.shape(1, 4, zero=0)
    axis = g.axis(len(shape))
    attributes = {**({"axis": axis} if axis not in (-1,) or g.chance(0.5) else {}), **g.some(epsilon=g.real(1e-4, 0.1))}
    x = g.x(0, shape, special=False)
    t = g.t(1) if g.schema.inputs[1].type_str != g.schema.inputs[0].type_str else x.dtype
    s = list(shape[axis:])
    inputs = [x, g.values(t, s)]
    if g.schema.name == "LayerNormalization":
        if g.chance(0.6):
            inputs.append(g.values(t, s))
        return Node(inputs, attributes, g.pick([1, 1, 3]), accumulated=30, loose=30)
    return Node(inputs, attributes, accumulated=30, loose=30)


def lp_norm(g):
    shape = g.shape(1, 4, zero=0)
    return Node([g.x(0, shape)], g.some(axis=g.axis(len(shape)), p=g.int(1, 2)))


def mean_variance(g):
    shape = g.shape(4, 4, zero=0)
    return Node([g.x(0, shape, special=False)], g.some(axes=sorted(a % 4 for a in g.axes(4))), accumulated=10, loose=100)


def dropout(g):
    x = g.x(0)
    if g.opset < 12:
        return Node([x], g.some(ratio=g.real(0, 0.9)), g.int(1, 2) if g.opset >= 10 else 1)
    return Node([x] + ([np.asarray(g.real(0, 0.9)).astype(g.t(1))] if g.chance(0.5) else []), {}, g.int(1, 2))


# ---- Recurrent, attention

def recurrent(g):
    op = g.schema.name
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = g.pick(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    s, b, i, h = g.int(1, 4), g.int(1, 3), g.int(1, 3), g.int(1, 3)
    attributes = {"hidden_size": h, "direction": direction}
    layout = 1 if g.opset >= 14 and g.chance(0.2) else 0
    if layout:
        attributes["layout"] = 1

    def x(shape):
        return g.x(0, shape, -1, 1, special=False)

    inputs = [x([b, s, i] if layout else [s, b, i]), x([d, gates * h, i]), x([d, gates * h, h])]
    if g.chance(0.7):
        inputs.append(x([d, 2 * gates * h]) if g.chance(0.7) else None)
        inputs.append(g.rng.integers(1, s + 1, b).astype(np.int32) if g.chance(0.4) else None)
        state = [b, d, h] if layout else [d, b, h]
        inputs.append(x(state) if g.chance(0.5) else None)
        if op == "LSTM":
            inputs.append(x(state) if g.chance(0.5) else None)
            inputs.append(x([d, 3 * h]) if g.chance(0.4) else None)
    attributes.update(g.some(0.2, clip=g.real(0.3, 2), linear_before_reset=g.int(0, 1), input_forget=g.int(0, 1)))
    per = {"RNN": 1, "GRU": 2, "LSTM": 3}[op]
    if g.chance(0.3):
        attributes["activations"] = [g.pick(["Tanh", "Relu", "Sigmoid", "Softsign", "Softplus"]) for _ in range(per * d)]
    return Node(inputs, attributes, 3 if op == "LSTM" else 2, accumulated=3, loose=2)


def attention(g):
    b, hq, s, t, d = g.int(1, 2), g.int(1, 4), g.int(1, 4), g.int(1, 5), g.pick([2, 4])
    hk = g.pick([n for n in range(1, hq + 1) if hq % n == 0])
    dv = g.pick([d, d, 3])
    three = g.chance(0.5)
    attributes = {}
    q_shape, k_shape, v_shape = [b, hq, s, d], [b, hk, t, d], [b, hk, t, dv]
    if three:
        q_shape, k_shape, v_shape = [b, s, hq * d], [b, t, hk * d], [b, t, hk * dv]
        attributes.update(q_num_heads=hq, kv_num_heads=hk)
    inputs = [g.x(0, q_shape, -1, 1, special=False), g.x(1, k_shape, -1, 1, special=False), g.x(2, v_shape, -1, 1, special=False)]
    past = g.int(1, 3) if g.chance(0.25) else 0
    mask = None
    if g.chance(0.4):
        shape = g.pick([[s, t + past], [1, s, t + past], [b, 1, s, t + past], [b, hq, s, t + past]])
        shape = shape if len(shape) != 3 or g.opset >= 24 else [s, t + past]
        mask = g.values(bool, shape) | (np.arange(t + past) == 0) if g.chance(0.5) else g.values(inputs[0].dtype, shape)
    if mask is not None or past:
        inputs.append(mask)
    outputs = 1
    if past:
        inputs += [g.x(1, [b, hk, past, d], -1, 1, special=False), g.x(2, [b, hk, past, dv], -1, 1, special=False)]
        outputs = 3
    attributes.update(g.some(0.3, is_causal=g.int(0, 1), scale=g.real(0.2, 2), softcap=g.real(0.5, 4)))
    if g.chance(0.2):
        outputs = 4 if past else ["y", "", "", "qk"]
        attributes.update(g.some(0.6, qk_matmul_output_mode=g.int(0, 3)))
    return Node(inputs, attributes, outputs, accumulated=4, loose=4)


def rotary(g):
    b, h, s, d = g.int(1, 2), g.int(1, 2), g.int(1, 4), g.pick([2, 4, 8])
    three = g.chance(0.5)
    r = d if g.chance(0.7) or d == 2 else d // 2
    x = g.x(0, [b, s, h * d] if three else [b, h, s, d], special=False)
    attributes = g.some(interleaved=g.int(0, 1))
    if r != d:
        attributes["rotary_embedding_dim"] = r
    if three:
        attributes["num_heads"] = h
    if r != d and not three:
        pass
    if g.chance(0.6):
        n = s + g.int(0, 3)
        return Node([x, g.x(0, [n, r // 2], -1, 1, special=False), g.x(0, [n, r // 2], -1, 1, special=False), g.ints(g.rng.integers(0, n, [b, s]))], attributes, accumulated=4)
    return Node([x, g.x(0, [b, s, r // 2], -1, 1, special=False), g.x(0, [b, s, r // 2], -1, 1, special=False)], attributes, accumulated=4)


# ---- Others

def non_max(g):
    b, n, c = g.int(1, 2), g.int(1, 6), g.int(1, 2)
    low = g.rng.uniform(0, 2, [b, n, 2])
    boxes = np.concatenate([low, low + g.rng.uniform(0.5, 2, [b, n, 2])], 2).astype(np.float32)
    center = g.int(0, 1)
    scores = (g.rng.permutation(b * c * n).reshape(b, c, n) / (b * c * n)).astype(np.float32)
    return Node([boxes, scores, g.ints([g.int(0, n)], shape=g.pick([[], [1]])), np.asarray(g.real(0.1, 0.9), np.float32), np.asarray(g.real(0, 0.6), np.float32) if g.chance(0.6) else None],
                g.some(center_point_box=center))


def loss(g):
    n, c = g.int(1, 3), g.int(1, 4)
    rest = g.shape(0, 2, zero=0)
    x = g.x(0, [n, c] + rest, special=False)
    if g.schema.name.startswith("Neg"):
        x = -np.abs(x)
    target = g.rng.integers(0, c, [n] + rest).astype(g.t(1))
    attributes = g.some(reduction=g.pick(["none", "mean", "sum"]))
    if g.chance(0.3):
        attributes["ignore_index"] = g.pick([0, c - 1, -1])
        if attributes["ignore_index"] == -1:
            target = np.where(g.rng.random(target.shape) < 0.3, -1, target).astype(target.dtype)
    inputs = [x, target] + ([g.x(0, [c], 0.1, 2, special=False)] if g.chance(0.4) else [])
    return Node(inputs, attributes, g.int(1, 2) if g.schema.name.startswith("Soft") else 1, accumulated=4, loose=4)


def dft(g):
    n = g.int(1, 9)
    inverse, onesided = g.some(inverse=g.int(0, 1)), {}
    last = g.int(1, 2)
    if last == 1 and not inverse.get("inverse") and g.chance(0.5):
        onesided = {"onesided": 1}
    shape = [g.int(1, 2), n, g.int(1, 3), last] if g.chance(0.5) else [g.int(1, 2), n, last]
    x = g.x(0, shape, special=False)
    length = np.asarray(g.int(1, 9), g.t(1)) if g.chance(0.4) else None
    if g.opset < 20:
        return Node([x, length], {**inverse, **onesided, "axis": 1}, accumulated=sized(x) * 9, loose=4)
    axis = g.pick([1, 1 - len(shape)])
    return Node([x, length, np.asarray(axis, np.int64)], {**inverse, **onesided}, accumulated=sized(x) * 9, loose=4)


def stft(g):
    b, n = g.int(1, 2), g.int(8, 20)
    x = g.x(0, [b, n, 1], special=False)
    length = g.int(2, 8)
    window = g.chance(0.6)
    t = g.t(1)
    return Node([x, np.asarray(g.int(1, 4), t), g.values(x.dtype, [length], 0, 1) if window else None, np.asarray(length, t)], g.some(onesided=g.int(0, 1)), accumulated=sized(x) * 8, loose=4)


def window_function(g):
    return Node([np.asarray(g.int(1, 12), g.t(0))], g.some(periodic=g.int(0, 1), output_datatype=g.pick([1, 11, 10])), accumulated=1)


def mel(g):
    t = g.t(0)
    low = g.real(0, 100)
    f = g.t(3, ["float"])
    return Node([np.asarray(g.int(2, 8), t), np.asarray(g.pick([64, 128, 256]), t), np.asarray(8000, t), np.asarray(low, f), np.asarray(g.real(2000, 4000), f)])


def random_like(g):
    op = g.schema.name
    attributes = g.some(dtype=g.pick([1, 10, 11]), mean=g.real(-1, 1), scale=g.real(0.5, 2), low=g.real(-2, 0), high=g.real(1, 2), seed=1.0)
    if op in ("RandomNormal", "RandomUniform"):
        return Node([], {**attributes, "shape": g.shape(0, 4)}, random=True)
    if op == "Multinomial":
        return Node([-np.abs(g.x(0, [g.int(1, 2), g.int(1, 4)], special=False))], g.some(sample_size=g.int(1, 4), dtype=g.pick([6, 7])), random=True)
    if op == "Bernoulli":
        return Node([g.x(0, None, 0, 1, special=False)], g.some(dtype=g.pick([1, 6, 9, 11])), random=True)
    if "dtype" not in attributes:
        attributes["dtype"] = 1
    return Node([g.x(0)], attributes, random=True)


def string_split(g):
    words = ["a b c", "", " x ", "a,b", "a,,b", "one", "ß é"]
    x = np.array([g.pick(words) for _ in range(3)], object).reshape(g.pick([[3], [3, 1]]))
    return Node([x], {**g.some(delimiter=g.pick([",", " ", ""])), **g.some(maxsplit=g.int(0, 2))}, 2)


def regex_match(g):
    x = g.x(0, g.shape(0, 3), dtype=np.dtype(object))
    return Node([x], {"pattern": g.pick([r"[a-z]+", r".*", r"\d+", r"a.c", r"(a|b)*", r"[A-Z]?"])})


def string_normalizer(g):
    x = np.array([g.pick(["a", "B", "monday", "Tuesday", "ab"]) for _ in range(g.int(1, 4))], object)
    x = x if g.chance(0.5) else x.reshape(1, -1)
    return Node([x], g.some(case_change_action=g.pick(["LOWER", "UPPER", "NONE"]), is_case_sensitive=g.int(0, 1), stopwords=["monday", "b"]))


def tf_idf(g):
    x = g.rng.integers(0, 5, g.pick([[6], [2, 6]])).astype(g.pick([np.int32, np.int64]))
    attributes = {"mode": g.pick(["TF", "IDF", "TFIDF"]), "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": g.int(0, 2), "ngram_counts": [0, 3],
                  "ngram_indexes": [0, 1, 2, 3, 4], "pool_int64s": [0, 1, 2, 1, 2, 3, 4]}
    if g.chance(0.5):
        attributes["weights"] = [g.real(0.5, 2) for _ in range(5)]
    return Node([x], attributes)


def swiglu(g):
    shape = g.shape(0, 4)
    return Node([g.x(0, shape, special=False), g.x(0, shape, special=False)], g.some(alpha=g.real(0.5, 2)), accumulated=1)


def causal_conv(g):
    b, c, n, k = g.int(1, 2), g.int(1, 3), g.int(1, 5), g.int(1, 4)
    inputs = [g.x(0, [b, c, n], special=False), g.x(0, [c, 1, k], -1, 1, special=False), g.x(0, [c], special=False) if g.chance(0.5) else None,
              g.x(0, [b, c, k - 1], special=False) if g.chance(0.5) else None]
    return Node(inputs, g.some(activation=g.pick(["none", "silu", "swish"])), 2, accumulated=16)


def linear_attention(g):
    rule = g.pick(["linear", "gated", "delta", "gated_delta"])
    b, t, hk, dk, dv = g.int(1, 2), g.int(1, 4), g.int(1, 2), g.int(1, 3), g.int(1, 3)
    hq = hk * g.int(1, 2)
    inputs = [g.x(0, [b, t, hq * dk], -1, 1, special=False), g.x(0, [b, t, hk * dk], -1, 1, special=False), g.x(0, [b, t, hk * dv], -1, 1, special=False),
              g.x(3, [b, hk, dk, dv], -1, 1, special=False) if g.chance(0.5) else None, g.x(0, [b, t, g.pick([hk, hk * dk])], -1, 0, special=False) if "gated" in rule else None,
              g.x(0, [b, t, g.pick([1, hk])], 0, 1, special=False) if "delta" in rule else None]
    return Node(inputs, {"update_rule": rule, "q_num_heads": hq, "kv_num_heads": hk, **g.some(scale=g.real(0.2, 2))}, 2, accumulated=8)


def sequences(g):
    """The operator between others that make a sequence of tensors and read it again."""
    op = g.schema.name
    count = g.int(1, 4)
    shape = g.shape(1, 3)
    parts = [g.values(DTYPES[g.chosen.setdefault("sequence", g.pick(["float", "int64", "double", "string"]))], shape) for _ in range(count)]
    names = [f"x{i}" for i in range(count)]
    place = g.ints(g.int(-count, count - 1), shape=[])
    construct = ("SequenceConstruct", names, ["s"], {})
    if op == "SplitToSequence":
        axis = g.axis(len(shape))
        attributes = {"axis": axis, **g.some(keepdims=g.int(0, 1))}
        lengths = [g.size(0.1) for _ in range(count)]
        shape[axis] = sum(lengths) or 1
        x = g.values(parts[0].dtype, shape)
        if g.chance(0.5) and sum(lengths):
            return Node([x, g.ints(lengths), place], nodes=[(op, ["x0", "x1"], ["s"], attributes), ("SequenceAt", ["s", "x2"], ["y0"], {}), ("SequenceLength", ["s"], ["y1"], {})], outputs=2)
        return Node([x, g.ints(0, shape=[])], nodes=[(op, ["x0"], ["s"], attributes), ("SequenceAt", ["s", "x1"], ["y0"], {}), ("SequenceLength", ["s"], ["y1"], {})], outputs=2)
    extra = f"x{count}"
    last = [("SequenceAt", ["t", extra], ["y0"], {}), ("SequenceLength", ["t"], ["y1"], {})]
    if op in ("SequenceAt", "SequenceConstruct"):
        return Node(parts + [place], nodes=[construct, ("SequenceAt", ["s", extra], ["y0"], {})])
    if op == "SequenceLength":
        return Node(parts, nodes=[construct, (op, ["s"], ["y0"], {})])
    if op == "ConcatFromSequence":
        new = g.int(0, 1)
        return Node(parts, nodes=[construct, (op, ["s"], ["y0"], {"axis": g.axis(len(shape) + new), "new_axis": new})])
    if op == "SequenceEmpty":
        t = parts[0].dtype
        return Node([parts[0], g.ints(0, shape=[])], nodes=[(op, [], ["s"], {"dtype": ONNX_TYPES[NAMES[t]]}), ("SequenceInsert", ["s", "x0"], ["t"], {}),
                                                            ("SequenceAt", ["t", "x1"], ["y0"], {}), ("SequenceLength", ["t"], ["y1"], {})], outputs=2)
    if op == "SequenceErase" and count < 2:
        return None
    given = g.chance(0.6)
    if op == "SequenceErase":
        arrays = parts + [g.ints(0, shape=[])] + ([place] if given else [])
        return Node(arrays, nodes=[construct, (op, ["s"] + ([f"x{count + 1}"] if given else []), ["t"], {})] + last, outputs=2)
    arrays = parts + [place, g.values(parts[0].dtype, g.shape(1, 2))] + ([g.ints(g.int(-count, count), shape=[])] if given else [])
    return Node(arrays, nodes=[construct, (op, ["s", f"x{count + 1}"] + ([f"x{count + 2}"] if given else []), ["t"], {})] + last, outputs=2)


SEQUENCES = "SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence ConcatFromSequence".split()
SAME = "Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg Not Reciprocal Relu Round Selu " \
    "Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
PAIRS = "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Mod Mul Or PRelu Pow Sub Xor StringConcat"
MOVING = "Identity Reshape Flatten Squeeze Unsqueeze Transpose Expand Tile Concat Split Slice Gather GatherElements GatherND ScatterElements ScatterND Pad Compress Where Clip Cast TopK " \
    "DepthToSpace SpaceToDepth Trilu OneHot ReverseSequence CenterCropPad TensorScatter Unique NonZero ConstantOfShape Constant ReduceMax ReduceMin ArgMax ArgMin Hardmax MaxPool GlobalMaxPool Max Min"
# Operators without intermediate results that could overflow where float64 does not
EXTREMES = set((SAME + " " + PAIRS + " " + MOVING).split()) - {"Gelu", "Mish", "Swish", "HardSwish", "HardSigmoid", "Softsign", "Pow", "Celu"}
GENERATORS = {
    **{n: unary for n in SAME.split()}, **{n: binary for n in PAIRS.split()}, **{n: variadic for n in ("Max", "Min", "Sum", "Mean")},
    **{"Reduce" + n: reduce for n in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()},
    **{n: rows for n in ("Softmax", "LogSoftmax", "Hardmax")}, **{n: arg for n in ("ArgMax", "ArgMin")}, **{n: cumulative for n in ("CumSum", "CumProd")},
    **{n: conv for n in ("Conv",)}, **{n: qlinear_conv for n in ("ConvInteger", "QLinearConv")}, **{n: pool for n in ("MaxPool", "AveragePool", "LpPool")},
    **{n: global_pool for n in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")}, **{n: matmul for n in ("MatMul", "MatMulInteger")},
    **{n: resize for n in ("Resize", "Upsample")}, **{n: quantise for n in ("QuantizeLinear", "DequantizeLinear")}, **{n: cast for n in ("Cast", "CastLike")},
    **{n: scatter_elements for n in ("Scatter", "ScatterElements")}, **{n: depth_to_space for n in ("DepthToSpace", "SpaceToDepth")},
    **{n: layer_norm for n in ("LayerNormalization", "RMSNormalization")}, **{n: recurrent for n in ("RNN", "GRU", "LSTM")},
    **{n: loss for n in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")}, **{n: window_function for n in ("HannWindow", "HammingWindow", "BlackmanWindow")},
    **{n: random_like for n in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")},
    "Clip": clip, "Where": where, "BitCast": bit_cast, "TopK": top_k, "Unique": unique, "NonZero": non_zero, "Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze,
    "Transpose": transpose, "Expand": expand, "Tile": tile, "Concat": concat, "Split": split, "Slice": slice_, "Gather": gather, "GatherElements": gather_elements, "GatherND": gather_nd,
    "ScatterND": scatter_nd, "Pad": pad, "Shape": shape_, "Size": size_op, "Identity": identity, "Compress": compress, "OneHot": one_hot, "Range": range_, "ConstantOfShape": constant_of_shape,
    "Constant": constant, "EyeLike": eye_like, "Trilu": trilu, "ReverseSequence": reverse_sequence, "CenterCropPad": center_crop_pad, "TensorScatter": tensor_scatter,
    "ConvTranspose": conv_transpose, "LRN": lrn, "GridSample": grid_sample, "AffineGrid": affine_grid, "RoiAlign": roi_align, "MaxRoiPool": max_roi_pool, "MaxUnpool": max_unpool, "Col2Im": col2im,
    "DeformConv": deform_conv, "Gemm": gemm, "Einsum": einsum, "Det": det, "DynamicQuantizeLinear": dynamic_quantize, "QLinearMatMul": qlinear_matmul, "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm, "GroupNormalization": group_norm, "LpNormalization": lp_norm, "MeanVarianceNormalization": mean_variance, "Dropout": dropout, "Attention": attention,
    "RotaryEmbedding": rotary, "NonMaxSuppression": non_max, "DFT": dft, "STFT": stft, "MelWeightMatrix": mel, "StringSplit": string_split, "RegexFullMatch": regex_match,
    "StringNormalizer": string_normalizer, "TfIdfVectorizer": tf_idf, "SwiGLU": swiglu, "CausalConvWithState": causal_conv, "LinearAttention": linear_attention, **{n: sequences for n in SEQUENCES},
}
