#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of ONNX Runtime's own operators (domain com.microsoft), values from ONNX Runtime.

    contrib_cases.py [FILE...]        all of the rows below by default

A row is (file, title, operator, attributes, inputs, outputs, tolerance). Texts of TEXT need no values.
"""
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper

from make_cases import CODES, attribute_lines, tensor_lines, type_of

HERE = os.path.dirname(os.path.abspath(__file__))
F32, U8, I8, I32, I64 = np.float32, np.uint8, np.int8, np.int32, np.int64
ROWS, TEXT = [], {}
random = np.random.RandomState(11)


def add(file, title, op, attrs, inputs, outputs=1, tolerance=1e-5):
    ROWS.append((file, title, op, attrs, inputs, outputs, tolerance))


def rand(*shape):
    return np.round(random.standard_normal(shape) * 16).astype(F32) / 8


def bytes_of(*shape, dtype=U8):
    low, high = (0, 256) if dtype == U8 else (-128, 128)
    return random.randint(low, high, shape).astype(dtype)


def one(value, dtype=F32):
    return np.array(value, dtype)


X = np.array([-5, -2.5, -1, -0.125, 0, 0.125, 1, 2.5, 5], F32)
add("gelu", "com.microsoft", "Gelu", {}, [X])
add("bias_gelu", "bias", "BiasGelu", {}, [rand(2, 3, 4), rand(4)])
add("fast_gelu", "no bias", "FastGelu", {}, [X])
add("fast_gelu", "bias", "FastGelu", {}, [rand(2, 4), rand(4)])
add("quick_gelu", "default alpha", "QuickGelu", {}, [X])
add("quick_gelu", "alpha", "QuickGelu", {"alpha": 0.5}, [X])
for name, params in [("Relu", None), ("LeakyRelu", [0.25]), ("Tanh", None), ("Sigmoid", None), ("Clip", [-1.0, 2.0]),
                     ("HardSigmoid", [0.25, 0.5])]:
    attrs = {"activation": name, "pads": [1, 1, 1, 1]}
    if params:
        attrs["activation_params"] = params
    add("fused_conv", name, "FusedConv", attrs, [rand(1, 2, 3, 3), rand(2, 2, 3, 3), rand(2)])
add("fused_conv", "a tensor is added", "FusedConv", {"activation": "Relu"},
    [rand(1, 2, 3, 3), rand(2, 2, 1, 1), rand(2), rand(1, 2, 3, 3)])
add("fused_gemm", "Relu", "FusedGemm", {"activation": "Relu", "transB": 1, "alpha": 0.5}, [rand(2, 3), rand(4, 3), rand(4)])
add("fused_gemm", "LeakyRelu", "FusedGemm", {"activation": "LeakyRelu", "activation_alpha": 0.25},
    [rand(2, 3), rand(3, 2), rand(2)])
add("fused_mat_mul", "alpha and transB", "FusedMatMul", {"alpha": 0.5, "transB": 1}, [rand(2, 2, 3), rand(2, 4, 3)])
add("fused_mat_mul", "transA", "FusedMatMul", {"transA": 1}, [rand(3, 2), rand(3, 2)])
add("fused_mat_mul", "transBatchA", "FusedMatMul", {"transBatchA": 1}, [rand(2, 3, 4), rand(3, 4, 2)])
add("fused_mat_mul", "transBatchB and transB", "FusedMatMul", {"transBatchB": 1, "transB": 1}, [rand(3, 2, 4), rand(2, 3, 4)])
add("skip_layer_normalization", "all inputs, the sum too", "SkipLayerNormalization", {"epsilon": 1e-5},
    [rand(1, 3, 4), rand(1, 3, 4), rand(4), rand(4), rand(4)], [0, 3])
add("skip_layer_normalization", "least inputs", "SkipLayerNormalization", {}, [rand(2, 2, 4), rand(2, 2, 4), rand(4)])
add("skip_layer_normalization", "a skip for every batch", "SkipLayerNormalization", {}, [rand(2, 2, 4), rand(1, 2, 4), rand(4)])
add("skip_layer_normalization", "simplified", "SkipSimplifiedLayerNormalization", {"epsilon": 1e-5},
    [rand(1, 3, 4), rand(1, 3, 4), rand(4), rand(4)], [0, 3])
add("simplified_layer_normalization", "last axis", ":SimplifiedLayerNormalization", {}, [rand(2, 3, 4), rand(4)])
add("quantize_linear", "com.microsoft", "QuantizeLinear", {}, [rand(2, 3), one(0.25), one(100, U8)])
add("dequantize_linear", "com.microsoft", "DequantizeLinear", {}, [bytes_of(2, 3), one(0.25), one(100, U8)])

A, B = (one(0.25), one(100, U8)), (one(0.0625), one(-3, I8))
add("qlinear_add", "uint8", "QLinearAdd", {}, [bytes_of(2, 3), *A, bytes_of(2, 3), one(0.5), one(7, U8), one(0.75), one(90, U8)])
add("qlinear_add", "int8, broadcast", "QLinearAdd", {}, [bytes_of(2, 3, dtype=I8), *B, bytes_of(3, dtype=I8), *B, one(0.125), one(0, I8)])
add("qlinear_mul", "uint8", "QLinearMul", {}, [bytes_of(2, 3), *A, bytes_of(2, 1), one(0.5), one(7, U8), one(7.3), one(90, U8)])
add("qlinear_sigmoid", "uint8", "QLinearSigmoid", {}, [bytes_of(9), one(0.0625), one(128, U8), one(1 / 256), one(0, U8)])
add("qlinear_leaky_relu", "int8", "QLinearLeakyRelu", {"alpha": 0.25}, [bytes_of(9, dtype=I8), *B, one(0.07), one(-30, I8)])
add("qlinear_concat", "three inputs", "QLinearConcat", {"axis": 1},
    [one(0.3), one(100, U8), bytes_of(2, 1), *A, bytes_of(2, 2), one(0.5), one(7, U8), bytes_of(2, 1), one(0.11), one(3, U8)])
add("qlinear_global_average_pool", "uint8", "QLinearGlobalAveragePool", {}, [bytes_of(1, 2, 3, 3), *A, one(0.21), one(90, U8)])
add("qlinear_average_pool", "padded", "QLinearAveragePool", {"kernel_shape": [2, 2], "pads": [1, 1, 0, 0]},
    [bytes_of(1, 1, 3, 3), *A, one(0.23), one(90, U8)])
add("qlinear_softmax", "rows", "QLinearSoftmax", {"axis": -1, "opset": 13},
    [bytes_of(2, 4), one(0.03125), one(100, U8), one(1 / 256), one(0, U8)])

add("mat_mul_n_bits", "4 bits", "MatMulNBits", {"K": 32, "N": 3, "bits": 4, "block_size": 16},
    [rand(2, 32), bytes_of(3, 2, 8), rand(6)])
add("mat_mul_n_bits", "4 bits, packed zero points", "MatMulNBits", {"K": 40, "N": 2, "bits": 4, "block_size": 16},
    [rand(1, 2, 40), bytes_of(2, 3, 8), rand(6), bytes_of(4)])
add("mat_mul_n_bits", "8 bits, bias", "MatMulNBits", {"K": 16, "N": 2, "bits": 8, "block_size": 16},
    [rand(2, 16), bytes_of(2, 1, 16), rand(2), None, None, rand(2)], 1, 1e-4)
add("mat_mul_integer_to_float", "scalars", "MatMulIntegerToFloat", {},
    [bytes_of(2, 3), bytes_of(3, 2), one(0.25), one(0.5), one(100, U8), one(128, U8), rand(2)])
add("mat_mul_integer_to_float", "by columns", "MatMulIntegerToFloat", {},
    [bytes_of(2, 3), bytes_of(3, 2, dtype=I8), one(0.25), rand(2), one(100, U8)])
add("dynamic_quantize_mat_mul", "uint8 weights", "DynamicQuantizeMatMul", {},
    [rand(2, 3), bytes_of(3, 2), one(0.5), one(128, U8), rand(2)])
add("dynamic_quantize_mat_mul", "int8 weights", "DynamicQuantizeMatMul", {}, [rand(2, 3), bytes_of(3, 2, dtype=I8), rand(2)])

H2 = {"num_heads": 2}
add("multi_head_attention", "key and value of another length", "MultiHeadAttention", H2, [rand(1, 2, 4), rand(1, 3, 4), rand(1, 3, 4)])
add("multi_head_attention", "bias and causal", "MultiHeadAttention", {**H2, "unidirectional": 1},
    [rand(1, 3, 4), rand(1, 3, 4), rand(1, 3, 4), rand(12)])
add("multi_head_attention", "padding and scores", "MultiHeadAttention", {**H2, "scale": 0.5},
    [rand(2, 2, 4), rand(2, 3, 4), rand(2, 3, 4), None, np.array([[1, 1, 0], [1, 1, 1]], I32), rand(1, 2, 2, 3)])
add("multi_head_attention", "cache", "MultiHeadAttention", H2,
    [rand(1, 1, 4), rand(1, 1, 4), rand(1, 1, 4), None, None, None, rand(1, 2, 2, 2), rand(1, 2, 2, 2)], 3)
add("packed_attention", "plain", "Attention", H2, [rand(1, 2, 4), rand(4, 12), rand(12)])
add("packed_attention", "lengths", "Attention", H2, [rand(2, 3, 4), rand(4, 12), rand(12), np.array([2, 3], I32)])
add("packed_attention", "flags, causal", "Attention", {**H2, "unidirectional": 1},
    [rand(1, 3, 4), rand(4, 12), rand(12), np.array([[1, 1, 0]], I32)])
add("packed_attention", "cache", "Attention", H2, [rand(1, 1, 4), rand(4, 12), rand(12), None, rand(2, 1, 2, 2, 2)], 2)
add("packed_attention", "other value width", "Attention", {**H2, "qkv_hidden_sizes": [4, 4, 2]},
    [rand(1, 2, 4), rand(4, 10), rand(10)])

add("contrib_rotary_embedding", "positions of a batch", "RotaryEmbedding", {},
    [rand(2, 2, 4), np.array([[0, 1], [2, 0]], I64), rand(3, 2), rand(3, 2)])
add("contrib_rotary_embedding", "first position, interleaved", "RotaryEmbedding", {"interleaved": 1},
    [rand(1, 2, 2, 4), np.array([1], I64), rand(3, 2), rand(3, 2)])
add("contrib_rotary_embedding", "part of a head", "RotaryEmbedding", {"num_heads": 2, "rotary_embedding_dim": 2},
    [rand(1, 2, 8), np.array([0], I64), rand(3, 1), rand(3, 1)])
IDS = np.array([[1, 3], [0, 2]], I32)
add("embed_layer_normalization", "all embeddings and a mask", "EmbedLayerNormalization", {},
    [IDS, np.array([[0, 1], [1, 0]], I32), rand(4, 4), rand(3, 4), rand(2, 4), rand(4), rand(4),
     np.array([[1, 1], [1, 0]], I32)], 2)
add("embed_layer_normalization", "no segments, positions given", "EmbedLayerNormalization", {"epsilon": 1e-5},
    [IDS, None, rand(4, 4), rand(3, 4), None, rand(4), rand(4), None, np.array([[2, 0]], I32)], [0, 2])

TEXT["embed_layer_normalization"] = """
case: a word that does not exist
op: com.microsoft:EmbedLayerNormalization 1
in: int32 [1, 1] 4
in: -
in: float32 [4, 2] 0..
in: float32 [1, 2] 0..
in: -
in: float32 [2] 1 1
in: float32 [2] 0 0
error: row 4 lies outside the table in input 2, which has 4 rows
"""
TEXT["contrib_rotary_embedding"] = """
case: a position beyond the caches
op: com.microsoft:RotaryEmbedding 1
in: float32 [1, 2, 2] 0..
in: int64 [1] 9223372036854775807
in: float32 [2, 1] 0..
in: float32 [2, 1] 0..
error: position
"""
TEXT["multi_head_attention"] = """
case: a padding mask that does not fit
op: com.microsoft:MultiHeadAttention 1
attr: num_heads = 1
in: float32 [1, 1, 2] 0..
in: float32 [1, 2, 2] 0..
in: float32 [1, 2, 2] 0..
in: -
in: int32 [1, 3] 1 1 1
error: (mask)

