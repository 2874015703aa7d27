# SPDX-License-Identifier: Apache-2.0
"""Cases of contrib.py: complex numbers, Fourier transforms, distances, hashes, and the gates and streams of recent decoders."""
import numpy as np


def gates(case, s):
    case("GatedAdd", "rows", [s.f(2, 3, 4), s.f(2, 3, 4), s.f(2, 3, 1)])
    case("ScaledSiLU", "alpha", [s.f(2, 5)], alpha=0.5)
    case("ScaledSiLU", "scale", [s.f(2, 5), np.float32(1.75)], alpha=0.5)
    case("GatedRMSNorm", "one group", [s.f(2, 3, 8), s.f(8), s.f(2, 3, 8)])
    case("GatedRMSNorm", "groups, sigmoid", [s.f(2, 8), s.f(4), s.f(2, 8)], activation="sigmoid", epsilon=0.01)
    case("BranchwiseRMSNorm", "grouped", [s.f(2, 3, 4), s.f(3, 4)])
    case("BranchwiseRMSNorm", "flat, one scale for all branches", [s.f(2, 12), s.f(4)], num_branches=3)
    case("BranchwiseRMSNorm", "no scale", [s.f(2, 3, 4)], epsilon=0.1)
    case("LinearAttentionGate", "decay", [s.f(1, 3, 4), s.f(4), s.f(4)])
    case("LinearAttentionGate", "decay and beta", [s.f(2, 3, 4), s.f(4), s.f(4), s.f(2, 3, 4)], 2)
    case("HyperConnectionPreMix", "a gate for a branch", [s.f(2, 3, 4), s.f(2, 3)], reduction_scale=0.5)
    case("HyperConnectionPreMix", "a gate for a feature", [s.f(2, 3, 4), s.f(2, 3, 4)])
    case("HyperConnectionPreMix", "flat", [s.f(2, 12), s.f(2, 12)], num_branches=3)
    case("HyperConnectionPostMix", "no mix of streams", [s.f(2, 3, 4), s.f(2, 4), s.f(2, 3, 1)])
    case("HyperConnectionPostMix", "a mix of streams", [s.f(2, 3, 4), s.f(2, 4), s.f(2, 3), s.f(2, 3, 3)])
    case("HyperConnectionPostMix", "flat", [s.f(2, 12), s.f(2, 4), s.f(2, 3, 4), s.f(2, 3, 3)], num_branches=3)


def signals(case, s):
    def pairs(x):
        return np.stack([x.real, x.imag], -1).astype(np.float32)

    def numbers(x):
        return x[..., 0] + 1j * x[..., 1]

    a, b = s.f(2, 3, 2), s.f(3, 2)
    case("ComplexMul", "broadcast", [a, b], expected=[pairs(numbers(a) * numbers(b))])
    case("ComplexMulConj", "broadcast", [b, a], expected=[pairs(numbers(b) * numbers(a).conj())])
    for n in (8, 12):
        x, y = s.f(2, n), s.f(2, n // 2 + 1, 2)
        case("Rfft", f"length {n}", [x], expected=[pairs(np.fft.rfft(x.astype(np.float64)))], normalized=0, onesided=1, signal_ndim=1)
        case("Irfft", f"length {n}", [y], expected=[np.fft.irfft(numbers(y.astype(np.float64))).astype(np.float32)], normalized=0, onesided=1, signal_ndim=1)
    case("CDist", "squares", [s.f(3, 4), s.f(2, 4)], metric="sqeuclidean")
    case("CDist", "Euclid, float64", [s.f(3, 4, dtype=np.float64), s.f(2, 4, dtype=np.float64)], metric="euclidean")
    case("DynamicTimeWarping", "matrix", [s.pos(4, 6)])
    case("DynamicTimeWarping", "batch of one", [s.pos(1, 5, 3)])
    case("DynamicTimeWarping", "equal costs", [np.ones((3, 4), np.float32)])
    for shape, axes in (((2, 4, 6), (1, 2)), ((3, 5), (0, 1)), ((2, 3, 4, 6), (1, 2, 3)), ((2, 1, 3, 2), (1, 2, 3))):
        x, y = s.f(*shape), s.f(*shape[:-1], shape[-1] // 2 + 1, 2)
        case("Rfft", f"{len(axes)} axes of {list(shape)}", [x], expected=[pairs(np.fft.rfftn(x.astype(np.float64), axes=axes))], signal_ndim=len(axes))
        case("Irfft", f"{len(axes)} axes of {list(y.shape)}", [y], expected=[np.fft.irfftn(numbers(y.astype(np.float64)), axes=axes).astype(np.float32)], signal_ndim=len(axes))


def words(case, s):
    tokens = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4]], np.int64)
    case("NGramRepeatBlock", "n-grams of 3", [tokens, s.f(2, 6)], ngram_size=3)
    case("NGramRepeatBlock", "n-grams of 2", [tokens, s.f(2, 6)], ngram_size=2)
    case("MurmurHash3", "int32", [s.i32(-1000, 1000, 4)], positive=1)
    case("MurmurHash3", "negative results", [s.i32(-1000, 1000, 4)], positive=0, seed=42)
    case("MurmurHash3", "int64", [s.i32(-1000, 1000, 4).astype(np.int64)], seed=7)
    case("MurmurHash3", "float32", [s.f(4)])
    case("MurmurHash3", "float64", [s.f(4, dtype=np.float64)])


