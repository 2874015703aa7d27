# SPDX-License-Identifier: Apache-2.0
"""Structures of well-known networks, for bench/viewer_layout: nodes and the tensors between them, without weights.

As exporters write them: batch normalization folded into Conv, layer normalization and GELU as their parts where a model of opset 13 has them
so, and arithmetic on shapes in GPT-2."""


class Net:
    """A node has an operator and a number of weights; a tensor is the number of the node that makes it."""

    def __init__(self):
        self.ops, self.weights, self.edges = [], [], []

    def op(self, kind, inputs=(), weights=0):
        node = len(self.ops)
        self.ops.append(kind)
        self.weights.append(weights)
        self.edges += [(i, node) for i in dict.fromkeys(inputs)]
        return node

    def chain(self, x, *kinds):
        for kind in kinds:
            x = self.op(kind, [x])
        return x

    def conv(self, x, act="Relu"):
        x = self.op("Conv", [x], 2)
        if act == "Silu":
            return self.op("Mul", [x, self.op("Sigmoid", [x])])
        return self.op(act, [x]) if act else x

    def dense(self, x):
        return self.op("Add", [self.op("MatMul", [x], 1)], 1)

    def norm(self, x):
        """Layer normalization in its parts."""
        y = self.op("Sub", [x, self.op("ReduceMean", [x])])
        d = self.chain(self.op("Pow", [y], 1), "ReduceMean")
        d = self.op("Sqrt", [self.op("Add", [d], 1)])
        return self.op("Add", [self.op("Mul", [self.op("Div", [y, d])], 1)], 1)

    def gelu(self, x):
        y = self.op("Add", [self.op("Erf", [self.op("Div", [x], 1)])], 1)
        return self.op("Mul", [self.op("Mul", [x, y])], 1)


def resnet50(n):
    x = n.op("MaxPool", [n.conv(n.op("Input"))])
    for blocks in (3, 4, 6, 3):
        for i in range(blocks):
            y = n.conv(n.conv(n.conv(x)), None)
            x = n.op("Relu", [n.op("Add", [y, n.conv(x, None) if i == 0 else x])])
    n.op("Output", [n.op("Gemm", [n.chain(x, "GlobalAveragePool", "Flatten")], 2)])


def attention(n, x, mask=None, heads=("Reshape", "Transpose")):
    q, k, v = (n.chain(n.dense(x), *heads) for _ in range(3))
    s = n.op("Div", [n.op("MatMul", [q, n.chain(k, "Transpose")])], 1)
    if mask is not None:
        s = n.op("Add", [s, mask])
    c = n.op("MatMul", [n.op("Softmax", [s]), v])
    return n.dense(n.chain(c, "Transpose", "Reshape"))


def bert_base(n):
    ids, types, mask = n.op("Input"), n.op("Input"), n.op("Input")
    mask = n.op("Mul", [n.op("Sub", [n.chain(mask, "Unsqueeze", "Unsqueeze", "Cast")], 1)], 1)
    x = n.op("Add", [n.op("Gather", [ids], 1), n.op("Gather", [types], 1)])
    x = n.norm(n.op("Add", [x], 1))
    for _ in range(12):
        x = n.norm(n.op("Add", [attention(n, x, mask), x]))
        x = n.norm(n.op("Add", [n.dense(n.gelu(n.dense(x))), x]))
    n.op("Output", [x])
    n.op("Output", [n.op("Tanh", [n.op("Gemm", [n.op("Gather", [x])], 2)])])


