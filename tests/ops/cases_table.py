# SPDX-License-Identifier: Apache-2.0
"""The cases of make_cases.py: TABLE holds nodes and inputs, TEXT what needs no computed values (symbols, errors).

A row is (title, operator, opset, attributes, inputs, options). Options: outputs=n; expect=[arrays] where no tool gives the
value; trust="ort" where ONNX Runtime is followed instead of the reference evaluator, "ref" where they are known to differ;
tolerance. Inputs are small and hold the values that matter: signs, zeros, halves, infinities, NaN, limits of integers."""
import math

import numpy as np
from onnx import TensorProto as TP
from onnx import helper, numpy_helper

F32, F64, F16 = np.float32, np.float64, np.float16
I8, I16, I32, I64 = np.int8, np.int16, np.int32, np.int64
U8, U16, U32, U64 = np.uint8, np.uint16, np.uint32, np.uint64
INF, NAN = np.inf, np.nan
TABLE = {}
TEXT = {}


def add(file, title, op, opset, attrs, inputs, **options):
    TABLE.setdefault(file, []).append((title, op, opset, attrs, inputs, options))


def ints(*v):
    return np.array(v, I64)


def count(*shape, dtype=F32):
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def tensor(array):
    return numpy_helper.from_array(np.asarray(array))


# ---- Unary --------------------------------------------------------------------------------------
WIDE = np.array([-700.5, -2.5, -1.5, -1, -0.5, -1e-8, 0, 1e-8, 0.5, 1, 1.5, 2.5, 20.25, 700.5, INF, -INF, NAN], F64)
UNIT = np.array([-1, -0.75, -1e-6, 0, 0.25, 0.999, 1], F64)
POSITIVE = np.array([1e-300, 0.25, 1, 2.5, 1e10, INF, 0], F64)
UNARY = [
    ("floor", "Floor", [6, 13], {}, WIDE), ("ceil", "Ceil", [6, 13], {}, WIDE), ("round", "Round", [11, 22], {}, WIDE),
    ("exp", "Exp", [6, 13], {}, WIDE), ("log", "Log", [6, 13], {}, POSITIVE), ("sqrt", "Sqrt", [6, 13], {}, POSITIVE),
    ("reciprocal", "Reciprocal", [6, 13], {}, POSITIVE), ("sin", "Sin", [7, 22], {}, WIDE[:14]),
    ("cos", "Cos", [7, 22], {}, WIDE[:14]), ("tan", "Tan", [7, 22], {}, WIDE[:14]), ("asin", "Asin", [7, 22], {}, UNIT),
    ("acos", "Acos", [7, 22], {}, UNIT), ("atan", "Atan", [7, 22], {}, WIDE), ("sinh", "Sinh", [9, 22], {}, WIDE),
    ("cosh", "Cosh", [9, 22], {}, WIDE), ("asinh", "Asinh", [9, 22], {}, WIDE),
    ("acosh", "Acosh", [9, 22], {}, np.array([1, 1.5, 100, 1e10, INF], F64)), ("atanh", "Atanh", [9, 22], {}, UNIT[1:-1]),
    ("tanh", "Tanh", [6, 13], {}, WIDE), ("relu", "Relu", [6, 13, 14], {}, WIDE),
    ("leaky_relu", "LeakyRelu", [6, 16], {"alpha": 0.25}, WIDE), ("elu", "Elu", [6, 22], {"alpha": 1.5}, WIDE[:14]),
    ("selu", "Selu", [6, 22], {}, WIDE[1:14]), ("celu", "Celu", [12], {"alpha": 0.5}, WIDE[:14].astype(F32)),
    ("thresholded_relu", "ThresholdedRelu", [10, 22], {"alpha": 0.75}, WIDE[:14]),
    ("sigmoid", "Sigmoid", [6, 13], {}, WIDE), ("hard_sigmoid", "HardSigmoid", [6, 22], {"alpha": 0.5, "beta": 0.25}, WIDE),
    ("hard_swish", "HardSwish", [14, 22], {}, WIDE[:14].astype(F32)), ("softplus", "Softplus", [1, 22], {}, WIDE[1:12]),
    ("softsign", "Softsign", [1, 22], {}, WIDE[:14]), ("mish", "Mish", [18, 22], {}, WIDE[1:12]),
    ("swish", "Swish", [24], {"alpha": 1.5}, WIDE[1:14]), ("shrink", "Shrink", [9], {"lambd": 1.0, "bias": 0.5}, WIDE[:14]),
    ("is_nan", "IsNaN", [9, 13, 20], {}, WIDE), ("is_inf", "IsInf", [10, 20], {}, WIDE),
    ("is_inf", "IsInf", [20], {"detect_negative": 0}, WIDE), ("is_inf", "IsInf", [20], {"detect_positive": 0}, WIDE),
    ("abs", "Abs", [6, 13], {}, WIDE), ("neg", "Neg", [6, 13], {}, WIDE), ("sign", "Sign", [9, 13], {}, WIDE[:-1]),
]
for _file, _op, _versions, _attrs, _x in UNARY:
    for _v in _versions:
        _t = " ".join("%s %s" % p for p in sorted(_attrs.items()))
        add(_file, ("opset %d %s" % (_v, _t)).strip(), _op, _v, _attrs, [_x], **({"tolerance": 1e-6} if _x.dtype == F32 else {}))
