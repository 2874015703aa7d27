#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small models beside it; needs numpy and onnx. attention.onnx has two attention layers, scaled.onnx one with scaled q and k, decoder.onnx
an AttentionPlugin and a gated MLP, quantized.onnx the same with int8 weights behind two DequantizeLinear each, loops.onnx collectives in the body of a
Loop and behind a NonZero. hints_*.json are of Polygraphy 0.53.6
(template shard-hints attention.onnx), old.json is hints_attention.json in the layout of 0.49."""
import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
node, value = helper.make_node, helper.make_tensor_value_info
RANDOM = np.random.RandomState(0)


def weight(name, *shape):
    return numpy_helper.from_array(RANDOM.randint(-8, 8, shape).astype(np.float32), name)


def save(name, nodes, inputs, outputs, weights, opset=17):
    graph = helper.make_graph(nodes, name, inputs, outputs, weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset > 18 else 8), os.path.join(HERE, name + ".onnx"))


def floats(name, shape):
    return value(name, TensorProto.FLOAT, shape)


def attention_layer(p, x, y):
    weights = [weight(p + w, 8, 8) for w in ("Wq", "Wk", "Wv", "Wo")]
    nodes = [
        node("MatMul", [x, p + "Wq"], [p + "q"], p + "q_proj"), node("MatMul", [x, p + "Wk"], [p + "k"], p + "k_proj"),
        node("MatMul", [x, p + "Wv"], [p + "v"], p + "v_proj"), node("Transpose", [p + "k"], [p + "kt"], p + "k_turned", perm=[0, 2, 1]),
        node("MatMul", [p + "q", p + "kt"], [p + "s"], p + "scores"), node("Softmax", [p + "s"], [p + "p"], p + "softmax", axis=-1),
        node("MatMul", [p + "p", p + "v"], [p + "o"], p + "sum"), node("MatMul", [p + "o", p + "Wo"], [y], p + "o_proj"),
    ]
    return nodes, weights


def attention():
    (a, aw), (b, bw) = attention_layer("a_", "x", "h"), attention_layer("b_", "h", "y")
    shape = ["batch", "sequence_length", 8]
    save("attention", a + b, [floats("x", shape)], [floats("y", shape)], aw + bw)


def scaled():
    f = TensorProto.FLOAT
    nodes = [
        node("Shape", ["q"], ["shape"], "shape"), node("Slice", ["shape", "from", "to"], ["size"], "slice"), node("Cast", ["size"], ["size_f"], "cast_1", to=f),
        node("Sqrt", ["size_f"], ["root"], "sqrt_1"), node("Cast", ["root"], ["root_f"], "cast_2", to=f), node("Div", ["one", "root_f"], ["part"], "div"),
        node("Cast", ["part"], ["scale"], "cast_3", to=f), node("Sqrt", ["scale"], ["q_scale"], "sqrt_2"), node("Sqrt", ["scale"], ["k_scale"], "sqrt_3"),
        node("Mul", ["q", "q_scale"], ["qs"], "mul_q"), node("Mul", ["k", "k_scale"], ["ks"], "mul_k"), node("MatMul", ["qs", "ks"], ["s"], "scores"),
        node("Softmax", ["s"], ["p"], "softmax", axis=-1), node("MatMul", ["p", "v"], ["y"], "sum"),
    ]
    weights = [numpy_helper.from_array(np.asarray(v), n) for n, v in (("from", [-1]), ("to", [2**63 - 1]), ("one", np.ones(1, np.float32)))]
    save("scaled", nodes, [floats("q", [2, 4, 8]), floats("k", [2, 8, 4]), floats("v", [2, 4, 8])], [floats("y", [2, 4, 8])], weights)


def decoder_layer():
    heads, cache_heads, size = 4, 2, 4
    nodes = [
        node("MatMul", ["x", "Wq"], ["q"], "q_proj"), node("MatMul", ["x", "Wk"], ["k"], "k_proj"), node("MatMul", ["x", "Wv"], ["v"], "v_proj"),
        node("AttentionPlugin", ["q", "k", "v", "past", "lengths", "rope", "start"], ["a", "present"], "attention", num_q_heads=heads,
             num_kv_heads=cache_heads, head_size=size),
        node("MatMul", ["a", "Wo"], ["o"], "o_proj"), node("Add", ["x", "o"], ["r"], "residual_1"), node("MatMul", ["r", "Wg"], ["g"], "gate_proj"),
        node("MatMul", ["r", "Wu"], ["u"], "up_proj"), node("Sigmoid", ["g"], ["gs"], "sigmoid"), node("Mul", ["g", "gs"], ["silu"], "silu"),
        node("Mul", ["silu", "u"], ["gu"], "gated"), node("MatMul", ["gu", "Wd"], ["d"], "down_proj"), node("Add", ["r", "d"], ["y"], "residual_2"),
    ]
    sizes = {"Wq": (8, 16), "Wk": (8, 8), "Wv": (8, 8), "Wo": (16, 8), "Wg": (8, 16), "Wu": (8, 16), "Wd": (16, 8)}
    cache = ["batch", 2, cache_heads, "length", size]
    ints = [value(n, TensorProto.INT32, ["batch"]) for n in ("lengths", "start")]
    inputs = [floats("x", ["batch", "sequence", 8]), ints[0], floats("rope", ["batch", 16, size]), ints[1], floats("past", cache)]
    outputs = [floats("y", ["batch", "sequence", 8]), floats("present", cache[:3] + ["longer", size])]
    return nodes, inputs, outputs, {n: weight(n, *s) for n, s in sizes.items()}


def decoder():
    nodes, inputs, outputs, weights = decoder_layer()
    save("decoder", nodes, inputs, outputs, list(weights.values()))


def quantized():
    nodes, inputs, outputs, weights = decoder_layer()
    block, before, stored = 4, [], []
    for name, w in weights.items():
        w = numpy_helper.to_array(w).T
        scales = np.tile([1.0, 2.0], w.size // block)[: w.size // block].reshape(w.shape[0], -1)
        stored += [numpy_helper.from_array(np.ascontiguousarray(w).astype(np.int8), name + "_q"),
                   helper.make_tensor(name + "_s", TensorProto.FLOAT8E4M3FN, scales.shape, scales.flatten()), numpy_helper.from_array(np.float32(0.5), name + "_g")]
        before += [node("DequantizeLinear", [name + "_s", name + "_g"], [name + "_sd"], name + "_scales"),
                   node("DequantizeLinear", [name + "_q", name + "_sd"], [name + "_d"], name + "_values", axis=-1, block_size=block),
                   node("Transpose", [name + "_d"], [name], name + "_turned", perm=[1, 0])]
    save("quantized", before + nodes, inputs, outputs, stored, 23)


def collective(name, x, y, operation, reduction="none"):
    return node("DistCollective", [x], [y], name, collective_operation=operation, reduce_op=reduction)


def loops():
    body = helper.make_graph([collective("sum", "p_in", "s", "all_reduce", "sum"), node("Mul", ["s", "half"], ["p_out"]), node("Identity", ["c_in"], ["c_out"])],
                             "body", [value("i", TensorProto.INT64, []), value("c_in", TensorProto.BOOL, []), floats("p_in", None)],
                             [value("c_out", TensorProto.BOOL, []), floats("p_out", None)])
    nodes = [collective("split", "x", "p", "reduce_scatter", "max"), node("Loop", ["n", "", "p"], ["q"], "loop", body=body), collective("join", "q", "y", "all_gather"),
             node("NonZero", ["x"], ["places"]), node("Transpose", ["places"], ["turned"], perm=[1, 0]), collective("count", "turned", "z", "all_gather")]
    save("loops", nodes, [floats("x", [4, 3])], [floats("y", None), value("z", TensorProto.INT64, None)],
         [numpy_helper.from_array(np.int64(3), "n"), numpy_helper.from_array(np.float32(0.5), "half")])


if __name__ == "__main__":
    for make in (attention, scaled, decoder, quantized, loops):
        make()
