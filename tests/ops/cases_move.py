# SPDX-License-Identifier: Apache-2.0
"""Cases of operators that move data, compute shapes or convert types; see cases_table.py."""
from cases_table import *  # noqa: F401,F403

S = np.array(["a", "bc", "", "def", "e", "f"], object)

# ---- Values and shapes --------------------------------------------------------------------------
add("identity", "matrix", "Identity", 1, {}, [count(2, 3)])
add("identity", "strings", "Identity", 16, {}, [S])
add("identity", "bool scalar", "Identity", 13, {}, [np.array(True)])
add("constant", "tensor", "Constant", 9, {"value": tensor(count(2, 2))}, [])
add("constant", "float", "Constant", 12, {"value_float": 0.5}, [])
add("constant", "floats", "Constant", 13, {"value_floats": [0.5, -2.0]}, [])
add("constant", "int", "Constant", 12, {"value_int": -7}, [])
add("constant", "ints", "Constant", 13, {"value_ints": [1, 2, 3]}, [])
add("constant", "string", "Constant", 12, {"value_string": "text"}, [], expect=[np.array("text", object)])
add("constant", "strings", "Constant", 13, {"value_strings": ["a", "bc"]}, [], expect=[np.array(["a", "bc"], object)])
TEXT["constant"] = """
case: nothing given
op: Constant 13
error: the node has no attribute with a value

case: two values
op: Constant 13
attr: value_int = 3
attr: value_float = 0.5
error: has both
"""
add("constant_of_shape", "default", "ConstantOfShape", 9, {}, [ints(2, 3)])
add("constant_of_shape", "int64", "ConstantOfShape", 9, {"value": tensor(ints(-4))}, [ints(3)])
add("constant_of_shape", "bool scalar", "ConstantOfShape", 20, {"value": tensor(np.array([True]))}, [np.zeros(0, I64)])
TEXT["constant_of_shape"] = """
case: negative
op: ConstantOfShape 9
in: int64 [2] 3 -1
error: dimension 1 of the shape is -1, but must not be negative

case: symbolic
op: ConstantOfShape 9
in: int64 [2] N, 3
out: float32 [N, 3] ?

case: only the rank is known
op: ConstantOfShape 9
in: int64 [3] ?
out: float32 [?, ?, ?] ?

case: values of a vector
op: ConstantOfShape 9
attr: value = tensor int64 [1] 5
in: int64 [1] 2
out: int64 [2] 5 5
"""
for _v in (1, 13):
    add("shape", "opset %d" % _v, "Shape", _v, {}, [count(2, 3, 4)])
for _a in ({"start": 1}, {"start": -2}, {"end": -1}, {"start": 1, "end": 2}, {"start": -9, "end": 9}, {"start": 2, "end": 1}):
    add("shape", "opset 15 " + str(sorted(_a.items())), "Shape", 15, _a, [count(2, 3, 4)])
TEXT["shape"] = """
case: symbolic
op: Shape 15
attr: start = 1
in: float32 [2, N, M] ?
out: int64 [2] N, M

case: unknown rank
op: Shape 15
in: float32 [*] ?
out: int64 [?] ?
"""
add("size", "matrix", "Size", 13, {}, [count(2, 3)])
add("size", "scalar", "Size", 1, {}, [F32(3)])
add("size", "empty", "Size", 13, {}, [np.zeros((3, 0), F32)])
TEXT["size"] = """
case: symbolic
op: Size 13
in: float32 [N, 3] ?
out: int64 [] 3*N
"""
for _v in (5, 13, 14):
    add("reshape", "opset %d open and copied" % _v, "Reshape", _v, {}, [count(2, 3, 4), ints(0, -1, 2)])
