# SPDX-License-Identifier: Apache-2.0
"""The problems of bench/operators.py: a table with one entry for each, at sizes that models have.

    problem(name, operator, {input: array}, outputs=1, domain="", opset=20, **attributes)
    graph(name, [node(operator, inputs, outputs, **attributes), ...], {input: array}, outputs, opset=20)

Inputs in const() are initializers, those of None are omitted; arrays of object hold texts, which a Gather takes from an initializer. An output in `shared` (output -> input) lies in the memory of
that input, as caches of decoders do. Names begin with the operator."""
import numpy as np
from onnx import helper

OPSETS = {"com.microsoft": 1, "ai.onnx.ml": 3}
PROBLEMS = []
RANDOM = np.random.default_rng(1)


class Problem:
    def __init__(self, name, nodes, inputs, outputs, opset, shared):
        self.name, self.nodes, self.outputs, self.opset, self.shared = name, nodes, outputs, opset, shared or {}
        inputs = self.gather_texts(inputs)
        self.constants = {n: x.value for n, x in inputs.items() if isinstance(x, const)}
        self.feed = {n: x for n, x in inputs.items() if not isinstance(x, const)}


    def gather_texts(self, inputs):
        """Texts cannot be bound to memory, so a Gather takes them from a constant."""
        made = {}
        for n, x in inputs.items():
            if not isinstance(x, np.ndarray) or x.dtype != object:
                made[n] = x
                continue
            table, places = np.unique(x.ravel(), return_inverse=True)
            self.nodes = [node("Gather", [f"{n}_texts", f"{n}_at"], [n]), *self.nodes]
            made |= {f"{n}_texts": const(table), f"{n}_at": places.reshape(x.shape).astype(np.int64)}
        return made


class const:
    def __init__(self, value, dtype=np.int64):
        self.value = value if isinstance(value, np.ndarray) else np.array(value, dtype)


def node(operator, inputs, outputs, domain="", **attributes):
    return helper.make_node(operator, inputs, outputs, domain=domain, **attributes)


def graph(name, nodes, inputs, outputs, opset=20, shared=None):
    PROBLEMS.append(Problem(name, nodes, inputs, outputs, opset, shared))


def problem(name, operator, inputs, outputs=1, domain="", opset=20, shared=None, **attributes):
    names = [f"y{i}" for i in range(outputs)]
    given = [n if x is not None else "" for n, x in inputs.items()]
    graph(name, [node(operator, given, names, domain, **attributes)], {n: x for n, x in inputs.items() if x is not None}, names, opset,
          shared)


def normal(*shape):
    return RANDOM.standard_normal(shape, np.float32)


def uniform(low, high, *shape):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def ints(low, high, *shape, dtype=np.int64):
    """Integers in [low, high)."""
    return RANDOM.integers(low, high, shape, dtype)


def boxes(count, size, largest):
    """Corners (x1, y1, x2, y2) of boxes in an image of size x size."""
    corner = uniform(0, size - largest, count, 2)
    return np.concatenate([corner, corner + uniform(largest / 8, largest, count, 2)], 1).astype(np.float32)


# ---- Selection and order ----
problem("TopK: 100 of 20000", "TopK", {"x": normal(1, 20000), "k": const([100])}, 2)
problem("TopK: 1000 of 268569", "TopK", {"x": normal(1, 268569), "k": const([1000])}, 2)
problem("TopK: 5 of 1000, batch 64", "TopK", {"x": normal(64, 1000), "k": const([5])}, 2)
problem("TopK: 2 of 64 experts, 512 tokens", "TopK", {"x": normal(512, 64), "k": const([2])}, 2)
problem("TopK: 50 of 50257, smallest", "TopK", {"x": normal(1, 50257), "k": const([50])}, 2, largest=0)
problem("TopK: 100 of 20000, int64", "TopK", {"x": ints(-10**6, 10**6, 1, 20000), "k": const([100])}, 2)
problem("TopK: 16 of 300, axis 1 of 8x300x128", "TopK", {"x": normal(8, 300, 128), "k": const([16])}, 2, axis=1)
problem("TopK: whole line of 4096 sorted", "TopK", {"x": normal(8, 4096), "k": const([4096])}, 2)
problem("NonMaxSuppression: 1000 boxes, 1 class", "NonMaxSuppression", {"b": boxes(1000, 640, 80)[None], "s": uniform(0, 1, 1, 1, 1000), "k": const([100]),
                                                                    "iou": const([0.5], np.float32), "t": const([0.05], np.float32)})
problem("NonMaxSuppression: 8400 boxes, 80 classes", "NonMaxSuppression", {"b": boxes(8400, 640, 80)[None], "s": uniform(0, 1, 1, 80, 8400)**40, "k": const([100]),
                                                                       "iou": const([0.6], np.float32), "t": const([0.25], np.float32)}, center_point_box=0)
problem("NonZero: 1x512x512, a tenth", "NonZero", {"x": (uniform(0, 1, 1, 512, 512) > 0.9).astype(np.float32)})
problem("NonZero: bool 20000", "NonZero", {"x": uniform(0, 1, 20000) > 0.5})
problem("Unique: 20000 int64 of 1000, sorted", "Unique", {"x": ints(0, 1000, 20000)}, 4)
problem("Unique: 20000 floats, unsorted", "Unique", {"x": normal(20000).round(2)}, 4, sorted=0)
problem("Unique: 20000 floats, sorted, values only", "Unique", {"x": normal(20000)})
problem("Unique: 2000 rows of 4, axis 0", "Unique", {"x": ints(0, 9, 2000, 4)}, 4, axis=0)
problem("NonZero: int64 64x512", "NonZero", {"x": ints(0, 2, 64, 512)})
problem("CumSum: 1x512x768, axis 1", "CumSum", {"x": normal(1, 512, 768), "axis": const(1)})
problem("CumSum: 64x4096, last axis", "CumSum", {"x": normal(64, 4096), "axis": const(1)})
problem("CumSum: 8x2048, int64", "CumSum", {"x": ints(0, 2, 8, 2048), "axis": const(1)})
problem("ArgMax: 1x64x30522", "ArgMax", {"x": normal(1, 64, 30522)}, axis=-1, keepdims=0)
problem("ArgMax: 1x21x256x256, axis 1", "ArgMax", {"x": normal(1, 21, 256, 256)}, axis=1)

# ---- Detectors ----
problem("RoiAlign: 1000 boxes, 256x50x50 to 7x7", "RoiAlign", {"x": normal(1, 256, 50, 50), "r": boxes(1000, 800, 300), "i": np.zeros(1000, np.int64)},
        output_height=7, output_width=7, sampling_ratio=2, spatial_scale=1 / 16)
problem("RoiAlign: adaptive, 100 boxes to 14x14, max", "RoiAlign", {"x": normal(1, 64, 50, 50), "r": boxes(100, 800, 300), "i": np.zeros(100, np.int64)},
        output_height=14, output_width=14, sampling_ratio=0, spatial_scale=1 / 16, mode="max")
problem("MaxRoiPool: 300 boxes, 128x50x50 to 7x7", "MaxRoiPool", {"x": normal(1, 128, 50, 50), "r": np.concatenate([np.zeros((300, 1), np.float32), boxes(300, 800, 300)], 1)},
        pooled_shape=[7, 7], spatial_scale=1 / 16)
problem("DeformConv: 64x56x56, 3x3", "DeformConv", {"x": normal(1, 64, 56, 56), "w": const(normal(64, 64, 3, 3) / 24), "o": uniform(-2, 2, 1, 18, 56, 56), "b": const(normal(64)),
                                                    "m": uniform(0, 1, 1, 9, 56, 56)}, kernel_shape=[3, 3], pads=[1] * 4)