case: symbolic
op: com.microsoft:MultiHeadAttention 1
attr: num_heads = 4
in: float16 [B, S, 32] ?
in: float16 [B, L, 32] ?
in: float16 [B, L, 64] ?
out: float16 [B, S, 64] ?
out: float16 [B, 4, L, 8] ?
out: float16 [B, 4, L, 16] ?
"""
TEXT["packed_attention"] = """
case: heads that do not divide
op: com.microsoft:Attention 1
attr: num_heads = 3
in: float32 [1, 1, 4] 0..
in: float32 [4, 12] 0..
error: a projection has width 4, which does not fit 3 heads
"""
TEXT["mat_mul_n_bits"] = """
case: weights of another size
op: com.microsoft:MatMulNBits 1
attr: K = 16
attr: N = 2
attr: block_size = 16
in: float32 [1, 16] 0..
in: uint8 [2, 1, 7] *0
in: float32 [2] 1 1
error: input 1 has 14 elements, but 16 are needed

case: three bits
op: com.microsoft:MatMulNBits 1
attr: K = 16
attr: N = 2
attr: bits = 3
attr: block_size = 16
in: float32 [1, 16] 0..
in: uint8 [2, 1, 6] *0
in: float32 [2] 1 1
error: bits is 3
"""
TEXT["bias_gelu"] = """
case: a bias of another length
op: com.microsoft:BiasGelu 1
in: float32 [2, 3] 0..
in: float32 [2] 0 1
error: the last axis
"""
TEXT["qlinear_add"] = """
case: a scale for every channel
op: com.microsoft:QLinearAdd 1
in: uint8 [2] 1 2
in: float32 [2] 1 2
in: uint8 [] 0
in: uint8 [2] 1 2
in: float32 [] 1
in: uint8 [] 0
in: float32 [] 1
in: uint8 [] 0
error: input 1 must be one float
"""
TEXT["qlinear_concat"] = """
case: a tensor without its zero point
op: com.microsoft:QLinearConcat 1
attr: axis = 0
in: float32 [] 1
in: uint8 [] 0
in: uint8 [1] 1
in: float32 [] 1
in: uint8 [] 0
in: uint8 [1] 1
in: float32 [] 1
error: has 7 inputs