add("reshape", "to a scalar", "Reshape", 14, {}, [count(1, 1), np.zeros(0, I64)])
add("reshape", "allowzero", "Reshape", 14, {"allowzero": 1}, [np.zeros((0, 3), F32), ints(3, 0)])
add("reshape", "strings", "Reshape", 13, {}, [S, ints(2, -1)])
TEXT["reshape"] = """
case: does not divide
op: Reshape 14
in: float32 [2, 3] 1 2 3 4 5 6
in: int64 [2] 4 -1
error: (2, 3) cannot be reshaped to (4, -1)

case: wrong count
op: Reshape 14
in: float32 [2, 3] 1 2 3 4 5 6
in: int64 [2] 2 2
error: cannot be reshaped

case: two open
op: Reshape 14
in: float32 [2] 1 2
in: int64 [2] -1 -1
error: more than one -1

case: below -1
op: Reshape 14
in: float32 [2] 1 2
in: int64 [2] -2 1
error: element 0 of the shape is -2, but must be -1 or more

case: symbolic copy and rest
op: Reshape 14
in: float32 [N, S, 768] ?
in: int64 [4] 0 0 12 64
out: float32 [N, S, 12, 64] ?

case: symbolic rest
op: Reshape 14
in: float32 [N, S, 12, 64] ?
in: int64 [3] N, -1, 768
out: float32 [N, S, 768] ?

case: symbolic product
op: Reshape 14
in: float32 [N, S, 64] ?
in: int64 [2] -1 64
out: float32 [N*S, 64] ?

case: values go through
op: Reshape 14
in: int64 [1] N
in: int64 [0]
out: int64 [] N
"""
for _v, _axis in ((1, 1), (9, 0), (11, -2), (13, 3), (21, 2)):
    add("flatten", "opset %d axis %d" % (_v, _axis), "Flatten", _v, {"axis": _axis}, [count(2, 3, 2)])
TEXT["flatten"] = """
case: symbolic
op: Flatten 13
in: float32 [N, 3, H, 2] ?
out: float32 [N, 6*H] ?

case: axis out of range
op: Flatten 13
attr: axis = 4
in: float32 [2] 1 2
error: axis 4 is not in
"""
add("squeeze", "attribute", "Squeeze", 1, {"axes": [0, 2]}, [count(1, 3, 1)])
add("squeeze", "negative", "Squeeze", 11, {"axes": [-1]}, [count(1, 3, 1)])
add("squeeze", "input", "Squeeze", 13, {}, [count(1, 3, 1), ints(0)])
add("squeeze", "all ones", "Squeeze", 13, {}, [count(1, 3, 1)])
TEXT["squeeze"] = """
case: not one
op: Squeeze 13
in: float32 [1, 3] 1 2 3
in: int64 [1] 1
error: dimension 1 is 3, but only dimensions of 1 can be squeezed

case: twice
op: Squeeze 13
in: float32 [1, 3] 1 2 3
in: int64 [2] 0 -2
error: given twice

case: symbolic
op: Squeeze 13
in: float32 [1, N, 1] ?
in: int64 [1] 2
out: float32 [1, N] ?

case: values go through
op: Squeeze 13
in: int64 [1] N
in: int64 [1] 0
out: int64 [] N
"""
add("unsqueeze", "attribute", "Unsqueeze", 1, {"axes": [0, 2]}, [count(3)])
add("unsqueeze", "negative", "Unsqueeze", 11, {"axes": [-1, 0]}, [count(3)])
add("unsqueeze", "input", "Unsqueeze", 13, {}, [count(2, 3), ints(1, -1)])
TEXT["unsqueeze"] = """
case: twice
op: Unsqueeze 13
in: float32 [3] 1 2 3
in: int64 [2] 0 -3
error: given twice

case: values go through
op: Unsqueeze 13
in: int64 [] N
in: int64 [1] 0
out: int64 [1] N
"""

# ---- Movement -----------------------------------------------------------------------------------
add("transpose", "reversed", "Transpose", 1, {}, [count(2, 3, 4)])
for _p in ([0, 2, 1], [1, 0, 2], [2, 0, 1], [0, 1, 2]):
    add("transpose", "perm %s" % _p, "Transpose", 13, {"perm": _p}, [count(2, 3, 4)])
add("transpose", "bool", "Transpose", 13, {}, [np.array([[True, False, True], [False, False, True]])])
add("transpose", "strings", "Transpose", 13, {}, [S.reshape(2, 3)])
add("transpose", "more than a tile", "Transpose", 13, {}, [count(19, 17, dtype=I32)])
add("transpose", "heads", "Transpose", 13, {"perm": [0, 2, 1, 3]}, [count(2, 3, 2, 2)])
add("transpose", "empty", "Transpose", 13, {}, [np.zeros((0, 3), F32)])
TEXT["transpose"] = """
case: symbolic
op: Transpose 13
attr: perm = [0, 2, 1]
in: float32 [N, 3, S] ?
out: float32 [N, S, 3] ?

case: twice
op: Transpose 13
attr: perm = [0, 0]
in: float32 [1, 2] 1 2
error: axis 0 is given twice

case: too short
op: Transpose 13
attr: perm = [0]
in: float32 [1, 2] 1 2
error: perm has 1 entries for an input of rank 2
"""
for _axis in (0, 1, -1):
    add("concat", "axis %d" % _axis, "Concat", 11, {"axis": _axis}, [count(2, 2, 2), count(2, 2, 2) + 8])