problem("GridSample: bilinear 1x32x128x128", "GridSample", {"x": normal(1, 32, 128, 128), "g": uniform(-1.1, 1.1, 1, 128, 128, 2)}, mode="linear")
problem("GridSample: nearest 1x32x128x128", "GridSample", {"x": normal(1, 32, 128, 128), "g": uniform(-1.1, 1.1, 1, 128, 128, 2)}, mode="nearest")
problem("GridSample: cubic, border 1x8x64x64", "GridSample", {"x": normal(1, 8, 64, 64), "g": uniform(-1.1, 1.1, 1, 64, 64, 2)}, mode="cubic", padding_mode="border")
problem("GridSample: 3-D 1x16x16x32x32", "GridSample", {"x": normal(1, 16, 16, 32, 32), "g": uniform(-1.1, 1.1, 1, 16, 32, 32, 3)}, mode="linear")
problem("GridSample: deformable attention 8x32x100x100, 900x4", "GridSample", {"x": normal(8, 32, 100, 100), "g": uniform(-1.1, 1.1, 8, 900, 4, 2)}, mode="linear")
problem("Col2Im: 576x3136 to 64x56x56", "Col2Im", {"x": normal(1, 576, 3136), "s": const([56, 56]), "b": const([3, 3])}, pads=[1] * 4)
problem("Col2Im: blocks of 16, 768x196", "Col2Im", {"x": normal(1, 768, 196), "s": const([224, 224]), "b": const([16, 16])}, strides=[16, 16])
problem("MaxUnpool: 64x56x56 to 112x112", "MaxUnpool", {"x": normal(1, 64, 56, 56),
                                                       "i": (np.arange(64 * 56)[:, None] * 2 * 112 + np.arange(56) * 2).reshape(1, 64, 56, 56).astype(np.int64)}, kernel_shape=[2, 2], strides=[2, 2])
problem("CropAndResize: 100 boxes, 64x50x50 to 14x14", "CropAndResize", {"x": normal(1, 64, 50, 50), "r": boxes(100, 1, 0.3), "i": np.zeros(100, np.int32), "s": const([14, 14], np.int32)},
        domain="com.microsoft")

# ---- Indices ----
problem("ReverseSequence: 128x32x256", "ReverseSequence", {"x": normal(128, 32, 256), "l": ints(1, 129, 32)})
problem("Trilu: upper 1x1024x1024", "Trilu", {"x": normal(1, 1024, 1024), "k": const(1)}, upper=1)
problem("Trilu: lower 8x512x512, int64", "Trilu", {"x": ints(0, 9, 8, 512, 512), "k": const(0)}, upper=0)
problem("Trilu: com.microsoft 1x1024x1024", "Trilu", {"x": normal(1, 1024, 1024), "k": const(0)}, domain="com.microsoft", upper=1)
for reduction in ("none", "add", "mul", "min", "max"):
    problem(f"ScatterND: {reduction}, 1000 rows of 4096x256", "ScatterND", {"x": normal(4096, 256), "i": ints(0, 4096, 1000, 1), "u": normal(1000, 256)}, opset=18, reduction=reduction)
    problem(f"ScatterElements: {reduction}, 128x1024, axis 1", "ScatterElements", {"x": normal(128, 1024), "i": ints(0, 1024, 128, 512), "u": normal(128, 512)}, opset=18, axis=1,
            reduction=reduction)
problem("ScatterND: add, 100000 single elements", "ScatterND", {"x": normal(512, 512), "i": ints(0, 512, 100000, 2), "u": normal(100000)}, opset=18, reduction="add")
problem("ScatterElements: add, axis 0, 10000x64", "ScatterElements", {"x": normal(1000, 64), "i": ints(0, 1000, 10000, 64), "u": normal(10000, 64)}, opset=18, axis=0, reduction="add")
problem("GatherND: 10000 of 512x512", "GatherND", {"x": normal(512, 512), "i": ints(0, 512, 10000, 2)})
problem("GatherND: 1000 rows of 4096x256", "GatherND", {"x": normal(4096, 256), "i": ints(0, 4096, 1000, 1)})
problem("GatherElements: 128x1024, axis 1", "GatherElements", {"x": normal(128, 1024), "i": ints(0, 1024, 128, 512)}, axis=1)
problem("GatherElements: 1000x64, axis 0", "GatherElements", {"x": normal(1000, 64), "i": ints(0, 1000, 1000, 64)}, axis=0)
problem("OneHot: 4096 of 128", "OneHot", {"i": ints(0, 128, 4096), "d": const([128]), "v": const([0, 1], np.float32)})
problem("OneHot: 64x64x21, axis 1", "OneHot", {"i": ints(0, 21, 1, 64, 64), "d": const([21]), "v": const([0, 1], np.float32)}, axis=1)
problem("EyeLike: 512x512", "EyeLike", {"x": normal(512, 512)})
problem("Compress: 20000 elements", "Compress", {"x": normal(20000), "c": uniform(0, 1, 20000) > 0.5})
problem("Compress: 4096x256, axis 0", "Compress", {"x": normal(4096, 256), "c": uniform(0, 1, 4096) > 0.5}, axis=0)
graph("Range: 0 to 100000", [node("Range", ["a", "b", "c"], ["y"])], {"a": const(0), "b": np.array(100000), "c": const(1)}, ["y"])
graph("Range: floats, 0 to 1000", [node("Range", ["a", "b", "c"], ["y"])], {"a": const(0, np.float32), "b": np.array(1000, np.float32), "c": const(0.5, np.float32)}, ["y"])
graph("ConstantOfShape: 512x512", [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["y"])], {"x": normal(512, 512)}, ["y"])
graph("Gather, ReduceSum: bag of 80 rows of 64, batch 128", [node("Gather", ["w", "i"], ["g"]), node("ReduceSum", ["g", "a"], ["y"], keepdims=0)],
      {"w": const(normal(100000, 64)), "i": ints(0, 100000, 128, 80), "a": const([1])}, ["y"])
graph("Gather, ReduceMean: bag of 32 rows of 128, batch 64", [node("Gather", ["w", "i"], ["g"]), node("ReduceMean", ["g", "a"], ["y"], keepdims=0)],
      {"w": const(normal(20000, 128)), "i": ints(0, 20000, 64, 32), "a": const([1])}, ["y"])

# ---- Small operators ----
GRID = normal(1, 64, 56, 56)
for op, attributes, domain in (("Shrink", {"lambd": 0.5, "bias": 0.1}, ""), ("Celu", {"alpha": 0.7}, ""), ("ThresholdedRelu", {"alpha": 0.5}, ""), ("Softplus", {}, ""), ("Mish", {}, ""),
                               ("HardSwish", {}, ""), ("HardSigmoid", {}, ""), ("Selu", {}, ""), ("Softsign", {}, ""), ("IsNaN", {}, ""), ("IsInf", {}, ""), ("Sign", {}, ""), ("Round", {}, "")):
    problem(f"{op}: 1x64x56x56", op, {"x": GRID}, domain=domain, **attributes)
    problem(f"{op}: 8x1000", op, {"x": normal(8, 1000)}, domain=domain, **attributes)
for op in ("Sin", "Cos", "Tan", "Atan", "Erf"):
    problem(f"{op}: 1x64x56x56", op, {"x": uniform(-10, 10, 1, 64, 56, 56)})
    problem(f"{op}: 8x1000", op, {"x": uniform(-10, 10, 8, 1000)})
for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    problem(f"{op}: int32 512x512", op, {"x": ints(0, 2**30, 512, 512, dtype=np.int32), "y": ints(0, 2**30, 512, 512, dtype=np.int32)})
    problem(f"{op}: int64 512x512 with one number", op, {"x": ints(0, 2**40, 512, 512), "y": np.array(255)})
problem("BitwiseNot: int32 512x512", "BitwiseNot", {"x": ints(0, 2**30, 512, 512, dtype=np.int32)})
problem("BitwiseNot: uint8 3x224x224", "BitwiseNot", {"x": ints(0, 256, 3, 224, 224, dtype=np.uint8)})
for direction in ("LEFT", "RIGHT"):
    problem(f"BitShift: {direction}, uint32 512x512", "BitShift", {"x": ints(0, 2**30, 512, 512, dtype=np.uint32), "y": np.array(3, np.uint32)}, direction=direction)
    problem(f"BitShift: {direction}, uint8 3x224x224", "BitShift", {"x": ints(0, 256, 3, 224, 224, dtype=np.uint8), "y": ints(0, 8, 3, 224, 224, dtype=np.uint8)}, direction=direction)