def gpt2(n):
    """With past keys and values, and reshapes whose sizes are computed."""
    def size(x, axis_count):
        s = n.op("Shape", [x])
        return [n.op("Unsqueeze", [n.op("Gather", [s], 1)]) for _ in range(axis_count)]
    ids = n.op("Input")
    mask = n.op("Mul", [n.op("Sub", [n.chain(n.op("Input"), "Unsqueeze", "Cast")], 1)], 1)
    x = n.op("Add", [n.op("Gather", [ids], 1), n.op("Gather", [n.op("Range", size(ids, 1))], 1)])
    for _ in range(12):
        past = n.op("Input")
        pk, pv = n.op("Gather", [past], 1), n.op("Gather", [past], 1)
        y = n.norm(x)
        split = n.op("Split", [n.op("Reshape", [n.op("Gemm", [n.op("Reshape", [y, n.op("Concat", size(y, 1))])], 2), n.op("Concat", size(y, 2))])])
        q, k, v = (n.op("Transpose", [n.op("Reshape", [split, n.op("Concat", size(split, 2))])]) for _ in range(3))
        k, v = n.op("Concat", [pk, k]), n.op("Concat", [pv, v])
        n.op("Output", [n.op("Concat", [n.op("Unsqueeze", [k]), n.op("Unsqueeze", [v])])])
        s = n.op("Div", [n.op("MatMul", [q, n.op("Transpose", [k])])], 1)
        bias = n.op("Slice", [n.op("Slice", size(s, 1), 1)] + size(s, 1))
        s = n.op("Softmax", [n.op("Add", [n.op("Where", [bias, s], 1), mask])])
        c = n.op("Transpose", [n.op("MatMul", [s, v])])
        c = n.op("Reshape", [c, n.op("Concat", size(c, 2))])
        x = n.op("Add", [n.op("Gemm", [c], 2), x])
        x = n.op("Add", [n.dense(n.gelu(n.dense(n.norm(x)))), x])
    n.op("Output", [n.op("MatMul", [n.norm(x)], 1)])


def vit(n):
    x = n.chain(n.op("Conv", [n.op("Input")], 2), "Reshape", "Transpose")
    x = n.op("Add", [n.op("Concat", [x], 1)], 1)
    for _ in range(12):
        x = n.op("Add", [attention(n, n.op("LayerNormalization", [x], 2)), x])
        x = n.op("Add", [n.dense(n.gelu(n.dense(n.op("LayerNormalization", [x], 2)))), x])
    n.op("Output", [n.op("Gemm", [n.op("Gather", [x], 1)], 2)])


def yolo(n):
    """The structure of YOLOv5s: CSP blocks, pyramid pooling, two ways through the neck, three heads."""
    def csp(x, depth, add=True):
        a, b = n.conv(x, "Silu"), n.conv(x, "Silu")
        for _ in range(depth):
            y = n.conv(n.conv(a, "Silu"), "Silu")
            a = n.op("Add", [a, y]) if add else y
        return n.conv(n.op("Concat", [a, b]), "Silu")
    x = n.conv(n.conv(n.op("Input"), "Silu"), "Silu")
    c3 = csp(n.conv(csp(x, 1), "Silu"), 2)
    c4 = csp(n.conv(c3, "Silu"), 3)
    x = n.conv(csp(n.conv(c4, "Silu"), 1), "Silu")
    pools = [x]
    for _ in range(3):
        pools.append(n.op("MaxPool", [pools[-1]]))
    t5 = n.conv(n.conv(n.op("Concat", pools), "Silu"), "Silu")
    t4 = n.conv(csp(n.op("Concat", [n.op("Resize", [t5]), c4]), 1, False), "Silu")
    p3 = csp(n.op("Concat", [n.op("Resize", [t4]), c3]), 1, False)
    p4 = csp(n.op("Concat", [n.conv(p3, "Silu"), t4]), 1, False)
    p5 = csp(n.op("Concat", [n.conv(p4, "Silu"), t5]), 1, False)
    outputs = []
    for p in (p3, p4, p5):
        y = n.chain(n.conv(p, None), "Reshape", "Transpose", "Sigmoid")
        s = n.op("Split", [y])
        xy = n.op("Mul", [n.op("Add", [n.op("Mul", [s], 1)], 1)], 1)
        wh = n.op("Mul", [n.op("Pow", [n.op("Mul", [s], 1)], 1)], 1)
        outputs.append(n.op("Reshape", [n.op("Concat", [xy, wh, s])]))
    n.op("Output", [n.op("Concat", outputs)])