add("concat", "three of different length", "Concat", 4, {"axis": 1}, [count(2, 1), count(2, 3) + 5, np.zeros((2, 0), F32)])
add("concat", "strings", "Concat", 13, {"axis": 0}, [S, S[:2]])
TEXT["concat"] = """
case: other axes must agree
op: Concat 13
attr: axis = 0
in: float32 [1, 2] 1 2
in: float32 [1, 3] 1 2 3
error: input 1 of shape (1, 3) does not fit

case: ranks must agree
op: Concat 13
attr: axis = 0
in: float32 [2] 1 2
in: float32 [1, 2] 1 2
error: rank

case: symbolic
op: Concat 13
attr: axis = 1
in: float32 [N, M] ?
in: float32 [N, 3] ?
out: float32 [N, M + 3] ?

case: values, some computed
op: Concat 13
attr: axis = 0
in: int64 [1] N
in: int64 [1] ?
in: int64 [1] 64
out: int64 [3] N, ?, 64
"""
add("split", "equal", "Split", 2, {"axis": 1}, [count(2, 4)], outputs=2)
add("split", "attribute", "Split", 11, {"axis": -1, "split": [1, 3]}, [count(2, 4)], outputs=2)
add("split", "input", "Split", 13, {"axis": 0}, [count(5), ints(2, 0, 3)], outputs=3)
add("split", "uneven", "Split", 18, {"num_outputs": 3}, [count(7, 2)], outputs=3)
add("split", "strings", "Split", 13, {}, [S, ints(2, 4)], outputs=2)
TEXT["split"] = """
case: sum
op: Split 13
in: float32 [4] 1 2 3 4
in: int64 [2] 1 2
outputs: 2
error: add up to 3, but the axis has 4

case: does not divide
op: Split 13
in: float32 [5] 1 2 3 4 5
outputs: 2
error: the axis has 5 elements, which cannot be divided into 2 equal outputs

case: symbolic
op: Split 13
attr: axis = 1
in: float32 [N, 6] ?
out: float32 [N, 3] ?
out: float32 [N, 3] ?

case: values
op: Split 13
in: int64 [2] N, M
out: int64 [1] N
out: int64 [1] M
"""
X = count(4, 5)
add("slice", "attributes", "Slice", 1, {"starts": [1, -3], "ends": [100, -1]}, [X])
add("slice", "attributes with axes", "Slice", 1, {"starts": [1], "ends": [3], "axes": [1]}, [X])
add("slice", "inputs", "Slice", 10, {}, [X, ints(0, 1), ints(2, 4)])
add("slice", "steps", "Slice", 11, {}, [X, ints(0, 4), ints(4, 0), ints(0, 1), ints(2, -2)])
add("slice", "backwards whole", "Slice", 13, {}, [X, ints(-1), ints(-2**63), ints(1), ints(-1)])
add("slice", "empty", "Slice", 13, {}, [X, ints(3), ints(1), ints(0)])
add("slice", "far out", "Slice", 13, {}, [X, ints(-2**63), ints(2**63 - 1), ints(-1), ints(2**63 - 1)])
add("slice", "int32 bounds", "Slice", 13, {}, [X, np.array([1], I32), np.array([3], I32), np.array([0], I32)])
add("slice", "strings", "Slice", 13, {}, [S, ints(-4), ints(5)])
TEXT["slice"] = """
case: step of zero
op: Slice 13
in: float32 [3] 1 2 3
in: int64 [1] 0
in: int64 [1] 2
in: int64 [1] 0
in: int64 [1] 0
error: step 0 must not be 0

case: axis out of range
op: Slice 13
in: float32 [3] 1 2 3
in: int64 [1] 0
in: int64 [1] 2
in: int64 [1] 1
error: axis 1 is not in

case: counts
op: Slice 13
in: float32 [3] 1 2 3
in: int64 [1] 0
in: int64 [2] 2 2
error: has 1 starts, but 2 ends

case: symbolic all but the first
op: Slice 13
in: float32 [N, 3] ?
in: int64 [1] 1
in: int64 [1] 9223372036854775807
in: int64 [1] 1
out: float32 [N, 2] ?

case: symbolic whole
op: Slice 13
in: float32 [N, 3] ?
in: int64 [1] 0
in: int64 [1] 9223372036854775807
in: int64 [1] 0
out: float32 [N, 3] ?

case: symbolic backwards
op: Slice 13
in: float32 [N, 3] ?
in: int64 [1] -1
in: int64 [1] -9223372036854775808
in: int64 [1] 0
in: int64 [1] -1
out: float32 [N, 3] ?

case: symbolic bound
op: Slice 13
in: float32 [2, N] ?
in: int64 [1] 0
in: int64 [1] N
in: int64 [1] 1
out: float32 [2, N] ?

case: symbolic, without the last
op: Slice 13
in: float32 [N, 3] ?
in: int64 [1] 0
in: int64 [1] -1
in: int64 [1] 0
out: float32 [Max(0, N - 1), 3] ?

case: computed bounds
op: Slice 13
in: float32 [2, 8] ?
in: int64 [1] ?
in: int64 [1] ?
in: int64 [1] 1
out: float32 [2, ?] ?

case: values
op: Slice 13
in: int64 [4] N, 3, H, W
in: int64 [1] 2
in: int64 [1] 4
in: int64 [1] 0
out: int64 [2] H, W
"""
for _axis in (0, 1, -1):
    add("gather", "axis %d" % _axis, "Gather", 11, {"axis": _axis}, [count(3, 4), ints(2, -1, 0)])