problem("Mod: int64 512x512 by one number", "Mod", {"x": ints(-10**6, 10**6, 512, 512), "y": np.array(7)})
problem("Mod: int32 64x1024", "Mod", {"x": ints(-10**6, 10**6, 64, 1024, dtype=np.int32), "y": ints(1, 100, 64, 1024, dtype=np.int32)})
problem("Mod: float 64x1024, fmod", "Mod", {"x": normal(64, 1024) * 100, "y": uniform(1, 9, 64, 1024)}, fmod=1)
problem("Where: 1x12x128x128, a mask of all heads", "Where", {"c": uniform(0, 1, 1, 1, 128, 128) > 0.5, "x": normal(1, 12, 128, 128), "y": np.array(-1e9, np.float32)})
problem("Where: int64 512x512", "Where", {"c": uniform(0, 1, 512, 512) > 0.5, "x": ints(0, 9, 512, 512), "y": ints(0, 9, 512, 512)})
problem("Where: float 3x224x224", "Where", {"c": uniform(0, 1, 3, 224, 224) > 0.5, "x": normal(3, 224, 224), "y": normal(3, 224, 224)})
problem("Expand: 1x1x128 to 8x128x128", "Expand", {"x": normal(1, 1, 128), "s": const([8, 128, 128])})
problem("Expand: 8x4x1x64x32 to 8x4x4x64x32", "Expand", {"x": normal(8, 4, 1, 64, 32), "s": const([8, 4, 4, 64, 32])})
problem("Expand: 256x1 to 256x256", "Expand", {"x": normal(256, 1), "s": const([256, 256])})
problem("Expand: bool 1x1x1x256 to 8x1x256x256", "Expand", {"x": uniform(0, 1, 1, 1, 1, 256) > 0.5, "s": const([8, 1, 256, 256])})
problem("Tile: 1x3x64x64, 2x1x3x3", "Tile", {"x": normal(1, 3, 64, 64), "r": const([2, 1, 3, 3])})
problem("Tile: 300x4, 1x80", "Tile", {"x": normal(300, 4), "r": const([1, 80])})
problem("Tile: int64 1x128, 8x1", "Tile", {"x": ints(0, 9, 1, 128), "r": const([8, 1])})
for mode in ("constant", "reflect", "edge", "wrap"):
    problem(f"Pad: {mode}, 1x32x56x56 by 3", "Pad", {"x": normal(1, 32, 56, 56), "p": const([0, 0, 3, 3, 0, 0, 3, 3])}, mode=mode)
    problem(f"Pad: {mode}, 1x16000 by 200", "Pad", {"x": normal(1, 16000), "p": const([0, 200, 0, 200])}, mode=mode)
problem("Slice: last axis backwards, 1x64x56x56", "Slice", {"x": GRID, "s": const([-1]), "e": const([-10**6]), "a": const([3]), "t": const([-1])})
problem("Slice: axis 1 backwards, 8x512x64", "Slice", {"x": normal(8, 512, 64), "s": const([-1]), "e": const([-10**6]), "a": const([1]), "t": const([-1])})
problem("Slice: every second of both axes, 1x64x56x56", "Slice", {"x": GRID, "s": const([0, 0]), "e": const([10**6, 10**6]), "a": const([2, 3]), "t": const([2, 2])})
for op in ("DepthToSpace", "SpaceToDepth"):
    problem(f"{op}: 1x64x56x56 by 2", op, {"x": GRID}, blocksize=2)
    problem(f"{op}: 4x48x64x64 by 4", op, {"x": normal(4, 48, 64, 64)}, blocksize=4)
problem("DepthToSpace: CRD 1x64x56x56 by 2", "DepthToSpace", {"x": GRID}, blocksize=2, mode="CRD")
for p in (1, 2):
    problem(f"LpNormalization: p {p}, 64x768", "LpNormalization", {"x": normal(64, 768)}, p=p)
    problem(f"LpNormalization: p {p}, 1x256x28x28, axis 1", "LpNormalization", {"x": normal(1, 256, 28, 28)}, p=p, axis=1)
    problem(f"LpPool: p {p}, 1x32x56x56", "LpPool", {"x": normal(1, 32, 56, 56)}, kernel_shape=[3, 3], strides=[2, 2], p=p)
    problem(f"GlobalLpPool: p {p}, 1x256x28x28", "GlobalLpPool", {"x": normal(1, 256, 28, 28)}, p=p)
problem("LRN: 1x96x27x27, 5", "LRN", {"x": normal(1, 96, 27, 27)}, size=5)
problem("LRN: 1x64x56x56, 9", "LRN", {"x": GRID}, size=9, alpha=1e-3)
problem("Det: 1000x3x3", "Det", {"x": normal(1000, 3, 3)})
problem("Det: 16x32x32", "Det", {"x": normal(16, 32, 32)})
problem("NegativeLogLikelihoodLoss: 64x1000", "NegativeLogLikelihoodLoss", {"x": normal(64, 1000), "t": ints(0, 1000, 64)})
problem("NegativeLogLikelihoodLoss: 1x21x128x128, weights", "NegativeLogLikelihoodLoss", {"x": normal(1, 21, 128, 128), "t": ints(0, 21, 1, 128, 128), "w": uniform(0, 1, 21)}, ignore_index=3)
problem("SoftmaxCrossEntropyLoss: 64x1000", "SoftmaxCrossEntropyLoss", {"x": normal(64, 1000), "t": ints(0, 1000, 64)})
problem("SoftmaxCrossEntropyLoss: 1x21x128x128", "SoftmaxCrossEntropyLoss", {"x": normal(1, 21, 128, 128), "t": ints(0, 21, 1, 128, 128)}, ignore_index=3)
problem("Size: 1x64x56x56", "Size", {"x": GRID})
problem("Shape: 1x64x56x56", "Shape", {"x": GRID})
problem("Split: 8x196x768 into 3 unequal parts", "Split", {"x": normal(8, 196, 768), "s": const([128, 512, 128])}, 3, axis=2)
problem("Split: 1x85x80x80 into 2, 2, 1, 80", "Split", {"x": normal(1, 85, 80, 80), "s": const([2, 2, 1, 80])}, 4, axis=1)
problem("Concat: 32 inputs of 1x64", "Concat", {f"x{i}": normal(1, 64) for i in range(32)}, axis=1)
problem("Concat: 24 inputs of 100x4, axis 1", "Concat", {f"x{i}": normal(100, 4) for i in range(24)}, axis=1)
problem("Concat: 60 inputs of one int64", "Concat", {f"x{i}": ints(0, 9, 1) for i in range(60)}, axis=0)
for op in ("ReduceLogSumExp", "ReduceL2", "ReduceProd", "ReduceL1", "ReduceSumSquare", "ReduceLogSum"):
    problem(f"{op}: 64x1000, last axis", op, {"x": uniform(0.9, 1.1, 64, 1000), "a": const([1])})
    problem(f"{op}: 1x256x28x28, axis 1", op, {"x": uniform(0.9, 1.1, 1, 256, 28, 28), "a": const([1])})
problem("Upsample: nearest 1x64x28x28 by 2", "Upsample", {"x": normal(1, 64, 28, 28), "s": const([1, 1, 2, 2], np.float32)}, opset=9, mode="nearest")
problem("Upsample: linear 1x64x28x28 by 2", "Upsample", {"x": normal(1, 64, 28, 28), "s": const([1, 1, 2, 2], np.float32)}, opset=9, mode="linear")
for mode in ("linear", "cubic"):
    for smooth in (0, 1):
        problem(f"Resize: {mode}{', antialias' * smooth}, 1x3x256x256 to 224x224", "Resize",
                {"x": normal(1, 3, 256, 256), "r": const([], np.float32), "s": const([], np.float32), "z": const([1, 3, 224, 224])}, mode=mode, antialias=smooth)
        problem(f"Resize: {mode}{', antialias' * smooth}, 1x3x480x640 to 160x160", "Resize",
                {"x": normal(1, 3, 480, 640), "r": const([], np.float32), "s": const([], np.float32), "z": const([1, 3, 160, 160])}, mode=mode, antialias=smooth)