def images(case, s):
    case("UnfoldTensor", "last axis", [s.f(2, 7)], size=3, step=2)
    case("UnfoldTensor", "first axis of integers", [s.i32(0, 50, 5, 2)], dim=0, size=2)
    for mode in ("bilinear", "nearest"):
        boxes = np.array([[0, 0, 1, 1], [0.25, 0.125, 0.875, 0.75], [0.9, 0.5, 1.25, -0.25]], np.float32)
        case("CropAndResize", mode, [s.f(2, 2, 5, 4), boxes, np.array([0, 1, 0], np.int32), np.array([3, 2], np.int32)], mode=mode, extrapolation_value=9.5)
    case("CropAndResize", "one point", [s.f(1, 1, 5, 4), boxes[1:2], np.array([0], np.int32), np.array([1, 1], np.int32)])
    a, b = s.u8(2, 3), s.u8(3)
    case("MulInteger", "zero points", [a, np.uint8(100), b, np.uint8(7)], expected=[(a.astype(np.int32) - 100) * (b.astype(np.int32) - 7)])
    a, b = s.s8(2, 1), s.s8(3)
    case("MulInteger", "no zero points", [a, None, b], expected=[a.astype(np.int32) * b.astype(np.int32)])


def attend(q, k, v, firsts, scale, bias):
    """q, k and v: [tokens, heads, size]"""
    y = np.zeros(v.shape)
    for b in range(len(firsts) - 1):
        own = slice(firsts[b], firsts[b + 1])
        count = firsts[b + 1] - firsts[b]
        for h in range(q.shape[1]):
            scores = q[own, h] @ k[own, h].T * scale
            if bias is not None:
                scores = scores + bias[b % bias.shape[0], h % bias.shape[1], :count, :count]
            e = np.exp(scores - scores.max(-1, keepdims=True))
            y[own, h] = e / e.sum(-1, keepdims=True) @ v[own, h]
    return y.reshape(len(y), -1).astype(np.float32)


def packed_attention(case, s):
    offsets = np.array([[0, 4, 5, 6], [7, 1, 2, 3]], np.int32)  # sequences of 1 and 4 tokens; then the places of padding
    firsts = np.array([0, 1, 5], np.int32)
    q, k, v, bias, added = s.f(5, 8), s.f(5, 8), s.f(5, 4), s.f(20), s.f(1, 2, 4, 4)

    def heads(x, b=None):
        return (x if b is None else x + b).astype(np.float64).reshape(5, 2, -1)

    case("PackedMultiHeadAttention", "three inputs", [q, k, v, None, offsets, firsts], expected=[attend(heads(q), heads(k), heads(v), firsts, 0.5, None)], num_heads=2)
    case("PackedMultiHeadAttention", "bias, scale, scores added to", [q, k, v, bias, offsets, firsts, added],
         expected=[attend(heads(q, bias[:8]), heads(k, bias[8:16]), heads(v, bias[16:]), firsts, 0.25, added)], num_heads=2, scale=0.25)
    together = s.f(5, 2, 3, 4)
    parts = together.astype(np.float64)
    case("PackedMultiHeadAttention", "one input", [together, None, None, None, offsets, firsts], expected=[attend(parts[:, :, 0], parts[:, :, 1], parts[:, :, 2], firsts, 0.5, None)], num_heads=2)
    x, w, b = s.f(5, 3), s.f(3, 12), s.f(12)
    y = (x.astype(np.float64) @ w + b).reshape(5, 3, 2, 2)
    case("PackedAttention", "projection", [x, w, b, offsets, firsts], expected=[attend(y[:, 0], y[:, 1], y[:, 2], firsts, 0.5**0.5, None)], num_heads=2)
    each = s.f(2, 1, 4, 4)
    y = np.split(x.astype(np.float64) @ w + b, [4, 8], axis=1)
    case("PackedAttention", "widths, scores added to", [x, w, b, offsets, firsts, each], expected=[attend(*(heads(p) for p in y), firsts, 0.75, each)], num_heads=2, qkv_hidden_sizes=[4, 4, 4], scale=0.75)


def add(case, source):
    for build in (gates, signals, words, images, packed_attention):
        build(case, source(build.__name__))
