# SPDX-License-Identifier: Apache-2.0
"""Models of 0.5 to 2.4 GB with random weights: memory_models.py KIND OUTPUT

matmul: products of float32, weights in an external file; large: more of them; conv: convolutions 3 x 3; vgg: VGG-16; embedding: one large table and a
small product; half: products of float16; bytes: products of int8 with quantised inputs. The leading axis of all inputs is dynamic."""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

KINDS = ["matmul", "large", "conv", "vgg", "embedding", "half", "bytes"]


class Net:
    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(1)

    def weight(self, shape, scale=0.02, dtype=np.float32):
        name = f"w{len(self.weights)}"
        values = self.rng.standard_normal(shape, np.float32)
        values = (values * 40).clip(-127, 127) if dtype == np.int8 else values * np.float32(scale)
        self.weights.append(numpy_helper.from_array(values.astype(dtype), name))
        return name

    def scalar(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *inputs, outputs=1, **attributes):
        made = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, **attributes))
        return made[0] if outputs == 1 else made


def products(n, dtype, layers, width):
    x = "x"
    for _ in range(layers):
        x = n.op("Relu", n.op("Add", n.op("MatMul", x, n.weight((width, width), 0.02, dtype)), n.weight((width,), 0.02, dtype)))
    return x, ("x", TensorProto.FLOAT if dtype == np.float32 else TensorProto.FLOAT16, ["batch", width])


def convolutions(n):
    x = "x"
    for _ in range(16):
        x = n.op("Relu", n.op("Conv", x, n.weight((1024, 1024, 3, 3), 0.01), n.weight((1024,)), pads=[1, 1, 1, 1]))
    return x, ("x", TensorProto.FLOAT, ["batch", 1024, 14, 14])


def vgg(n):
    x, cin = "x", 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            x, cin = n.op("Relu", n.op("Conv", x, n.weight((width, cin, 3, 3), (2 / 9 / cin) ** 0.5), n.weight((width,)), pads=[1, 1, 1, 1])), width
        x = n.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.op("Flatten", x)
    for rows, columns in ((25088, 4096), (4096, 4096), (4096, 1000)):
        x = n.op("Gemm", x, n.weight((rows, columns), rows ** -0.5), n.weight((columns,)))
        x = n.op("Relu", x) if columns > 1000 else x
    return x, ("x", TensorProto.FLOAT, ["batch", 3, 224, 224])


def table(n):
    x = n.op("Gather", n.weight((200_000, 768)), "x")
    return n.op("MatMul", x, n.weight((768, 768))), ("x", TensorProto.INT64, ["batch"])


def quantised(n):
    x = "x"
    for _ in range(10):
        q, scale, zero = n.op("DynamicQuantizeLinear", x, outputs=3)
        y = n.op("Cast", n.op("MatMulInteger", q, n.weight((8192, 8192), 1, np.int8), zero), to=TensorProto.FLOAT)
        x = n.op("Mul", y, n.op("Mul", scale, n.scalar(np.float32(1e-4))))
    return x, ("x", TensorProto.FLOAT, ["batch", 8192])


def build(kind):
    n = Net()
    y, (name, dtype, shape) = {"matmul": lambda: products(n, np.float32, 12, 4096), "large": lambda: products(n, np.float32, 36, 4096), "vgg": lambda: vgg(n), "half": lambda: products(n, np.float16, 24, 4096), "conv": lambda: convolutions(n),
                               "embedding": lambda: table(n), "bytes": lambda: quantised(n)}[kind]()
    result = TensorProto.FLOAT16 if kind == "half" else TensorProto.FLOAT
    graph = helper.make_graph(n.nodes, kind, [helper.make_tensor_value_info(name, dtype, shape)], [helper.make_tensor_value_info(y, result, None)], n.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", choices=KINDS)
    p.add_argument("output")
    a = p.parse_args()
    if a.kind in ("matmul", "large"):
        onnx.save_model(build(a.kind), a.output, save_as_external_data=True, location=a.output.rsplit("/", 1)[-1] + ".data")
    else:
        onnx.save_model(build(a.kind), a.output)


if __name__ == "__main__":
    main()