problem("AffineGrid: 1x3x224x224", "AffineGrid", {"t": normal(1, 2, 3), "s": const([1, 3, 224, 224])})
problem("AffineGrid: 3-D 1x1x16x32x32", "AffineGrid", {"t": normal(1, 3, 4), "s": const([1, 1, 16, 32, 32])})
problem("CenterCropPad: 1x3x256x256 to 224x224", "CenterCropPad", {"x": normal(1, 3, 256, 256), "s": const([224, 224])}, axes=[2, 3])
problem("CenterCropPad: 1x3x200x300 to 256x256", "CenterCropPad", {"x": normal(1, 3, 200, 300), "s": const([256, 256])}, axes=[2, 3])

problem("Einsum: bhid,bhjd->bhij, 1x12x128x64", "Einsum", {"x": normal(1, 12, 128, 64), "y": normal(1, 12, 128, 64)}, equation="bhid,bhjd->bhij")
problem("Einsum: bhwc,hkc->bhwk, 4x14x14x64", "Einsum", {"x": normal(4, 14, 14, 64), "y": normal(14, 14, 64)}, equation="bhwc,hkc->bhwk")
problem("MatMul: batched vectors, 12x1024x64 by 64x1", "MatMul", {"x": normal(12, 1024, 64), "y": normal(12, 64, 1)})
problem("MatMul: batched vectors, 64x49x49 by 49x1", "MatMul", {"x": normal(64, 49, 49), "y": normal(64, 49, 1)})

# ---- Spectra ----
for length in (512, 400, 1009, 4096):
    problem(f"DFT: real onesided, 64 of {length}", "DFT", {"x": normal(64, length, 1), "n": const(length), "a": const(1)}, onesided=1)
problem("DFT: complex, 64 of 512", "DFT", {"x": normal(64, 512, 2), "n": const(512), "a": const(1)})
problem("DFT: complex inverse, 64 of 400", "DFT", {"x": normal(64, 400, 2), "n": const(400), "a": const(1)}, inverse=1)
problem("DFT: complex, axis 1 of 8x128x64", "DFT", {"x": normal(8, 128, 64, 2), "n": const(128), "a": const(1)})
hann = lambda n: (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)).astype(np.float32)
problem("STFT: 16000 samples, frames of 400, step 160", "STFT", {"x": normal(1, 16000, 1), "s": const(160), "w": const(hann(400)), "l": const(400)}, onesided=1)
problem("STFT: 48000 samples, frames of 1024, step 256", "STFT", {"x": normal(1, 48000, 1), "s": const(256), "w": const(hann(1024)), "l": const(1024)}, onesided=1)

# ---- Bytes ----
def quantised(name, operator, inputs, **attributes):
    """A problem of com.microsoft, or of onnx with domain=""."""
    problem(name, operator, inputs, **({"domain": "com.microsoft"} | attributes))


def u8(*shape):
    return ints(0, 256, *shape, dtype=np.uint8)


def i8(*shape):
    return ints(-128, 128, *shape, dtype=np.int8)


def point(scale, zero, dtype=np.uint8):
    """A scale and a zero point, as initializers."""
    return const(scale, np.float32), const(zero, dtype)


def qconv(x, w):
    """Inputs of QLinearConv: one scale for each output channel."""
    xs, xz = point(0.02, 128, x.dtype) if x.dtype == np.uint8 else point(0.02, 3, x.dtype)
    m = w.shape[0]
    depth = np.prod(w.shape[1:])
    ys, yz = point(0.02 * 0.01 * 74 * depth**0.5, 120)
    return {"x": x, "xs": xs, "xz": xz, "w": const(w), "ws": const(uniform(0.005, 0.01, m)), "wz": const(np.zeros(m, w.dtype)), "ys": ys,
            "yz": yz if x.dtype == np.uint8 else const(-3, x.dtype), "b": const(ints(-2000, 2000, m, dtype=np.int32))}


quantised("QLinearConv: channels last 1x56x56x64, 3x3", "QLinearConv", qconv(u8(1, 56, 56, 64), i8(64, 64, 3, 3)), channels_last=1, pads=[1] * 4, kernel_shape=[3, 3])
quantised("QLinearConv: channels last 1x56x56x64 to 256, 1x1", "QLinearConv", qconv(u8(1, 56, 56, 64), i8(256, 64, 1, 1)), channels_last=1, kernel_shape=[1, 1])
quantised("QLinearConv: channels last 1x14x14x256, 3x3, stride 2", "QLinearConv", qconv(u8(1, 14, 14, 256), i8(256, 256, 3, 3)), channels_last=1, pads=[1] * 4, strides=[2, 2],
          kernel_shape=[3, 3])
quantised("QLinearConv: channels last 1x224x224x3 to 64, 7x7, stride 2", "QLinearConv", qconv(u8(1, 224, 224, 3), i8(64, 3, 7, 7)), channels_last=1, pads=[3] * 4, strides=[2, 2],
          kernel_shape=[7, 7])
quantised("QLinearConv: channels last depthwise 1x56x56x96, 3x3", "QLinearConv", qconv(u8(1, 56, 56, 96), i8(96, 1, 3, 3)), channels_last=1, group=96, pads=[1] * 4, kernel_shape=[3, 3])
quantised("QLinearConv: channels last depthwise int8 1x28x28x144, 5x5, stride 2", "QLinearConv", qconv(i8(1, 28, 28, 144), i8(144, 1, 5, 5)), channels_last=1, group=144, pads=[2] * 4,
          strides=[2, 2], kernel_shape=[5, 5])
quantised("QLinearConv: channels last 32 groups, 1x56x56x128, 3x3", "QLinearConv", qconv(u8(1, 56, 56, 128), i8(128, 4, 3, 3)), channels_last=1, group=32, pads=[1] * 4, kernel_shape=[3, 3])
for domain in ("", "com.microsoft"):
    where = " of com.microsoft" if domain else ""
    quantised(f"QLinearConv{where}: 1-D 1x128x1024, 5", "QLinearConv", qconv(u8(1, 128, 1024), i8(128, 128, 5)), domain=domain, pads=[2, 2], kernel_shape=[5])
    quantised(f"QLinearConv{where}: 3-D 1x16x16x56x56 to 32, 3x3x3", "QLinearConv", qconv(u8(1, 16, 16, 56, 56), i8(32, 16, 3, 3, 3)), domain=domain, pads=[1] * 6, kernel_shape=[3, 3, 3])
    quantised(f"QLinearConv{where}: 3-D 1x3x16x112x112 to 32, stride 1x2x2", "QLinearConv", qconv(u8(1, 3, 16, 112, 112), i8(32, 3, 3, 3, 3)), domain=domain, pads=[1] * 6,
              strides=[1, 2, 2], kernel_shape=[3, 3, 3])
    quantised(f"QLinearConv{where}: 3-D depthwise 1x32x8x28x28, 3x3x3", "QLinearConv", qconv(u8(1, 32, 8, 28, 28), i8(32, 1, 3, 3, 3)), domain=domain, group=32, pads=[1] * 6,
              kernel_shape=[3, 3, 3])
