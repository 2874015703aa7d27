#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the decoders of tests/unit/decode and tests/cli/run: small, with random weights, each with other names and forms of caches.

    python3 tests/data/decode/make_models.py

llama          two layers, rotary positions, past_key_values.N.key -> present.N.key, attention_mask, position_ids
llama_late     the same, but positions of 7 and more are one too large: an error that begins late
llama_half     the same as llama, with caches of float16
llama_nan      the same as llama, with NaN in the logits of positions of 6 and more
llama_short    the same as llama, but its caches lose their first token
llama_needy    the same as llama, but it cannot read empty caches
torch          caches without names in common: the outputs are cat_0 ..., in the order of the inputs
gpt2           stacked caches: past_N [2, batch, heads, past, size] -> present_N; learned positions, no mask
gqa            GroupQueryAttention with a buffer of 16 tokens, seqlens_k and total_sequence_length
gqa_growing    the same with caches that grow; the lengths are made of attention_mask
joined         caches that grow and that only Attention reads, so an engine can keep them in place
joined_late    the same, but positions of 7 and more are one too large
joined_half    the same in float16, caches too
merged         encoder and decoder with use_cache_branch; caches of cross attention are empty after the prefill
whole          no caches: reads the whole text
one            llama whose input_ids hold one token
fixed          llama whose input_ids hold four tokens
state          a recurrent state [batch, 16] without a growing dimension: state -> new_state
state_drift    the same, but each step adds 4e-5 of the state
pooled         no logits: one number for each text

