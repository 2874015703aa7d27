# SPDX-License-Identifier: Apache-2.0
"""Cases of contrib.py for operators that ONNX Runtime runs on accelerators only; the values are NumPy's, by the operators' published definitions."""
import ml_dtypes
import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def wide(*arrays):
    return [None if a is None else np.asarray(a).astype(np.float64) for a in arrays]


def sums(case, s):
    x, y = s.s8(2, 3, 4), s.u8(3, 5)
    case("ReduceSumInteger", "middle axis", [x], expected=[x.sum(1, dtype=np.int32, keepdims=True)], axes=[1], keepdims=1)
    case("ReduceSumInteger", "two axes", [x], expected=[x.sum((0, 2), dtype=np.int32)], axes=[0, -1], keepdims=0)
    case("ReduceSumInteger", "unsigned", [y], expected=[y.sum(0, dtype=np.uint32)], axes=[-2], keepdims=0)


def positions(case, s):
    angles = s.f(2, 3, 4)
    q, turned, k, k_turned = (s.f(2, n, 3, 4).astype(np.float16) for n in (2, 2, 1, 1))
    cos, sin = (f(angles).astype(np.float16).astype(np.float64)[:, None] for f in (np.cos, np.sin))
    case("GemmaRotaryEmbedding", "unequal heads", [angles, q, turned, k, k_turned],
         expected=[(a.astype(np.float64) * cos + b.astype(np.float64) * sin).astype(np.float16) for a, b in ((q, turned), (k, k_turned))], tolerance=1e-3)

    def gated(query, query_bias, rel_pos, weight, bias, eco_a, heads):
        x = (query + query_bias).reshape(*query.shape[:2], heads, -1).transpose(0, 2, 1, 3)
        sums = (x @ weight + bias).reshape(*x.shape[:3], 2, -1).sum(-1)
        u, r = sigmoid(sums[..., :1]), sigmoid(sums[..., 1:])
        return (u * (r * eco_a - 1) + 2) * rel_pos

    inputs = [s.f(2, 3, 8, scale=0.25), s.f(8, scale=0.25), s.f(1, 2, 3, 3), s.f(4, 6, scale=0.25), s.f(6), s.f(1, 2, 1, 1)]
    case("GatedRelativePositionBias", "a batch", inputs, expected=[gated(*wide(*inputs), 2).astype(np.float32)], num_heads=2)
    offsets = np.array([[0, 3, 4], [5, 1, 2]], np.int32)  # tokens 0, 3, 4 and 5 are real
    tokens = inputs[0].reshape(6, 8)[[0, 3, 4, 5]]
    whole = wide(*inputs)
    padded = whole[0].reshape(6, 8) + whole[1]
    padded[[1, 2]] = 0
    case("GatedRelativePositionBias", "without padding", [tokens, *inputs[1:], offsets],
         expected=[gated(padded.reshape(2, 3, 8), 0, *whole[2:], 2).astype(np.float32)], num_heads=2)