quantised("QLinearConv: 2-D 64x56x56, 3x3", "QLinearConv", qconv(u8(1, 64, 56, 56), i8(64, 64, 3, 3)), domain="", pads=[1] * 4, kernel_shape=[3, 3])
quantised("QLinearConv: 32 groups, 128x56x56, 3x3", "QLinearConv", qconv(u8(1, 128, 56, 56), i8(128, 4, 3, 3)), domain="", group=32, pads=[1] * 4, kernel_shape=[3, 3])
quantised("QLinearConv: depthwise 96x56x56, 3x3", "QLinearConv", qconv(u8(1, 96, 56, 56), i8(96, 1, 3, 3)), domain="", group=96, pads=[1] * 4, kernel_shape=[3, 3])
quantised("QLinearConv: depthwise 1-D 1x256x512, 7", "QLinearConv", qconv(u8(1, 256, 512), i8(256, 1, 7)), domain="", group=256, pads=[3, 3], kernel_shape=[7])


def conv_integer(x, w):
    return {"x": x, "w": const(w), "xz": const(127, x.dtype), "wz": const(2 if w.dtype == np.int8 else 130, w.dtype)}


quantised("ConvInteger: 2-D 64x56x56, 3x3", "ConvInteger", conv_integer(u8(1, 64, 56, 56), u8(64, 64, 3, 3)), domain="", pads=[1] * 4)
quantised("ConvInteger: 1-D 1x128x1024, 5", "ConvInteger", conv_integer(u8(1, 128, 1024), u8(128, 128, 5)), domain="", pads=[2, 2])
quantised("ConvInteger: 3-D 1x16x16x56x56 to 32, 3x3x3", "ConvInteger", conv_integer(u8(1, 16, 16, 56, 56), u8(32, 16, 3, 3, 3)), domain="", pads=[1] * 6)
quantised("ConvInteger: depthwise 96x56x56, 3x3", "ConvInteger", conv_integer(u8(1, 96, 56, 56), u8(96, 1, 3, 3)), domain="", group=96, pads=[1] * 4)
quantised("ConvInteger: 32 groups, 128x56x56, 3x3", "ConvInteger", conv_integer(u8(1, 128, 56, 56), u8(128, 4, 3, 3)), domain="", group=32, pads=[1] * 4)