add("gather", "matrix of indices", "Gather", 1, {"axis": 0}, [count(3, 2), np.array([[0, 1], [1, 2]], I32)])
add("gather", "scalar index", "Gather", 13, {"axis": 1}, [count(3, 2), I64(1)])
add("gather", "strings", "Gather", 13, {}, [S, ints(3, 1)])
add("gather", "no indices", "Gather", 13, {}, [count(3, 2), np.zeros(0, I64)])
TEXT["gather"] = """
case: out of range
op: Gather 13
in: float32 [3] 1 2 3
in: int64 [1] 3
error: index 3 is not in [-3, 3)

case: symbolic
op: Gather 13
attr: axis = 1
in: float32 [N, 5, 3] ?
in: int64 [K, 2] ?
out: float32 [N, K, 2, 3] ?

case: values
op: Gather 13
in: int64 [3] N, 3, H
in: int64 [] 2
out: int64 [] H

case: values from the end
op: Gather 13
in: int64 [3] N, 3, H
in: int64 [2] -1 0
out: int64 [2] H, N
"""
for _axis in (0, 1):
    add("gather_elements", "axis %d" % _axis, "GatherElements", 11, {"axis": _axis},
        [count(3, 3), np.array([[1, 2, 0], [-1, 0, 0]], I64)])
TEXT["gather_elements"] = """
case: out of range
op: GatherElements 13
in: float32 [2, 2] 1 2 3 4
in: int64 [1, 2] 0 2
error: index 2 is not in [-2, 2)

case: indices larger than the data
op: GatherElements 13
in: float32 [2, 2] 1 2 3 4
in: int64 [1, 3] 0 0 0
error: the indices have 3 elements along axis 1, but the data has only 2

case: ranks
op: GatherElements 13
in: float32 [2, 2] 1 2 3 4
in: int64 [2] 0 0
error: rank
"""
add("gather_nd", "elements", "GatherND", 11, {}, [count(2, 2), np.array([[0, 0], [1, -1]], I64)])
add("gather_nd", "rows", "GatherND", 12, {}, [count(2, 3), np.array([[1], [0]], I64)])
add("gather_nd", "batches", "GatherND", 13, {"batch_dims": 1}, [count(2, 2, 2), np.array([[1], [0]], I64)])
TEXT["gather_nd"] = """
case: out of range
op: GatherND 13
in: float32 [2, 2] 1 2 3 4
in: int64 [1, 2] 0 2
error: index 2 is not in

case: tuples too long
op: GatherND 13
in: float32 [2] 1 2
in: int64 [1, 2] 0 0
error: the indices are tuples of 2, but the data has 1 axes to index

case: symbolic
op: GatherND 13
in: float32 [N, M, 3] ?
in: int64 [K, 2] ?
out: float32 [K, 3] ?
"""
_d, _i, _u = count(3, 3), np.array([[1, 0, 2], [0, 2, 1]], I64), count(2, 3) + 10
add("scatter_elements", "old name", "Scatter", 9, {"axis": 1}, [_d, _i, _u])
for _axis in (0, -1):
    add("scatter_elements", "axis %d" % _axis, "ScatterElements", 11, {"axis": _axis}, [_d, _i, _u])
