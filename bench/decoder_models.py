# SPDX-License-Identifier: Apache-2.0
"""Decoders with key-value caches and random weights: decoder_models.py [--checkpoint TYPE] KIND OUTPUT

KIND is llama (62 MB: RMS norm, rotary positions, gated MLP), gpt2 (GPT-2 small) or whisper (the decoder of Whisper tiny). Inputs and outputs are
named as Optimum's exports name them: input_ids, attention_mask, position_ids, past_key_values.N.key -> logits, present.N.key. The caches of
whisper's cross attention, past_key_values.N.encoder.key, have no output. --checkpoint rounds the weights, which stay float32: as an exporter
leaves those of a checkpoint in 16 bits."""
import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = {  # layers, width, heads, MLP width, vocabulary, positions
    "llama": (6, 288, 6, 768, 32000, 0),
    "gpt2": (12, 768, 12, 3072, 50257, 1024),
    "whisper": (4, 384, 6, 1536, 51865, 448),
}


def rounded(value, checkpoint):
    if checkpoint == "bfloat16":
        words = value.view(np.uint32).astype(np.uint64)
        return (words + 0x7FFF + (words >> 16 & 1) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return value.astype(checkpoint).astype(np.float32)


class Net:
    def __init__(self, checkpoint):
        self.checkpoint = checkpoint
        self.nodes, self.weights, self.inputs, self.outputs = [], [], [], []
        self.rng, self.used, self.scalars = np.random.default_rng(1), set(), {}

    def weight(self, name, shape, scale):
        value = (self.rng.standard_normal(shape, np.float32) * np.float32(scale)).astype(np.float32)
        self.weights.append(numpy_helper.from_array(rounded(value, self.checkpoint), name))
        return name

    def constant(self, value, name=None):
        value = np.asarray(value)
        key = (value.dtype.str, value.shape, value.tobytes())
        if name is None and key in self.scalars:
            return self.scalars[key]
        name = name or f"constant_{len(self.scalars)}"
        self.scalars[key] = name
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def ints(self, *values):
        return self.constant(np.array(values, np.int64))

    def op(self, kind, inputs, name, outputs=1, **attributes):
        assert name not in self.used, name
        self.used.add(name)
        made = [f"{name}_out{i or ''}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=name, **attributes))
        return made[0] if outputs == 1 else made

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, value, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name], name="output/" + name))
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def dense(self, x, name, cin, cout, bias):
        y = self.op("MatMul", [x, self.weight(name + ".weight", (cin, cout), 1 / np.sqrt(cin))], name + "/matmul")
        if not bias:
            return y
        return self.op("Add", [y, self.constant(np.zeros(cout, np.float32), name + ".bias")], name + "/add")

    def save(self, path):
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)


