#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Control flow and data-dependent shapes beside ONNX Runtime: control_flow.py LIBRARY [ROUNDS] [NAME...]

LIBRARY is libpolygraphy.so. One thread each. The sides run in turns on the same inputs; best times in microseconds, and the largest difference of the
results, relative to the largest number. Models: an LSTM as Loop and as Scan, a loop that counts, branches with convolutions, a length regulator, the
post-processing of detectors, loops that grow a tensor."""
import ctypes
import os
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from words import words

GIVEN = words(__doc__, 1)
LIBRARY, ROUNDS, NAMES = ctypes.CDLL(GIVEN[0]), int(GIVEN[1]) if len(GIVEN) > 1 else 15, GIVEN[2:]
F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
random = np.random.default_rng(1)


def floats(*shape, scale=1.0):
    return (random.standard_normal(shape) * scale).astype(np.float32)


def info(name, kind=F, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def weights(**arrays):
    return [numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()]


def model(nodes, inputs, outputs, constants):
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return made


def ints(*values):
    return np.array(values, np.int64)


def lstm_cell(hidden):
    return [node("Gemm", "x wx bias", "gx"), node("Gemm", "h wh", "gh"), node("Add", "gx gh", "gates"),
            node("Split", "gates parts", "gi go_ gf gc", axis=1), node("Sigmoid", "gi", "si"), node("Sigmoid", "go_", "so"), node("Sigmoid", "gf", "sf"),
            node("Tanh", "gc", "tc"), node("Mul", "sf cell", "kept"), node("Mul", "si tc", "new"), node("Add", "kept new", "cell_out"),
            node("Tanh", "cell_out", "squashed"), node("Mul", "so squashed", "h_out")]


def lstm_weights(width, hidden):
    return weights(wx=floats(width, 4 * hidden, scale=0.1), wh=floats(hidden, 4 * hidden, scale=0.1), bias=floats(4 * hidden),
                   parts=ints(hidden, hidden, hidden, hidden))


def lstm_scan(steps, hidden):
    body = helper.make_graph(lstm_cell(hidden) + [node("Identity", "h_out", "y")], "body", [info("h", F, [1, hidden]), info("cell", F, [1, hidden]),
                             info("x", F, [1, hidden])], [info("h_out", F, [1, hidden]), info("cell_out", F, [1, hidden]), info("y", F, [1, hidden])])
    nodes = [node("Scan", "h0 c0 sequence", "hn cn ys", body=body, num_scan_inputs=1)]
    feed = {"h0": floats(1, hidden), "c0": floats(1, hidden), "sequence": floats(steps, 1, hidden)}
    return nodes, feed, ["hn", "ys"], lstm_weights(hidden, hidden)


def lstm_loop(steps, hidden):
    body = helper.make_graph([node("Gather", "sequence i", "x", axis=0)] + lstm_cell(hidden) + [node("Identity", "go", "go_out"),
                             node("Identity", "h_out", "y")], "body", [info("i", I, []), info("go", B, []), info("h", F, [1, hidden]),
                             info("cell", F, [1, hidden])], [info("go_out", B, []), info("h_out", F, [1, hidden]), info("cell_out", F, [1, hidden]),
                             info("y", F, [1, hidden])])
    nodes = [node("Shape", "sequence", "shape"), node("Gather", "shape zero", "count"), node("Loop", "count  h0 c0".replace("  ", " _ "), "hn cn ys", body=body)]
    nodes[-1].input[1] = ""
    feed = {"h0": floats(1, hidden), "c0": floats(1, hidden), "sequence": floats(steps, 1, hidden)}
    return nodes, feed, ["hn", "ys"], lstm_weights(hidden, hidden) + weights(zero=np.int64(0))


def counting(steps):
    body = helper.make_graph([node("Add", "n one", "n_out"), node("Less", "n_out limit", "go_out")], "body", [info("i", I, []), info("go", B, []),
                             info("n", I, [])], [info("go_out", B, []), info("n_out", I, [])])
    nodes = [node("Loop", "_ yes start", "end", body=body)]
    nodes[0].input[0] = ""
    return nodes, {"start": np.int64(0), "limit": np.int64(steps)}, ["end"], weights(one=np.int64(1), yes=np.bool_(True))


def branches(size):
    def branch(name, activation, k):
        return helper.make_graph([node("Conv", f"x w{k} b{k}", f"{name}_a", pads=[1, 1, 1, 1]), node("Relu", f"{name}_a", f"{name}_b"),
                                  node("Conv", f"{name}_b v{k} b{k}", f"{name}_c", pads=[1, 1, 1, 1]), node(activation, f"{name}_c", f"{name}_y")],
                                 name, [], [info(f"{name}_y", F, [1, 32, size, size])])
    nodes = [node("ReduceMean", "image", "mean", keepdims=0), node("Less", "mean zero", "dark"), node("Relu", "image", "x"),
             node("If", "dark", "y", then_branch=branch("then", "Relu", 0), else_branch=branch("else", "Sigmoid", 1))]
    constants = weights(zero=np.float32(0), **{f"{n}{k}": a for k in (0, 1) for n, a in (
        ("w", floats(32, 32, 3, 3, scale=0.05)), ("v", floats(32, 32, 3, 3, scale=0.05)), ("b", floats(32)))})
    return nodes, {"image": floats(1, 32, size, size)}, ["y"], constants


def regulator(tokens, width):
    """FastSpeech: each token is repeated as often as its duration says; then a decoder of two blocks."""
    nodes = [node("Exp", "log_durations", "d0"), node("Ceil", "d0", "d1"), node("Cast", "d1", "durations", to=I), node("CumSum", "durations last", "ends"),
             node("ReduceMax", "ends", "total", keepdims=0), node("Range", "zero total one", "frames"), node("Unsqueeze", "frames axis1", "column"),
             node("Unsqueeze", "ends axis0", "row"), node("GreaterOrEqual", "column row", "passed"), node("Cast", "passed", "passed_int", to=I),
             node("ReduceSum", "passed_int axis1", "index", keepdims=0), node("Gather", "tokens index", "spread", axis=0)]
    for k in range(2):
        x = "spread" if k == 0 else "y0"
        nodes += [node("MatMul", f"{x} w{k}", f"a{k}"), node("Add", f"a{k} b{k}", f"c{k}"), node("Relu", f"c{k}", f"r{k}"), node("MatMul", f"r{k} v{k}", f"m{k}"),
                  node("Add", f"m{k} {x}", f"s{k}"), node("LayerNormalization", f"s{k} g{k} e{k}", f"y{k}", axis=-1)]
    constants = weights(last=np.int64(0), zero=np.int64(0), one=np.int64(1), axis0=ints(0), axis1=ints(1), **{f"{n}{k}": a for k in (0, 1) for n, a in (
        ("w", floats(width, 2 * width, scale=0.05)), ("b", floats(2 * width)), ("v", floats(2 * width, width, scale=0.05)), ("g", floats(width)),
        ("e", floats(width)))})
    return nodes, {"tokens": floats(tokens, width), "log_durations": np.abs(floats(tokens))}, ["y1"], constants


def yolo(boxes, classes):
    """Scores and boxes of anchors to detections, as Ultralytics' and SSD's exports do: NonMaxSuppression, then gathers."""
    nodes = [node("Sigmoid", "logits", "scores"), node("Split", "raw halves", "centre size", axis=2), node("Mul", "size half", "r"),
             node("Sub", "centre r", "low"), node("Add", "centre r", "high"), node("Concat", "low high", "boxes", axis=2),
             node("NonMaxSuppression", "boxes scores most iou least", "chosen"), node("Gather", "chosen two", "which", axis=1),
             node("Gather", "chosen one", "label", axis=1), node("Squeeze", "boxes axis0", "flat"), node("Gather", "flat which", "picked", axis=0),
             node("GatherND", "scores chosen", "confidence"), node("Unsqueeze", "confidence axis1", "c1"), node("Cast", "label", "l0", to=F),
             node("Unsqueeze", "l0 axis1", "l1"), node("Concat", "picked c1 l1", "detections", axis=1)]
    raw = np.concatenate([random.uniform(0, 640, (1, boxes, 2)), random.uniform(10, 90, (1, boxes, 2))], 2).astype(np.float32)
    nodes[11] = node("GatherND", "scores order", "confidence")
    nodes.insert(11, node("Identity", "chosen", "order"))
    constants = weights(halves=ints(2, 2), half=np.float32(0.5), most=ints(100), iou=np.array([0.5], np.float32), least=np.array([0.6], np.float32),
                        one=np.int64(1), two=np.int64(2), axis0=ints(0), axis1=ints(1))
    return nodes, {"logits": floats(1, classes, boxes) - 1, "raw": raw}, ["detections"], constants


def nonzero(count, width):
    """Rows whose score is above a threshold pass two layers."""
    nodes = [node("Greater", "score threshold", "above"), node("NonZero", "above", "places"), node("Squeeze", "places axis0", "index"),
             node("Gather", "rows index", "kept", axis=0), node("MatMul", "kept w", "a"), node("Add", "a b", "c"), node("Relu", "c", "d"),
             node("MatMul", "d v", "e"), node("Softmax", "e", "y", axis=-1)]
    constants = weights(threshold=np.float32(0.5), axis0=ints(0), w=floats(width, width, scale=0.1), b=floats(width), v=floats(width, 16, scale=0.1))
    return nodes, {"score": random.uniform(0, 1, count).astype(np.float32), "rows": floats(count, width)}, ["y"], constants


def growing(steps, width):
    """A loop that appends a row to a tensor, and attends to all rows."""
    body = helper.make_graph([node("MatMul", "x w", "q"), node("Concat", "past q", "past_out", axis=0), node("Transpose", "past_out", "t", perm=[1, 0]),
                              node("MatMul", "q t", "s"), node("Softmax", "s", "p", axis=-1), node("MatMul", "p past_out", "a"), node("Tanh", "a", "x_out"),
                              node("Identity", "go", "go_out")], "body", [info("i", I, []), info("go", B, []), info("x", F, [1, width]),
                             info("past", F, ["n", width])], [info("go_out", B, []), info("x_out", F, [1, width]), info("past_out", F, ["m", width])])
    nodes = [node("Loop", "count yes x0 none", "last all", body=body)]
    return nodes, {"x0": floats(1, width)}, ["last", "all"], weights(count=np.int64(steps), yes=np.bool_(True), none=np.zeros((0, width), np.float32),
                                                                     w=floats(width, width, scale=0.1))


def appending(steps):
    body = helper.make_graph([node("Mul", "x two", "y"), node("Concat", "past y", "past_out", axis=0), node("Identity", "go", "go_out")], "body",
                             [info("i", I, []), info("go", B, []), info("past", F, ["n"])], [info("go_out", B, []), info("past_out", F, ["m"])])
    nodes = [node("Loop", "count yes none", "all", body=body)]
    return nodes, {"x": floats(64)}, ["all"], weights(count=np.int64(steps), yes=np.bool_(True), none=np.zeros(0, np.float32), two=np.float32(2))


MODELS = {
    "LSTM as Scan, 100 steps of 64": lambda: lstm_scan(100, 64),
    "LSTM as Scan, 50 steps of 256": lambda: lstm_scan(50, 256),
    "LSTM as Loop, 100 steps of 64": lambda: lstm_loop(100, 64),
    "LSTM as Loop, 50 steps of 256": lambda: lstm_loop(50, 256),
    "Loop that counts to 1000": lambda: counting(1000),
    "If with two convolutions, 56 x 56": lambda: branches(56),
    "If with two convolutions, 7 x 7": lambda: branches(7),
    "length regulator, 80 tokens of 256": lambda: regulator(80, 256),
    "length regulator, 20 tokens of 64": lambda: regulator(20, 64),
    "detections, 8400 boxes, 4 classes": lambda: yolo(8400, 4),
    "detections, 1000 boxes, 20 classes": lambda: yolo(1000, 20),
    "NonZero, 1000 rows of 128": lambda: nonzero(1000, 128),
    "NonZero, 50 rows of 32": lambda: nonzero(50, 32),
    "Loop that grows, attention, 100 x 64": lambda: growing(100, 64),
    "Loop that grows, 60 times": lambda: appending(60),
}


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_size_t), ("team", ctypes.c_void_p), ("allocation", ctypes.c_size_t),
                ("allocator", ctypes.c_void_p)]


Allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)


class Allocator(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("allocate", Allocate), ("filled", ctypes.c_void_p)]


def check(status, error):
    if status:
        raise SystemExit(f"libpolygraphy returned status {status}: {error.value.decode()}")


class Ours:
    """Outputs of unknown size get memory from an allocator."""

    def __init__(self, path, feed, results):
        model_, engine, self.context, self.error = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.create_string_buffer(8192)
        options = ContextOptions(ctypes.sizeof(ContextOptions), 1, None, 0, None)
        check(LIBRARY.pgy_model_load(ctypes.byref(model_), path.encode(), None, self.error), self.error)
        check(LIBRARY.pgy_engine_build(ctypes.byref(engine), model_, None, self.error), self.error)
        check(LIBRARY.pgy_context_create(ctypes.byref(self.context), engine, ctypes.byref(options), self.error), self.error)
        self.memory, self.used, self.keep = {}, {}, feed
        for name, x in feed.items():
            check(LIBRARY.pgy_context_set_input(self.context, name.encode(), x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(x.nbytes), self.error),
                  self.error)
            shape = (ctypes.c_int64 * max(1, x.ndim))(*x.shape)
            check(LIBRARY.pgy_context_set_input_shape(self.context, name.encode(), ctypes.c_size_t(x.ndim), shape, self.error), self.error)

        def allocate(_, name, size):
            block = self.memory.get(name)
            if block is None or block.nbytes < size:
                block = self.memory[name] = np.zeros(size + 64, np.uint8)
            self.used[name] = size
            return block.ctypes.data
        self.callback = Allocate(allocate)
        self.allocator = Allocator(ctypes.sizeof(Allocator), None, self.callback, None)
        for name in results:
            check(LIBRARY.pgy_context_set_output_allocator(self.context, name.encode(), ctypes.byref(self.allocator), self.error), self.error)

    def run(self):
        check(LIBRARY.pgy_context_execute(self.context, self.error), self.error)

    def result(self, name, dtype):
        return self.memory[name.encode()][:self.used[name.encode()]].view(dtype)


class Theirs:
    def __init__(self, path, feed, results):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 3
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.feed, self.names = {n: onnxruntime.OrtValue.ortvalue_from_numpy(x) for n, x in feed.items()}, results

    def run(self):
        self.out = self.session.run_with_ort_values(self.names, self.feed)

    def result(self, k):
        return self.out[k].numpy()


def race(sides):
    best = [1e9] * len(sides)
    for side in sides:
        for _ in range(3):
            side.run()
    for _ in range(ROUNDS):
        for k, side in enumerate(sides):
            side.run()
            for _ in range(3):
                begin = time.perf_counter()
                side.run()
                best[k] = min(best[k], time.perf_counter() - begin)
    return [1e6 * t for t in best]


for title, make in MODELS.items():
    if NAMES and not any(n in title for n in NAMES):
        continue
    nodes, feed, results, constants = make()
    feed = {n: np.ascontiguousarray(x) for n, x in feed.items()}
    kinds = {np.dtype(np.float32): F, np.dtype(np.int64): I, np.dtype(bool): B}
    outputs = [helper.make_empty_tensor_value_info(n) for n in results]
    for o in outputs:
        o.type.tensor_type.elem_type = I if title.startswith("Loop that counts") else F
    made = model(nodes, [info(n, kinds[x.dtype], x.shape) for n, x in feed.items()], outputs, constants)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(made, path)
        begin = time.perf_counter()
        ours = Ours(path, feed, results)
        ours.run()
        first = time.perf_counter() - begin
        theirs = Theirs(path, feed, results)
        times = race([ours, theirs])
    worst = 0.0
    for k, name in enumerate(results):
        right = theirs.result(k)
        mine = ours.result(name, right.dtype)
        if mine.size != right.size:
            raise SystemExit(f"{title}: {name} has {mine.size} elements, {right.size} in ONNX Runtime")
        right = right.reshape(-1).astype(np.float64)
        if right.size:
            worst = max(worst, float(np.abs(mine - right).max() / max(1e-30, np.abs(right).max())))
    print(f"{title:38} ours {times[0]:10.1f} onnxruntime {times[1]:10.1f} ratio {times[0] / times[1]:5.2f}  difference {worst:.0e}  first run {first * 1e3:6.1f} ms",
          flush=True)