for _r, _v in (("add", 16), ("mul", 16), ("min", 18), ("max", 18)):
    add("scatter_elements", _r, "ScatterElements", _v, {"reduction": _r, "axis": 1},
        [_d, np.array([[0, 0, 1], [2, -1, 2]], I64), _u - 11])
add("scatter_elements", "bool", "ScatterElements", 13, {}, [P2 := np.array([True, False, True]), ints(2, 1), ~P2[1:]])
TEXT["scatter_elements"] = """
case: out of range
op: ScatterElements 18
in: float32 [2] 1 2
in: int64 [1] -3
in: float32 [1] 9
error: index -3 is not in [-2, 2)

case: shapes
op: ScatterElements 18
in: float32 [2] 1 2
in: int64 [1] 0
in: float32 [2] 9 9
error: the indices and the updates have different shapes

case: reduction
op: ScatterElements 18
attr: reduction = "mean"
in: float32 [2] 1 2
in: int64 [1] 0
in: float32 [1] 9
error: attribute 'reduction' is 'mean', but must be one of: none add mul max min
"""
_i = np.array([[1], [3], [1]], I64)
add("scatter_nd", "elements", "ScatterND", 11, {}, [count(5), _i[:2], np.array([9, 10], F32)])
add("scatter_nd", "rows", "ScatterND", 13, {}, [count(4, 2), _i[:2], count(2, 2) + 50])
for _r, _v in (("add", 16), ("mul", 16), ("min", 18), ("max", 18)):
    add("scatter_nd", _r, "ScatterND", _v, {"reduction": _r}, [count(4, 2), _i, count(3, 2) + 1])
TEXT["scatter_nd"] = """
case: out of range
op: ScatterND 18
in: float32 [2] 1 2
in: int64 [1, 1] 2
in: float32 [1] 9
error: index 2 is not in

case: updates do not fit
op: ScatterND 18
in: float32 [2, 2] 1 2 3 4
in: int64 [1, 1] 0
in: float32 [1, 3] 9 9 9
error: updates do not fit
"""
add("expand", "rows", "Expand", 8, {}, [count(3, 1), ints(2, 1, 4)])
add("expand", "smaller shape", "Expand", 13, {}, [count(2, 3), ints(1)])
add("expand", "bool", "Expand", 13, {}, [np.array([True]), ints(3)])
TEXT["expand"] = """
case: does not broadcast
op: Expand 13
in: float32 [2] 1 2
in: int64 [1] 3
error: do not broadcast

case: symbolic
op: Expand 13
in: float32 [1, 3] ?
in: int64 [2] N, 1
out: float32 [N, 3] ?

case: values
op: Expand 13
in: int64 [1] N
in: int64 [1] 2
out: int64 [2] N, N
"""
add("tile", "both axes", "Tile", 6, {}, [count(2, 2), ints(2, 3)])
add("tile", "zero times", "Tile", 13, {}, [count(2, 2), ints(0, 1)])
add("tile", "strings", "Tile", 13, {}, [S[:2], ints(2)])
TEXT["tile"] = """
case: negative
op: Tile 13
in: float32 [2] 1 2
in: int64 [1] -1
error: repeat 0 is -1

case: counts
op: Tile 13
in: float32 [2] 1 2
in: int64 [2] 1 1
error: there are 2 repeats for an input of rank 1

case: symbolic
op: Tile 13
in: float32 [N, 3] ?
in: int64 [2] 2, M
out: float32 [2*N, 3*M] ?
"""
add("range", "int64", "Range", 11, {}, [I64(3), I64(10), I64(3)])
add("range", "down", "Range", 11, {}, [I32(10), I32(4), I32(-2)])
add("range", "nothing", "Range", 11, {}, [I64(3), I64(3), I64(1)])
add("range", "floats", "Range", 11, {}, [F64(0), F64(1.05), F64(0.25)])
add("range", "whole of int64", "Range", 11, {}, [I64(-2**63), I64(2**63 - 1), I64(2**62)],
    expect=[ints(-2**63, -2**62, 0, 2**62)])
