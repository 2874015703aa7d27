# SPDX-License-Identifier: Apache-2.0
"""Cases of contrib.py for attention that ONNX Runtime runs on GPUs only; the values are NumPy's, by the operators' published definitions."""
import ml_dtypes
import numpy as np


def softmax(scores, sink=None):
    most = scores.max() if sink is None else max(scores.max(), sink)
    e = np.exp(scores - most)
    return e / (e.sum() + (0 if sink is None else np.exp(sink - most)))


def longformer(x, weight, bias, mask, global_weight, global_bias, flags, heads, window):
    batch, tokens, width = x.shape
    size = width // heads
    local, far = ((x @ w + b).reshape(batch, tokens, 3, heads, size) for w, b in ((weight, bias), (global_weight, global_bias)))
    y = np.zeros((batch, tokens, heads, size))
    for b in range(batch):
        for i in range(tokens):
            seen = [j for j in range(tokens) if abs(i - j) <= window or flags[b, j] or flags[b, i]]
            q, k, v = (far if flags[b, i] else local)[b].transpose(1, 0, 2, 3)
            for h in range(heads):
                y[b, i, h] = softmax(k[seen, h] @ q[i, h] / np.sqrt(size) + mask[b, seen]) @ v[seen, h]
    return y.reshape(x.shape).astype(np.float32)


def long_texts(case, s):
    inputs = [s.f(2, 8, 4, scale=0.5), s.f(4, 12, scale=0.5), s.f(12, scale=0.5), np.zeros((2, 8), np.float32), s.f(4, 12, scale=0.5), s.f(12, scale=0.5)]
    inputs[3][1, 6:] = -10000
    for name, flags in (("no global token", np.zeros((2, 8), np.int32)), ("global tokens", np.array([[1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1, 0, 0]], np.int32))):
        for window in (1, 2):
            y = longformer(*(x.astype(np.float64) for x in inputs), flags, 2, window)
            case("LongformerAttention", f"{name}, window {window}", [*inputs, flags], expected=[y], num_heads=2, window=window)


