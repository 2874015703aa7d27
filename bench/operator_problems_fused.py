# SPDX-License-Identifier: Apache-2.0
"""More problems of bench/operators.py: what ONNX Runtime's optimiser makes of exported models, and operators of recent decoders (linear attention,
hyper-connections, rotations of several axes)."""
import numpy as np

from operator_problems import const, ints, normal, problem, uniform

CONTRIB = {"domain": "com.microsoft"}


def i32(low, high, *shape):
    return ints(low, high, *shape, dtype=np.int32)


def angles(places, pairs):
    x = np.outer(np.arange(places), 1e4 ** (-np.arange(pairs) / pairs)).astype(np.float32)
    return {"c": const(np.cos(x)), "s": const(np.sin(x))}


# ---- What the optimiser makes ----
for batch, rows in ((1, 128), (8, 128), (1, 8)):
    problem(f"EmbedLayerNormalization: {batch}x{rows}x768", "EmbedLayerNormalization",
            {"i": i32(0, 30522, batch, rows), "s": i32(0, 2, batch, rows), "w": const(normal(30522, 768)), "p": const(normal(512, 768)), "t": const(normal(2, 768)),
             "g": const(normal(768)), "b": const(normal(768)), "m": np.ones((batch, rows), np.int32)}, outputs=2, **CONTRIB)
for rows in (1, 64):
    problem(f"FusedGemm: {rows}x768x3072, Relu", "FusedGemm", {"x": normal(rows, 768), "w": const(normal(768, 3072) / 28), "b": const(normal(3072))}, activation="Relu", **CONTRIB)
problem("FusedGemm: 64x256x256, transposed, LeakyRelu", "FusedGemm", {"x": normal(64, 256), "w": const(normal(256, 256) / 16), "b": const(normal(256))},
        activation="LeakyRelu", activation_alpha=0.1, transB=1, **CONTRIB)
problem("TransposeMatMul: 12x128x64 by 12x128x64", "TransposeMatMul", {"x": normal(12, 128, 64), "w": normal(12, 128, 64)}, transB=1, alpha=0.125, **CONTRIB)
for batch, past, longest in ((1, 128, 256), (1, 128, 2048), (4, 300, 448)):
    cache = {"pk": normal(batch, 12, longest, 64), "pv": normal(batch, 12, longest, 64)}
    problem(f"DecoderMaskedMultiHeadAttention: {batch}x768, {past} tokens in a buffer of {longest}", "DecoderMaskedMultiHeadAttention",
            {"q": normal(batch, 1, 768), "k": normal(batch, 1, 768), "v": normal(batch, 1, 768), "": None, " ": None, **cache, "l": const([past], np.int32)},
            outputs=3, num_heads=12, past_present_share_buffer=1, **CONTRIB)
layout = np.tril(np.ones((32, 32), bool))
layout &= (np.arange(32)[:, None] - np.arange(32)[None] < 4) | (np.arange(32)[None] % 8 == 7)
rows_of, columns = np.concatenate([[0], layout.sum(1).cumsum()]).astype(np.int32)[None], np.nonzero(layout)[1].astype(np.int32)[None]
for rows, total in ((512, 512), (1, 2000)):
    problem(f"SparseAttention: {rows} of {total} tokens, 32/8 heads of 64", "SparseAttention",
            {"q": normal(1, rows, 2048), "k": normal(1, rows, 512), "v": normal(1, rows, 512), "pk": normal(1, 8, 2048, 64), "pv": normal(1, 8, 2048, 64), "r": const(rows_of),
             "n": const(columns), "t": const([total], np.int32), "l": const([total], np.int32), **angles(2048, 32)},
            outputs=3, shared={"y1": "pk", "y2": "pv"}, num_heads=32, kv_num_heads=8, sparse_block_size=64, do_rotary=1, **CONTRIB)