TEXT["range"] = """
case: no step
op: Range 11
in: int64 [] 0
in: int64 [] 5
in: int64 [] 0
error: input 2 (delta) must not be 0

case: no float step
op: Range 11
in: float32 [] 0
in: float32 [] 5
in: float32 [] 0
error: never ends

case: symbolic
op: Range 11
in: int64 [] 0
in: int64 [] N
in: int64 [] 1
out: int64 [N] ?

case: symbolic step
op: Range 11
in: int64 [] 0
in: int64 [] ?
in: int64 [] 1
out: int64 [?] ?
"""
X = count(2, 3)
add("pad", "attributes", "Pad", 2, {"pads": [0, 1, 1, 2], "value": 9.5}, [X])
for _m in ("edge", "reflect"):
    add("pad", "attributes " + _m, "Pad", 2, {"pads": [1, 2, 0, 1], "mode": _m}, [X])
    add("pad", "inputs " + _m, "Pad", 13, {"mode": _m}, [X, ints(0, 1, 1, 2)])
add("pad", "constant input", "Pad", 11, {}, [X, ints(1, 0, 0, 2), F32(-1)])
add("pad", "zero by default", "Pad", 13, {}, [X.astype(I32), ints(0, 1, 0, 1)])
add("pad", "negative", "Pad", 13, {}, [count(3, 4), ints(-1, 1, 0, -2), F32(7)])
add("pad", "axes", "Pad", 18, {}, [X, ints(1, 2), F32(5), ints(-1)])
add("pad", "wrap", "Pad", 19, {"mode": "wrap"}, [X, ints(2, 4, 1, 1)])
add("pad", "wide mirror", "Pad", 18, {"mode": "reflect"}, [count(3), ints(4, 5)], trust="ref",
    expect=[np.pad(count(3), (4, 5), "reflect")])
add("pad", "bool", "Pad", 13, {}, [np.array([True]), ints(1, 1), np.array(True)])
TEXT["pad"] = """
case: counts
op: Pad 13
in: float32 [2] 1 2
in: int64 [1] 1
error: there are 1 pads for 1 axes; there must be two for each axis

case: less than nothing
op: Pad 13
in: float32 [2] 1 2
in: int64 [2] -2 -1
error: axis 0 of the output would have -1 elements

case: mode
op: Pad 13
attr: mode = "wrap"
in: float32 [2] 1 2
in: int64 [2] 1 1
error: attribute mode has a value that opset 13 does not have

case: nothing to continue
op: Pad 13
attr: mode = "edge"
in: float32 [0]
in: int64 [2] 1 1
error: axis 0 is empty

case: symbolic
op: Pad 13
in: float32 [N, H] ?
in: int64 [4] 0, 1, 0, M
out: float32 [N, H + M + 1] ?
"""
for _v, _a in ((1, {}), (11, {"mode": "CRD"}), (13, {"mode": "DCR"})):
    add("depth_to_space", "to space opset %d %s" % (_v, _a.get("mode", "")), "DepthToSpace", _v, {"blocksize": 2, **_a},
        [count(1, 8, 1, 2)])
add("depth_to_space", "to depth", "SpaceToDepth", 13, {"blocksize": 2}, [count(1, 2, 2, 4)])
TEXT["depth_to_space"] = """
case: does not divide
op: DepthToSpace 13
attr: blocksize = 2
in: float32 [1, 2, 1, 1] 1 2
error: 2 is not a multiple of 4

case: blocksize
op: SpaceToDepth 13
attr: blocksize = 0
in: float32 [1, 2, 1, 1] 1 2
error: attribute 'blocksize' is 0, but must be at least 1

case: symbolic
op: DepthToSpace 13
attr: blocksize = 2
in: float32 [N, 8, H, W] ?
out: float32 [N, 2, 2*H, 2*W] ?
"""
for _up in (0, 1):
    for _k in (None, -1, 2, 9, -9):
        add("trilu", "upper %d k %s" % (_up, _k), "Trilu", 14, {"upper": _up},
            [count(2, 3, 4, dtype=I64) + 1] + ([] if _k is None else [I64(_k)]))