def densenet121(n):
    x = n.op("MaxPool", [n.conv(n.op("Input"))])
    for stage, layers in enumerate((6, 12, 24, 16)):
        if stage:
            x = n.op("AveragePool", [n.conv(n.chain(n.op("BatchNormalization", [x], 4), "Relu"), None)])
        parts = [x]
        for _ in range(layers):
            y = n.op("Concat", parts) if len(parts) > 1 else x
            y = n.conv(n.op("Relu", [n.op("BatchNormalization", [y], 4)]))
            parts.append(n.conv(y, None))
        x = n.op("Concat", parts)
    x = n.chain(n.op("BatchNormalization", [x], 4), "Relu", "GlobalAveragePool", "Flatten")
    n.op("Output", [n.op("Gemm", [x], 2)])


def unet(n):
    x, kept = n.op("Input"), []
    for _ in range(4):
        x = n.conv(n.conv(x))
        kept.append(x)
        x = n.op("MaxPool", [x])
    x = n.conv(n.conv(x))
    for skip in reversed(kept):
        x = n.conv(n.conv(n.op("Concat", [skip, n.op("ConvTranspose", [x], 2)])))
    n.op("Output", [n.op("Sigmoid", [n.conv(x, None)])])


def inception3(n):
    def module(x, *branches):
        ends = []
        for branch in branches:
            y = x
            for step in branch:
                if isinstance(step, tuple):
                    ends += [n.conv(y) for _ in step]
                    y = None
                else:
                    y = n.op(step, [y]) if step != "c" else n.conv(y)
            if y is not None:
                ends.append(y)
        return n.op("Concat", ends)
    x = n.op("MaxPool", [n.conv(n.conv(n.conv(n.op("Input"))))])
    x = n.op("MaxPool", [n.conv(n.conv(x))])
    for _ in range(3):
        x = module(x, "c", "cc", "ccc", ["AveragePool", "c"])
    x = module(x, "c", "ccc", ["MaxPool"])
    for _ in range(4):
        x = module(x, "c", "ccc", "ccccc", ["AveragePool", "c"])
    x = module(x, "cc", "cccc", ["MaxPool"])
    for _ in range(2):
        x = module(x, "c", ["c", ("c", "c")], ["c", "c", ("c", "c")], ["AveragePool", "c"])
    n.op("Output", [n.op("Gemm", [n.chain(x, "GlobalAveragePool", "Flatten")], 2)])


def efficientnet_b0(n):
    x = n.conv(n.op("Input"), "Silu")
    for stage, repeats in enumerate((1, 2, 2, 3, 3, 4, 1)):
        for i in range(repeats):
            y = n.conv(x, "Silu") if stage else x
            y = n.conv(y, "Silu")
            s = n.op("Sigmoid", [n.conv(n.conv(n.op("GlobalAveragePool", [y]), "Silu"), None)])
            y = n.conv(n.op("Mul", [y, s]), None)
            x = n.op("Add", [y, x]) if i else y
    x = n.chain(n.conv(x, "Silu"), "GlobalAveragePool", "Flatten")
    n.op("Output", [n.op("Gemm", [x], 2)])


def lstm_unrolled(n):
    """Two layers over 16 steps, each cell in its parts; both layers' states go from step to step."""
    xs = n.op("Input")
    layers = [n.op("Split", [xs])] * 16
    for _ in range(2):
        h, c, outputs = n.op("Input"), n.op("Input"), []
        for x in layers:
            gates = n.op("Split", [n.op("Add", [n.op("Gemm", [x], 2), n.op("Gemm", [h], 2)])])
            i, f, o = (n.op("Sigmoid", [gates]) for _ in range(3))
            c = n.op("Add", [n.op("Mul", [f, c]), n.op("Mul", [i, n.op("Tanh", [gates])])])
            h = n.op("Mul", [o, n.op("Tanh", [c])])
            outputs.append(h)
        layers = outputs
    n.op("Output", [n.op("Concat", layers)])


MODELS = [resnet50, bert_base, gpt2, vit, yolo, densenet121, unet, inception3, efficientnet_b0, lstm_unrolled]


def make(model):
    """(sizes of the nodes' cards, edges)"""
    n = Net()
    model(n)
    sizes = [(max(60, 7 * len(op) + 24), 26 + 16 * weights) for op, weights in zip(n.ops, n.weights)]
    return sizes, list(dict.fromkeys(n.edges))
