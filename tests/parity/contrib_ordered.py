# SPDX-License-Identifier: Apache-2.0
"""Cases of contrib.py for Longformer's and paged attention and for int8 in the memory orders of cublasLt, which ONNX Runtime runs on CUDA only; the
values are NumPy's, by the operators' published definitions."""
import math

import ml_dtypes
import numpy as np

COL, ROW, COL32, COL4_4R2_8C, COL32_2R_4R4 = range(5)
erf = np.vectorize(math.erf)


def byte(x):
    return np.clip(np.rint(x), -128, 127).astype(np.int8)


def wide(*arrays):
    return [None if a is None else np.asarray(a).astype(np.float64) for a in arrays]


def softmax(s):
    e = np.exp(s - s.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# ---- Orders --------------------------------------------------------------------------------------


def ordered(x, order):
    """The elements of a matrix [rows, columns] as they lie in memory, by reshapes and transposes of the tiles."""
    rows, columns = x.shape
    if order == ROW:
        return x.reshape(-1)
    if order == COL:
        return x.T.reshape(-1)
    groups = x.reshape(rows, columns // 32, 32).transpose(1, 0, 2)
    if order == COL32:
        return groups.reshape(-1)
    if order == COL4_4R2_8C:  # [group, tile, 4 rows, even or odd, 8 blocks, 4 columns]
        return groups.reshape(columns // 32, rows // 8, 4, 2, 8, 4).transpose(0, 1, 3, 4, 2, 5).reshape(-1)
    return groups.reshape(columns // 32, rows // 32, 4, 4, 2, 32).transpose(0, 1, 3, 2, 4, 5).reshape(-1)


def each(x, order):
    matrices = x.reshape(-1, *x.shape[-2:]) if x.ndim > 1 else x.reshape(1, 1, -1)
    return np.concatenate([ordered(m, order) for m in matrices]).reshape(x.shape)


def orders(case, s):
    scale = np.float32(0.25)
    for name, order, shape in (("column-major", COL, (2, 3, 5)), ("row-major", ROW, (3, 5)), ("COL32", COL32, (2, 2, 64)), ("COL4_4R2_8C", COL4_4R2_8C, (16, 64)),
                               ("COL32_2R_4R4", COL32_2R_4R4, (32, 64))):
        x = s.f(*shape, scale=16)
        case("QuantizeWithOrder", name, [x, scale], expected=[each(byte(x / scale), order)], order_input=ROW, order_output=order)
    half = s.f(32, scale=16).astype(np.float16)
    case("QuantizeWithOrder", "a vector of float16", [half, scale], expected=[byte(half / np.float64(scale))], order_input=ROW, order_output=COL32)
    q = s.s8(2, 3, 32)
    case("DequantizeWithOrder", "COL32", [each(q, COL32), scale], expected=[q.astype(np.float32) * scale], order_input=COL32, order_output=ROW, to=1)
    case("DequantizeWithOrder", "row-major, float16", [q, scale], expected=[(q * scale).astype(np.float16)], order_input=ROW, order_output=ROW, to=10)


def products(case, s):
    def run(a, sa, b, sb, sy, bias=None, c=None, sc=None):
        y = a.astype(np.float64) @ b.astype(np.float64) * sa * sb / sy
        y = y if bias is None else y + bias
        return byte(y if c is None else y + c.astype(np.float64) * sc / sy)

    orders_of = dict(order_A=ROW, order_B=COL, order_Y=ROW)
    sa, sb, sc, sy = (np.float32(v) for v in (0.03125, 0.0625, 0.5, 1.5))
    scales = np.array([0.0625, 0.125, 0.25, 0.03125, 0.0625], np.float32)
    a, b = s.s8(2, 3, 8), s.s8(8, 5)
    several, one, single = s.s8(2, 8, 5), s.s8(1, 3, 5), s.s8(3, 8)
    case("QOrderedMatMul", "one B", [a, sa, each(b, COL), sb, sy], expected=[run(a, sa, b, sb, sy)], **orders_of)
    bias = s.f(5, scale=8)
    case("QOrderedMatMul", "scales of columns, bias", [a, sa, each(several, COL), scales, sy, bias], expected=[run(a, sa, several, scales, sy, bias)], **orders_of)
    case("QOrderedMatMul", "plus C", [a, sa, each(b, COL), sb, sy, None, one, sc], expected=[run(a, sa, b, sb, sy, None, one, sc)], **orders_of)
    case("QOrderedMatMul", "matrices", [single, sa, each(b, COL), sb, sy, bias, one[0], sc], expected=[run(single, sa, b, sb, sy, bias, one[0], sc)], **orders_of)


def rows(case, s):
    x, sx, sy = s.s8(2, 3, 8), np.float32(0.03125), np.float32(0.02)
    real = x.astype(np.float64) * sx
    case("QOrderedGelu", "bytes", [x, sx, sy], expected=[byte(0.5 * real * (1 + erf(real / np.sqrt(2))) / np.float64(sy))], order_X=COL32, order_Y=COL32)
    gamma, beta = s.f(8), s.f(8)
    norm = (real - real.mean(-1, keepdims=True)) / np.sqrt(real.var(-1, keepdims=True) + np.float64(np.float32(0.01)))
    case("QOrderedLayerNormalization", "no bias", [x, sx, gamma, None, sy], expected=[byte(norm * gamma / np.float64(sy))], epsilon=0.01)
    case("QOrderedLayerNormalization", "float16", [x, sx, gamma.astype(np.float16), beta.astype(np.float16), sy],
         expected=[byte((norm * gamma + beta) / np.float64(sy))], epsilon=0.01, order_X=ROW, order_Y=ROW, axis=-1)


# ---- Attention -----------------------------------------------------------------------------------


def byte_attention(case, s):
    def run(x, sx, gemm, weights, scales, biases, s_score, s_soft, sy, heads, mask=None, causal=False):
        parts = []
        for w, sw, bias, sg in zip(weights, scales, biases, gemm):
            y = byte((x.astype(np.float64) @ w.astype(np.float64) * np.float64(sx) * sw.astype(np.float64) + bias) / np.float64(sg)).astype(np.float64)
            parts.append(y.reshape(*y.shape[:2], heads, -1).transpose(0, 2, 1, 3))
        q, k, v = parts
        scores = byte(q @ k.transpose(0, 1, 3, 2) * np.float64(gemm[0]) * np.float64(gemm[1]) / np.float64(s_score)).astype(np.float64)
        e = np.exp((scores - scores.max(-1, keepdims=True)) * np.float64(s_score) / np.sqrt(q.shape[-1]))
        if mask is not None:
            e = e * (mask[:, None, None, :] != 0)
        if causal:
            e = np.tril(e)
        p = byte(e / (e.sum(-1, keepdims=True) * np.float64(s_soft))).astype(np.float64)
        y = p @ v * np.float64(s_soft) * np.float64(gemm[2]) / np.float64(sy)
        return byte(y.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1))

    x, heads = s.s8(2, 4, 6), 2
    weights, biases = [s.s8(6, 8) for _ in range(3)], [s.f(8) for _ in range(3)]
    scales = [np.float32(0.015625), s.pos(8) * np.float32(0.0625), np.float32(0.03125)]
    sx, gemm, s_score, s_soft, sy = np.float32(0.0625), [np.float32(v) for v in (0.5, 0.25, 0.375)], np.float32(2), np.float32(0.0078125), np.float32(0.3)
    stored = [each(w, COL) for w in weights]
    inputs = [x, sx, *gemm, *stored, *scales, *biases, s_score, s_soft, sy]
    known = dict(order_input=ROW, order_weight=COL, order_output=ROW, num_heads=heads)
    args = (x, sx, gemm, weights, scales, biases, s_score, s_soft, sy, heads)
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    case("QOrderedAttention", "no mask", inputs, expected=[run(*args)], **known)
    case("QOrderedAttention", "mask", [*inputs, mask], expected=[run(*args, mask)], qkv_hidden_sizes=[8, 8, 8], **known)
    case("QOrderedAttention", "causal", inputs, expected=[run(*args, causal=True)], unidirectional=1, **known)


def longformer(local, far, mask, flags, heads, window):
    """local and far: projections [batch, tokens, 3 * width] for the tokens that see a window and for those that see all."""
    def split(x):
        return [part.reshape(*part.shape[:2], heads, -1).transpose(0, 2, 1, 3) for part in np.split(x, 3, -1)]

    def attend(x, seen):
        q, k, v = split(x)
        scores = np.where(seen[:, None], q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1]), -1e30)
        return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)

    at = np.arange(local.shape[1])
    near = np.abs(at[:, None] - at) <= window
    open_ = mask >= 0
    y = attend(local, (near | (flags[:, None, :] != 0)) & open_[:, None, :])
    every = attend(far, np.broadcast_to(open_[:, None, :], (len(mask), *near.shape)))
    return np.where(flags[..., None] != 0, every, y) * open_[..., None]


