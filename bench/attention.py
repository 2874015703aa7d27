#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GroupQueryAttention of a decoder beside ONNX Runtime: attention.py LIBRARY THREADS [ROUNDS [float16]]

LIBRARY is libpolygraphy.so. Steps of one token with a cache of 2048, full and with 512 tokens in it, and prompts of 512, with rotary embedding. The sides run in turns on the same
memory; medians in milliseconds. ONNX Runtime's past and present are the same memory, so that it copies nothing; `copied` is its time with other
memory for present."""
import ctypes
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

from words import words

GIVEN = words(__doc__, 2)
LIBRARY, THREADS, ROUNDS = ctypes.CDLL(GIVEN[0]), int(GIVEN[1]), int(GIVEN[2]) if len(GIVEN) > 2 else 21
TYPE = np.dtype(GIVEN[3] if len(GIVEN) > 3 else "float32")
PROBLEMS = [(rows, total, heads, heads // 4, size) for rows, total in ((1, 2048), (1, 512), (512, 512)) for heads in (8, 32) for size in (64, 128)]


def aligned(shape):
    """Zeros at an address as allocators of tensors give it."""
    count = int(np.prod(shape))
    memory = np.zeros(count + 64, TYPE)
    skip = -memory.ctypes.data % 64 // TYPE.itemsize
    return memory[skip:skip + count].reshape(shape)


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_size_t), ("team", ctypes.c_void_p), ("allocation", ctypes.c_size_t),
                ("allocator", ctypes.c_void_p)]


def check(status):
    if status:
        raise SystemExit(f"libpolygraphy returned status {status}")


def model(rows, heads, kv_heads, size, capacity, total):
    values = {"q": (1, rows, heads * size), "k": (1, rows, kv_heads * size), "v": (1, rows, kv_heads * size),
              "past_k": (1, kv_heads, capacity, size), "past_v": (1, kv_heads, capacity, size)}
    angles = np.outer(np.arange(4096), 10000.0 ** (-np.arange(size // 2) / (size // 2)))
    constants = {"lengths": np.array([total - 1], np.int32), "total": np.array([total], np.int32),
                 "cos": np.cos(angles).astype(TYPE), "sin": np.sin(angles).astype(TYPE)}
    element = helper.np_dtype_to_tensor_dtype(TYPE)
    node = helper.make_node("GroupQueryAttention", [*values, *constants], ["y", "present_k", "present_v"], domain="com.microsoft",
                            num_heads=heads, kv_num_heads=kv_heads, do_rotary=1)
    outputs = {"y": values["q"], "present_k": values["past_k"], "present_v": values["past_v"]}
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, element, s) for n, s in values.items()],
                              [helper.make_tensor_value_info(n, element, s) for n, s in outputs.items()],
                              [numpy_helper.from_array(c, n) for n, c in constants.items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=9)
    return made, values, outputs


class Ours:
    def __init__(self, path, feed, results):
        model, engine, self.context = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        options = ContextOptions(ctypes.sizeof(ContextOptions), THREADS, None, 0, None)
        check(LIBRARY.pgy_model_load(ctypes.byref(model), path.encode(), None, None))
        check(LIBRARY.pgy_engine_build(ctypes.byref(engine), model, None, None))
        check(LIBRARY.pgy_context_create(ctypes.byref(self.context), engine, ctypes.byref(options), None))
        for name, x in feed.items():
            check(LIBRARY.pgy_context_set_input(self.context, name.encode(), x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(x.nbytes), None))
        for name, x in results.items():
            check(LIBRARY.pgy_context_set_output(self.context, name.encode(), x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(x.nbytes), None))

    def run(self):
        check(LIBRARY.pgy_context_execute(self.context, None))


class Theirs:
    def __init__(self, path, feed, results):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for bind, arrays in ((self.binding.bind_input, feed), (self.binding.bind_output, results)):
            for name, x in arrays.items():
                bind(name, "cpu", 0, TYPE, x.shape, x.ctypes.data)

    def run(self):
        self.session.run_with_iobinding(self.binding)


def race(sides):
    took = [[] for _ in sides]
    for _ in range(ROUNDS):
        for side, times in zip(sides, took):
            time.sleep(0.005)  # threads of the side before may spin for a while
            side.run()
            begin = time.perf_counter()
            side.run()
            times.append(time.perf_counter() - begin)
    return [1000 * float(np.median(t)) for t in took]


for rows, total, heads, kv_heads, size in PROBLEMS:
    capacity = 2048 if rows == 1 else rows
    made, inputs, outputs = model(rows, heads, kv_heads, size, capacity, total)
    random = np.random.default_rng(1)
    feed = {n: aligned(s) for n, s in inputs.items()}
    for x in feed.values():
        x[:] = random.standard_normal(x.shape, np.float32).astype(TYPE)
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        onnx.save(made, file.name)
        apart = [{n: aligned(s) for n, s in outputs.items()} for _ in range(2)]
        shared = {n: aligned(s) for n, s in outputs.items()}
        for which in "kv":
            shared[f"present_{which}"][:] = feed[f"past_{which}"]
        in_place = feed | {"past_k": shared["present_k"], "past_v": shared["present_v"]}
        times = race([Ours(file.name, feed, apart[0]), Theirs(file.name, feed, apart[1]), Ours(file.name, in_place, shared),
                      Theirs(file.name, in_place, shared)])
    error = np.abs(apart[0]["y"].astype(np.float64) - apart[1]["y"]).max()
    print(f"rows {rows:3} of {total:4} heads {heads:2}/{kv_heads} size {size:3}: copied {times[0]:8.3f} onnxruntime {times[1]:8.3f} ratio "
          f"{times[0] / times[1]:.2f}  in place {times[2]:8.3f} onnxruntime {times[3]:8.3f} ratio {times[2] / times[3]:.2f}  difference {error:.1e}",
          flush=True)
