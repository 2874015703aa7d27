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
problem("Compress: 4096x256, axis 0", "Compress", {"x": normal(4096, 256), "c": uniform(0, 1, 4096) > 0.5}, axis=0)
graph("Range: 0 to 100000", [node("Range", ["a", "b", "c"], ["y"])], {"a": const(0), "b": np.array(100000), "c": const(1)}, ["y"])
graph("ConstantOfShape: 512x512", [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["y"])], {"x": normal(512, 512)}, ["y"])
graph("Gather, ReduceSum: bag of 80 rows of 64, batch 128", [node("Gather", ["w", "i"], ["g"]), node("ReduceSum", ["g", "a"], ["y"], keepdims=0)],
      {"w": const(normal(100000, 64)), "i": ints(0, 100000, 128, 80), "a": const([1])}, ["y"])
graph("Gather, ReduceMean: bag of 32 rows of 128, batch 64", [node("Gather", ["w", "i"], ["g"]), node("ReduceMean", ["g", "a"], ["y"], keepdims=0)],
      {"w": const(normal(20000, 128)), "i": ints(0, 20000, 64, 32), "a": const([1])}, ["y"])

# ---- Spectra ----
for length in (512, 400, 1009, 4096):
    problem(f"DFT: real onesided, 64 of {length}", "DFT", {"x": normal(64, length, 1), "n": const(length), "a": const(1)}, onesided=1)
problem("DFT: complex, 64 of 512", "DFT", {"x": normal(64, 512, 2), "n": const(512), "a": const(1)})
problem("DFT: complex inverse, 64 of 400", "DFT", {"x": normal(64, 400, 2), "n": const(400), "a": const(1)}, inverse=1)
problem("DFT: complex, axis 1 of 8x128x64", "DFT", {"x": normal(8, 128, 64, 2), "n": const(128), "a": const(1)})
hann = lambda n: (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)).astype(np.float32)
problem("STFT: 16000 samples, frames of 400, step 160", "STFT", {"x": normal(1, 16000, 1), "s": const(160), "w": const(hann(400)), "l": const(400)}, onesided=1)
problem("STFT: 48000 samples, frames of 1024, step 256", "STFT", {"x": normal(1, 48000, 1), "s": const(256), "w": const(hann(1024)), "l": const(1024)}, onesided=1)


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


# ---- Normalisations ----
problem("MeanVarianceNormalization: 1x64x56x56", "MeanVarianceNormalization", {"x": normal(1, 64, 56, 56)})
problem("MeanVarianceNormalization: 8x64x28x28", "MeanVarianceNormalization", {"x": normal(8, 64, 28, 28)})
problem("MeanVarianceNormalization: 4x32x28x28, axes 1 to 3", "MeanVarianceNormalization", {"x": normal(4, 32, 28, 28)}, axes=[1, 2, 3])
problem("InstanceNormalization: 1x64x56x56", "InstanceNormalization", {"x": normal(1, 64, 56, 56), "s": const(normal(64)), "b": const(normal(64))})
problem("InstanceNormalization: 3-D 1x32x16x32x32", "InstanceNormalization", {"x": normal(1, 32, 16, 32, 32), "s": const(normal(32)), "b": const(normal(32))})
problem("GroupNormalization: 1x128x32x32, 32 groups", "GroupNormalization", {"x": normal(1, 128, 32, 32), "s": const(normal(128)), "b": const(normal(128))}, opset=21, num_groups=32)
problem("GridSample: spatial transformer 8x1x28x28", "GridSample", {"x": normal(8, 1, 28, 28), "g": uniform(-1.1, 1.1, 8, 28, 28, 2)}, mode="linear")
problem("GridSample: image 1x3x256x256, border", "GridSample", {"x": normal(1, 3, 256, 256), "g": uniform(-1.1, 1.1, 1, 256, 256, 2)}, mode="linear", padding_mode="border", align_corners=1)
problem("GridSample: cubic 1x3x128x128", "GridSample", {"x": normal(1, 3, 128, 128), "g": uniform(-1.1, 1.1, 1, 128, 128, 2)}, mode="cubic")