def windows(case, s):
    x, w, bias, far, far_bias = s.f(2, 8, 6), s.f(6, 18, scale=0.25), s.f(18), s.f(6, 18, scale=0.25), s.f(18)
    mask = np.zeros((2, 8), np.float32)
    mask[0, 7] = mask[1, 5:] = -10000
    flags = np.zeros((2, 8), np.int32)
    some = flags.copy()
    some[0, [0, 1]] = some[1, 3] = 1
    known = dict(num_heads=2, window=2)

    def run(flags):
        a, b, c, d, e, f = wide(x, w, bias, far, far_bias, mask)
        return longformer(a @ b + c, a @ d + e, f, flags, 2, 2).astype(np.float32)

    case("LongformerAttention", "no global tokens", [x, w, bias, mask, far, far_bias, flags], expected=[run(flags)], **known)
    case("LongformerAttention", "global tokens", [x, w, bias, mask, far, far_bias, some], expected=[run(some)], **known)
    halves = [a.astype(np.float16) for a in (x, w, bias, mask, far, far_bias)]
    case("LongformerAttention", "float16", [*halves, some], expected=[run(some).astype(np.float16)], tolerance=1e-3, **known)

    q, wq, fq = s.s8(2, 8, 6), s.s8(6, 18), s.s8(6, 18)
    sx, sw, sf, sg, sfg, sy = (np.float32(v) for v in (0.0625, 0.015625, 0.03125, 0.25, 0.5, 0.125))
    parts = [(byte(q.astype(np.float64) @ b.astype(np.float64) * sx * scale / gemm + e) * np.float64(gemm)).astype(np.float16).astype(np.float64)
             for b, scale, gemm, e in ((wq, sw, sg, bias), (fq, sf, sfg, far_bias))]
    y = longformer(*parts, mask, some, 2, 2).astype(np.float16)
    case("QOrderedLongformerAttention", "global tokens",
         [q, sx, each(wq, COL), sw, bias, np.float32(1), sg, mask.astype(np.float16), each(fq, COL), sf, far_bias, sfg, some, sy],
         expected=[byte(y.astype(np.float64) / sy)], order_input=ROW, order_weight=COL, order_global_weight=COL, order_output=ROW, **known)