for _v in (9, 13):  # the evaluator works in float32 here
    add("erf", "opset %d" % _v, "Erf", _v, {}, [WIDE], expect=[np.vectorize(math.erf)(WIDE)])
G = WIDE[1:14]
add("gelu", "exact", "Gelu", 20, {}, [G], expect=[np.array([v * math.erfc(-v / math.sqrt(2)) / 2 for v in G])])
add("gelu", "tanh", "Gelu", 20, {"approximate": "tanh"}, [G],
    expect=[G / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (G + 0.044715 * G**3)))])
for _file, _op, _v in [("abs", "Abs", 13), ("neg", "Neg", 13), ("sign", "Sign", 13), ("relu", "Relu", 14)]:
    for _t in (I8, I32, I64):
        _i = np.iinfo(_t)
        _low = _i.min + (_op == "Abs" and _t == I64)
        add(_file, "integers " + _t.__name__, _op, _v, {}, [np.array([_low, -3, 0, 7, _i.max], _t)])
add("abs", "lowest integer", "Abs", 13, {}, [np.array([-2**63], I64)])
add("sign", "unsigned", "Sign", 13, {}, [np.array([0, 5, 2**64 - 1], U64)])
add("sign", "NaN", "Sign", 13, {}, [np.array([NAN], F64)], expect=[np.array([NAN], F64)])
add("shrink", "integers", "Shrink", 9, {"lambd": 2.0, "bias": 1.0}, [np.array([-5, -2, -1, 0, 2, 3], I32)],
    expect=[np.array([-4, 0, 0, 0, 0, 2], I32)])
add("not", "conditions", "Not", 1, {}, [np.array([[True, False], [False, True]])])
add("bitwise_not", "signed", "BitwiseNot", 18, {}, [np.array([0, -1, 5, 127], I8)])
add("bitwise_not", "unsigned keeps its width", "BitwiseNot", 18, {}, [np.array([0, 1, 255], U8)])
add("bitwise_not", "uint64", "BitwiseNot", 18, {}, [np.array([0, 2**64 - 1], U64)])
add("relu", "empty", "Relu", 14, {}, [np.zeros((2, 0), F32)])
TEXT["erf"] = """
case: integers are refused
op: Erf 9
in: int32 [1] 3
error: int32
"""
TEXT["not"] = """
case: only conditions
op: Not 1
in: int32 [1] 3
error: must be one of: bool
"""
TEXT["gelu"] = """
case: unknown approximation
op: Gelu 20
attr: approximate = "fast"
in: float32 [1] 3
error: attribute 'approximate' is 'fast', but must be one of: none tanh
"""
TEXT["relu"] = """
case: symbolic
op: Relu 14
in: float32 [N, 3, ?] ?
out: float32 [N, 3, ?] ?

case: integers only since version 14
op: Relu 13
in: int32 [1] 3
error: must be one of
"""