case: symbolic
op: com.microsoft:QLinearConcat 1
attr: axis = 0
in: float32 [] 1
in: uint8 [] 0
in: uint8 [N, 3] ?
in: float32 [] 1
in: uint8 [] 0
in: uint8 [2, 3] ?
in: float32 [] 1
in: uint8 [] 0
out: uint8 [N + 2, 3] ?
"""
TEXT["fused_conv"] = """
case: an activation that does not exist
op: com.microsoft:FusedConv 1
attr: activation = "Sine"
in: float32 [1, 1, 1] 0
in: float32 [1, 1, 1] 0
error: activation 'Sine'
"""
TEXT["skip_layer_normalization"] = """
case: a skip that does not fit
op: com.microsoft:SkipLayerNormalization 1
in: float32 [1, 2, 2] 0..
in: float32 [1, 3, 2] 0..
in: float32 [2] 1 1
error: the skip has 6 elements

case: symbolic
op: com.microsoft:SkipLayerNormalization 1
in: float16 [B, S, 8] ?
in: float16 [B, S, 8] ?
in: float16 [8] ?
out: float16 [B, S, 8] ?
out: float32 [B, S, 1] ?
out: float32 [B, S, 1] ?
out: float16 [B, S, 8] ?
"""
TEXT["fused_mat_mul"] = """
case: inner dimensions differ
op: com.microsoft:FusedMatMul 1
attr: transA = 1
in: float32 [2, 3] 0..
in: float32 [3, 2] 0..
error: 3
"""


def run(op, attrs, inputs, wanted):
    domain, kind = ("", op[1:]) if op.startswith(":") else ("com.microsoft", op)
    names = ["" if x is None else "x%d" % i for i, x in enumerate(inputs)]
    count = max(wanted) + 1
    made = ["y%d" % i if i in wanted else "" for i in range(count)]
    node = helper.make_node(kind, names, made, domain=domain, **attrs)
    given = [helper.make_tensor_value_info(n, CODES[type_of(x)], x.shape) for n, x in zip(names, inputs) if n]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name=n) for n in made if n])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results = session.run(None, dict((n, x) for n, x in zip(names, inputs) if n))
    return node, domain, dict(zip([n for n in made if n], results)), made


def case_text(row):
    file, title, op, attrs, inputs, outputs, tolerance = row
    wanted = outputs if isinstance(outputs, list) else list(range(outputs))
    node, domain, results, made = run(op, attrs, inputs, wanted)
    lines = ["case: " + title, "op: %s%s 1" % (domain + ":" if domain else "", node.op_type)]
    for a in node.attribute:
        lines += attribute_lines(a)
    for x in inputs:
        lines += ["in: -"] if x is None else tensor_lines("in:", x, type_of(x))
    for n in made:
        lines += tensor_lines("out:", results[n], type_of(results[n])) if n else ["out: -"]
    if tolerance is not None and any(r.dtype.kind == "f" for r in results.values()):
        lines.append("tolerance: %g" % tolerance)
    return "\n".join(lines)


# Files whose other cases come from elsewhere: the rows are put at their end.
SHARED = {"gelu", "quantize_linear", "dequantize_linear", "rotary_embedding"}
MARK = "# Values of the cases below made by contrib_cases.py.\n"


def main():
    onnxruntime.set_default_logger_severity(4)
    texts = {}
    for row in ROWS:
        texts.setdefault(row[0], []).append(case_text(row))
    for file in sys.argv[1:] or sorted(texts):
        path = os.path.join(HERE, file + ".txt")
        before = open(path).read().split(MARK)[0] if file in SHARED else ""
        body = "\n\n".join(texts.get(file, []) + [t.strip("\n") for t in [TEXT.get(file)] if t])
        with open(path, "w") as f:
            f.write(before.rstrip("\n") + "\n\n" * bool(before) + MARK + body + "\n")


if __name__ == "__main__":
    main()
