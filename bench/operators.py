#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single operators beside ONNX Runtime: operators.py LIBRARY [--threads N] [--seconds S] [--cpu] [--markdown] [WORD...]

LIBRARY is libpolygraphy.so. The problems are the tables in operator_problems*.py; each WORD chooses those whose name contains it. For each problem the
engine and ONNX Runtime run in turn, in slices of some runs, on the same inputs in one process that stays. Prints the best times of a run in
milliseconds (with --cpu processor times, for a busy machine), their ratio (ours / ONNX Runtime's), and the largest difference of the outputs, relative to their largest magnitude. Needs onnx,
onnxruntime and numpy."""
import argparse
import ctypes
import os
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import operator_problems
import operator_problems_fused  # adds its own
import operator_problems_ml  # the same


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_size_t), ("team", ctypes.c_void_p), ("allocation", ctypes.c_size_t),
                ("allocator", ctypes.c_void_p)]


ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)


class OutputAllocator(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("user", ctypes.c_void_p), ("allocate", ALLOCATE), ("filled", ctypes.c_void_p)]


def aligned(like):
    """A copy at an address as allocators of tensors give it."""
    like = np.asarray(like)
    if like.dtype == object:
        return like
    memory = np.zeros(like.nbytes + 64, np.uint8)
    skip = -memory.ctypes.data % 64
    copy = memory[skip:skip + like.nbytes].view(like.dtype).reshape(like.shape)
    copy[...] = like
    return copy


def save(p, path):
    feed = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in p.feed.items()]
    results = [helper.make_empty_tensor_value_info(n) for n in p.outputs]
    graph = helper.make_graph(p.nodes, "operator", feed, results, [numpy_helper.from_array(c, n) for n, c in p.constants.items()])
    domains = {"": p.opset} | {n.domain: operator_problems.OPSETS[n.domain] for n in p.nodes if n.domain}
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid(d, v) for d, v in domains.items()], ir_version=10)
    onnx.save(made, path)


class Theirs:
    def __init__(self, path, threads, feed, shared=None):
        o = onnxruntime.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = threads, 1, 3
        self.session = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
        self.binding, self.feed, self.shared = self.session.io_binding(), feed, shared or {}
        for name, x in feed.items():
            self.binding.bind_input(name, "cpu", 0, x.dtype, x.shape, x.ctypes.data)
        self.names = [o.name for o in self.session.get_outputs()]

    def results(self):
        """Of a first run, in the order of `names`."""
        if not self.shared:
            return self.session.run(self.names, self.feed)
        self.bind(dict.fromkeys(self.names), False)
        self.run()
        return self.binding.copy_outputs_to_cpu()

    def bind(self, results, sized):
        self.binding.clear_binding_outputs()
        for name, x in results.items():
            x = self.feed[self.shared[name]] if name in self.shared else x if sized else None
            if x is not None:
                self.binding.bind_output(name, "cpu", 0, x.dtype, x.shape, x.ctypes.data)
            else:
                self.binding.bind_output(name, "cpu")

    def run(self):
        self.session.run_with_iobinding(self.binding)


class Ours:
    def __init__(self, library, path, threads, feed, results):
        self.api, self.error = library, ctypes.create_string_buffer(2048)
        self.context, self.sized, self.kept = ctypes.c_void_p(), True, []
        model, engine = ctypes.c_void_p(), ctypes.c_void_p()
        options = ContextOptions(ctypes.sizeof(ContextOptions), threads, None, 0, None)
        self.call("model_load", ctypes.byref(model), path.encode(), None)
        self.call("engine_build", ctypes.byref(engine), model, None)
        self.call("context_create", ctypes.byref(self.context), engine, ctypes.byref(options))
        self.begin(feed, results)

    def begin(self, feed, results):
        for name, x in feed.items():
            self.call("context_set_input", self.context, name.encode(), ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x.nbytes))
        self.bind(results)

    def bind(self, results):
        """Outputs whose sizes depend on data get an allocator, which always returns the same memory."""
        size = ctypes.c_size_t()
        self.api.pgy_context_infer_shapes(self.context, None, ctypes.c_size_t(0), ctypes.byref(size), None)
        for name, x in results.items():
            if not self.api.pgy_context_output_bytes(ctypes.byref(size), self.context, name.encode(), None):
                self.call("context_set_output", self.context, name.encode(), ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x.nbytes))
                continue
            self.sized = False
            allocator = OutputAllocator(ctypes.sizeof(OutputAllocator), None, ALLOCATE(lambda _, __, size, x=x: x.ctypes.data if size <= x.nbytes else None), None)
            self.kept.append(allocator)
            self.call("context_set_output_allocator", self.context, name.encode(), ctypes.byref(allocator))

    def call(self, function, *arguments):
        if getattr(self.api, "pgy_" + function)(*arguments, self.error):
            raise RuntimeError(self.error.value.decode())

    def run(self):
        if self.api.pgy_context_execute(self.context, self.error):
            raise RuntimeError(self.error.value.decode())


class Text(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_size_t)]


class OursByValue(Ours):
    """For outputs of texts, which have no address to set: tensors go in and come out."""

    def begin(self, feed, results):
        self.sized, self.feed, self.made, self.results = False, ctypes.c_void_p(), ctypes.c_void_p(), results
        self.api.pgy_tensor_map_find.restype = self.api.pgy_tensor_data.restype = ctypes.c_void_p
        self.api.pgy_tensor_map_find.argtypes, self.api.pgy_tensor_data.argtypes = [ctypes.c_void_p, ctypes.c_char_p], [ctypes.c_void_p]
        for m in (self.feed, self.made):
            self.call("tensor_map_create", ctypes.byref(m))
        for name, x in feed.items():
            self.call("tensor_map_adopt", self.feed, name.encode(), self.tensor(x))

    def tensor(self, x):
        t = ctypes.c_void_p()
        code = "iuf...b".index(x.dtype.kind) | x.dtype.itemsize << 11 | 1 << 16
        self.call("tensor_create", ctypes.byref(t), code, ctypes.c_size_t(x.ndim), (ctypes.c_int64 * x.ndim)(*x.shape))
        ctypes.memmove(self.api.pgy_tensor_data(t), x.ctypes.data, x.nbytes)
        return t

    def run(self):
        self.api.pgy_tensor_map_clear(self.made)
        self.call("context_run", self.context, self.feed, self.made)

    def take(self):
        """Copies the outputs of the last run."""
        for name, x in self.results.items():
            data = self.api.pgy_tensor_data(self.api.pgy_tensor_map_find(self.made, name.encode()))
            if x.dtype != object:
                ctypes.memmove(x.ctypes.data, data, x.nbytes)
                continue
            texts = ctypes.cast(data, ctypes.POINTER(Text))
            x.ravel()[:] = [ctypes.string_at(texts[i].data, texts[i].size).decode() if texts[i].size else "" for i in range(x.size)]


def difference(ours, theirs):
    worst = 0.0
    for name, y in theirs.items():
        if np.asarray(y).dtype == object:
            worst = max(worst, float(np.any(ours[name] != y)))
            continue
        x, y = (np.asarray(v, np.complex128 if np.iscomplexobj(v) else np.float64) for v in (ours[name], y))
        if not y.size:
            continue
        with np.errstate(invalid="ignore"):
            apart = np.where((x == y) | (np.isnan(x) & np.isnan(y)), 0, np.abs(x - y))
        finite = np.abs(y[np.isfinite(y)])
        worst = max(worst, float(np.max(apart)) / max(float(finite.max()) if finite.size else 0, 1e-30))
    return worst


def slice_of(side, runs, clock):
    begin = clock()
    for _ in range(runs):
        side.run()
    return (clock() - begin) / runs


def race(sides, seconds, clock=time.perf_counter):
    runs, best = [], []
    for side in sides:
        first = min(slice_of(side, 1, clock) for _ in range(2))
        runs.append(max(1, min(1000, int(0.01 / first))))
        best.append(first)
    end, slices = time.perf_counter() + seconds, 0
    while slices < 3 or time.perf_counter() < end:
        for i, side in enumerate(sides):
            best[i] = min(best[i], slice_of(side, runs[i], clock))
        slices += 1
    return best


def measure(o, library, p):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "operator.onnx")
        feed = {n: aligned(x) for n, x in p.feed.items()}
        save(p, path)
        theirs = Theirs(path, o.threads, feed, p.shared)
        wanted = dict(zip(theirs.names, theirs.results()))
        got = {n: aligned(x) if n not in p.shared else feed[p.shared[n]] for n, x in wanted.items()}
        for n, x in got.items():
            if n not in p.shared:
                x = x.copy() if x.dtype == object else x
                x.fill("" if x.dtype == object else 0)
                got[n] = x
        by_value = any(x.dtype == object for x in wanted.values())
        ours = (OursByValue if by_value else Ours)(library, path, o.threads, feed, got)
        results = {n: x if n in p.shared or x.dtype == object else aligned(x) for n, x in wanted.items()}
        theirs.bind(results, ours.sized)
        ours.run()
        if by_value:
            ours.take()
        apart = difference(got, wanted)
        return *race((ours, theirs), o.seconds, time.process_time if o.cpu else time.perf_counter), apart


def main():
    a = argparse.ArgumentParser(usage=__doc__)
    a.add_argument("library")
    a.add_argument("words", nargs="*")
    a.add_argument("--threads", type=int, default=1)
    a.add_argument("--seconds", type=float, default=0.6, help="for each problem")
    a.add_argument("--cpu", action="store_true", help="processor time instead of elapsed time")
    a.add_argument("--markdown", action="store_true")
    o = a.parse_intermixed_args()
    line = "| {} | {} | {} | {} | {} |" if o.markdown else "{:64} {:>10} {:>10} {:>7}  {}"
    print(line.format("problem", "ours ms", "ORT ms", "ratio", "difference"))
    if o.markdown:
        print("| --- | --- | --- | --- | --- |")
    library, ratios, failed = ctypes.CDLL(o.library), [], False
    for p in operator_problems.PROBLEMS:
        if o.words and not any(w.lower() in p.name.lower() for w in o.words):
            continue
        try:
            ours, theirs, apart = measure(o, library, p)
        except Exception as e:  # the others are still measured
            print(line.format(p.name, "-", "-", "-", str(e).splitlines()[0]), flush=True)
            failed = True
            continue
        ratios.append(ours / theirs)
        print(line.format(p.name, f"{1e3 * ours:.3f}", f"{1e3 * theirs:.3f}", f"{ours / theirs:.2f}", f"{apart:.0e}"), flush=True)
    if ratios:
        print(f"\ngeometric mean {np.exp(np.mean(np.log(ratios))):.2f}, above 1: {sum(r > 1 for r in ratios)} of {len(ratios)}, worst {max(ratios):.2f}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