def products(case, s):
    a, bias = s.f(2, 3, 20).astype(np.float16), s.f(5).astype(np.float16)
    fp8 = ml_dtypes.float8_e4m3fn
    b, scales = s.f(5, 20, scale=4).astype(fp8), s.pos(5, 2)
    spread = np.repeat(scales.astype(np.float64), 16, 1)[:, :20]
    w = b.astype(np.float64) * spread
    op = "MatMulBlockQuantizedFp8Weight"
    case(op, "weights alone", [a, b, scales], expected=[(a.astype(np.float64) @ w.T).astype(np.float16)], tolerance=1e-3, block_size=16)
    rounded = (a.astype(np.float64) / 0.75).astype(np.float32).astype(fp8).astype(np.float64) * 0.75
    case(op, "activations, bias", [a, b, scales, np.array([0.75], np.float32), bias], expected=[(rounded @ w.T + bias.astype(np.float64)).astype(np.float16)], tolerance=1e-3, block_size=16)
    codes = s.u8(5, 10)
    values = np.stack([codes & 15, codes >> 4], -1).reshape(5, 20).astype(np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    each = s.pos(5, 2).astype(fp8)
    w = values * np.repeat(each.astype(np.float64), 16, 1)[:, :20] * 0.5
    case("MatMulBlockQuantizedFp4Weight", "bias", [a, codes, each.view(np.uint8), np.array([0.5], np.float32), None, bias],
         expected=[(a.astype(np.float64) @ w.T + bias.astype(np.float64)).astype(np.float16)], tolerance=1e-3)


def unpacked(codes, scales, n, k, block):
    values = np.stack([codes & 15, codes >> 4], -1).reshape(n, -1)[:, :k].astype(np.float64) - 8
    return values * np.repeat(scales.reshape(n, -1).astype(np.float64), block, 1)[:, :k]


def layers(case, s):
    k, block = 32, 16

    def weights(n, with_bias=True):
        return [s.u8(n, k // block, block // 2), s.pos(n * (k // block)), s.f(n) if with_bias else None]

    def product(x, w):
        n = len(w[0])
        return x @ unpacked(w[0], w[1], n, k, block).T + (0 if w[2] is None else w[2].astype(np.float64))

    def norm(x, scale, epsilon):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale

    a, skip, scale = s.f(1, 2, k, scale=0.25), s.f(1, 2, k, scale=0.25), s.pos(k)
    x, z, g = wide(a, skip, scale)
    gate, up = weights(4), weights(4, False)
    attrs = dict(K=k, N=4, block_size=block, activation="silu", bits=4)

    def mlp(x):
        y = product(x, gate)
        return (y * sigmoid(y) * product(x, up)).astype(np.float32)

    case("MatMulNBitsMlp", "no norm", [a, None, None, *gate, *up], expected=[mlp(x)], tolerance=1e-4, **attrs)
    case("MatMulNBitsMlp", "norm", [a, None, scale, *gate, *up], expected=[mlp(norm(x, g, 1e-5))], tolerance=1e-4, **attrs)
    case("MatMulNBitsMlp", "skip", [a, skip, scale, *gate, *up], expected=[mlp(norm(x + z, g, 0.25)), a + skip], tolerance=1e-4, epsilon=0.25, **attrs)
    q, key, value = weights(6, False), weights(3), weights(3)
    attrs = dict(K=k, Nq=6, Nkv=3, block_size=block)
    for name, given, y in (("norm", None, x), ("skip", skip, x + z)):
        made = [product(norm(y, g, 1e-6), w).astype(np.float32) for w in (q, key, value)]
        case("MatMulNBitsQkv", name, [a, given, scale, *q, *key, *value], expected=made + ([a + skip] if given is not None else []), tolerance=1e-4, **attrs)


def delta_net(q, k, v, firsts, g, beta, state, rule, scale, room=0, counts=None):
    """Inputs [tokens, heads, size]; the state [batch, heads, size of a value, size of a key]."""
    tokens, heads, v_size = v.shape
    k_heads, size = k.shape[1:]
    g = np.zeros((tokens, heads, 1)) if g is None else g.reshape(tokens, heads, -1)
    state, y = state.copy(), np.zeros((tokens, heads, v_size))
    decays, keys, deltas = np.zeros((len(state), room, heads)), np.zeros((len(state), room, k_heads, size)), np.zeros((len(state), room, heads, v_size))
    for b in range(len(state)):
        for t in range(firsts[b], firsts[b + 1]):
            for h in range(heads):
                key, query = k[t, h * k_heads // heads], q[t, h * k_heads // heads]
                decay = np.exp(g[t, h]) if "gated" in rule else 1
                state[b, h] *= decay
                delta = beta[t, h] * (v[t, h] - state[b, h] @ key) if "delta" in rule else v[t, h]
                state[b, h] += np.outer(delta, key)
                y[t, h] = scale * state[b, h] @ query
                at = t - firsts[b]
                if room and at < min(room, counts[b]):
                    decays[b, at, h] = decay[0]
                    keys[b, at, h * k_heads // heads] = key
                    deltas[b, at, h] = delta
    update = np.concatenate([x.reshape(len(state), -1) for x in (decays, keys, deltas)], 1)
    return [x.astype(np.float32) for x in (y, state, update)]


def recurrences(case, s):
    op = "GatedDeltaNet"
    q, k, v = s.f(5, 2, 3, scale=0.25), s.f(5, 2, 3, scale=0.25), s.f(5, 4, 2, scale=0.25)
    g, beta, state = -s.pos(5, 4), s.pos(5, 4), s.f(2, 4, 2, 3, scale=0.25)
    firsts = np.array([0, 2, 5], np.int32)
    x = wide(q, k, v)
    case(op, "two sequences", [q, k, v, firsts, g, beta, state], expected=delta_net(*x, firsts, g, beta, state.astype(np.float64), "gated_delta", 3**-0.5)[:2])
    case(op, "from nothing", [q, k, v, firsts, None, beta], expected=delta_net(*x, firsts, None, beta, np.zeros(state.shape), "delta", 0.5)[:2], update_rule="delta", scale=0.5)
    each = -s.pos(5, 4, 3)
    case(op, "a decay for each element", [q, k, v, firsts, each], expected=delta_net(*x, firsts, each, None, np.zeros(state.shape), "gated", 3**-0.5)[:1], update_rule="gated")
    case(op, "linear", [q, k, v, firsts, None, None, state], expected=delta_net(*x, firsts, None, None, state.astype(np.float64), "linear", 3**-0.5)[:2], update_rule="linear")
    counts = np.array([5, 1], np.int32)
    made = delta_net(*x, firsts, g, beta, state.astype(np.float64), "gated_delta", 3**-0.5, 3, counts)
    case(op, "captured factors", [q, k, v, firsts, g, beta, state, None, None, counts], expected=made, state_update_capacity=3)
    made = [*made[:2], np.zeros_like(made[2])]
    case(op, "capture turned off", [q, k, v, firsts, g, beta, state, None, None, counts, np.array([0], np.int32)], expected=made, state_update_capacity=3)
    a_log, dt = s.f(4, scale=0.5), s.f(4)
    raw, opened = s.f(4, 4), s.f(4, 4)
    packed = s.f(4, 2 * 2 * 3 + 4 * 2)
    qkv = packed.astype(np.float64)

    def unit(x):
        return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)

    parts = unit(qkv[:, :6].reshape(4, 2, 3)), unit(qkv[:, 6:12].reshape(4, 2, 3)), qkv[:, 12:].reshape(4, 4, 2)
    g = -np.exp(a_log.astype(np.float64)) * np.log1p(np.exp(raw.astype(np.float64) + dt))
    made = delta_net(*parts, [0, 2, 4], g, sigmoid(opened.astype(np.float64)), state.astype(np.float64), "gated_delta", 3**-0.5)
    attrs = dict(gate_activation="qwen", beta_activation="sigmoid", qk_l2_norm=1)
    case(op, "packed, activations", [packed, None, None, None, raw, opened, state, a_log, dt], expected=made[:2], **attrs)
    shaped = [packed.reshape(2, 2, -1), None, None, None, raw.reshape(2, 2, 4), opened.reshape(2, 2, 4), state, a_log, dt]
    case(op, "packed, activations, a batch axis", shaped, expected=[made[0].reshape(2, 2, 4, 2), made[1]], **attrs)


def convolutions(case, s):
    def convolve(x, w, firsts, bias, state, dilation, swish):
        y, left = np.zeros(x.shape), np.zeros(state.shape)
        for b in range(len(state)):
            line = np.concatenate([state[b].T, x[firsts[b]:firsts[b + 1]]])
            for t in range(firsts[b], firsts[b + 1]):
                at = t - firsts[b]
                y[t] = (0 if bias is None else bias) + sum(w[:, 0, j] * line[at + j * dilation] for j in range(w.shape[2]))
            left[b] = line[len(line) - state.shape[2]:].T
        return (y * sigmoid(y) if swish else y).astype(np.float32), left.astype(np.float32)

    op = "VarlenCausalConvWithState"
    x, w, bias, firsts = s.f(6, 3), s.f(3, 1, 3), s.f(3), np.array([0, 1, 6], np.int32)
    state, far = s.f(2, 3, 2), s.f(2, 3, 4)
    case(op, "no bias", [x, w, firsts, None, state], expected=convolve(*wide(x, w), firsts, None, state.astype(np.float64), 1, False))
    case(op, "bias, silu, dilation", [x, w, firsts, bias, far], expected=convolve(*wide(x, w), firsts, bias, far.astype(np.float64), 2, True), activation="silu", dilation=2)
    kept = np.zeros((2, 3, 3), np.float32)
    kept[0, :1], kept[1, :2] = x[:1], x[1:3]
    case(op, "captured tokens", [x, w, firsts, bias, state, np.array([2, 2], np.int32)], expected=[*convolve(*wide(x, w), firsts, bias, state.astype(np.float64), 1, False), kept], state_update_capacity=3)


def plugins(case, s):
    """Each domain under which exporters write TensorRT's plug-ins; EfficientNMS_ONNX_TRT gives rows of image, class and box, and repeats the last."""
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.125], [4, 4, 6, 6]], [[0, 0, 2, 2], [1, 0, 3, 2], [8, 8, 9, 9]]], np.float32)
    scores = np.array([[[0.75, 0.125], [0.875, 0.0625], [0.5, 0.625]], [[0.25, 0.5], [0.375, 0.0625], [0.75, 0.0625]]], np.float32)
    rows, count, limit = [], 2, 0.5
    for image, of_image in enumerate(boxes):
        found = []
        for label in range(2):
            kept = []
            for b in np.argsort(-scores[image, :, label], kind="stable"):
                if scores[image, b, label] < 0.1 or len(kept) == count:
                    continue
                low, high = np.maximum(of_image[b, :2], of_image[kept, :2]), np.minimum(of_image[b, 2:], of_image[kept, 2:])
                shared = np.prod(np.maximum(high - low, 0), -1)
                areas = np.prod(of_image[kept, 2:] - of_image[kept, :2], -1)
                if not (shared / (areas + np.prod(of_image[b, 2:] - of_image[b, :2]) - shared) > limit).any():
                    kept.append(b)
            found += [(scores[image, b, label], label, b) for b in kept]
        rows += [(image, label, b) for _, label, b in sorted(found, key=lambda f: -f[0])]
    rows += [rows[-1]] * (2 * 2 * count - len(rows))
    attrs = dict(iou_threshold=limit, max_output_boxes_per_class=count, score_threshold=0.1)
    x, scale, shift = s.f(2, 3, 4), s.f(3), s.f(3)
    wide_x = x.astype(np.float64)
    normed = (wide_x - wide_x.mean(-1, keepdims=True)) / np.sqrt(wide_x.var(-1, keepdims=True) + 1e-3) * scale[:, None] + shift[:, None]
    for domain in ("", "TRT", "trt", "trt.plugins"):
        case("EfficientNMS_ONNX_TRT", f"rows, domain {domain or 'ai.onnx'}", [boxes, scores.transpose(0, 2, 1).copy()], expected=[np.array(rows, np.int32)], domain=domain, **attrs)
        case("InstanceNormalization_TRT", f"domain {domain or 'ai.onnx'}", [x, scale, shift], expected=[normed.astype(np.float32)], domain=domain, epsilon=1e-3)


def add(case, source):
    for build in (plugins, sums, positions, products, layers, recurrences, convolutions):
        build(case, source("streams " + build.__name__))
