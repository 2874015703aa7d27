# SPDX-License-Identifier: Apache-2.0
"""Models in float16 with narrower products, for gpu_models.py: weights of 4 bits (MatMulNBits), and float8 between QuantizeLinear and DequantizeLinear"""
import ml_dtypes
import numpy
from onnx import TensorProto, helper, numpy_helper

BLOCK = 32  # weights of 4 bits that share a scale
ACTIVATIONS = 1 / 16  # the scale of activations in float8: up to 28


class Products:
    """MatMul and Gemm of a tensor and constant weights [K, N]."""

    def __init__(self, graph):
        self.graph = graph
        self.arrays = {w.name: w for w in graph.initializer}
        self.makers = {y: n for n in graph.node for y in n.output}
        for n in graph.node:
            if n.op_type == "Constant":
                self.arrays[n.output[0]] = n.attribute[0].t

    def weights(self, name):
        if name in self.arrays:
            return numpy_helper.to_array(self.arrays[name])
        maker = self.makers.get(name)
        if maker is not None and maker.op_type in ("Transpose", "Identity"):
            w = self.weights(maker.input[0])
            if w is not None and w.ndim == 2:
                return w.T if maker.op_type == "Transpose" else w
        return None

    def __iter__(self):
        for n in list(self.graph.node):
            if n.op_type not in ("MatMul", "Gemm"):
                continue
            w = self.weights(n.input[1])
            if w is None or w.ndim != 2:
                continue
            turned = any(a.name == "transB" and a.i for a in n.attribute)
            yield n, (w.T if turned else w)

    def add(self, name, tensor):
        tensor.name = name
        self.graph.initializer.append(tensor)
        return name

    def drop_unread(self):
        while True:
            read = {i for n in self.graph.node for i in n.input} | {y.name for y in self.graph.output}
            unread = [n for n in self.graph.node if not any(y in read for y in n.output)]
            for n in unread:
                self.graph.node.remove(n)
            if not unread:
                break
        for w in [w for w in self.graph.initializer if w.name not in read]:
            self.graph.initializer.remove(w)


def to_int4(model):
    p = Products(model.graph)
    for i, (n, w) in enumerate(p):
        k, width = w.shape
        if k % BLOCK:
            continue
        blocks = numpy.ascontiguousarray(w.T.astype(numpy.float32)).reshape(width, k // BLOCK, BLOCK)
        scales = numpy.maximum(numpy.abs(blocks).max(2) / 7, 1e-6).astype(numpy.float16)
        codes = numpy.clip(numpy.rint(blocks / scales[..., None].astype(numpy.float32)) + 8, 0, 15).astype(numpy.uint8)
        packed = codes[..., ::2] | codes[..., 1::2] << 4
        inputs = [n.input[0], p.add(f"codes_{i}", numpy_helper.from_array(packed)), p.add(f"scales_{i}", numpy_helper.from_array(scales))]
        if len(n.input) > 2:
            inputs += ["", "", n.input[2]]
        made = helper.make_node("MatMulNBits", inputs, list(n.output), domain="com.microsoft", K=k, N=width, bits=4, block_size=BLOCK)
        n.CopyFrom(made)
    p.drop_unread()
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))


def float8(a):
    t = TensorProto(data_type=TensorProto.FLOAT8E4M3FN, dims=a.shape)
    t.raw_data = a.astype(ml_dtypes.float8_e4m3fn).tobytes()
    return t


def to_float8(model):
    p = Products(model.graph)
    zero, quantised = p.add("zero_8", float8(numpy.zeros(()))), {}
    scale = p.add("scale_8", numpy_helper.from_array(numpy.array(ACTIVATIONS, numpy.float16)))
    nodes = []
    for i, (n, w) in enumerate(p):
        own = numpy.float16(max(float(numpy.abs(w).max()) / 448, 1e-6))
        x = n.input[0]
        if x not in quantised:
            quantised[x] = f"{x}_q"
            nodes += [(n, helper.make_node("QuantizeLinear", [x, scale, zero], [f"{x}_8"])),
                      (n, helper.make_node("DequantizeLinear", [f"{x}_8", scale, zero], [f"{x}_q"]))]
        w8 = p.add(f"weights_8_{i}", float8(w.astype(numpy.float32) / numpy.float32(own)))
        own = p.add(f"scale_8_{i}", numpy_helper.from_array(numpy.array(own)))
        nodes.append((n, helper.make_node("DequantizeLinear", [w8, own, zero], [f"weights_{i}"])))
        n.input[0], n.input[1] = quantised[x], f"weights_{i}"
        for a in [a for a in n.attribute if a.name == "transB"]:
            n.attribute.remove(a)
    before = {}
    for n, made in nodes:
        before.setdefault(n.output[0], []).append(made)
    ordered = [m for n in model.graph.node for m in before.get(n.output[0], []) + [n]]
    del model.graph.node[:]
    model.graph.node.extend(ordered)
    p.drop_unread()