TEXT["trilu"] = """
case: rank
op: Trilu 14
in: float32 [2] 1 2
error: rank 1, but needs 2
"""
add("one_hot", "last axis", "OneHot", 9, {}, [ints(0, -1, 5, 2), I64(3), np.array([0, 1], F32)], trust="ort")
add("one_hot", "first axis, float depth", "OneHot", 11, {"axis": 0}, [np.array([[1, 0]], F32), F32(2), ints(7, 9)])
TEXT["one_hot"] = """
case: symbolic
op: OneHot 11
attr: axis = 1
in: int64 [N, 3] ?
in: int64 [] 10
in: float32 [2] 0 1
out: float32 [N, 10, 3] ?

case: values
op: OneHot 11
in: int64 [1] 0
in: int64 [] 3
in: float32 [3] 0 1 2
error: vector of 2
"""
add("non_zero", "matrix", "NonZero", 13, {}, [np.array([[1, 0, -2], [0, NAN, 0]], F32)])
add("non_zero", "bool vector", "NonZero", 9, {}, [np.array([True, False, True])])
add("non_zero", "scalar", "NonZero", 13, {}, [F32(3)], expect=[np.array([[0]], I64)])
TEXT["non_zero"] = """
case: symbolic
op: NonZero 13
in: float32 [N, 3] ?
out: int64 [2, ?] ?
"""
add("compress", "rows", "Compress", 9, {"axis": 0}, [count(3, 2), np.array([False, True, True])])
add("compress", "negative axis, short condition", "Compress", 11, {"axis": -1}, [count(3, 3), np.array([False, True])])
add("compress", "elements", "Compress", 11, {}, [count(3, 2), np.array([False, True, False, True, True])])
TEXT["compress"] = """
case: symbolic
op: Compress 11
attr: axis = 0
in: float32 [N, 3] ?
in: bool [M] ?
out: float32 [?, 3] ?
"""
for _k in (-1, 0, 2, 7):
    add("eye_like", "k %d" % _k, "EyeLike", 9, {"k": _k, "dtype": TP.INT64}, [count(3, 4)])
add("eye_like", "own type", "EyeLike", 22, {}, [count(2, 2, dtype=F64)])
TEXT["eye_like"] = """
case: rank
op: EyeLike 9
in: float32 [2] 1 2
error: the input has rank 1, but must have rank 2

case: type
op: EyeLike 9
attr: dtype = 99
in: float32 [1, 1] 1
error: dtype is 99
"""
add("reverse_sequence", "time first", "ReverseSequence", 10, {"time_axis": 0, "batch_axis": 1}, [count(4, 3), ints(4, 1, 2)])
add("reverse_sequence", "batch first", "ReverseSequence", 10, {"time_axis": 1, "batch_axis": 0}, [count(2, 3, 2), ints(2, 3)])
TEXT["reverse_sequence"] = """
case: too long
op: ReverseSequence 10
in: float32 [2, 1] 1 2
in: int64 [1] 3
error: sequence_lens has length 3, which is not in [0, 2]

case: axes
op: ReverseSequence 10
attr: time_axis = 1
in: float32 [2, 1] 1 2
in: int64 [1] 1
error: must be 0 and 1
"""
add("dropout", "opset 7", "Dropout", 7, {"ratio": 0.25}, [count(2, 2)], expect=[count(2, 2)])
add("dropout", "opset 10 mask", "Dropout", 10, {}, [count(3)], outputs=2, expect=[count(3), np.ones(3, bool)])
add("dropout", "opset 13 inputs", "Dropout", 13, {}, [count(3), F32(0.75), np.array(False)], outputs=2)
add("dropout", "training without loss", "Dropout", 13, {"seed": 7}, [count(3), F32(0), np.array(True)], outputs=2)
TEXT["dropout"] = """
case: ratio
op: Dropout 13
in: float32 [1] 1
in: float32 [] 1
in: bool [] true
error: input 1 (ratio) is 1, which is not in [0, 1)
"""
add("unique", "sorted", "Unique", 11, {}, [np.array([2, 1, 1, 3, 4, 3], F32)], outputs=4)
add("unique", "in order", "Unique", 11, {"sorted": 0}, [np.array([[2, 1, 1], [3, 4, 3]], I64)], outputs=4)
add("unique", "columns", "Unique", 11, {"axis": 1}, [np.array([[1, 0, 1], [2, 0, 2]], F32)], outputs=4)
add("unique", "rows in order", "Unique", 11, {"axis": 0, "sorted": 0}, [np.array([[3, 3], [1, 2], [3, 3]], F32)], outputs=4,
    expect=[np.array([[3, 3], [1, 2]], F32), ints(0, 1), ints(0, 1, 0), ints(2, 1)])