llama and llama_late also stand in examples/models, for docs/howto/check_a_decoder.md."""
import os

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
WIDTH, HEADS, SIZE, VOCABULARY, POSITIONS = 16, 2, 8, 32, 64


class Net:
    def __init__(self):
        self.nodes, self.weights, self.inputs, self.outputs, self.rng, self.count = [], [], [], [], np.random.RandomState(3), 0

    def op(self, kind, *inputs, outputs=1, name=None, **attributes):
        self.count += 1
        made = [name or f"t{self.count}"] if outputs == 1 else [f"t{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), made, name=made[0], **attributes))
        return made[0] if outputs == 1 else made

    def const(self, value, dtype=np.int64, name=None):
        self.count += 1
        name = name or f"c{self.count}"
        self.weights.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def weight(self, *shape, scale=0.5):
        return self.const(self.rng.standard_normal(shape) * scale, np.float32)

    def input(self, name, shape, dtype=T.FLOAT):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, value, shape, dtype=T.FLOAT):
        self.op("Identity", value, name=name)
        self.outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    def save(self, name):
        graph = helper.make_graph(self.nodes, "decoder", self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
        onnx.save(model, os.path.join(HERE, name + ".onnx"))
        if name in ("llama", "llama_late"):
            onnx.save(model, os.path.join(HERE, "../../../examples/models", name + ".onnx"))


def heads(n, x):
    return n.op("Transpose", n.op("Reshape", x, n.const([0, 0, HEADS, SIZE])), perm=[0, 2, 1, 3])


def join(n, x):
    return n.op("Reshape", n.op("Transpose", x, perm=[0, 2, 1, 3]), n.const([0, 0, WIDTH]))


def norm(n, x):
    mean = n.op("ReduceMean", n.op("Mul", x, x), n.const([-1]), keepdims=1)
    return n.op("Div", x, n.op("Sqrt", n.op("Add", mean, n.const(1e-5, np.float32))))


def rotate(n, x, positions):
    """Rotary embedding of [batch, heads, sequence, size]."""
    rates = n.const(10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2)), np.float32)
    angles = n.op("Mul", n.op("Cast", n.op("Unsqueeze", positions, n.const([1, 3])), to=T.FLOAT), rates)
    cos, sin = n.op("Cos", angles), n.op("Sin", angles)
    left, right = n.op("Split", x, n.const([SIZE // 2, SIZE // 2]), outputs=2, axis=-1)
    turned = [n.op("Sub", n.op("Mul", left, cos), n.op("Mul", right, sin)), n.op("Add", n.op("Mul", right, cos), n.op("Mul", left, sin))]
    return n.op("Concat", *turned, axis=-1)


def hide(n, positions, key, axis=2):
    """0 where a query may see a key of [batch, heads, keys, size], or as many as there are in another axis, else -1e9."""
    keys = n.op("Range", n.const(0), n.op("Gather", n.op("Shape", key), n.const(axis)), n.const(1))
    seen = n.op("LessOrEqual", keys, n.op("Unsqueeze", positions, n.const([1, 3])))
    return n.op("Where", seen, n.const(0, np.float32), n.const(-1e9, np.float32))


def attend(n, query, key, value, hidden=None):
    scores = n.op("Mul", n.op("MatMul", query, n.op("Transpose", key, perm=[0, 1, 3, 2])), n.const(SIZE ** -0.5, np.float32))
    if hidden:
        scores = n.op("Add", scores, hidden)
    return n.op("MatMul", join(n, n.op("MatMul", n.op("Softmax", scores, axis=-1), value)), n.weight(WIDTH, WIDTH))


def feed_forward(n, x):
    return n.op("Add", x, n.op("MatMul", n.op("Tanh", n.op("MatMul", norm(n, x), n.weight(WIDTH, WIDTH))), n.weight(WIDTH, WIDTH)))


def finish(n, x):
    return n.op("MatMul", norm(n, x), n.weight(WIDTH, VOCABULARY))


def llama(name, late=False, half=False, nan=False, short=False, needy=False, length="sequence", names=("past_key_values.{}.{}", "present.{}.{}")):
    n, cached = Net(), T.FLOAT16 if half else T.FLOAT
    ids = n.input("input_ids", ["batch", length], T.INT64)
    n.input("attention_mask", ["batch", "total"], T.INT64)
    positions = n.input("position_ids", ["batch", length], T.INT64)
    turned = positions
    if late:
        count = n.count
        is_late = n.op("GreaterOrEqual", positions, n.const(7, name="late/seven"), name="late/is")
        turned = n.op("Add", positions, n.op("Cast", is_late, to=T.INT64, name="late/one"), name="late/positions")
        n.count = count  # the other tensors have the names that they have in llama
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    x = n.op("Gather", table, ids)
    for i in range(2):
        y, cache = norm(n, x), {}
        query = rotate(n, heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH))), turned)
        for k, part in enumerate(("key", "value")):
            new = heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH)))
            new = rotate(n, new, turned) if part == "key" else new
            past = n.input(names[0].format(i, part), ["batch", HEADS, "past", SIZE], cached)
            past = n.op("Cast", past, to=T.FLOAT) if half else past
            if needy:
                new = n.op("Add", new, n.op("Mul", n.op("Gather", past, n.const([0]), axis=2), n.const(0, np.float32)))
            cache[part] = n.op("Concat", past, new, axis=2)
            present = n.op("Cast", cache[part], to=cached) if half else cache[part]
            if short:
                present = n.op("Slice", present, n.const([1]), n.const([1000]), n.const([2]))
            n.output(names[1].format(2 * i + k if "{}.{}" not in names[1] else i, part), present, ["batch", HEADS, "total", SIZE], cached)
        seen = n.op("Cast", n.op("Unsqueeze", "attention_mask", n.const([1, 2])), to=T.FLOAT)
        masked = n.op("Mul", n.op("Sub", seen, n.const(1, np.float32)), n.const(1e9, np.float32))
        x = n.op("Add", x, attend(n, query, cache["key"], cache["value"], n.op("Add", hide(n, positions, cache["key"]), masked)))
        x = feed_forward(n, x)
    logits = finish(n, x)
    if nan:
        bad = n.op("Cast", n.op("Unsqueeze", n.op("GreaterOrEqual", positions, n.const(6)), n.const([2])), to=T.FLOAT)
        logits = n.op("Add", logits, n.op("Log", n.op("Sub", n.const(1, np.float32), n.op("Mul", bad, n.const(2, np.float32)))))
    n.output("logits", logits, ["batch", length, VOCABULARY])
    n.save(name)


def gpt2():
    n = Net()
    ids, positions = n.input("input_ids", ["batch", "sequence"], T.INT64), n.input("position_ids", ["batch", "sequence"], T.INT64)
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    x = n.op("Add", n.op("Gather", table, ids), n.op("Gather", n.weight(POSITIONS, WIDTH), positions))
    for i in range(2):
        past, y = n.input(f"past_{i}", [2, "batch", HEADS, "past", SIZE]), norm(n, x)
        query, key, value = (heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH))) for _ in range(3))
        old = n.op("Split", past, n.const([1, 1]), outputs=2, axis=0)
        key = n.op("Concat", n.op("Squeeze", old[0], n.const([0])), key, axis=2)
        value = n.op("Concat", n.op("Squeeze", old[1], n.const([0])), value, axis=2)
        both = n.op("Concat", n.op("Unsqueeze", key, n.const([0])), n.op("Unsqueeze", value, n.const([0])), axis=0)
        n.output(f"present_{i}", both, [2, "batch", HEADS, "total", SIZE])
        x = feed_forward(n, n.op("Add", x, attend(n, query, key, value, hide(n, positions, key))))
    n.output("logits", finish(n, x), ["batch", "sequence", VOCABULARY])
    n.save("gpt2")


def mask_lengths(n):
    """The last position of each text and the length of all, as GroupQueryAttention reads them."""
    mask = n.input("attention_mask", ["batch", "total"], T.INT64)
    last = n.op("Sub", n.op("ReduceSum", mask, n.const([1]), keepdims=0), n.const(1))
    return n.op("Cast", last, to=T.INT32), n.op("Cast", n.op("Gather", n.op("Shape", mask), n.const([1])), to=T.INT32)


def gqa(name, rows, rows_after):
    n = Net()
    ids = n.input("input_ids", ["batch", "sequence"], T.INT64)
    if rows == rows_after:
        last, total = n.input("seqlens_k", ["batch"], T.INT32), n.input("total_sequence_length", [1], T.INT32)
    else:
        last, total = mask_lengths(n)
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    x = n.op("Gather", table, ids)
    size = 16  # ONNX Runtime needs a multiple
    shape = ["batch", 1, rows_after, size]
    past = [n.input(f"past_key_values.0.{part}", ["batch", 1, rows, size]) for part in ("key", "value")]
    y = norm(n, x)
    query = n.op("MatMul", y, n.weight(WIDTH, HEADS * size))
    key, value = (n.op("MatMul", y, n.weight(WIDTH, size)) for _ in range(2))
    angles = np.outer(np.arange(16), 10000.0 ** (-np.arange(size // 2) / (size // 2)))
    tables = [n.const(np.cos(angles), np.float32), n.const(np.sin(angles), np.float32)]
    made, key, value = n.op("GroupQueryAttention", query, key, value, *past, last, total, *tables, outputs=3, domain="com.microsoft",
                            num_heads=HEADS, kv_num_heads=1, do_rotary=1)
    n.output("present.0.key", key, shape)
    n.output("present.0.value", value, shape)
    x = feed_forward(n, n.op("Add", x, n.op("MatMul", made, n.weight(HEADS * size, WIDTH))))
    n.output("logits", finish(n, x), ["batch", "sequence", VOCABULARY])
    n.save(name)


def joined(name, late=False):
    n = Net()
    ids, positions = n.input("input_ids", ["batch", "sequence"], T.INT64), n.input("position_ids", ["batch", "sequence"], T.INT64)
    seen = n.op("Unsqueeze", n.input("attention_mask", ["batch", "total"], T.INT64), n.const([1, 2, 4]))
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    turned = n.op("Add", positions, n.op("Cast", n.op("GreaterOrEqual", positions, n.const(7)), to=T.INT64)) if late else positions
    x = n.op("Add", n.op("Gather", table, ids), n.op("Gather", n.weight(POSITIONS, WIDTH), turned))
    hidden = hide(n, positions, seen, axis=3)
    for i in range(2):
        y = norm(n, x)
        query, *new = (heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH))) for _ in range(3))
        cache = []
        for part, rows in zip(("key", "value"), new):
            cache.append(n.op("Concat", n.input(f"past_key_values.{i}.{part}", ["batch", HEADS, "past", SIZE]), rows, axis=2))
            n.output(f"present.{i}.{part}", cache[-1], ["batch", HEADS, "total", SIZE])
        x = feed_forward(n, n.op("Add", x, attend(n, query, *cache, hidden)))
    n.output("logits", finish(n, x), ["batch", "sequence", VOCABULARY])
    n.save(name)


def halve(name, to):
    """Saves a copy of a model whose float32 weights, inputs and outputs are float16; those of -1e9 become the least float16."""
    model = onnx.load(os.path.join(HERE, name + ".onnx"))
    for weight in model.graph.initializer:
        if weight.data_type == T.FLOAT:
            numbers = np.clip(numpy_helper.to_array(weight), -65504, 65504).astype(np.float16)
            weight.CopyFrom(numpy_helper.from_array(numbers, weight.name))
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type == T.FLOAT:
            value.type.tensor_type.elem_type = T.FLOAT16
    onnx.save(model, os.path.join(HERE, to + ".onnx"))


def merged():
    """The branches of the If give the cross attention's keys and values, and what is their output: with a cache, nothing."""
    n = Net()
    ids = n.input("input_ids", ["batch", "sequence"], T.INT64)
    states = n.input("encoder_hidden_states", ["batch", "encoder", WIDTH])
    mask = n.input("encoder_attention_mask", ["batch", "encoder"], T.INT64)
    flag = n.input("use_cache_branch", [1], T.BOOL)
    positions = n.input("cache_position", ["sequence"], T.INT64)
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    x = n.op("Add", n.op("Gather", table, ids), n.op("Gather", n.weight(POSITIONS, WIDTH), positions))
    y, own = norm(n, x), {}
    query = heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH)))
    for part in ("key", "value"):
        past = n.input(f"past_key_values.0.decoder.{part}", ["batch", HEADS, "past", SIZE])
        own[part] = n.op("Concat", past, heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH))), axis=2)
        n.output(f"present.0.decoder.{part}", own[part], ["batch", HEADS, "total", SIZE])
    hidden = hide(n, n.op("Unsqueeze", positions, n.const([0])), own["key"])
    x = n.op("Add", x, attend(n, query, own["key"], own["value"], hidden))
    pasts = [n.input(f"past_key_values.0.encoder.{part}", ["batch", HEADS, "encoder_past", SIZE]) for part in ("key", "value")]
    nothing = n.const(np.zeros((0, HEADS, 1, SIZE)), np.float32)

    def branch(name, outputs, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(o, T.FLOAT, None) for o in outputs])

    old = branch("with_cache", ["wk", "wv", "wpk", "wpv"], [helper.make_node("Identity", [a], [b]) for a, b in
                 zip([*pasts, nothing, nothing], ["wk", "wv", "wpk", "wpv"])])
    made, shape = [], n.const([0, 0, HEADS, SIZE])
    for part in ("k", "v"):
        w = n.weight(WIDTH, WIDTH)
        made += [helper.make_node("MatMul", [states, w], ["m" + part]), helper.make_node("Reshape", ["m" + part, shape], ["r" + part]),
                 helper.make_node("Transpose", ["r" + part], ["n" + part], perm=[0, 2, 1, 3]), helper.make_node("Identity", ["n" + part], ["np" + part])]
    new = branch("without_cache", ["nk", "nv", "npk", "npv"], made)
    key, value, present_key, present_value = n.op("If", n.op("Squeeze", flag), outputs=4, then_branch=old, else_branch=new)
    n.output("present.0.encoder.key", present_key, ["batch_out", HEADS, "encoder_out", SIZE])
    n.output("present.0.encoder.value", present_value, ["batch_out", HEADS, "encoder_out", SIZE])
    query = heads(n, n.op("MatMul", norm(n, x), n.weight(WIDTH, WIDTH)))
    seen = n.op("Cast", n.op("Unsqueeze", mask, n.const([1, 2])), to=T.FLOAT)
    masked = n.op("Mul", n.op("Sub", seen, n.const(1, np.float32)), n.const(1e9, np.float32))
    x = feed_forward(n, n.op("Add", x, attend(n, query, key, value, masked)))
    n.output("logits", finish(n, x), ["batch", "sequence", VOCABULARY])
    n.save("merged")