problem("CDist: 1000 by 1000 points of 64", "CDist", {"a": normal(1000, 64), "b": normal(1000, 64)}, metric="sqeuclidean", **CONTRIB)
problem("MaxpoolWithMask: 1x16x64x64", "MaxpoolWithMask", {"x": normal(1, 16, 64, 64), "m": i32(0, 2, 1, 16, 64, 64)}, kernel_shape=[2, 2], strides=[2, 2], **CONTRIB)
problem("Inverse: 32x16x16", "Inverse", {"x": normal(32, 16, 16)}, **CONTRIB)
problem("UnfoldTensor: 8x512 by 25", "UnfoldTensor", {"x": normal(8, 512)}, dim=-1, size=25, step=1, **CONTRIB)
problem("NGramRepeatBlock: 4x200, 32000 words", "NGramRepeatBlock", {"i": ints(0, 200, 4, 200), "x": normal(4, 32000)}, ngram_size=3, **CONTRIB)
problem("ExpandDims: 128x768", "ExpandDims", {"x": normal(128, 768), "a": const([0], np.int32)}, **CONTRIB)
problem("MatMulInteger16: 64x256x256", "MatMulInteger16", {"x": ints(-900, 900, 64, 256, dtype=np.int16), "w": const(ints(-900, 900, 256, 256, dtype=np.int16))}, **CONTRIB)
# ---- Recent decoders ----
for rows in (1, 256):
    problem(f"LinearAttention: gated delta, {rows} tokens, 16 heads of 128x128", "LinearAttention",
            {"q": normal(1, rows, 2048) / 11, "k": normal(1, rows, 2048) / 11, "v": normal(1, rows, 2048), "p": normal(1, 16, 128, 128), "d": -uniform(0, 1, 1, rows, 16),
             "b": uniform(0, 1, 1, rows, 16)}, outputs=2, q_num_heads=16, kv_num_heads=16, update_rule="gated_delta", **CONTRIB)
    problem(f"LinearAttention: gated, {rows} tokens, 8 heads of 64x64", "LinearAttention",
            {"q": normal(1, rows, 512) / 8, "k": normal(1, rows, 512) / 8, "v": normal(1, rows, 512), "p": normal(1, 8, 64, 64), "d": -uniform(0, 1, 1, rows, 512)},
            outputs=2, q_num_heads=8, kv_num_heads=8, update_rule="gated", **CONTRIB)
    problem(f"CausalConvWithState: {rows} tokens, 4096 channels, 4 taps, silu", "CausalConvWithState",
            {"x": normal(1, 4096, rows), "w": const(normal(4096, 1, 4)), "b": const(normal(4096)), "p": normal(1, 4096, 3)}, outputs=2, activation="silu", **CONTRIB)
    problem(f"GatedRMSNorm: {rows} tokens, 32 heads of 128", "GatedRMSNorm", {"x": normal(1, rows, 4096), "s": const(normal(128)), "g": normal(1, rows, 4096)}, activation="silu", **CONTRIB)
    problem(f"LinearAttentionGate: {rows} tokens, 32 heads", "LinearAttentionGate",
            {"a": normal(1, rows, 32), "d": const(normal(32)), "s": const(-uniform(0, 1, 32)), "b": normal(1, rows, 32)}, outputs=2, **CONTRIB)
    problem(f"MRotaryEmbedding: {rows} tokens, 28 heads of 128", "MRotaryEmbedding",
            {"x": normal(1, 28, rows, 128), "p": ints(0, 2048, 3, 1, rows), **angles(2048, 64)}, mrope_section=[16, 24, 24], **CONTRIB)
    problem(f"BranchwiseRMSNorm: {rows} tokens, 4 branches of 1024", "BranchwiseRMSNorm", {"x": normal(1, rows, 4, 1024), "s": const(normal(1024))}, **CONTRIB)
    problem(f"HyperConnectionPreMix: {rows} tokens, 4 branches of 1024", "HyperConnectionPreMix", {"x": normal(1, rows, 4, 1024), "m": normal(1, rows, 4)}, **CONTRIB)
    problem(f"HyperConnectionPostMix: {rows} tokens, 4 branches of 1024", "HyperConnectionPostMix",
            {"x": normal(1, rows, 4, 1024), "y": normal(1, rows, 1024), "m": normal(1, rows, 4), "s": normal(1, rows, 4, 4)}, **CONTRIB)
    problem(f"EngramGate: {rows} tokens, 4 branches of 1024", "EngramGate",
            {"k": normal(1, rows, 4, 1024), "q": normal(1, rows, 4, 1024), "v": normal(1, rows, 1024), "ks": const(normal(4, 1024)), "qs": const(normal(4, 1024))}, **CONTRIB)
    problem(f"GatedAdd: {rows}x2048", "GatedAdd", {"x": normal(1, rows, 2048), "y": normal(1, rows, 2048), "g": uniform(0, 1, 1, rows, 1)}, **CONTRIB)
    problem(f"ScaledSiLU: {rows}x2048", "ScaledSiLU", {"x": normal(1, rows, 2048)}, alpha=1.5, **CONTRIB)
