# SPDX-License-Identifier: Apache-2.0
"""The problems of bench/operators.py: a table with one entry for each, at sizes that models have.

    problem(name, operator, {input: array}, outputs=1, domain="", opset=20, **attributes)
    graph(name, [node(operator, inputs, outputs, **attributes), ...], {input: array}, outputs, opset=20)

Inputs in const() are initializers. Names begin with the operator."""
import numpy as np
from onnx import helper

OPSETS = {"com.microsoft": 1, "ai.onnx.ml": 3}
PROBLEMS = []
RANDOM = np.random.default_rng(1)


class Problem:
    def __init__(self, name, nodes, inputs, outputs, opset):
        self.name, self.nodes, self.outputs, self.opset = name, nodes, outputs, opset
        self.constants = {n: x.value for n, x in inputs.items() if isinstance(x, const)}
        self.feed = {n: x for n, x in inputs.items() if not isinstance(x, const)}


class const:
    def __init__(self, value, dtype=np.int64):
        self.value = value if isinstance(value, np.ndarray) else np.array(value, dtype)


def node(operator, inputs, outputs, domain="", **attributes):
    return helper.make_node(operator, inputs, outputs, domain=domain, **attributes)


def graph(name, nodes, inputs, outputs, opset=20):
    PROBLEMS.append(Problem(name, nodes, inputs, outputs, opset))


def problem(name, operator, inputs, outputs=1, domain="", opset=20, **attributes):
    names = [f"y{i}" for i in range(outputs)]
    graph(name, [node(operator, list(inputs), names, domain, **attributes)], inputs, names, opset)


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

# ---- Spectra ----
for length in (512, 400, 1009, 4096):
    problem(f"DFT: real onesided, 64 of {length}", "DFT", {"x": normal(64, length, 1), "n": const(length), "a": const(1)}, onesided=1)
problem("DFT: complex, 64 of 512", "DFT", {"x": normal(64, 512, 2), "n": const(512), "a": const(1)})
problem("DFT: complex inverse, 64 of 400", "DFT", {"x": normal(64, 400, 2), "n": const(400), "a": const(1)}, inverse=1)
problem("DFT: complex, axis 1 of 8x128x64", "DFT", {"x": normal(8, 128, 64, 2), "n": const(128), "a": const(1)})
hann = lambda n: (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)).astype(np.float32)
problem("STFT: 16000 samples, frames of 400, step 160", "STFT", {"x": normal(1, 16000, 1), "s": const(160), "w": const(hann(400)), "l": const(400)}, onesided=1)
problem("STFT: 48000 samples, frames of 1024, step 256", "STFT", {"x": normal(1, 48000, 1), "s": const(256), "w": const(hann(1024)), "l": const(1024)}, onesided=1)