# ---- Blocks --------------------------------------------------------------------------------------


def turned(x, cos, sin, interleaved, offset):
    half, y = cos.shape[-1], x.copy()
    first = slice(offset, offset + 2 * half, 2) if interleaved else slice(offset, offset + half)
    second = slice(offset + 1, offset + 2 * half, 2) if interleaved else slice(offset + half, offset + 2 * half)
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., second] * cos + x[..., first] * sin
    return y


class Cache:
    """A cache [blocks, tokens, heads, size] whose elements are encoded and decoded by a pair of functions."""

    def __init__(self, array, encode, decode):
        self.array, self.encode, self.decode = array.copy(), encode, decode
        self.flat = self.array.reshape(-1, *array.shape[2:])

    def put(self, slot, x):
        self.flat[slot] = self.encode(x)

    def get(self, slots):
        return self.decode(self.flat[slots])


def plain(dtype):
    return (lambda x: x.astype(dtype)), (lambda x: x.astype(np.float64))


def scaled_bytes(scale):
    return (lambda x: byte(x / scale)), (lambda c: c.astype(np.float64) * scale)


def packed(codes):
    codes = np.concatenate([codes, np.zeros((*codes.shape[:-1], codes.shape[-1] % 2), codes.dtype)], -1)
    return (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)


def unpacked(bytes_, size):
    return np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(*bytes_.shape[:-1], -1)[..., :size]