# ---- Clip, PRelu --------------------------------------------------------------------------------
X = np.array([-5, -1, 0, 2, 9], F32)
add("clip", "attributes", "Clip", 6, {"min": -1.5, "max": 2.5}, [X])
add("clip", "default attributes", "Clip", 6, {}, [X])
add("clip", "inputs", "Clip", 11, {}, [X, F32(-2), F32(3)])
add("clip", "only min", "Clip", 13, {}, [X, F32(-2)])
add("clip", "only max", "Clip", 13, {}, [X, None, F32(3)])
add("clip", "max wins", "Clip", 13, {}, [X, F32(3), F32(-3)])
add("clip", "NaN stays", "Clip", 13, {}, [np.array([NAN, 1, 9], F64), F64(0), F64(3)])
add("clip", "int64 beyond doubles", "Clip", 12, {}, [ints(2**62 + 1, -7), I64(0), I64(2**62)])
add("clip", "uint64", "Clip", 12, {}, [np.array([2**64 - 1, 3], U64), U64(5), U64(2**63 + 1)])
add("clip", "int8", "Clip", 13, {}, [np.array([-128, 0, 127], I8), I8(-100), I8(100)])
TEXT["clip"] = """
case: limits are scalars
op: Clip 13
in: float32 [2] 1 2
in: float32 [2] 1 2
error: must be a scalar
"""
add("prelu", "per channel", "PRelu", 16, {}, [count(2, 3, 2) - 6, np.array([[0.5], [2], [-1]], F32)])
add("prelu", "one slope", "PRelu", 7, {}, [X, np.array([0.25], F32)])
add("prelu", "integers", "PRelu", 9, {}, [np.array([-4, 5], I32), np.array([3], I32)])
TEXT["prelu"] = """
case: slope must not widen
op: PRelu 16
in: float32 [2] -1 2
in: float32 [2, 1] 1 2
error: does not broadcast
"""