add("unique", "strings", "Unique", 11, {}, [np.array(["b", "a", "b", ""], object)], outputs=1,
    expect=[np.array(["", "a", "b"], object)])

# ---- Types --------------------------------------------------------------------------------------
W = np.array([-300.75, -1.5, -0.0, 0.4, 1.5, 65519.0, 70000.0, 2147483648.0], F64)
for _to, _name in ((TP.FLOAT, "float32"), (TP.FLOAT16, "float16"), (TP.INT32, "int32"), (TP.INT64, "int64"),
                   (TP.BOOL, "bool")):
    for _v in (6, 13, 19):
        add("cast", "float64 to %s opset %d" % (_name, _v), "Cast", _v, {"to": _to}, [W[:7]])
add("cast", "NaN and infinities", "Cast", 13, {"to": TP.BOOL}, [np.array([NAN, INF, -INF], F32)])
add("cast", "integers wrap", "Cast", 13, {"to": TP.INT8}, [np.array([127, 128, 255, -129, 511], I32)])
add("cast", "to unsigned", "Cast", 13, {"to": TP.UINT8}, [np.array([-1, 256, 300], I64)])
add("cast", "to uint64", "Cast", 13, {"to": TP.UINT64}, [ints(-1, 5)])
add("cast", "uint64 to float", "Cast", 13, {"to": TP.DOUBLE}, [np.array([2**64 - 2048, 7], U64)])
add("cast", "int64 to float32 rounds", "Cast", 13, {"to": TP.FLOAT}, [ints(16777217, -16777219)])
add("cast", "bool to int", "Cast", 9, {"to": TP.INT32}, [np.array([True, False])])
add("cast", "bool to float", "Cast", 13, {"to": TP.FLOAT}, [np.array([True, False])])
add("cast", "strings to float", "Cast", 13, {"to": TP.FLOAT}, [np.array(["3.14", "1e-5", "-INF", "NaN", "+inf"], object)],
    expect=[np.array([3.14, 1e-5, -INF, NAN, INF], F32)])
add("cast", "strings to int", "Cast", 13, {"to": TP.INT64}, [np.array(["7", "-9223372036854775808"], object)],
    expect=[ints(7, -2**63)])
add("cast", "to strings", "Cast", 13, {"to": TP.STRING}, [np.array([0.5, 314.15926, NAN, INF, -INF, 1e20], F32)], trust="ort")
add("cast", "integers to strings", "Cast", 13, {"to": TP.STRING}, [ints(-5, 2**62)])
add("cast", "bfloat16", "Cast", 13, {"to": TP.BFLOAT16}, [np.array([1.00390625, 1.01171875, 3e38], F32)])
add("cast", "float8 saturates", "Cast", 19, {"to": TP.FLOAT8E4M3FN}, [np.array([1000, -1000, 0.3, NAN], F32)])
add("cast", "float8 does not saturate", "Cast", 19, {"to": TP.FLOAT8E5M2, "saturate": 0}, [np.array([1e6, 57344, 0.3], F32)])
TEXT["cast"] = """
case: no number
op: Cast 13
attr: to = 1
in: string [1] "hello"
error: cannot cast the string 'hello' to a number

case: no such type
op: Cast 13
attr: to = 77
in: float32 [1] 1
error: 'to' is 77

case: symbolic values
op: Cast 13
attr: to = 6
in: int64 [2] N, 3
out: int32 [2] N, 3

case: floats have no symbolic values
op: Cast 13
attr: to = 1
in: int64 [2] N, 3
out: float32 [2] ?
"""
add("cast_like", "float to int", "CastLike", 15, {}, [np.array([1.5, -2.5], F32), ints(0)])
add("cast_like", "int to bool", "CastLike", 19, {}, [ints(0, 3), np.array([True])])