def scaled_nibbles(scale, size):
    def decode(c):
        codes = unpacked(c, size).astype(np.int64)
        return np.where(codes < 8, codes, codes - 16) * scale
    return (lambda x: packed(np.clip(np.rint(x / scale), -8, 7).astype(np.int64) & 15)), decode


def scaled_fours(scale, size):
    four = ml_dtypes.float4_e2m1fn
    return (lambda x: packed(np.clip(x / scale, -6, 6).astype(four).view(np.uint8))), (lambda c: unpacked(c, size).view(four).astype(np.float64) * scale)


def paged(q, k, v, keys, values, firsts, pasts, table, cos=None, sin=None, slots=None, sink=None, q_norm=None, k_norm=None, scale=None, softcap=0,
          window=-1, causal=True, interleaved=False, offset=0, v_size=None):
    block, y = keys.array.shape[1], []
    norm = [lambda x, w=w: x if w is None else x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float64(np.float32(1e-6))) * w for w in (q_norm, k_norm)]
    for b, past in enumerate(pasts):
        count = firsts[b + 1] - firsts[b]
        at = np.arange(past, past + count)
        mine = slice(firsts[b], firsts[b + 1])
        places = np.array([table[b, p // block] * block + p % block for p in range(past + count)], np.int64)
        qs, ks = norm[0](q[mine]), norm[1](k[mine])
        if cos is not None:
            qs, ks = (turned(x, cos[at][:, None], sin[at][:, None], interleaved, offset) for x in (qs, ks))
        for i, t in enumerate(range(firsts[b], firsts[b + 1])):
            slot = places[past + i] if slots is None else slots[t]
            if slot >= 0:
                keys.put(slot, ks[i])
                if values is not None:
                    values.put(slot, v[t])
        every = keys.get(places)
        results = every[..., :v_size] if values is None else values.get(places)
        group = q.shape[1] // every.shape[1]
        every, results = np.repeat(every, group, 1), np.repeat(results, group, 1)
        scores = np.einsum("qhd,khd->hqk", qs, every) * (q.shape[2]**-0.5 if scale is None else scale)
        if softcap:
            scores = softcap * np.tanh(scores / softcap)
        j = np.arange(past + count)
        seen = (j <= at[:, None]) if causal else np.ones((count, past + count), bool)
        if window >= 0:
            seen = seen & (at[:, None] - j < window)
        scores = np.where(seen, scores, -np.inf)
        if sink is not None:
            scores = np.concatenate([scores, np.broadcast_to(sink[:, None, None], (*scores.shape[:2], 1))], -1)
        p = softmax(scores)
        y.append(np.einsum("hqk,khd->qhd", p[..., :past + count], results).reshape(count, -1))
    return np.concatenate(y)


class Batch:
    """Three sequences of 2, 1 and 1 new tokens behind 1, 3 and 0, in a cache of blocks of 2 tokens."""
    firsts, pasts = np.array([0, 2, 3, 4], np.int32), np.array([1, 3, 0], np.int32)
    table = np.array([[4, 1], [0, 3], [2, -1]], np.int32)

    def __init__(self, case, s, heads, kv, size):
        self.case, self.heads, self.kv, self.size = case, heads, kv, size
        self.q, self.k, self.v = (s.f(4, n * size, scale=0.5).astype(np.float16) for n in (heads, kv, kv))
        self.caches = self.cache(s.f).astype(np.float16), self.cache(s.f).astype(np.float16)

    def cache(self, draw, kv=None, size=None):
        return draw(5, 2, kv or self.kv, size or self.size)

    def tokens(self, x, n):
        return x.astype(np.float64).reshape(4, n, -1)

    def add(self, name, more=(), pair=None, caches=None, given=None, attrs=None, **how):
        """more: inputs behind the block table; pair: encode and decode of `caches`; how: for paged()."""
        caches, pair = caches or self.caches, pair or plain(np.float16)
        keys, values = (Cache(c, *pair) for c in caches)
        y = paged(self.tokens(self.q, self.heads), self.tokens(self.k, self.kv), self.tokens(self.v, self.kv), keys, values, self.firsts, self.pasts, self.table, **how)
        inputs = [*(given or [self.q, self.k, self.v]), *caches, self.firsts, self.pasts, self.table, *more]
        self.case("PagedAttention", name, inputs, expected=[y.astype(np.float16), keys.array, values.array], tolerance=2e-3, num_heads=self.heads, kv_num_heads=self.kv, **(attrs or {}))

    def add_latent(self, name, s):
        key, cache = s.f(4, self.size, scale=0.5).astype(np.float16), self.cache(s.f, 1).astype(np.float16)
        keys = Cache(cache, *plain(np.float16))
        y = paged(self.tokens(self.q, self.heads), self.tokens(key, 1), None, keys, None, self.firsts, self.pasts, self.table, scale=0.25, v_size=4)
        self.case("PagedAttention", name, [self.q, key, None, cache, None, self.firsts, self.pasts, self.table], expected=[y.astype(np.float16), keys.array], tolerance=2e-3,
                  num_heads=self.heads, kv_num_heads=1, kv_cache_layout="LATENT", v_head_size=4, scale=0.25)


def blocks(case, s):
    b = Batch(case, s, 4, 2, 8)
    b.add("three sequences")
    b.add("packed", given=[np.concatenate([b.q, b.k, b.v], 1), None, None])
    slots = np.array([8, -1, 7, 4], np.int32)
    b.add("slots", [None, None, slots], slots=slots)
    sink = s.f(4).astype(np.float16)
    b.add("sink, cap, scale", [None, None, None, sink], attrs=dict(softcap=1.5, scale=0.5), sink=sink.astype(np.float64), softcap=1.5, scale=0.5)
    b.add("window", attrs=dict(local_window_size=2), window=2)
    b.add("not causal", attrs=dict(is_causal=0, local_window_size=2), causal=False, window=2)
    norms = [s.pos(8).astype(np.float16) for _ in range(2)]
    b.add("normalised, with bounds", [None, None, None, None, *norms, None, None, np.array([2, 4], np.int32)], q_norm=norms[0].astype(np.float64), k_norm=norms[1].astype(np.float64))
    b.add_latent("latent", s)
    cos, sin = (f(np.arange(6)[:, None] / 4.0**np.arange(4)).astype(np.float16) for f in (np.cos, np.sin))
    tables = dict(cos=cos.astype(np.float64), sin=sin.astype(np.float64))
    b.add("rotary", [cos, sin], attrs=dict(do_rotary=1), **tables)
    Batch(case, s, 2, 1, 16).add("rotary, interleaved, offset", [cos, sin], attrs=dict(do_rotary=1, rotary_interleaved=1, rotary_offset=8), interleaved=True, offset=8, **tables)


def quantised_blocks(case, s):
    b, scale = Batch(case, s, 4, 2, 7), np.float32(0.0625)
    for_all, none = [scale.reshape(1)] * 2, [None] * 6
    kinds = dict(k_quant_type="PER_TENSOR", v_quant_type="PER_TENSOR")
    b.add("int8", [*none, *for_all], scaled_bytes(np.float64(scale)), [b.cache(s.s8) for _ in range(2)], attrs=dict(k_cache_dtype="int8", **kinds))
    each_scale = (s.pos(2, 1, 7) * np.float32(0.5)).astype(np.float32)
    b.add("int4 by channel, an odd size", [*none, each_scale, each_scale], scaled_nibbles(each_scale[:, 0].astype(np.float64), 7), [b.cache(s.u8, size=4) & 119 for _ in range(2)],
          attrs=dict(k_quant_type="PER_CHANNEL", v_quant_type="PER_CHANNEL", k_cache_dtype="int4", v_cache_dtype="int4"))
    b.add("float4", [*none, *for_all], scaled_fours(np.float64(scale), 7), [b.cache(s.u8, size=4) & 119 for _ in range(2)],
          attrs=dict(k_cache_dtype="float4e2m1", v_cache_dtype="float4e2m1", **kinds))
    eight = ml_dtypes.float8_e4m3fn
    b.add("float8", [*none, *for_all], ((lambda x: (x / np.float64(scale)).astype(eight)), (lambda c: c.astype(np.float64) * np.float64(scale))),
          [b.cache(s.f).astype(eight) for _ in range(2)], attrs=kinds)


def add(case, source):
    for build in (orders, products, rows, byte_attention, windows, blocks, quantised_blocks):
        build(case, source("ordered " + build.__name__))