def whole():
    n = Net()
    ids = n.input("input_ids", ["batch", "sequence"], T.INT64)
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    x = n.op("Gather", table, ids)
    positions = n.op("Unsqueeze", n.op("Range", n.const(0), n.op("Gather", n.op("Shape", ids), n.const(1)), n.const(1)), n.const([0]))
    y = norm(n, x)
    query, key, value = (heads(n, n.op("MatMul", y, n.weight(WIDTH, WIDTH))) for _ in range(3))
    query, key = rotate(n, query, positions), rotate(n, key, positions)
    x = feed_forward(n, n.op("Add", x, attend(n, query, key, value, hide(n, positions, key))))
    n.output("logits", finish(n, x), ["batch", "sequence", VOCABULARY])
    n.save("whole")


def state(name, keep):
    """The sum of the tokens so far, of which each step keeps a share: one token at a time."""
    n = Net()
    ids, old = n.input("input_ids", ["batch", 1], T.INT64), n.input("state", ["batch", WIDTH])
    table = n.weight(VOCABULARY, WIDTH, scale=1)
    x = n.op("Squeeze", n.op("Gather", table, ids), n.const([1]))
    new = n.op("Add", n.op("Mul", old, n.const(keep, np.float32)), x)
    n.output("logits", n.op("MatMul", new, n.op("Transpose", table, perm=[1, 0])), ["batch", VOCABULARY])
    n.output("new_state", new, ["batch", WIDTH])
    n.save(name)


def pooled():
    n = Net()
    ids = n.input("input_ids", ["batch", "sequence"], T.INT64)
    x = n.op("ReduceMean", n.op("Gather", n.weight(VOCABULARY, WIDTH), ids), n.const([1, 2]), keepdims=0)
    n.output("score", x, ["batch"])
    n.save("pooled")


llama("llama")
llama("llama_late", late=True)
llama("llama_half", half=True)
llama("llama_nan", nan=True)
llama("llama_short", short=True)
llama("llama_needy", needy=True)
llama("torch", names=("past_key_values_{}_{}_cache", "cat_{}"))
llama("one", length=1)
llama("fixed", length=4)
gpt2()
gqa("gqa", 16, 16)
gqa("gqa_growing", "past", "total")
joined("joined")
joined("joined_late", late=True)
halve("joined", "joined_half")
merged()
whole()
state("state", 1)
state("state_drift", 1.00004)
pooled()
