#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The operators of com.microsoft and TensorRT against ONNX Runtime: contrib.py LIBRARY_FOLDER WORK_FOLDER

Models of one node are built in several configurations per operator, run by ONNX Runtime's CPU provider and by the reference
(node_runner.c), and compared. Where the two must differ, DISAGREEMENTS says why. What that provider does not have is computed here
with NumPy from the operator's published definition.
`contrib.py --write FOLDER OPERATOR...` writes the cases of operators in the form of tests/ops instead.
"""
import fnmatch
import math
import os
import re
import shutil
import subprocess
import sys
import zlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

import contrib_more
import contrib_ordered
import contrib_recent
import contrib_streams

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MS = "com.microsoft"
BY_HAND = "# By hand:"  # what follows in a file of cases is kept

# Opset of the default domain for operators that later ones lack or define otherwise.
OPSETS = {"LayerNormalization": 11, "Affine": 9, "ScaledTanh": 9, "ParametricSoftplus": 9, "Scale": 9, "ImageScaler": 9, "Crop": 9, "DynamicSlice": 9}
# pattern of `operator/case`: reason
DISAGREEMENTS = {
}

CASES = []


class Case:
    def __init__(self, op, name, attrs, inputs, outputs, tolerance, domain, expected):
        self.expected = expected
        self.op, self.name, self.attrs, self.inputs, self.domain = op, name, attrs, inputs, domain
        self.outputs, self.tolerance = outputs, tolerance
        self.label = f"{op}/{name}"


def case(op, name, inputs, outputs=1, tolerance=1e-5, domain=MS, expected=None, **attrs):
    """outputs: how many, or a list of flags: which are looked at. expected: values from here, where ONNX Runtime has no kernel."""
    if expected is not None:
        outputs = len(expected)
    wanted = [True] * outputs if isinstance(outputs, int) else outputs
    CASES.append(Case(op, name, attrs, inputs, wanted, tolerance, domain, expected))


class Source:
    """Numbers that are exact in a few digits, the same in every run."""

    def __init__(self, name):
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))

    def f(self, *shape, dtype=np.float32, scale=1.0):
        return (self.rng.integers(-16, 17, shape) / 8 * scale).astype(dtype)

    def pos(self, *shape, dtype=np.float32):
        return (self.rng.integers(1, 17, shape) / 16).astype(dtype)

    def u8(self, *shape):
        return self.rng.integers(0, 256, shape).astype(np.uint8)

    def s8(self, *shape):
        return self.rng.integers(-128, 128, shape).astype(np.int8)

    def i32(self, low, high, *shape):
        return self.rng.integers(low, high, shape).astype(np.int32)


def f32(x):
    return np.float32(x)


def u8(x):
    return np.uint8(x)


def s8(x):
    return np.int8(x)


# ---- Attention -----------------------------------------------------------------------------------


def rotary_tables(length, half):
    angles = np.arange(length)[:, None] / 10.0 ** (np.arange(half) / max(half, 1))
    return np.round(np.cos(angles), 3).astype(np.float32), np.round(np.sin(angles), 3).astype(np.float32)


def group_query_attention():
    s = Source("gqa")
    n, k, h = 2, 1, 8

    def add(name, batch, rows, past=0, capacity=0, packed=False, lengths=None, extra=(), rotary=False, outputs=3, **attrs):
        total = past + rows
        size = 16 if rotary else h
        q = s.f(batch, rows, (n + 2 * k if packed else n) * size)
        kv = [None, None] if packed else [s.f(batch, rows, k * size), s.f(batch, rows, k * size)]
        buffer = capacity or past
        caches = [s.f(batch, k, buffer, size), s.f(batch, k, buffer, size)] if buffer else [None, None]
        seq = np.array([total - 1] * batch if lengths is None else lengths, np.int32)
        tables = list(rotary_tables(16, size // 2)) if rotary else [None, None]
        if rotary:
            attrs["do_rotary"] = 1
        case("GroupQueryAttention", name, [q, *kv, *caches, seq, np.array([total], np.int32), *tables, *extra], outputs, 1e-4,
             num_heads=n, kv_num_heads=k, **attrs)

    add("prompt", 1, 3)
    add("prompt of a batch", 2, 3)
    add("token with a cache", 1, 1, 3)
    add("cache with room, unequal lengths", 2, 1, 4, 6, lengths=[2, 4], outputs=[True, False, False])
    add("packed", 1, 3, packed=True)
    add("packed, rotary", 1, 3, packed=True, rotary=True)
    add("rotary, interleaved", 1, 1, 3, rotary=True, rotary_interleaved=1)
    add("rotary of a batch", 2, 1, 4, rotary=True, lengths=[3, 4], outputs=[True, False, False])
    add("several tokens behind a cache", 1, 2, 3, rotary=True)
    add("scale and softcap", 1, 3, scale=0.5, softcap=2.0)
    add("window", 1, 5, local_window_size=2)
    add("window with a cache", 1, 1, 5, local_window_size=3)
    add("smooth softmax", 1, 3, smooth_softmax=1)
    add("head sink", 1, 3, extra=[None, None, s.f(n)])
    add("bias", 2, 3, extra=[None, s.f(1, n, 3, 3)])
    add("bias of a batch", 2, 1, 2, extra=[None, s.f(2, 1, 1, 3)])
    add("positions", 1, 1, 3, rotary=True, extra=[np.array([[5]], np.int64)])
    add("scores before", 1, 2, qk_output=1, softcap=2.0, outputs=4)
    add("scores after", 1, 2, 1, qk_output=2, outputs=4)
    add("not causal", 1, 3, causal=0)


def multi_head_attention():
    s = Source("mha")
    op, n, h = "MultiHeadAttention", 2, 4
    width = n * h

    def bsh(length=3):
        return s.f(2, length, width)

    case(op, "plain", [bsh(), bsh(), bsh()], num_heads=n)
    case(op, "bias", [bsh(), bsh(), bsh(), s.f(3 * width)], num_heads=n)
    case(op, "other length and value width", [bsh(), bsh(5), s.f(2, 5, 6), s.f(2 * width + 6)], num_heads=n, scale=0.3)
    case(op, "mask of flags", [bsh(), bsh(4), bsh(4), None, s.i32(0, 2, 2, 4)], num_heads=n)
    case(op, "mask of flags per query", [bsh(), bsh(4), bsh(4), None, s.i32(0, 2, 2, 3, 4)], num_heads=n, mask_filter_value=-100.0)
    case(op, "bias of the scores", [bsh(), bsh(4), bsh(4), None, None, s.f(1, n, 3, 4)], num_heads=n)
    case(op, "unidirectional", [bsh(), bsh(), bsh()], num_heads=n, unidirectional=1)
    case(op, "cache", [bsh(1), bsh(1), bsh(1), None, None, None, s.f(2, n, 3, h), s.f(2, n, 3, h)], 3, num_heads=n)
    case(op, "key and value of an encoder", [bsh(), s.f(2, n, 5, h), s.f(2, n, 5, h), s.f(3 * width)], num_heads=n)
    case("Attention", "plain", [s.f(2, 3, 6), s.f(6, 3 * width), s.f(3 * width)], num_heads=n)
    case("Attention", "widths", [s.f(2, 3, 6), s.f(6, 22), s.f(22)], num_heads=n, qkv_hidden_sizes=[8, 8, 6])
    case("Attention", "lengths", [s.f(2, 3, 6), s.f(6, 24), s.f(24), np.array([2, 3], np.int32)], num_heads=n)
    case("Attention", "ends and starts", [s.f(2, 4, 6), s.f(6, 24), s.f(24), np.array([4, 3, 1, 0], np.int32)], num_heads=n)
    case("Attention", "flags", [s.f(2, 3, 6), s.f(6, 24), s.f(24), np.array([[1, 1, 0], [1, 1, 1]], np.int32)], num_heads=n, unidirectional=1)
    case("Attention", "cache", [s.f(2, 1, 6), s.f(6, 24), s.f(24), None, s.f(2, 2, n, 3, h)], 2, num_heads=n, unidirectional=1)


def quantised_attention():
    s = Source("qattention")

    def add(name, extra=(), columns=False, x=None, w=None, outputs=1, **attrs):
        x = s.u8(2, 3, 4) if x is None else x
        w = s.s8(4, 12) if w is None else w
        scale = (s.pos(12) / 8).astype(np.float32) if columns else f32(0.03)
        case("QAttention", name, [x, w, s.f(12), f32(0.05), scale, *extra], outputs, 1e-4, num_heads=2, **attrs)

    add("plain", [None, u8(128), s8(0)])
    add("unidirectional", [None, u8(120), s8(3)], unidirectional=1)
    add("scale per column", [None, u8(120), s.s8(12)], columns=True)
    add("mask of lengths", [np.array([2, 3], np.int32), u8(128)])
    add("unsigned weights", [None, u8(2), u8(130)], w=s.u8(4, 12))
    add("cache", [None, u8(128), s8(0), s.f(2, 2, 2, 2, 2)], outputs=2, unidirectional=1)


# ---- Quantised -----------------------------------------------------------------------------------


def quantised_gemm():
    s = Source("qgemm")
    case("QGemm", "float result", [s.u8(3, 4), f32(0.1), u8(120), s.s8(4, 5), f32(0.2), s8(2)])
    case("QGemm", "quantised result", [s.u8(3, 4), f32(0.1), u8(120), s.s8(4, 5), f32(0.02), s8(0), s.i32(-99, 99, 5), f32(0.7), u8(100)])
    case("QGemm", "transposed", [s.u8(4, 3), f32(0.1), u8(1), s.u8(5, 4), f32(0.05), u8(100), s.i32(-99, 99, 3, 1)], transA=1, transB=1, alpha=0.5)
    case("QGemm", "scale per column", [s.s8(2, 4), f32(0.1), s8(1), s.s8(3, 4), s.pos(3), s.s8(3), s.i32(-99, 99, 2, 3)], transB=1)
    case("QGemm", "signed result", [s.s8(2, 4), f32(0.1), s8(1), s.s8(4, 3), s.pos(3), np.zeros(3, np.int8), None, f32(2), s8(-3)])


def gather_block_quantized():
    s = Source("gather")
    i = np.array([[0, 2], [1, 0]], np.int64)
    op = "GatherBlockQuantized"
    case(op, "bytes, 4 bits", [s.u8(3, 16), i, s.pos(3, 2)], block_size=16)
    case(op, "bytes, 4 bits, zero points", [s.u8(3, 16), i.astype(np.int32), s.pos(3, 2), s.u8(3, 1)], block_size=16, quantize_axis=-1)
    case(op, "bytes, 8 bits", [s.u8(3, 40), i[0], s.pos(3, 3)], block_size=16, bits=8)
    case(op, "bytes, 2 bits, zero points", [s.u8(3, 12), i, s.pos(3, 3), s.u8(3, 1)], block_size=16, bits=2)


# ---- Images --------------------------------------------------------------------------------------


def channels_last():
    s = Source("nhwc")
    case("NhwcMaxPool", "plain", [s.u8(1, 4, 5, 2)], kernel_shape=[2, 2])
    case("NhwcMaxPool", "strides and pads", [s.s8(2, 5, 5, 3)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    case("NhwcMaxPool", "ceiling", [s.u8(1, 6, 5, 2)], kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)


    conv = [s.u8(1, 5, 5, 4), f32(0.05), u8(120), s.s8(6, 4, 3, 3), f32(0.1), s8(0), f32(1.5), u8(128), s.i32(-99, 99, 6)]
    case("QLinearConv", "channels last", conv, channels_last=1, pads=[1, 1, 1, 1])
    grouped = [s.u8(2, 4, 4, 5), f32(0.05), u8(120), s.s8(4, 1, 2, 2), s.pos(4), np.zeros(4, np.int8), f32(9.5), u8(128)]
    case("QLinearConv", "channels second, grouped", grouped, group=4, strides=[2, 2])
    case("QLinearAveragePool", "channels last", [s.u8(1, 5, 4, 3), f32(0.1), u8(100), f32(0.09), u8(110)], kernel_shape=[2, 2], channels_last=1)
    case("QLinearAveragePool", "padded", [s.s8(1, 3, 5, 4), f32(0.1), s8(10), f32(0.0871), s8(0)], kernel_shape=[3, 2], pads=[1, 1, 1, 0])
    case("QLinearGlobalAveragePool", "channels last", [s.u8(2, 5, 4, 3), f32(0.1), u8(100), f32(0.05), u8(110)], channels_last=1)
    case("QLinearGlobalAveragePool", "channels second", [s.s8(2, 3, 4, 5), f32(0.1), s8(3), f32(0.05), s8(5)])


def quantised_elementwise():
    s = Source("qlinear")
    pair = [s.u8(2, 3), f32(0.1), u8(120), s.u8(3), f32(0.2), u8(100)]
    signed = [s.s8(2, 3), f32(0.1), s8(12), s.s8(2, 1), f32(0.2), s8(10)]
    for op in ("QLinearAdd", "QLinearMul"):
        case(op, "unsigned", [*pair, f32(0.7), u8(90)])
        case(op, "signed", [*signed, f32(0.9), s8(-9)])
    case("QLinearSigmoid", "unsigned", [s.u8(9), f32(0.03), u8(128), f32(1 / 256), u8(0)])
    case("QLinearSigmoid", "signed", [s.s8(9), f32(0.03), s8(5), f32(1 / 256), s8(-128)])
    case("QLinearLeakyRelu", "unsigned", [s.u8(9), f32(0.03), u8(128), f32(0.025), u8(20)], alpha=0.1)
    case("QLinearLeakyRelu", "signed", [s.s8(9), f32(0.03), s8(5), f32(0.025), s8(20)], alpha=0.2)
    case("QLinearConcat", "two", [f32(0.1), u8(100), s.u8(2, 2), f32(0.2), u8(90), s.u8(2, 3), f32(0.05), u8(120)], axis=1)
    case("QLinearSoftmax", "last axis", [s.u8(2, 6), f32(0.05), u8(100), f32(1 / 256), u8(0)], opset=13, axis=-1)
    case("QLinearSoftmax", "signed, another axis", [s.s8(2, 3, 4), f32(0.03), s8(3), f32(1 / 256), s8(-128)], opset=13, axis=1)
    case("QLinearSoftmax", "coerced", [s.u8(2, 3, 2), f32(0.03), u8(3), f32(1 / 256), u8(0)], opset=11, axis=1)
    flags = s.rng.integers(0, 2, (2, 3)).astype(bool)
    case("QLinearWhere", "unsigned", [flags, s.u8(2, 3), f32(0.1), u8(100), s.u8(3), f32(0.05), u8(20), f32(0.123), u8(90)])
    case("QLinearWhere", "signed, broadcast", [flags, s.s8(1), f32(0.1), s8(1), s.s8(2, 1), f32(0.05), s8(2), f32(0.2), s8(9)])


def sparse_attention():
    s = Source("sparse")

    def add(name, batch, rows, total, packed=False, lengths=None, rotary=False, looked=(True, True, True)):
        n, k, h, capacity = 2, 1, 16, 32
        tables = list(rotary_tables(32, h // 2)) if rotary else [None, None]
        q = s.f(batch, rows, (n + 2 * k if packed else n) * h)
        kv = [None, None] if packed else [s.f(batch, rows, k * h), s.f(batch, rows, k * h)]
        caches = [s.f(batch, k, capacity, h), s.f(batch, k, capacity, h)]
        layout = [np.array([[0, 1, 2], [0, 1, 3]], np.int32), np.array([[0, 1, -1], [0, 0, 1]], np.int32)]
        ends = np.array([total] * batch if lengths is None else lengths, np.int32)
        case("SparseAttention", name, [q, *kv, *caches, *layout, np.array([total], np.int32), ends, *tables], list(looked), 1e-4,
             num_heads=n, kv_num_heads=k, sparse_block_size=16, do_rotary=int(rotary))

    add("prompt", 1, 18, 18, looked=(True, False, False))
    add("token", 1, 1, 20)
    add("packed, rotary", 1, 1, 20, packed=True, rotary=True)
    add("a batch", 2, 1, 20, looked=(True, False, False))


def plain():
    s = Source("plain")
    case("TransposeMatMul", "both", [s.f(3, 2), s.f(4, 3)], transA=1, transB=1, alpha=0.5)
    case("GatherND", "rows", [s.f(3, 4), np.array([[2], [0]], np.int64)])
    case("GatherND", "elements", [s.f(3, 4), np.array([[[2, 1]], [[0, -1]]], np.int64)])
    grid = (s.rng.integers(-10, 11, (1, 3, 2, 2)) / 8).astype(np.float32)
    case("GridSample", "bilinear", [s.f(1, 2, 4, 5), grid])
    case("GridSample", "nearest, border, corners", [s.f(1, 2, 4, 5), grid], mode="nearest", padding_mode="border", align_corners=1)
    case("GridSample", "bicubic, reflection", [s.f(1, 2, 4, 5), grid], mode="bicubic", padding_mode="reflection")
    case("Trilu", "upper", [s.f(3, 4)])
    case("Trilu", "lower, shifted", [s.f(2, 3, 4), np.array(1, np.int64)], upper=0)
    case("Pad", "constant", [s.f(2, 3), np.array([0, 1, 1, 2], np.int64), np.float32([1.5])])
    case("Pad", "reflect", [s.f(2, 3), np.array([1, 2, 0, 1], np.int64)], mode="reflect")
    case("Pad", "edge, negative", [s.f(4, 3), np.array([-1, 1, 1, 0], np.int64)], mode="edge")
    case("SampleOp", "plain", [s.f(2, 3)])


def more():
    s = Source("more")
    case("MatMulBnb4", "FP4", [s.f(2, 6), s.u8(9), s.pos(2)], K=6, N=3, block_size=16, quant_type=0)
    case("MatMulBnb4", "NF4", [s.f(2, 3, 5), s.u8(8), s.pos(1)], K=5, N=3, block_size=16, quant_type=1)
    case("Range", "no step", [np.array(2, np.int32), np.array(5, np.int32)])
    case("Range", "step", [np.array(3, np.float32), np.array(-1, np.float32), np.array(-1.5, np.float32)])
    case("ExpandDims", "front", [s.f(2, 3), np.array(0, np.int32)])
    case("ExpandDims", "from the end", [s.f(2, 3), np.array(-1, np.int32)])
    case("Unique", "plain", [np.float32([2, 1, 1, 3, 4, 3])], 3)
    case("Inverse", "batch", [s.f(2, 3, 3) + 4 * np.eye(3, dtype=np.float32)])
    case("Inverse", "rows to exchange", [np.float32([[0, 2], [4, 1]])])
    case("LayerNormalization", "of an optimised model", [s.f(2, 3, 4), s.f(4), s.f(4)], domain="")
    x = s.f(2, 4)
    bad = x.copy()
    bad[1, 2] = np.inf
    case("IsAllFinite", "finite", [x, x], expected=[np.array(True)])
    case("IsAllFinite", "an infinity", [x, bad], expected=[np.array(False)])
    case("IsAllFinite", "only NaN counts", [bad], expected=[np.array(True)], isnan_only=1)
    case("CausalConvWithState", "plain", [s.f(2, 3, 5), s.f(3, 1, 4), s.f(3), s.f(2, 3, 3)], 2, activation="silu")
    heads = dict(q_num_heads=2, kv_num_heads=2)
    q, k, v = s.f(1, 3, 8), s.f(1, 3, 8, scale=0.25), s.f(1, 3, 6)
    case("LinearAttention", "gated delta", [q, k, v, s.f(1, 2, 4, 3), -s.pos(1, 3, 2), s.pos(1, 3, 2)], 2, **heads)
    case("LinearAttention", "linear", [q, k, v], 2, update_rule="linear", **heads)
    table = s.f(8, 2)  # declared so, but its elements lie head by head
    bias = np.zeros((1, 2, 5, 5), np.float32)
    for i in range(5):
        for j in range(5):
            far = abs(i - j)
            large = min(2 + int(math.log(far / 2) / math.log(6 / 2) * 2), 3) if far >= 2 else far
            bias[0, :, i, j] = table.reshape(2, 8)[:, large + (4 if j > i else 0)]
    case("RelativePositionBias", "both directions", [table, np.array([5], np.int64), np.array([5], np.int64)], expected=[bias], max_distance=6, is_bidirectional=1)


def sparse_mixer(x, scores, w1, b1, w2, b2):
    """Two experts for each token, weighted as the router of Phi-3.5-MoE does (sparsemixer of transformers' modeling_phimoe.py, with router_jitter_noise 0.01);
    ONNX Runtime's CPU provider ignores use_sparse_mixer."""
    y = np.zeros_like(x)
    for t, row in enumerate(scores):
        left = row.copy()
        for _ in range(2):
            best = int(np.argmax(left))
            kept = np.where((left[best] - row) / np.maximum(np.abs(row), max(left[best], 1e-30)) > 0.02, -np.inf, left)
            weight = 1 / np.exp(kept - left[best]).sum()
            y[t] += weight * (w2[best] @ np.maximum(w1[best] @ x[t] + b1[best], 0) + b2[best])
            left[best] = -np.inf
    return y


def experts():
    s = Source("experts")
    x, router = s.f(3, 4), (s.rng.permutation(15).reshape(3, 5) / 4 - 2).astype(np.float32)

    def layers(first=6, gate=False):
        out = [s.f(5, first, 4), s.f(5, first), s.f(5, 4, 6), s.f(5, 4)]
        return out + ([s.f(5, 6, 4), s.f(5, 6)] if gate else [])

    case("MoE", "relu", [x, router, *layers()])
    case("MoE", "two of five, gelu, normalised", [x, router, *layers()], tolerance=1e-3, k=2, activation_type="gelu", normalize_routing_weights=1)
    case("MoE", "silu", [s.f(1, 3, 4), router, *layers()], k=2, activation_type="silu")
    fused = dict(k=2, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.5, activation_beta=1.0)
    case("MoE", "swiglu, interleaved", [x, router, *layers(12)], swiglu_limit=2.0, **fused)
    x = s.f(3, 16)

    def packed(bits, first=32, blocks=None):
        def one(rows, columns):
            scales = s.pos(5, rows, columns // blocks) if blocks else s.pos(5, rows)
            return [s.u8(5, rows, columns * bits // 8), scales, s.f(5, rows)]

        return [*one(first, 16), *one(16, 16)]

    case("QMoE", "4 bits", [x, router, *packed(4, 16)], k=2, expert_weight_bits=4, activation_type="identity", tolerance=1e-4)
    case("QMoE", "8 bits", [x, router, *packed(8, 16)], k=1, expert_weight_bits=8, activation_type="silu", tolerance=1e-4)
    case("QMoE", "4 bits in blocks, swiglu", [x, router, *packed(4, 32, 16)], expert_weight_bits=4, block_size=16, tolerance=1e-4, **fused)
    s = Source("sparse mixer")
    close = np.array([[2, 1.97, 1.95, -3, 1.5], [-1, -1.01, -1.5, -0.99, -4], [0, 0, -1, -2, -3], [3, 1, 2.95, 2.96, 2.9]], np.float32)
    x, weights = s.f(4, 4), [s.f(5, 6, 4), s.f(5, 6), s.f(5, 4, 6), s.f(5, 4)]
    mixed = [sparse_mixer(x, close, *weights)]
    case("MoE", "sparse mixer", [x, close, *weights], expected=mixed, k=2, activation_type="relu", use_sparse_mixer=1)
    case("MoE", "sparse mixer, whose weights are not normalised", [x, close, *weights], expected=mixed, k=2, activation_type="relu", use_sparse_mixer=1, normalize_routing_weights=1)


def of_quantised_lstms():
    """Threads share the batch in ONNX Runtime, and each rounds its own rows: run_theirs has one thread."""
    s = Source("quantised lstm")
    lengths = np.array([3, 5, 1], np.int32)

    def one(name, d, weights, zero, scale_shape=None, b=None, n=None, states=None, p=None, **attrs):
        shape = scale_shape or (d,)
        scale = lambda: (s.rng.integers(8, 25, shape) / 2048).astype(np.float32)
        zeros = np.full(shape, zero, weights(1).dtype)
        h, c = states or (None, None)
        case("DynamicQuantizeLSTM", name, [s.f(5, 3, 6), weights(d, 6, 20), weights(d, 5, 20), b, n, h, c, p, scale(), zeros, scale(), zeros], 3, 1e-5, hidden_size=5, **attrs)

    one("zero points of uint8", 1, s.u8, 120)
    one("zero point of int8", 1, s.s8, -7, b=s.f(1, 40))
    one("scales of columns", 1, s.s8, 0, (1, 20), b=s.f(1, 40))
    one("scales of columns, both directions of uint8", 2, s.u8, 131, (2, 20), direction="bidirectional")
    one("lengths and states", 1, s.s8, 0, n=lengths, states=(s.f(1, 3, 5), s.f(1, 3, 5)))
    one("lengths, both directions", 2, s.u8, 128, b=s.f(2, 40), n=np.array([2, 0, 4], np.int32), direction="bidirectional")
    one("reverse, peepholes, clip", 1, s.s8, 0, n=lengths, p=s.f(1, 15), direction="reverse", clip=0.75)
    one("coupled gates, activations", 1, s.s8, 0, states=(s.f(1, 3, 5), s.f(1, 3, 5)), input_forget=1, activations=["HardSigmoid", "Softsign", "Elu"])


def of_lstms_with_attention():
    s = Source("attention lstm")
    lengths, rows = np.array([3, 5, 1], np.int32), np.array([4, 1, 3], np.int32)

    def one(name, d=1, layer=0, b=False, n=None, states=False, p=False, m=None, outputs=3, **attrs):
        f = lambda *shape: s.f(*shape, scale=0.5)
        inner = [f(d, 20, 4 + (layer or 3)), f(d, 20, 5), f(d, 40) if b else None, n]
        inner += [f(d, 3, 5) if states else None for _ in range(2)] + [f(d, 15) if p else None]
        case("AttnLSTM", name, [s.f(5, 3, 4), *inner, f(d, 5, 6), f(d, 3, 6), s.f(d, 6), s.f(3, 4, 3), m, f(d, 8, layer) if layer else None], outputs, hidden_size=5, **attrs)

    one("context as attention")
    one("attention layer, bias, states", layer=2, b=True, states=True)
    one("reverse, lengths", layer=7, n=lengths, m=rows, direction="reverse")
    one("both directions, lengths", 2, b=True, n=lengths, m=rows, direction="bidirectional")
    one("both directions, layer, peepholes", 2, layer=2, p=True, states=True, m=rows, direction="bidirectional")
    one("coupled gates, peepholes, clip", b=True, p=True, input_forget=1, clip=0.5)
    one("activations", layer=3, b=True, activations=["HardSigmoid", "Softsign", "Elu"], activation_alpha=[0.3, 1.5], activation_beta=[0.4])
    one("Y alone", layer=2, m=rows, outputs=1)


def of_decoders_and_encoders():
    s = Source("decoders")
    op, n, h = "DecoderMaskedMultiHeadAttention", 2, 4
    new = [s.f(2, 1, n * h) for _ in range(3)]
    caches = [s.f(2, n, 3, h), s.f(2, n, 3, h)]
    room = [np.concatenate([x, np.zeros((2, n, 3, h), np.float32)], 2) for x in caches]
    case(op, "shared cache", [*new, None, None, *room, np.array([3], np.int32)], 3, num_heads=n, past_present_share_buffer=1)
    length = np.array([3], np.int32)
    case(op, "mask and bias", [*new, s.i32(0, 2, 2, 4), None, *room, length, None, None, s.f(3 * n * h)], 3, num_heads=n, past_present_share_buffer=1)
    case(op, "encoder", [new[0], *caches], num_heads=n)
    for name, direction in (("forward", "forward"), ("both directions", "bidirectional")):
        d = 2 if direction == "bidirectional" else 1
        weights = [s.s8(d, 3, 16), s.s8(d, 4, 16)]
        scales = [np.full(d, 0.01, np.float32), np.zeros(d, np.int8), np.full(d, 0.01, np.float32), np.zeros(d, np.int8)]
        case("DynamicQuantizeLSTM", name, [s.f(5, 2, 3), *weights, s.f(d, 32), None, None, None, None, *scales], 3, 1e-5, hidden_size=4, direction=direction)
    tables = [s.u8(9, 8), s.u8(5, 8), s.u8(2, 8), s.u8(8), s.u8(8)]
    scales = [f32(v) for v in (0.02, 0.03, 0.01, 0.05, 0.04)]
    zeros = [u8(v) for v in (120, 130, 125, 7, 90)]
    ids, segments, mask = s.i32(0, 9, 2, 3), s.i32(0, 2, 2, 3), np.array([[1, 1, 0], [1, 1, 1]], np.int32)
    case("QEmbedLayerNormalization", "plain", [ids, segments, *tables, mask, *scales, *zeros], 2, 1e-4)
    case("MatMulInteger16", "plain", [s.i32(-999, 999, 2, 3).astype(np.int16), s.i32(-999, 999, 3, 2).astype(np.int16)])
    x, w, b = s.f(2, 3), s.f(3, 4), s.f(4)
    y = (x @ w + b).astype(np.float64)
    case("GemmFastGelu", "plain", [x, w, b], expected=[(0.5 * y * (1 + np.tanh(np.sqrt(2 / np.pi) * (y + 0.044715 * y**3)))).astype(np.float32)])
    tokens = s.f(2, 3, 2)
    flat = tokens.reshape(6, 2)[[0, 3, 4]]
    places = np.array([[0, 3, 4], [1, 2, 5]], np.int32)
    case("RemovePadding", "plain", [tokens, np.array([1, 2], np.int32)], expected=[flat, places, np.array([0, 1, 3], np.int32), np.array([2], np.int32)])
    back = np.zeros((6, 2), np.float32)
    back[[0, 3, 4]] = flat
    case("RestorePadding", "plain", [flat, places], expected=[back.reshape(2, 3, 2)])


def sigmoid(x):
    return 1 / (1 + np.exp(-x.astype(np.float64)))


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def group_norm(x, gamma, beta, groups, silu, last, epsilon=1e-5):
    x = np.moveaxis(x.astype(np.float64), -1, 1) if last else x.astype(np.float64)
    g = x.reshape(x.shape[0], groups, -1)
    g = (g - g.mean(-1, keepdims=True)) / np.sqrt(g.var(-1, keepdims=True) + epsilon)
    shape = [1, -1] + [1] * (x.ndim - 2)
    y = g.reshape(x.shape) * gamma.reshape(shape) + beta.reshape(shape)
    y = y * sigmoid(y) if silu else y
    return np.moveaxis(y, 1, -1) if last else y


def of_diffusion_models():
    s = Source("diffusion")
    x, gamma, beta = s.f(2, 3, 2, 4), s.f(4), s.f(4)
    for name, silu in (("plain", 0), ("silu", 1)):
        case("GroupNorm", name, [x, gamma, beta], expected=[group_norm(x, gamma, beta, 2, silu, True).astype(np.float32)], groups=2, activation=silu)
    first = s.f(1, 4, 2, 3)
    case("GroupNorm", "channels second", [first, gamma, beta], expected=[group_norm(first, gamma, beta, 4, 0, False, 0.5).astype(np.float32)],
         groups=4, activation=0, channels_last=0, epsilon=0.5)
    skip, bias = s.f(2, 3, 2, 4), s.f(4)
    total = x + skip + bias
    case("SkipGroupNorm", "skip and bias", [x, gamma, beta, skip, bias], expected=[group_norm(total, gamma, beta, 2, 1, True).astype(np.float32), total], groups=2, activation=1)
    each = s.f(2, 4)
    total = x + each[:, None, None, :]
    case("SkipGroupNorm", "skip per channel", [x, gamma, beta, each], expected=[group_norm(total, gamma, beta, 1, 0, True).astype(np.float32), total], groups=1, activation=0)
    y, bias, skip = s.f(2, 3, 4), s.f(4), s.f(2, 3, 4)
    case("BiasAdd", "plain", [y, bias, skip], expected=[y + bias + skip])
    sum_ = y + bias
    case("BiasSplitGelu", "plain", [y, bias], expected=[(sum_[..., :2] * gelu(sum_[..., 2:])).astype(np.float32)])
    a, b = s.f(2, 3), s.f(4, 3)
    case("FusedMatMulActivation", "relu", [a, b], expected=[np.maximum(a @ b.T * 2, 0)], transB=1, alpha=2.0, activation="Relu")
    table = s.f(5, 3)
    case("TorchEmbedding", "plain", [table, np.array([[0, 4], [2, 2]], np.int64), np.array(1, np.int64)], expected=[table[[[0, 4], [2, 2]]]])


# ---- TensorRT ------------------------------------------------------------------------------------


def efficient_nms(boxes, scores, most, score_threshold, iou_threshold, background=-1, sigmoid_scores=False, coding=0, agnostic=False, anchors=None):
    def corners(b):
        return np.array([b[0] - b[2] / 2, b[1] - b[3] / 2, b[0] + b[2] / 2, b[1] + b[3] / 2]) if coding else b

    def area(b):
        return (b[2] - b[0]) * (b[3] - b[1])

    def overlap(p, q):
        w, h = min(p[2], q[2]) - max(p[0], q[0]), min(p[3], q[3]) - max(p[1], q[1])
        common = max(w, 0) * max(h, 0)
        return common / (area(p) + area(q) - common) if common > 0 else 0

    batch, count, classes = scores.shape
    out = [np.zeros((batch, 1), np.int32), np.zeros((batch, most, 4), np.float32), np.zeros((batch, most), np.float32), np.zeros((batch, most), np.int32)]
    for i in range(batch):
        entries = []
        for a in range(count):
            for k in range(classes):
                score = float(sigmoid(scores[i, a, k])) if sigmoid_scores else float(scores[i, a, k])
                box = boxes[i, a] if boxes.ndim == 3 else boxes[i, a, k if boxes.shape[2] > 1 else 0]
                if anchors is not None:
                    anchor = anchors[i if len(anchors) > 1 else 0, a]
                    box = np.array([box[0] * anchor[2] + anchor[0], box[1] * anchor[3] + anchor[1], math.exp(box[2]) * anchor[2], math.exp(box[3]) * anchor[3]])
                if k != background and score >= score_threshold:
                    entries.append((-score, a * classes + k, k, corners(box)))
        kept = []
        for entry in sorted(entries, key=lambda e: e[:2]):
            if len(kept) < most and all(overlap(entry[3], other[3]) < iou_threshold for other in kept if agnostic or other[2] == entry[2]):
                kept.append(entry)
        out[0][i] = len(kept)
        for n, (score, _, k, box) in enumerate(kept):
            out[1][i, n], out[2][i, n], out[3][i, n] = box, -score, k
    return out


def tensorrt_nms():
    s = Source("nms")
    corner = s.pos(2, 6, 4)
    corner[..., 2:] += corner[..., :2]
    scores = s.rng.permutation(2 * 6 * 3).reshape(2, 6, 3).astype(np.float32) / 40
    common = dict(max_output_boxes=4, score_threshold=0.25, iou_threshold=0.25, plugin_version="1")
    op = "EfficientNMS_TRT"
    case(op, "corners", [corner, scores], expected=efficient_nms(corner, scores, 4, 0.25, 0.25), domain="TRT", background_class=-1, box_coding=0, score_activation=0, **common)
    case(op, "default domain, a background", [corner, scores], expected=efficient_nms(corner, scores, 4, 0.25, 0.25, background=1), domain="", background_class=1, **common)
    centred = np.concatenate([s.pos(1, 6, 2), s.pos(1, 6, 2)], -1)
    case(op, "centres, sigmoid, any class", [centred, scores[:1] * 4 - 2], expected=efficient_nms(centred, scores[:1] * 4 - 2, 4, 0.25, 0.25, sigmoid_scores=True, coding=1, agnostic=True),
         domain="TRT", box_coding=1, score_activation=1, class_agnostic=1, **common)
    own = np.stack([corner[:1], corner[1:], corner[:1] + 0.5], 2)
    case(op, "boxes of each class", [own, scores[:1]], expected=efficient_nms(own, scores[:1], 4, 0.25, 0.25), domain="TRT", **common)
    change = s.f(1, 6, 4, scale=0.25)
    case(op, "anchors", [change, scores[:1], centred], expected=efficient_nms(change, scores[:1], 4, 0.25, 0.25, coding=1, anchors=centred), domain="TRT", box_coding=1, **common)
    few = dict(common, max_output_boxes=2, score_threshold=0.9)
    case(op, "nothing left", [corner, scores], expected=efficient_nms(corner, scores, 2, 0.9, 0.25), domain="TRT", **few)
    for domain in ("trt", "trt.plugins"):
        case(op, f"domain {domain}", [corner, scores], expected=efficient_nms(corner, scores, 4, 0.25, 0.25), domain=domain, **common)


def tensorrt_quantise():
    import ml_dtypes

    s = Source("modelopt")
    fp8, fp4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn
    x = s.f(2, 32, scale=37.3)

    def as_fp8(v):
        return np.clip(v, -448, 448).astype(np.float32).astype(fp8)

    scale = f32(0.17)
    case("TRT_FP8QuantizeLinear", "per tensor", [x, scale], expected=[as_fp8(x / scale)], domain="trt")
    case("TRT_FP8DequantizeLinear", "per tensor", [as_fp8(x), scale], expected=[as_fp8(x).astype(np.float32) * scale], domain="trt")
    each = s.pos(2, 2)
    spread = np.repeat(each, 16, 1)
    quantised = np.clip(np.round(x / 20 / spread), -8, 7)
    case("TRT_INT4QuantizeLinear", "blocks", [x / 20, each], expected=[quantised.astype(ml_dtypes.int4)], domain="trt", axis=-1, block_size=16)
    case("TRT_INT4DequantizeLinear", "blocks", [quantised.astype(ml_dtypes.int4), each], expected=[(quantised * spread).astype(np.float32)], domain="trt", axis=-1, block_size=16)
    case("QuantizeLinear", "of ModelOpt", [x / 20, each, np.zeros((2, 2), ml_dtypes.int4)], expected=[quantised.astype(ml_dtypes.int4)], domain="trt", axis=1, block_size=16)
    case("DequantizeLinear", "of ModelOpt", [quantised.astype(ml_dtypes.int4), each], expected=[(quantised * spread).astype(np.float32)], domain="trt", axis=1, block_size=16)
    most = np.abs(x.astype(np.float64)).reshape(2, 1, 32).max(-1)
    exponent = np.ceil(np.log2(most / 448)).astype(int)
    y = as_fp8(x / np.repeat(2.0**exponent, 32, 1))
    case("TRT_MXFP8DynamicQuantize", "blocks of 32", [x], expected=[y, (exponent + 127).astype(np.uint8)], domain="trt", axis=-1, block_size=32, output_dtype=17)
    case("TRT_MXFP8DequantizeLinear", "blocks of 32", [y, (exponent + 127).astype(np.uint8)], expected=[(y.astype(np.float64) * np.repeat(2.0**exponent, 32, 1)).astype(np.float32)],
         domain="trt", axis=-1, block_size=32, output_dtype=1)
    most = np.abs(x.astype(np.float64)).reshape(2, 2, 16).max(-1)
    for_all = f32(0.031)
    scales = as_fp8(most / 6 / float(for_all))
    wide = np.repeat(scales.astype(np.float64) * float(for_all), 16, 1)
    case("TRT_FP4DynamicQuantize", "blocks of 16", [x, for_all], expected=[np.clip(x / wide, -6, 6).astype(np.float32).astype(fp4), scales], domain="trt", axis=-1, block_size=16, scale_type=17)
    x = s.f(2, 32, scale=3.1)
    most = np.abs(x.astype(np.float64)).reshape(2, 2, 16).max(-1)
    for_all = float(np.abs(x).max()) / (6 * 448)
    wide = np.repeat(as_fp8(most / 6 / for_all).astype(np.float64) * for_all, 16, 1)
    case("TRT_FP4QDQ", "blocks of 16", [x], expected=[(np.clip(x / wide, -6, 6).astype(np.float32).astype(fp4).astype(np.float64) * wide).astype(np.float32)], domain="trt", block_size=16)


def all_cases():
    for build in (group_query_attention, sparse_attention, multi_head_attention, quantised_attention, quantised_gemm, gather_block_quantized, channels_last, quantised_elementwise, plain, more, experts, of_decoders_and_encoders, of_quantised_lstms, of_lstms_with_attention, of_diffusion_models,
                  tensorrt_nms, tensorrt_quantise):
        build()
    contrib_recent.add(case, Source)
    contrib_more.add(case, Source)
    contrib_streams.add(case, Source)
    contrib_ordered.add(case, Source)
    return CASES


# ---- Running -------------------------------------------------------------------------------------


def model_of(c):
    names = [f"i{k}" if x is not None else "" for k, x in enumerate(c.inputs)]
    outs = [f"o{k}" if wanted is not None else "" for k, wanted in enumerate(c.outputs)]
    node = helper.make_node(c.op, names, outs, name="node", domain=c.domain, **c.attrs)
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(np.asarray(x).dtype), np.asarray(x).shape) for n, x in zip(names, c.inputs) if n]
    results = [helper.make_empty_tensor_value_info(n) for n in outs if n]
    graph = helper.make_graph([node], "contrib", infos, results)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", OPSETS.get(c.op, 21)), helper.make_opsetid(MS, 1), helper.make_opsetid("trt", 1), helper.make_opsetid("TRT", 1), helper.make_opsetid("trt.plugins", 1)])


def run_theirs(c):
    if c.expected is not None:
        return [np.asarray(x) for x in c.expected]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model_of(c).SerializeToString(), options, providers=["CPUExecutionProvider"])
    feed = {f"i{k}": np.asarray(x) for k, x in enumerate(c.inputs) if x is not None}
    if c.op != "SparseAttention":
        return session.run(None, feed)
    binding, values = session.io_binding(), {k: ort.OrtValue.ortvalue_from_numpy(x) for k, x in feed.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name, of in (("o1", "i3"), ("o2", "i4")):  # the caches are changed in place
        binding.bind_ortvalue_output(name, values[of])
    binding.bind_output("o0", "cpu")
    session.run_with_iobinding(binding)
    return [binding.get_outputs()[-1].numpy(), values["i3"].numpy(), values["i4"].numpy()]


def write_folder(folder, c, results):
    """As onnx has its tests; outputs that are not looked at are not among the model's."""
    model = model_of(c)
    kept = [(info, value) for info, value, wanted in zip(list(model.graph.output), results, [w for w in c.outputs if w is not None]) if wanted]
    del model.graph.output[:]
    for info, value in kept:
        model.graph.output.append(helper.make_tensor_value_info(info.name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    os.makedirs(f"{folder}/test_data_set_0")
    with open(f"{folder}/model.onnx", "wb") as f:
        f.write(model.SerializeToString())
    with open(f"{folder}/tolerance", "w") as f:
        f.write(f"{c.tolerance} {c.tolerance}\n")
    given = [(f"i{k}", x) for k, x in enumerate(c.inputs) if x is not None]
    for kind, values in (("input", given), ("output", [(info.name, v) for info, v in kept])):
        for k, (name, value) in enumerate(values):
            with open(f"{folder}/test_data_set_0/{kind}_{k}.pb", "wb") as f:
                f.write(numpy_helper.from_array(np.asarray(value), name).SerializeToString())


def compile_runner(library, work):
    runner = os.path.join(work, "contrib_runner")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, "node_runner.c"), "-o", runner,
                    "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy", "-lm"], check=True)
    return runner


def compare(library, work):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(work)
    folders, bad, used, labels = [], [], set(), {}
    for c in all_cases():
        try:
            results = run_theirs(c)
        except Exception as e:  # what ONNX Runtime refuses is a mistake in this file
            bad.append(f"ONNX Runtime refuses {c.label}: {str(e)[:300]}")
            continue
        folder = os.path.join(work, re.sub(r"\W+", "_", c.label))
        labels[os.path.basename(folder)] = c.label
        write_folder(folder, c, results)
        folders.append(folder)
    passed = 0
    done = subprocess.run([compile_runner(library, work), "opref", *folders], capture_output=True, text=True, errors="replace")
    lines = [line.split(" ", 2) for line in done.stdout.splitlines()]
    if done.returncode:
        lines.append(["failed", os.path.basename(folders[len(lines)]), f"the process ended with {done.returncode}"])
    for outcome, name, why in lines:
        pattern = next((p for p in DISAGREEMENTS if fnmatch.fnmatch(labels[name], p)), None)
        if outcome == "passed":
            passed += 1
        elif pattern:
            used.add(pattern)
        else:
            bad.append(f"{outcome} {labels[name]}: {why}")
    bad += [f"DISAGREEMENTS lists {p}, but no case of it differs" for p in sorted(set(DISAGREEMENTS) - used)]
    print("\n".join(bad + [f"operators of com.microsoft: {passed} of {len(CASES)} cases of {len({c.op for c in CASES})} operators agree with ONNX Runtime, "
                           f"{len(used)} disagreements are explained"]))
    return 1 if bad else 0


# ---- Writing -------------------------------------------------------------------------------------


def text_of(x):
    x = np.asarray(x)
    flat = x.reshape(-1).tolist()
    name = {"object": "string", "float8_e4m3fn": "float8e4m3fn", "float4_e2m1fn": "float4"}.get(str(x.dtype), str(x.dtype))
    if x.dtype == bool:
        words = ["true" if v else "false" for v in flat]
    elif name == "string":
        words = [f'"{v}"' for v in flat]
    elif x.dtype.kind in "iu" or name == "int4":
        words = [str(int(v)) for v in flat]
    else:
        words = [f"{float(v):.8g}" for v in flat]
    lines, line = [], f"{name} [{', '.join(map(str, x.shape))}]"
    for w in words:
        if len(line) + len(w) > 110:
            lines.append(line)
            line = "   "
        line += " " + w
    return "\n".join(lines + [line])


def attr_text(v):
    if isinstance(v, str):
        return f'"{v}"'
    if isinstance(v, float):
        return repr(v)
    if isinstance(v, list):
        return "[" + ", ".join(attr_text(x) for x in v) + "]"
    return str(v)


# Operators that share a file.
FILES = {"MoE": "Mo_E", "QMoE": "Mo_E", "RestorePadding": "RemovePadding", "DynamicQuantizeLSTM": "DynamicQuantizeLstm", "SkipGroupNorm": "GroupNorm", "ComplexMulConj": "ComplexMul", "PackedAttention": "PackedTokenAttention", "Irfft": "Rfft", "HyperConnectionPreMix": "HyperConnection", "HyperConnectionPostMix": "HyperConnection", "EfficientNMS_TRT": "TrtEfficientNms", "TRT_FP8QuantizeLinear": "TrtQuantizeLinear",
         "TRT_FP8DequantizeLinear": "TrtQuantizeLinear", "TRT_INT4QuantizeLinear": "TrtQuantizeLinear", "TRT_INT4DequantizeLinear": "TrtQuantizeLinear",
         "TRT_MXFP8DynamicQuantize": "TrtDynamicQuantize", "TRT_MXFP8DequantizeLinear": "TrtDynamicQuantize", "TRT_FP4DynamicQuantize": "TrtDynamicQuantize",
         "TRT_FP4QDQ": "TrtDynamicQuantize", "DequantizeLinear": "TrtQuantizeLinear", "QuantizeLinear": "TrtQuantizeLinear", "MemcpyFromHost": "MemcpyHost", "MemcpyToHost": "MemcpyHost",
         "EfficientNMS_ONNX_TRT": "TrtEfficientNms", "InstanceNormalization_TRT": "TrtInstanceNormalization", "VarlenNGramHashMapping": "NGramHashMapping",
         "MatMulBlockQuantizedFp8Weight": "MatMulBlockQuantized", "MatMulBlockQuantizedFp4Weight": "MatMulBlockQuantized", "MatMulNBitsMlp": "MatMulNBitsFused", "MatMulNBitsQkv": "MatMulNBitsFused"}


def snake(op):
    if op in ("QLinearConv", "RotaryEmbedding", "GridSample", "Pad", "Range", "Unique", "GatherND", "Trilu", "LayerNormalization", "CausalConvWithState", "LinearAttention"):
        op = "Contrib" + op  # the default domain has one of this name
    op = FILES.get(op, op)
    op = op.replace("QLinear", "Qlinear")
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", op).lower()


def write_cases(folder, wanted):
    texts = {}
    for c in all_cases():
        if c.op not in wanted or any(fnmatch.fnmatch(c.label, p) for p in DISAGREEMENTS):
            continue
        results = iter(run_theirs(c))
        lines = [f"case: {c.name}", f"op: {c.domain + ':' if c.domain else ''}{c.op} {1 if c.domain else OPSETS.get(c.op, 11)}"]
        lines += [f"attr: {k} = {attr_text(v)}" for k, v in sorted(c.attrs.items())]
        lines += [f"in: {'-' if x is None else text_of(x)}" for x in c.inputs]
        for flag in c.outputs:
            value = next(results) if flag is not None else None
            lines.append("out: -" if flag is not True else f"out: {text_of(value)}")
        lines.append(f"tolerance: {c.tolerance:g}")
        texts.setdefault(snake(c.op), []).append("\n".join(lines) + "\n")
    for name, cases in texts.items():
        path = os.path.join(folder, name + ".txt")
        before = open(path).read() if os.path.exists(path) else ""
        kept = before[before.find(BY_HAND):] if BY_HAND in before else ""
        with open(path, "w") as f:
            f.write(f"# Expected values from ONNX Runtime {ort.__version__} or, where it has no kernel, NumPy; written by tests/parity/contrib.py.\n" + "\n".join(cases))
            f.write("\n" + kept if kept else "")


def main():
    if sys.argv[1] == "--write":
        return write_cases(sys.argv[2], set(sys.argv[3:]))
    return compare(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]))


if __name__ == "__main__":
    sys.exit(main())