quantised("NhwcMaxPool: 1x112x112x64, 3x3, stride 2", "NhwcMaxPool", {"x": u8(1, 112, 112, 64)}, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
quantised("NhwcMaxPool: int8 1x56x56x24, 2x2", "NhwcMaxPool", {"x": i8(1, 56, 56, 24)}, kernel_shape=[2, 2], strides=[2, 2])


def points(x, xp, yp):
    return {"x": x, "xs": xp[0], "xz": xp[1], "ys": yp[0], "yz": yp[1]}


quantised("QLinearAveragePool: channels last 1x56x56x64, 2x2", "QLinearAveragePool", points(u8(1, 56, 56, 64), point(0.02, 128), point(0.015, 120)), kernel_shape=[2, 2], strides=[2, 2],
          channels_last=1)
quantised("QLinearAveragePool: channels last 1x28x28x192, 3x3", "QLinearAveragePool", points(u8(1, 28, 28, 192), point(0.02, 128), point(0.015, 120)), kernel_shape=[3, 3], pads=[1] * 4,
          channels_last=1)
quantised("QLinearAveragePool: 64x56x56, 2x2", "QLinearAveragePool", points(u8(1, 64, 56, 56), point(0.02, 128), point(0.015, 120)), kernel_shape=[2, 2], strides=[2, 2])
quantised("QLinearAveragePool: int8 192x28x28, 3x3", "QLinearAveragePool", points(i8(1, 192, 28, 28), point(0.02, 1, np.int8), point(0.015, -3, np.int8)), kernel_shape=[3, 3], pads=[1] * 4)
quantised("QLinearAveragePool: 3-D 16x16x28x28, 2x2x2", "QLinearAveragePool", points(u8(1, 16, 16, 28, 28), point(0.02, 128), point(0.015, 120)), kernel_shape=[2, 2, 2], strides=[2, 2, 2])
quantised("QLinearGlobalAveragePool: channels last 1x7x7x2048", "QLinearGlobalAveragePool", points(u8(1, 7, 7, 2048), point(0.02, 128), point(0.015, 120)), channels_last=1)
quantised("QLinearGlobalAveragePool: 2048x7x7", "QLinearGlobalAveragePool", points(u8(1, 2048, 7, 7), point(0.02, 128), point(0.015, 120)))
quantised("MaxPool: uint8 64x112x112, 3x3, stride 2", "MaxPool", {"x": u8(1, 64, 112, 112)}, domain="", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
quantised("MaxPool: int8 64x56x56, 2x2", "MaxPool", {"x": i8(1, 64, 56, 56)}, domain="", kernel_shape=[2, 2], strides=[2, 2])
quantised("MaxPool: uint8 256x20x20, 5x5", "MaxPool", {"x": u8(1, 256, 20, 20)}, domain="", kernel_shape=[5, 5], pads=[2] * 4)
quantised("MaxPool: int8 3-D 16x16x28x28, 2x2x2", "MaxPool", {"x": i8(1, 16, 16, 28, 28)}, domain="", kernel_shape=[2, 2, 2], strides=[2, 2, 2])


def resized(x, *scales):
    return {"x": x, "r": const([], np.float32), "s": const(scales, np.float32)}


quantised("Resize: uint8 64x28x28, nearest, twice", "Resize", resized(u8(1, 64, 28, 28), 1, 1, 2, 2), domain="", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
quantised("Resize: int8 64x28x28, nearest, half pixel, 1.5", "Resize", resized(i8(1, 64, 28, 28), 1, 1, 1.5, 1.5), domain="", mode="nearest")
quantised("Resize: uint8 64x28x28, linear, twice", "Resize", resized(u8(1, 64, 28, 28), 1, 1, 2, 2), domain="", mode="linear")
quantised("Resize: int8 64x28x28, linear, align corners", "Resize", resized(i8(1, 64, 28, 28), 1, 1, 2, 2), domain="", mode="linear", coordinate_transformation_mode="align_corners")
quantised("Resize: uint8 1x480x640x3 to half, linear", "Resize", resized(u8(1, 480, 640, 3), 1, 0.5, 0.5, 1), domain="", mode="linear")
quantised("Resize: uint8 1x3x480x640 to half, linear", "Resize", resized(u8(1, 3, 480, 640), 1, 1, 0.5, 0.5), domain="", mode="linear")
quantised("Resize: uint8 1x56x56x64, linear, twice, channels last", "Resize", resized(u8(1, 56, 56, 64), 1, 2, 2, 1), domain="", mode="linear")

SOFTMAX = ["x", "xs", "xz", "ys", "yz"]
graph("QLinearSoftmax: 12x128x128", [node("QLinearSoftmax", SOFTMAX, ["y"], "com.microsoft", opset=13, axis=-1)], points(u8(12, 128, 128), point(0.05, 128), point(1 / 256, 0)), ["y"])
graph("QLinearSoftmax: int8 1x1000", [node("QLinearSoftmax", SOFTMAX, ["y"], "com.microsoft", opset=13, axis=-1)], points(i8(1, 1000), point(0.05, 3, np.int8), point(1 / 256, -128, np.int8)), ["y"])
graph("QLinearSoftmax: 1x21x64x64, axis 1", [node("QLinearSoftmax", SOFTMAX, ["y"], "com.microsoft", opset=13, axis=1)], points(u8(1, 21, 64, 64), point(0.05, 128), point(1 / 256, 0)), ["y"])


def two(a, b):
    dtype = a.dtype
    (p, q), (r, s), (t, v) = point(0.02, 120 if dtype == np.uint8 else 3, dtype), point(0.03, 100 if dtype == np.uint8 else -5, dtype), point(0.05, 128 if dtype == np.uint8 else 1, dtype)
    return {"a": a, "as": p, "az": q, "b": b, "bs": r, "bz": s, "ys": t, "yz": v}


quantised("QLinearWhere: 12x128x128", "QLinearWhere", {"c": uniform(0, 1, 12, 128, 128) > 0.5} | two(u8(12, 128, 128), u8(12, 128, 128)))
quantised("QLinearWhere: mask 1x1x128x128, scalar", "QLinearWhere", {"c": uniform(0, 1, 1, 1, 128, 128) > 0.5} | two(u8(1, 12, 128, 128), u8(1)))
quantised("QLinearAdd: 64x56x56", "QLinearAdd", two(u8(1, 64, 56, 56), u8(1, 64, 56, 56)))
quantised("QLinearAdd: int8 128x768, row", "QLinearAdd", two(i8(1, 128, 768), i8(768)))
quantised("QLinearMul: 64x56x56, one for each channel", "QLinearMul", two(u8(1, 64, 56, 56), u8(1, 64, 1, 1)))
quantised("QLinearLeakyRelu: 64x56x56", "QLinearLeakyRelu", points(u8(1, 64, 56, 56), point(0.02, 128), point(0.02, 30)), alpha=0.1)
quantised("QLinearSigmoid: 64x56x56", "QLinearSigmoid", points(u8(1, 64, 56, 56), point(0.02, 128), point(1 / 256, 0)))
quantised("QLinearConcat: two of 64x56x56, axis 1", "QLinearConcat", {"ys": point(0.02, 128)[0], "yz": point(0.02, 128)[1], "a": u8(1, 64, 56, 56), "as": point(0.03, 128)[0], "az": point(0, 120)[1],
                                                                      "b": u8(1, 64, 56, 56), "bs": point(0.02, 128)[0], "bz": point(0, 128)[1]}, axis=1)
quantised("QLinearConcat: channels last, 64 and 32", "QLinearConcat", {"ys": point(0.02, 128)[0], "yz": point(0.02, 128)[1], "a": u8(1, 56, 56, 64), "as": point(0.03, 128)[0], "az": point(0, 120)[1],
                                                                       "b": u8(1, 56, 56, 32), "bs": point(0.025, 128)[0], "bz": point(0, 128)[1]}, axis=3)
quantised("QGemm: 128x768x768", "QGemm", {"a": u8(128, 768), "as": point(0.02, 128)[0], "az": point(0, 128)[1], "b": const(i8(768, 768)), "bs": const(uniform(0.005, 0.01, 768)),
                                          "bz": const(np.zeros(768, np.int8)), "c": const(ints(-1000, 1000, 768, dtype=np.int32)), "ys": point(0.3, 0)[0], "yz": point(0, 120)[1]})
quantised("QGemm: 1x2048x1000, transB", "QGemm", {"a": u8(1, 2048), "as": point(0.02, 128)[0], "az": point(0, 128)[1], "b": const(i8(1000, 2048)), "bs": const(uniform(0.005, 0.01, 1000)),
                                                  "bz": const(np.zeros(1000, np.int8)), "c": const(ints(-1000, 1000, 1000, dtype=np.int32)), "ys": point(0.5, 0)[0], "yz": point(0, 120)[1]}, transB=1)
quantised("QLinearMatMul: 12x128x64 by 12x64x128", "QLinearMatMul", {"a": u8(12, 128, 64), "as": point(0.02, 128)[0], "az": point(0, 128)[1], "b": u8(12, 64, 128), "bs": point(0.02, 0)[0],
                                                                     "bz": point(0, 128)[1], "ys": point(0.1, 0)[0], "yz": point(0, 120)[1]}, domain="")
quantised("DynamicQuantizeMatMul: 128x768x768", "DynamicQuantizeMatMul", {"a": normal(128, 768), "b": const(u8(768, 768)), "bs": const(0.01, np.float32), "bz": const(128, np.uint8),
                                                                          "c": const(normal(768))})
quantised("DynamicQuantizeMatMul: 1x768x3072, by column", "DynamicQuantizeMatMul", {"a": normal(1, 768), "b": const(i8(768, 3072)), "bs": const(uniform(0.005, 0.01, 3072)), "bz": const(np.zeros(3072, np.int8))})
quantised("MatMulIntegerToFloat: 128x768x768", "MatMulIntegerToFloat", {"a": u8(128, 768), "b": const(i8(768, 768)), "as": point(0.02, 0)[0], "bs": const(uniform(0.005, 0.01, 768)), "az": point(0, 128)[1],
                                                                        "bz": const(np.zeros(768, np.int8)), "c": const(normal(768))})
quantised("MatMulInteger: 128x768x768", "MatMulInteger", {"a": u8(128, 768), "b": const(i8(768, 768)), "az": const(128, np.uint8)}, domain="")
quantised("MatMul: int32 128x256 by 256x128", "MatMul", {"a": ints(-99, 99, 128, 256, dtype=np.int32), "b": ints(-99, 99, 256, 128, dtype=np.int32)}, domain="")
quantised("MatMul: int64 64x64 by 64x64", "MatMul", {"a": ints(-99, 99, 64, 64), "b": ints(-99, 99, 64, 64)}, domain="")
quantised("MatMul: outer product 12x1024x1 by 1x1024", "MatMul", {"a": normal(12, 1024, 1), "b": normal(12, 1, 1024)}, domain="")
quantised("MatMul: outer product 512x1 by 1x512", "MatMul", {"a": normal(512, 1), "b": normal(1, 512)}, domain="")
problem("Transpose: float 64x56x56 to channels last", "Transpose", {"x": normal(1, 64, 56, 56)}, perm=[0, 2, 3, 1])
problem("Transpose: float 768x3072", "Transpose", {"x": normal(768, 3072)}, perm=[1, 0])
problem("Transpose: float 1024x1024", "Transpose", {"x": normal(1024, 1024)}, perm=[1, 0])
quantised("Transpose: uint8 64x56x56 to channels last", "Transpose", {"x": u8(1, 64, 56, 56)}, domain="", perm=[0, 2, 3, 1])
quantised("Transpose: int8 56x56x64 to channels first", "Transpose", {"x": i8(1, 56, 56, 64)}, domain="", perm=[0, 3, 1, 2])
quantised("Transpose: uint8 1x128x12x64, heads", "Transpose", {"x": u8(1, 128, 12, 64)}, domain="", perm=[0, 2, 1, 3])
quantised("Transpose: uint8 480x640x3 image", "Transpose", {"x": u8(1, 480, 640, 3)}, domain="", perm=[0, 3, 1, 2])
quantised("ReduceMax: uint8 64x3136, last axis", "ReduceMax", {"x": u8(64, 3136), "a": const([1])}, domain="", keepdims=0)
quantised("ReduceMin: int8 64x3136, last axis", "ReduceMin", {"x": i8(64, 3136), "a": const([1])}, domain="", keepdims=0)
quantised("ReduceMax: int8 196x768, axis 0", "ReduceMax", {"x": i8(196, 768), "a": const([0])}, domain="", keepdims=0)
quantised("ReduceMax: uint8, all of 64x56x56", "ReduceMax", {"x": u8(1, 64, 56, 56)}, domain="", keepdims=0)
quantised("ArgMax: uint8 21x128x128, axis 1", "ArgMax", {"x": u8(1, 21, 128, 128)}, domain="", axis=1)
quantised("ArgMax: uint8 64x1000, last axis", "ArgMax", {"x": u8(64, 1000)}, domain="", axis=-1, keepdims=0)
quantised("ArgMin: int8 64x1000, last axis", "ArgMin", {"x": i8(64, 1000)}, domain="", axis=-1, keepdims=0)
quantised("Hardmax: 64x1000", "Hardmax", {"x": normal(64, 1000)}, domain="", axis=-1)
quantised("Hardmax: 1x21x64x64, axis 1", "Hardmax", {"x": normal(1, 21, 64, 64)}, domain="", axis=1)
quantised("Tanh: 128x3072", "Tanh", {"x": normal(128, 3072)}, domain="")
quantised("Tanh: 1x768", "Tanh", {"x": normal(1, 768)}, domain="")
quantised("QuantizeLinear: 64x56x56 to uint8", "QuantizeLinear", {"x": normal(1, 64, 56, 56), "s": point(0.02, 0)[0], "z": point(0, 128)[1]}, domain="")
quantised("DequantizeLinear: uint8 64x56x56", "DequantizeLinear", {"x": u8(1, 64, 56, 56), "s": point(0.02, 0)[0], "z": point(0, 128)[1]}, domain="")
quantised("DynamicQuantizeLinear: 128x768", "DynamicQuantizeLinear", {"x": normal(128, 768)}, outputs=3, domain="")


# ---- Convolutions ----
def conv(name, batch, channels, size, out, kernel, stride=1, group=1, dilation=1, pad=None, operator="Conv", **attributes):
    """A convolution with bias. size: sizes of the image; kernel, stride, dilation and pad are those of all axes, unless they are lists."""
    rank = len(size)
    kernel, stride, dilation = (x if isinstance(x, list) else [x] * rank for x in (kernel, stride, dilation))
    pad = [(k - 1) * d // 2 for k, d in zip(kernel, dilation)] if pad is None else [pad] * rank
    shape = [channels, out // group] if operator == "ConvTranspose" else [out, channels // group]
    w = normal(*shape, *kernel) / np.sqrt(channels // group * np.prod(kernel)).astype(np.float32)
    problem(f"{operator}: {name}, batch {batch}", operator, {"x": normal(batch, channels, *size), "w": const(w), "b": const(normal(out))}, kernel_shape=kernel, strides=stride, pads=pad * 2,
            group=group, dilations=dilation, **attributes)


for batch in (1, 8):
    for name, channels, size, kernel, stride in (("MobileNet 32", 32, 112, 3, 1), ("MobileNet 96 stride 2", 96, 112, 3, 2), ("MobileNet 144", 144, 56, 3, 1), ("MobileNet 384", 384, 14, 3, 1),
                                                 ("MobileNet 960", 960, 7, 3, 1), ("EfficientNet 240 5x5", 240, 28, 5, 1), ("EfficientNet 672 5x5 stride 2", 672, 14, 5, 2), ("ConvNeXt 96 7x7", 96, 56, 7, 1),
                                                 ("ConvNeXt 384 7x7", 384, 14, 7, 1), ("FastViT 48 7x7 stride 2", 48, 64, 7, 2), ("RepLK 128 31x31", 128, 28, 31, 1)):
        conv(f"depthwise {name}", batch, channels, [size, size], channels, kernel, stride, channels)
    conv("depthwise 64 to 128, 3x3 stride 2", batch, 64, [56, 56], 128, 3, 2, 64)
    conv("grouped ResNeXt 128, 32x4d", batch, 128, [56, 56], 128, 3, 1, 32)
    conv("grouped ResNeXt 256, 32x8 stride 2", batch, 256, [56, 56], 256, 3, 2, 32)
    conv("grouped ResNeXt 1024, 32x32", batch, 1024, [7, 7], 1024, 3, 1, 32)
    conv("grouped RegNet 208, 16 each", batch, 208, [28, 28], 208, 3, 1, 13)
    conv("grouped RegNet 48, 24 each", batch, 48, [28, 28], 48, 3, 1, 2)
    conv("grouped 2 each", batch, 64, [56, 56], 64, 3, 1, 32)
    conv("grouped ShuffleNet 1x1, 3 groups", batch, 240, [28, 28], 60, 1, 1, 3)
    conv("grouped 12 each, 5x5", batch, 96, [28, 28], 96, 5, 1, 8)
    conv("3-D r3d 3 to 64, stem", batch, 3, [8, 56, 56], 64, [3, 7, 7], [1, 2, 2])
    conv("3-D r3d 64, 3x3x3", batch, 64, [8, 28, 28], 64, 3)
    conv("3-D r2plus1d 64 to 144, 1x3x3", batch, 64, [8, 28, 28], 144, [1, 3, 3])
    conv("3-D r2plus1d 144 to 64, 3x1x1", batch, 144, [8, 28, 28], 64, [3, 1, 1])
    conv("3-D 256 to 512, 3x3x3 stride 2", batch, 256, [4, 14, 14], 512, 3, 2)
    conv("3-D 1x1x1 64 to 256", batch, 64, [8, 28, 28], 256, 1)
    conv("3-D depthwise 64, 3x3x3", batch, 64, [8, 28, 28], 64, 3, 1, 64)
    conv("3-D UNet 16, 3x3x3", batch, 16, [32, 32, 32], 16, 3)
    conv("1-D WaveNet 64, dilation 16", batch, 64, [4096], 128, 3, 1, 1, 16)
    conv("1-D WaveNet 128, 2 taps, dilation 512", batch, 128, [4096], 128, 2, 1, 1, 512, pad=0)
    conv("1-D HiFi-GAN 128, 11 taps, dilation 5", batch, 128, [1024], 128, 11, 1, 1, 5)
    conv("1-D wav2vec stem 1 to 512, 10 taps stride 5", batch, 1, [16000], 512, 10, 5, pad=0)
    conv("1-D wav2vec positions 768, 16 groups of 48, 128 taps", batch, 768, [49], 768, 128, 1, 16)
    conv("1-D Conformer depthwise 256, 31 taps", batch, 256, [200], 256, 31, 1, 256)
    conv("1-D Mamba depthwise 1536, 4 taps", batch, 1536, [128], 1536, 4, 1, 1536, pad=3)
    conv("dilated DeepLab 256, 3x3 dilation 12", batch, 256, [28, 28], 256, 3, 1, 1, 12)
    conv("dilated depthwise 128, 3x3 dilation 2", batch, 128, [28, 28], 128, 3, 1, 128, 2)
    conv("dilated 64, 3x3 dilation 2", batch, 64, [56, 56], 64, 3, 1, 1, 2)
    conv("UNet 128 to 64, 2x2 stride 2", batch, 128, [32, 32], 64, 2, 2, pad=0, operator="ConvTranspose")
    conv("UNet 512 to 256, 2x2 stride 2", batch, 512, [14, 14], 256, 2, 2, pad=0, operator="ConvTranspose")
    conv("DCGAN 512 to 256, 4x4 stride 2", batch, 512, [8, 8], 256, 4, 2, pad=1, operator="ConvTranspose")
    conv("DCGAN 64 to 3, 4x4 stride 2", batch, 64, [32, 32], 3, 4, 2, pad=1, operator="ConvTranspose")
    conv("3x3 stride 2, 64 to 32", batch, 64, [28, 28], 32, 3, 2, pad=1, operator="ConvTranspose", output_padding=[1, 1])
    conv("3x3 stride 1, 64", batch, 64, [28, 28], 64, 3, 1, pad=1, operator="ConvTranspose")
    conv("depthwise 64, 4x4 stride 2", batch, 64, [28, 28], 64, 4, 2, 64, pad=1, operator="ConvTranspose")
    conv("1-D HiFi-GAN 256 to 128, 16 taps stride 8", batch, 256, [128], 128, 16, 8, pad=4, operator="ConvTranspose")
    conv("3-D UNet 64 to 32, 2x2x2 stride 2", batch, 64, [8, 8, 8], 32, 2, 2, pad=0, operator="ConvTranspose")

for share in (0, 0.01, 1):
    x = normal(1, 64, 56, 56)
    x[uniform(0, 1, *x.shape) < share] = np.nan
    problem(f"Conv: 3x3 64, {share:.0%} NaN", "Conv", {"x": x, "w": const(normal(64, 64, 3, 3) / 24), "b": const(normal(64))}, kernel_shape=[3, 3], pads=[1] * 4)

# ---- Normalisations ----
problem("MeanVarianceNormalization: 1x64x56x56", "MeanVarianceNormalization", {"x": normal(1, 64, 56, 56)})
problem("MeanVarianceNormalization: 8x64x28x28", "MeanVarianceNormalization", {"x": normal(8, 64, 28, 28)})
problem("MeanVarianceNormalization: 4x32x28x28, axes 1 to 3", "MeanVarianceNormalization", {"x": normal(4, 32, 28, 28)}, axes=[1, 2, 3])
problem("InstanceNormalization: 1x64x56x56", "InstanceNormalization", {"x": normal(1, 64, 56, 56), "s": const(normal(64)), "b": const(normal(64))})
problem("InstanceNormalization: 3-D 1x32x16x32x32", "InstanceNormalization", {"x": normal(1, 32, 16, 32, 32), "s": const(normal(32)), "b": const(normal(32))})
for width in (24, 40, 96, 192, 768):
    problem(f"LayerNormalization: 1024x{width}", "LayerNormalization", {"x": normal(1024, width), "s": const(normal(width)), "b": const(normal(width))})
for width in (9, 16, 49, 197):
    problem(f"Softmax: 1024x{width}", "Softmax", {"x": normal(1024, width)})
problem("GroupNormalization: 1x128x32x32, 32 groups", "GroupNormalization", {"x": normal(1, 128, 32, 32), "s": const(normal(128)), "b": const(normal(128))}, opset=21, num_groups=32)
problem("GridSample: spatial transformer 8x1x28x28", "GridSample", {"x": normal(8, 1, 28, 28), "g": uniform(-1.1, 1.1, 8, 28, 28, 2)}, mode="linear")
problem("GridSample: image 1x3x256x256, border", "GridSample", {"x": normal(1, 3, 256, 256), "g": uniform(-1.1, 1.1, 1, 256, 256, 2)}, mode="linear", padding_mode="border", align_corners=1)
problem("GridSample: cubic 1x3x128x128", "GridSample", {"x": normal(1, 3, 128, 128), "g": uniform(-1.1, 1.1, 1, 128, 128, 2)}, mode="cubic")
# ---- Attention ----
for batch, rows, past in ((1, 128, 0), (8, 128, 0), (1, 512, 0), (1, 1, 128), (1, 1, 1024), (4, 1, 512)):
    cache = {"p": normal(2, batch, 12, past, 64)} if past else {"": None}
    inputs = {"x": normal(batch, rows, 768), "w": const(normal(768, 2304) / 28), "b": const(normal(2304)), "m": np.ones((batch, past + rows), np.int32), **cache}
    graph(f"Attention: com.microsoft, {batch}x{rows}x768, 12 heads, past {past}",
          [node("Attention", list(inputs), ["y", "present"] if past else ["y"], "com.microsoft", num_heads=12, unidirectional=int(past > 0))],
          {n: x for n, x in inputs.items() if n}, ["y", "present"] if past else ["y"])
for heads, rows, size in ((4, 24, 32), (4, 100, 32), (4, 146, 32), (12, 197, 64), (256, 16, 8), (192, 49, 32)):
    shape = (1, heads, rows, size)
    graph(f"Attention: short, {heads} heads, {rows}x{size}",
          [node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]), node("MatMul", ["q", "t"], ["a"]), node("Mul", ["a", "s"], ["b"]),
           node("Add", ["b", "m"], ["c"]), node("Softmax", ["c"], ["p"]), node("MatMul", ["p", "v"], ["y"])],
          {"q": normal(*shape), "k": normal(*shape), "v": normal(*shape), "s": const(np.array(size ** -0.5, np.float32)), "m": normal(1, 1, rows, rows)}, ["y"])
problem("Attention: QAttention, 1x128x768, 12 heads", "QAttention", {"x": ints(0, 256, 1, 128, 768, dtype=np.uint8), "w": const(ints(-127, 128, 768, 2304, dtype=np.int8)), "b": const(normal(2304)),
                                                                  "xs": const(np.array(0.02, np.float32)), "ws": const(np.array(0.002, np.float32)), "m": np.array([128], np.int32),
                                                                  "xz": const(np.array(128, np.uint8)), "wz": const(np.array(0, np.int8))}, domain="com.microsoft", num_heads=12)
for batch, rows, past in ((1, 128, 0), (1, 1, 512)):
    inputs = {"q": normal(batch, rows, 768), "k": normal(batch, rows, 768), "v": normal(batch, rows, 768)}
    cache = {"pk": normal(batch, 12, past, 64), "pv": normal(batch, 12, past, 64)} if past else {}
    results = ["y", "present_k", "present_v"] if past else ["y"]
    graph(f"MultiHeadAttention: {batch}x{rows}x768, 12 heads, past {past}",
          [node("MultiHeadAttention", [*inputs, *(["", "", ""] if past else []), *cache], results, "com.microsoft", num_heads=12)], inputs | cache, results)
angles = np.outer(np.arange(2048), 1e4 ** (-np.arange(32) / 32)).astype(np.float32)
for batch, rows in ((1, 128), (8, 1)):
    tables = {"p": np.tile(np.arange(rows), (batch, 1)), "c": const(np.cos(angles)), "s": const(np.sin(angles))}
    problem(f"RotaryEmbedding: com.microsoft, {batch}x32x{rows}x64", "RotaryEmbedding", {"x": normal(batch, 32, rows, 64), **tables}, domain="com.microsoft")
    problem(f"RotaryEmbedding: {batch}x32x{rows}x64", "RotaryEmbedding", {"x": normal(batch, 32, rows, 64), "c": tables["c"], "s": tables["s"], "p": tables["p"]}, opset=23)

# ---- Experts, and weights of a few bits ----
for tokens in (1, 128):
    scores = normal(tokens, 8)
    problem(f"MoE: {tokens} tokens, 2 of 8 experts of 256 to 512", "MoE",
            {"x": normal(tokens, 256), "r": scores, "w1": const(normal(8, 512, 256) / 16), "b1": const(normal(8, 512)), "w2": const(normal(8, 256, 512) / 23), "b2": const(normal(8, 256))},
            domain="com.microsoft", k=2, activation_type="silu", normalize_routing_weights=1)
    graph(f"QMoE: {tokens} tokens, 2 of 8 experts of 256 to 512, 4 bits in blocks of 32",
          [node("QMoE", ["x", "r", "w1", "s1", "", "w2", "s2"], ["y"], "com.microsoft", k=2, activation_type="silu", expert_weight_bits=4, block_size=32)],
          {"x": normal(tokens, 256), "r": scores, "w1": const(u8(8, 512, 128)), "s1": const(uniform(0.005, 0.01, 8, 512, 8)), "w2": const(u8(8, 256, 256)),
           "s2": const(uniform(0.005, 0.01, 8, 256, 16))}, ["y"])
problem("GatherBlockQuantized: 128 of 32000 rows of 768, 4 bits", "GatherBlockQuantized",
        {"w": const(u8(32000, 384)), "i": ints(0, 32000, 1, 128), "s": const(uniform(0.005, 0.01, 32000, 24))}, domain="com.microsoft", block_size=32, bits=4)
problem("GatherBlockQuantized: 1 of 32000 rows of 2048, 4 bits, zero points", "GatherBlockQuantized",
        {"w": const(u8(32000, 1024)), "i": ints(0, 32000, 1, 1), "s": const(uniform(0.005, 0.01, 32000, 64)), "z": const(u8(32000, 32))}, domain="com.microsoft", block_size=32, bits=4)
for rows, batch, width, hidden, directions in ((128, 1, 64, 128, 1), (32, 8, 256, 256, 1), *((n, 1, h, h, d) for h in (128, 256, 512) for n in (1, 64) for d in (1, 2))):
    zeros, scales = const(np.zeros(directions, np.int8)), const(np.full(directions, 0.002, np.float32))
    graph(f"DynamicQuantizeLSTM: {rows}x{batch}x{width}, {hidden} units, {directions} direction{'s' * (directions > 1)}",
          [node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "rs", "rz"], ["y", "h", "c"], "com.microsoft", hidden_size=hidden,
                direction="bidirectional" if directions > 1 else "forward")],
          {"x": normal(rows, batch, width), "w": const(i8(directions, width, 4 * hidden)), "r": const(i8(directions, hidden, 4 * hidden)),
           "b": const(normal(directions, 8 * hidden)), "ws": scales, "wz": zeros, "rs": scales, "rz": zeros}, ["y", "h", "c"])