# ---- Binary -------------------------------------------------------------------------------------
A = np.array([[7, -7, 0.5], [INF, -0.25, 3]], F64)
B = np.array([2, -3, 0.5], F64)
for _file, _op in [("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("div", "Div")]:
    for _v in (7, 13, 14):
        add(_file, "opset %d rows" % _v, _op, _v, {}, [A, B])
    add(_file, "both broadcast", _op, 14, {}, [count(2, 1, 3) + 1, count(4, 1) + 1])
    add(_file, "scalar left", _op, 14, {}, [F32(6), count(4) + 1])
    add(_file, "integers wrap", _op, 14, {}, [np.array([100, -100, 7, -7], I8), np.array([100, 100, -2, 2], I8)])
    add(_file, "uint64", _op, 14, {}, [np.array([2**64 - 1, 5], U64), np.array([2, 3], U64)])
    add(_file, "empty", _op, 14, {}, [np.zeros((0, 3), F32), np.ones(3, F32)])
    TEXT[_file] = """
case: shapes must broadcast
op: %s 14
in: float32 [2] 1 2
in: float32 [3] 1 2 3
error: do not broadcast

case: types must agree
op: %s 14
in: float32 [1] 1
in: float64 [1] 1
error: input 1 'B' is float64, but input 0 'A' is float32; both must have the same type (T) in opset 14

case: symbolic
op: %s 14
in: float32 [N, 1, 3] ?
in: float32 [4, 1] ?
out: float32 [N, 4, 3] ?
""" % (_op, _op, _op)
TEXT["add"] += """
case: shape arithmetic
op: Add 14
in: int64 [2] N, M
in: int64 [2] 1 -2
out: int64 [2] N + 1, M - 2
"""
TEXT["mul"] += """
case: shape arithmetic
op: Mul 14
in: int64 [2] N, M
in: int64 [] 2
out: int64 [2] 2*N, 2*M
"""
add("div", "truncates", "Div", 14, {}, [np.array([7, -7, 7, -7], I64), np.array([2, 2, -2, -2], I64)], trust="ort")
add("div", "integer by zero", "Div", 14, {}, [np.array([7, -7], I32), np.array([0, 0], I32)], expect=[np.array([0, 0], I32)])
add("div", "lowest by minus one", "Div", 14, {}, [np.array([-2**63], I64), np.array([-1], I64)],
    expect=[np.array([-2**63], I64)])
add("div", "float by zero", "Div", 14, {}, [np.array([1, -1, 0], F64), np.array([0, 0, 0], F64)])
for _x, _y, _n in [(np.array([7, -7, 7, -7, 0], I32), np.array([3, 3, -3, -3, 5], I32), "int32"),
                   (np.array([250, 7], U8), np.array([7, 8], U8), "uint8")]:
    add("mod", "floored " + _n, "Mod", 13, {}, [_x, _y])
    add("mod", "truncated " + _n, "Mod", 13, {"fmod": 1}, [_x, _y])
add("mod", "floats", "Mod", 10, {"fmod": 1}, [np.array([7.5, -7.5, 7.5, INF], F64), np.array([2, 2, -2, 3], F64)])
add("mod", "floored floats", "Mod", 28, {}, [np.array([7.5, -7.5, 7.5, -4, 1], F64), np.array([2, 2, -2, 2, INF], F64)],
    expect=[np.array([1.5, 0.5, -0.5, 0, 1], F64)])
add("mod", "by zero and minus one", "Mod", 13, {}, [np.array([-2**63, 5], I64), np.array([-1, 0], I64)], expect=[ints(0, 0)])
add("pow", "floats", "Pow", 7, {}, [np.array([2, -2, 0, 4, 9], F64), np.array([3, 3, 0, 0.5, -1], F64)])
add("pow", "square", "Pow", 13, {}, [np.array([3, -1.5, INF], F64), F64(2)])
add("pow", "integer exponent", "Pow", 12, {}, [np.array([2, 3], F64), np.array([-2, 4], I32)])
add("pow", "unsigned exponent", "Pow", 15, {}, [np.array([2, 3], F32), np.array([5, 4], U64)])
add("pow", "integers", "Pow", 15, {}, [np.array([2, -3, 7], I64), np.array([40, 3, 0], I64)])
add("pow", "integer base, float exponent", "Pow", 15, {}, [np.array([4, 9], I32), np.array([0.5, 1.5], F32)])
add("pow", "negative exponent of integers", "Pow", 15, {}, [np.array([2, 1, -1], I64), np.array([-1, -5, -3], I64)],
    expect=[ints(0, 1, -1)])
P, Q = np.array([[True], [False]]), np.array([True, False])
for _file, _op in [("and", "And"), ("or", "Or"), ("xor", "Xor")]:
    add(_file, "all four", _op, 7, {}, [P, Q])
C, D = np.array([1, 2, 3, NAN, -INF], F64), np.array([2, 2, 2, NAN, 0], F64)
COMPARE = [("less", "Less", [7, 9, 13]), ("greater", "Greater", [7, 9, 13]), ("less_or_equal", "LessOrEqual", [12, 16]),
           ("greater_or_equal", "GreaterOrEqual", [12, 16]), ("equal", "Equal", [11, 13, 19])]
for _file, _op, _versions in COMPARE:
    for _v in _versions:
        add(_file, "opset %d" % _v, _op, _v, {}, [C, D])
    add(_file, "uint64", _op, _versions[-1], {}, [np.array([2**63, 1], U64), np.array([2**63 + 1, 1], U64)])
    add(_file, "rows", _op, _versions[-1], {}, [count(2, 3, dtype=I32), np.array([1, 1, 4], I32)])
add("equal", "conditions", "Equal", 7, {}, [P, Q])
add("equal", "strings", "Equal", 19, {}, [np.array(["a", "", "abc"], object), np.array(["a", "x", "abc"], object)])
TEXT["equal"] = """
case: symbolic values
op: Equal 19
in: int64 [3] N, 4, N
in: int64 [3] N, 5, 7
out: bool [3] 1, 0, ?
"""
TEXT["less"] = """
case: symbolic values
op: Less 13
in: int64 [2] N, N
in: int64 [2] -1, M
out: bool [2] 0, ?
"""
for _file, _op in [("bitwise_and", "BitwiseAnd"), ("bitwise_or", "BitwiseOr"), ("bitwise_xor", "BitwiseXor")]:
    add(_file, "signed", _op, 18, {}, [np.array([12, -1, 85], I32), np.array([10, 7, -86], I32)])
    add(_file, "unsigned broadcast", _op, 18, {}, [np.array([[12], [255]], U8), np.array([10, 129], U8)])
    add(_file, "uint64", _op, 18, {}, [np.array([2**64 - 1], U64), np.array([2**63 + 5], U64)])
add("bit_shift", "left", "BitShift", 11, {"direction": "LEFT"}, [np.array([16, 4, 255], U8), np.array([1, 2, 3], U8)])
add("bit_shift", "right", "BitShift", 11, {"direction": "RIGHT"}, [np.array([16, 4, 255], U32), np.array([1, 2, 3], U32)])
add("bit_shift", "uint64", "BitShift", 11, {"direction": "LEFT"}, [np.array([1, 3], U64), np.array([63, 63], U64)])
add("bit_shift", "the whole width", "BitShift", 28, {"direction": "LEFT"}, [np.array([1, 3], U64), np.array([64, 200], U64)],
    expect=[np.array([0, 0], U64)])
add("bit_shift", "signed", "BitShift", 28, {"direction": "RIGHT"}, [np.array([-8, -8, 8, -1], I32),
    np.array([1, 40, 40, -1], I32)], expect=[np.array([-4, -1, 0, -1], I32)])
TEXT["bit_shift"] = """
case: direction
op: BitShift 11
attr: direction = "UP"
in: uint8 [1] 1
in: uint8 [1] 1
error: attribute 'direction' is 'UP', but must be one of: LEFT RIGHT
"""
V = [np.array([[1, NAN, -2], [5, 0, 3]], F64), np.array([2, 2, 2], F64), np.array([[0], [4]], F64), F64(1)]
for _file, _op, _versions in [("min", "Min", [8, 12, 13]), ("max", "Max", [8, 12, 13]), ("sum", "Sum", [8, 13]),
                              ("mean", "Mean", [8, 13])]:
    for _v in _versions:
        add(_file, "opset %d four inputs" % _v, _op, _v, {}, V)
    add(_file, "one input", _op, _versions[-1], {}, [V[0]])
    add(_file, "two inputs", _op, _versions[-1], {}, [count(3), count(2, 1) + 1])
for _file, _op in [("min", "Min"), ("max", "Max")]:
    add(_file, "int64", _op, 12, {}, [ints(2**62 + 1, -5), ints(2**62, 7)])
    add(_file, "uint64", _op, 12, {}, [np.array([2**64 - 1, 3], U64), np.array([1, 4], U64)])
add("where", "rows", "Where", 9, {}, [np.array([True, False]), count(2, 2), count(2, 1) - 9])
add("where", "scalars", "Where", 16, {}, [np.array(True), F32(4), count(3)])
add("where", "int64", "Where", 9, {}, [np.array([True, False]), ints(1, 2), ints(3, 4)])
add("where", "strings", "Where", 9, {}, [np.array([True, False]), np.array(["a", "b"], object), np.array(["c", "d"], object)])
add("where", "conditions", "Where", 16, {}, [np.array([True, False]), np.array([False, False]), np.array([True, True])])
TEXT["where"] = """
case: symbolic values
op: Where 16
in: bool [3] true false true
in: int64 [3] N, N, 1
in: int64 [3] 2 2 1
out: int64 [3] N, 2, 1

case: types must agree
op: Where 16
in: bool [1] true
in: float32 [1] 1
in: int64 [1] 1
error: input 2 'Y' is int64, but input 1 'X' is float32; both must have the same type (T) in opset 16
"""

# ---- Quantization -------------------------------------------------------------------------------
R = np.array([[-3.5, -0.5, 0.5, 1.5, 2.5, 300], [0, 1, 2.25, -200, 64, 127]], F32)
add("quantize_linear", "per tensor", "QuantizeLinear", 10, {}, [R, F32(1), U8(128)])
add("quantize_linear", "no zero point", "QuantizeLinear", 13, {}, [R, F32(0.5)])
add("quantize_linear", "per axis", "QuantizeLinear", 13, {"axis": 0}, [R, np.array([0.5, 2], F32), np.array([1, -3], I8)])
add("quantize_linear", "int16", "QuantizeLinear", 21, {}, [R, F32(0.001), I16(5)])
add("quantize_linear", "blocked", "QuantizeLinear", 21, {"axis": 1, "block_size": 3},
    [R, np.array([[1, 2], [0.5, 4]], F32), np.array([[1, 2], [3, 4]], U8)])
add("quantize_linear", "output type", "QuantizeLinear", 21, {"output_dtype": TP.INT16}, [R, F32(0.01)])
add("dequantize_linear", "per tensor", "DequantizeLinear", 10, {}, [np.array([0, 128, 255], U8), F32(0.5), U8(128)])
add("dequantize_linear", "per axis", "DequantizeLinear", 13, {"axis": 1},
    [np.array([[1, 2], [-128, 127]], I8), np.array([0.5, 2], F32), np.array([1, -3], I8)])
add("dequantize_linear", "int32", "DequantizeLinear", 13, {}, [np.array([2**31 - 1, -7], I32), F32(0.25)])
add("dequantize_linear", "blocked", "DequantizeLinear", 21, {"axis": 0, "block_size": 2},
    [count(3, 2, dtype=U8), np.array([[1, 2], [0.5, 4]], F32), np.array([[1, 2], [3, 4]], U8)])
add("dynamic_quantize_linear", "both signs", "DynamicQuantizeLinear", 11, {}, [np.array([0, 2, -3, -2.5, 1.34, 0.5], F32)],
    outputs=3)
add("dynamic_quantize_linear", "positive", "DynamicQuantizeLinear", 11, {}, [np.array([[1, 2.1], [1.3, 2.5]], F32)], outputs=3)
TEXT["quantize_linear"] = """
case: scales must fit
op: QuantizeLinear 13
attr: axis = 1
in: float32 [2, 3] 1 2 3 4 5 6
in: float32 [2] 1 2
error: the number of scales, 2, does not fit axis 1 of 3 elements with block size 0

case: symbolic
op: QuantizeLinear 13
in: float32 [N, 3] ?
in: float32 [] ?
in: int8 [] ?
out: int8 [N, 3] ?
"""
TEXT["dequantize_linear"] = """
case: zero point of another type
op: DequantizeLinear 13
in: uint8 [1] 1
in: float32 [] 1
in: int8 [] 1
error: input 2 'x_zero_point' is int8, but input 0 'x' is uint8; both must have the same type (T) in opset 13
"""