class Decoder:
    def __init__(self, kind, checkpoint="float32"):
        self.kind, self.net = kind, Net(checkpoint)
        self.layers, self.width, self.heads, self.mlp, self.vocabulary, self.positions = SIZES[kind]
        self.head = self.width // self.heads

    def project(self, x, name):
        return self.net.dense(x, name, self.width, self.width, self.kind != "llama")

    def norm(self, x, name):
        n, llama = self.net, self.kind == "llama"
        gain = n.constant(np.ones(self.width, np.float32), name + ".weight")
        if not llama:
            shift = n.constant(np.zeros(self.width, np.float32), name + ".bias")
            return n.op("LayerNormalization", [x, gain, shift], name, axis=-1, epsilon=1e-5)
        square = n.op("Pow", [x, n.constant(np.float32(2))], name + "/square")
        mean = n.op("ReduceMean", [square, n.ints(-1)], name + "/mean", keepdims=1)
        root = n.op("Sqrt", [n.op("Add", [mean, n.constant(np.float32(1e-5))], name + "/add")], name + "/sqrt")
        return n.op("Mul", [n.op("Div", [x, root], name + "/div"), gain], name + "/mul")

    def split_heads(self, x, name):
        y = self.net.op("Reshape", [x, self.net.ints(0, 0, self.heads, self.head)], name + "/reshape")
        return self.net.op("Transpose", [y], name + "/transpose", perm=[0, 2, 1, 3])

    def mask(self):
        """Adds up to 0 where a query may see a key, and to -1e9 where it may not."""
        n = self.net
        total = n.op("Gather", [n.op("Shape", ["attention_mask"], "mask/shape"), n.constant(np.int64(1))], "mask/total")
        keys = n.op("Range", [n.constant(np.int64(0)), total, n.constant(np.int64(1))], "mask/range")
        queries = n.op("Unsqueeze", ["position_ids", n.ints(1, 3)], "mask/queries")
        causal = n.op("LessOrEqual", [keys, queries], "mask/causal")
        present = n.op("Cast", [n.op("Unsqueeze", ["attention_mask", n.ints(1, 2)], "mask/keys")], "mask/cast", to=TensorProto.BOOL)
        seen = n.op("And", [causal, present], "mask/and")
        return n.op("Where", [seen, n.constant(np.float32(0)), n.constant(np.float32(-1e9))], "mask/where")

    def rotations(self):
        n, half = self.net, self.head // 2
        frequencies = n.constant((10000.0 ** (-np.arange(half) / half)).astype(np.float32), "rotary.frequencies")
        places = n.op("Cast", [n.op("Unsqueeze", ["position_ids", n.ints(1, 3)], "rotary/unsqueeze")], "rotary/cast", to=TensorProto.FLOAT)
        angles = n.op("Mul", [places, frequencies], "rotary/mul")
        both = n.op("Concat", [angles, angles], "rotary/concat", axis=-1)
        return n.op("Cos", [both], "rotary/cos"), n.op("Sin", [both], "rotary/sin")

    def rotate(self, x, name):
        n, half = self.net, self.head // 2
        left, right = n.op("Split", [x, n.ints(half, half)], name + "/split", outputs=2, axis=-1)
        turned = n.op("Concat", [n.op("Neg", [right], name + "/neg"), left], name + "/concat", axis=-1)
        return n.op("Add", [n.op("Mul", [x, self.cos], name + "/cos"), n.op("Mul", [turned, self.sin], name + "/sin")], name + "/add")

    def attend(self, query, key, value, mask, name):
        n = self.net
        scores = n.op("MatMul", [query, n.op("Transpose", [key], name + "/keys", perm=[0, 1, 3, 2])], name + "/scores")
        scores = n.op("Mul", [scores, n.constant(np.float32(self.head ** -0.5))], name + "/scale")
        if mask:
            scores = n.op("Add", [scores, mask], name + "/mask")
        mixed = n.op("MatMul", [n.op("Softmax", [scores], name + "/softmax", axis=-1), value], name + "/values")
        y = n.op("Transpose", [mixed], name + "/transpose", perm=[0, 2, 1, 3])
        y = n.op("Reshape", [y, n.ints(0, 0, self.width)], name + "/reshape")
        return self.project(y, name + "/out")

    def cache(self, i, part, length):
        return self.net.input(f"past_key_values.{i}.{part}", TensorProto.FLOAT, ["batch", self.heads, length, self.head])

    def self_attention(self, x, i, name):
        n, made = self.net, {}
        query, made["key"], made["value"] = (self.split_heads(self.project(x, f"{name}/{part}"), f"{name}/{part}") for part in ("query", "key", "value"))
        if self.kind == "llama":
            query, made["key"] = self.rotate(query, name + "/query/rotary"), self.rotate(made["key"], name + "/key/rotary")
        part = ".decoder" if self.kind == "whisper" else ""
        for what in made:
            past = self.cache(i, f"{part[1:]}.{what}" if part else what, "past")
            made[what] = n.op("Concat", [past, made[what]], f"{name}/{what}/cache", axis=2)
            n.output(f"present.{i}{part}.{what}", made[what], ["batch", self.heads, "total", self.head])
        return self.attend(query, made["key"], made["value"], self.seen, name)

    def cross_attention(self, x, i, name):
        query = self.split_heads(self.project(x, name + "/query"), name + "/query")
        key, value = (self.cache(i, "encoder." + what, "encoder") for what in ("key", "value"))
        return self.attend(query, key, value, None, name)

    def feed_forward(self, x, name):
        n = self.net
        if self.kind == "llama":
            gate = n.dense(x, name + "/gate", self.width, self.mlp, False)
            gate = n.op("Mul", [gate, n.op("Sigmoid", [gate], name + "/sigmoid")], name + "/silu")
            return n.dense(n.op("Mul", [gate, n.dense(x, name + "/up", self.width, self.mlp, False)], name + "/mul"), name + "/down", self.mlp, self.width, False)
        y = n.dense(x, name + "/up", self.width, self.mlp, True)
        erf = n.op("Erf", [n.op("Div", [y, n.constant(np.float32(np.sqrt(2)))], name + "/div")], name + "/erf")
        y = n.op("Mul", [y, n.op("Add", [erf, n.constant(np.float32(1))], name + "/plus")], name + "/mul")
        y = n.op("Mul", [y, n.constant(np.float32(0.5))], name + "/half")
        return n.dense(y, name + "/down", self.mlp, self.width, True)

    def layer(self, x, i):
        n, name = self.net, f"/layers.{i}"
        x = n.op("Add", [x, self.self_attention(self.norm(x, name + "/norm1"), i, name + "/attention")], name + "/add1")
        if self.kind == "whisper":
            x = n.op("Add", [x, self.cross_attention(self.norm(x, name + "/norm2"), i, name + "/cross")], name + "/add2")
        return n.op("Add", [x, self.feed_forward(self.norm(x, name + "/norm3"), name + "/mlp")], name + "/add3")

    def build(self):
        n = self.net
        n.input("input_ids", TensorProto.INT64, ["batch", "sequence"])
        n.input("attention_mask", TensorProto.INT64, ["batch", "total"])
        n.input("position_ids", TensorProto.INT64, ["batch", "sequence"])
        table = n.weight("embedding.weight", (self.vocabulary, self.width), 1 / np.sqrt(self.width))
        x = n.op("Gather", [table, "input_ids"], "/embedding", axis=0)
        if self.positions:
            places = n.weight("positions.weight", (self.positions, self.width), 0.02)
            x = n.op("Add", [x, n.op("Gather", [places, "position_ids"], "/positions", axis=0)], "/embedding/add")
        self.seen = self.mask()
        if self.kind == "llama":
            self.cos, self.sin = self.rotations()
        for i in range(self.layers):
            x = self.layer(x, i)
        x = self.norm(x, "/norm")
        turned = n.op("Transpose", [table], "/logits/transpose", perm=[1, 0])
        n.output("logits", n.op("MatMul", [x, turned], "/logits"), ["batch", "sequence", self.vocabulary])
        return n


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("kind", choices=SIZES)
    p.add_argument("output")
    p.add_argument("--checkpoint", choices=["float32", "bfloat16", "float16"], default="float32")
    a = p.parse_args()
    Decoder(a.kind, a.checkpoint).build().save(a.output)


if __name__ == "__main__":
    main()