class Paged:
    """Sequences of 1 and 3 new tokens after 3 and 0 old ones, in blocks of 2 tokens."""

    def __init__(self, s, heads=4, kv=2, size=4, type_=np.float16):
        self.s, self.heads, self.kv, self.size, self.type = s, heads, kv, size, type_
        self.firsts, self.pasts = np.array([0, 1, 4], np.int32), np.array([3, 0], np.int32)
        self.table = np.array([[4, 1], [0, 3]], np.int32)
        self.q, self.k, self.v = (s.f(4, n * size, scale=0.5).astype(type_) for n in (heads, kv, kv))
        self.k_cache, self.v_cache = (s.f(5, 2, kv, size, scale=0.5).astype(type_) for _ in range(2))
        self.cos, self.sin = (s.f(4, size // 2).astype(type_) for _ in range(2))

    def rotated(self, x, position, interleaved):
        a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else np.split(x, 2, -1)
        c, d = self.cos[position].astype(np.float64), self.sin[position].astype(np.float64)
        parts = a * c - b * d, b * c + a * d
        return np.stack(parts, -1).reshape(x.shape) if interleaved else np.concatenate(parts, -1)

    def run(self, rotary=False, interleaved=False, window=0, causal=True, cap=0, sink=None, norms=None, slots=None, store=None, scales=(1, 1), v_size=None, scale=None):
        size, scale = self.size, self.size**-0.5 if scale is None else scale
        store = store or (lambda x: x.astype(self.type))
        keys, values = (x.astype(np.float64) * w for x, w in zip((self.k_cache, self.v_cache), scales))
        out = np.zeros((4, self.heads, v_size or size))
        queries = np.zeros((4, self.heads, size))

        def slot(b, position):
            return self.table[b, position // 2], position % 2

        for b in range(2):
            for t in range(self.firsts[b], self.firsts[b + 1]):
                position = self.pasts[b] + t - self.firsts[b]
                q, k, v = (x[t].astype(np.float64).reshape(-1, size) for x in (self.q, self.k, self.v))
                if norms:
                    q, k = (x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w.astype(np.float64) for x, w in zip((q, k), norms))
                if rotary:
                    q, k = self.rotated(q, position, interleaved), self.rotated(k, position, interleaved)
                queries[t] = q
                if slots is None or slots[t] >= 0:
                    at = slot(b, position) if slots is None else divmod(slots[t], 2)
                    keys[at] = store(k / scales[0]).astype(np.float64) * scales[0]
                    values[at] = store(v / scales[1]).astype(np.float64) * scales[1]
        for b in range(2):
            total = self.pasts[b] + self.firsts[b + 1] - self.firsts[b]
            for t in range(self.firsts[b], self.firsts[b + 1]):
                position = self.pasts[b] + t - self.firsts[b]
                seen = [j for j in range(position + 1 if causal else total) if not window or position - j < window]
                for h in range(self.heads):
                    group = h * self.kv // self.heads
                    k = np.array([keys[slot(b, j)][group] for j in seen])
                    v = k[:, :v_size] if v_size else np.array([values[slot(b, j)][group] for j in seen])
                    scores = k @ queries[t, h] * scale
                    out[t, h] = softmax(cap * np.tanh(scores / cap) if cap else scores, None if sink is None else float(sink[h])) @ v
        return out.reshape(4, -1).astype(self.type), keys, values


def pages(case, s):
    op = "PagedAttention"

    def add(name, p, inputs=None, attrs=(), v_scale=None, **how):
        y, keys, values = p.run(**how)
        outputs = [y, keys.astype(p.type), values.astype(p.type)]
        rest = dict(inputs or {})
        given = [p.q, p.k, p.v, p.k_cache, p.v_cache, p.firsts, p.pasts, p.table] + [rest.get(i) for i in ("cos", "sin", "slots", "sink", "q_norm", "k_norm")]
        while given[-1] is None:
            given.pop()
        case(op, name, given, expected=outputs, tolerance=4e-3, num_heads=p.heads, kv_num_heads=p.kv, **dict(attrs))

    p = Paged(s)
    add("two sequences", p)
    add("window, softcap", p, attrs=dict(local_window_size=2, softcap=0.75), window=2, cap=0.75)
    add("not causal", p, attrs=dict(is_causal=0, scale=0.5), causal=False, scale=0.5)
    sink, norms = s.f(4).astype(np.float16), [s.pos(4).astype(np.float16) for _ in range(2)]
    add("sinks, norms, rotary", p, dict(cos=p.cos, sin=p.sin, sink=sink, q_norm=norms[0], k_norm=norms[1]), dict(do_rotary=1), rotary=True, sink=sink, norms=norms)
    add("interleaved rotary, a token that is not stored", p, dict(cos=p.cos, sin=p.sin, slots=np.array([3, 0, -1, 6], np.int32)), dict(do_rotary=1, rotary_interleaved=1),
        rotary=True, interleaved=True, slots=[3, 0, -1, 6])
    packed = np.concatenate([p.q, p.k, p.v], -1)
    y, keys, values = p.run()
    case(op, "packed", [packed, None, None, p.k_cache, p.v_cache, p.firsts, p.pasts, p.table], expected=[y, keys.astype(p.type), values.astype(p.type)], tolerance=4e-3, num_heads=4, kv_num_heads=2)
    p = Paged(s, type_=ml_dtypes.bfloat16)
    add("bfloat16", p)
    # caches of 8 bits
    p = Paged(s)
    p.k_cache, p.v_cache = s.s8(5, 2, 2, 4), s.s8(5, 2, 2, 4)
    one, each = np.array([0.0625], np.float32), s.pos(2, 1, 4) / 16
    y, keys, values = p.run(store=lambda x: np.clip(np.round(x), -128, 127), scales=(0.0625, each.reshape(2, 4).astype(np.float64)))
    outputs = [y, np.round(keys / 0.0625).astype(np.int8), np.round(values / each.reshape(2, 4)).astype(np.int8)]
    given = [p.q, p.k, p.v, p.k_cache, p.v_cache, p.firsts, p.pasts, p.table, None, None, None, None, None, None, one, each.astype(np.float32)]
    case(op, "int8 caches", given, expected=outputs, tolerance=4e-3, num_heads=4, kv_num_heads=2, k_quant_type="PER_TENSOR", v_quant_type="PER_CHANNEL")
    # one cache for keys and values
    p = Paged(s, kv=1)
    y, keys, _ = p.run(v_size=2, scale=0.5)
    case(op, "latent", [p.q, p.k, None, p.k_cache, None, p.firsts, p.pasts, p.table], expected=[y, keys.astype(p.type)], tolerance=4e-3, num_heads=4, kv_num_heads=1, kv_cache_layout="LATENT", v_head_size=2, scale=0.5)


def add(case, source):
    for build in (long_texts, pages):
        build(case, source("attention " + build.__name__))