problem("GatedAdd: 256x2048, float16", "GatedAdd", {"x": normal(1, 256, 2048).astype(np.float16), "y": normal(1, 256, 2048).astype(np.float16), "g": uniform(0, 1, 1, 256, 1).astype(np.float16)}, **CONTRIB)
problem("ScaledSiLU: 256x2048, float16", "ScaledSiLU", {"x": normal(1, 256, 2048).astype(np.float16)}, alpha=1.5, **CONTRIB)
problem("LinearAttentionGate: 256 tokens, 32 heads, float16", "LinearAttentionGate",
        {"a": normal(1, 256, 32).astype(np.float16), "d": const(normal(32)), "s": const(-uniform(0, 1, 32)), "b": normal(1, 256, 32).astype(np.float16)}, outputs=2, **CONTRIB)
# ---- Others without a table ----
for batch, hidden, layer, directions in ((1, 256, 0, 1), (8, 256, 256, 1), (8, 128, 0, 2)):
    size = layer or 256
    attention = {"qw": const(normal(directions, hidden, 128) / 16), "mw": const(normal(directions, 256, 128) / 16), "v": const(normal(directions, 128)), "m": normal(batch, 60, 256)}
    problem(f"AttnLSTM: 24x{batch}x64, {hidden} units, {directions} direction{'s' * (directions > 1)}, memory of 60x256, {'attention layer' if layer else 'context'}", "AttnLSTM",
            {"x": normal(24, batch, 64), "w": const(normal(directions, 4 * hidden, 64 + size) / 16), "r": const(normal(directions, 4 * hidden, hidden) / 16),
             "b": const(normal(directions, 8 * hidden)), "": None, " ": None, "  ": None, "   ": None, **attention,
             **({"    ": None, "aw": const(normal(directions, 256 + hidden, layer) / 16)} if layer else {})},
            outputs=3, hidden_size=hidden, direction="bidirectional" if directions > 1 else "forward", **CONTRIB)
problem("CumProd: 64x1024", "CumProd", {"x": uniform(0.9, 1.1, 64, 1024), "a": const([1])}, opset=26)
problem("TensorScatter: 1 row in 8x32x2048x64", "TensorScatter", {"x": normal(1, 8, 2048, 64), "u": normal(1, 8, 1, 64), "i": const([100])}, opset=24)
problem("MelWeightMatrix: 80 of 257", "MelWeightMatrix", {"n": const(80), "f": const(512), "r": const(16000), "l": const(0.0, np.float32), "h": const(8000.0, np.float32)})
problem("HannWindow: 512", "HannWindow", {"n": const(512)})
problem("TfIdfVectorizer: 32x128 ids", "TfIdfVectorizer", {"x": ints(0, 1000, 32, 128)}, mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
        ngram_counts=[0, 500], ngram_indexes=list(range(1000)), pool_int64s=list(range(500)) + [int(v) for v in ints(0, 1000, 1000)])
