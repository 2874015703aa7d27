#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bags of embeddings, beside ONNX Runtime and torch: embedding_bags.py LIBRARY [SECONDS for each model]

LIBRARY is libpolygraphy.so. EmbeddingBag as a matrix and with offsets, with and without weights, as both exporters of torch write it (loops), and Gather with a
reduction, as recommenders are written for ONNX. One thread; all sides run in turn in one process. Prints best times in milliseconds: ours, ours without the
pass fuse_bags ("before"), ONNX Runtime's and torch's; their ratios; the largest difference from ONNX Runtime. Needs torch, onnx, onnxscript, onnxruntime and
numpy."""
import contextlib
import ctypes
import os
import tempfile

import numpy as np
import onnx
import onnx.helper as oh
import torch

import operators
from words import words

SMALL, LARGE = (5000, 64), (400000, 64)  # LARGE: 102 MB, more than the caches hold


class Bags(torch.nn.Module):
    def __init__(self, mode, table=SMALL):
        super().__init__()
        self.bags = torch.nn.EmbeddingBag(*table, mode=mode)

    def forward(self, indices, offsets=None, weights=None):
        return self.bags(indices, offsets, per_sample_weights=weights)


class MatrixWeights(Bags):
    def forward(self, indices, weights):
        return self.bags(indices, per_sample_weights=weights)


class Torch:
    def __init__(self, module, inputs):
        self.module, self.inputs = module, inputs

    def run(self):
        with torch.inference_mode():
            self.module(*self.inputs)


@contextlib.contextmanager
def passes(text):
    os.environ["POLYGRAPHY_PASSES"] = text
    yield
    del os.environ["POLYGRAPHY_PASSES"]


def measure(library, path, module, inputs, seconds):
    names = [i.name for i in onnx.load(path, load_external_data=False).graph.input]
    feed = {n: operators.aligned(x.numpy()) for n, x in zip(names, inputs)}
    theirs = operators.Theirs(path, 1, feed)
    wanted = dict(zip(theirs.names, theirs.results()))
    got, old = ({n: operators.aligned(np.zeros_like(x)) for n, x in wanted.items()} for _ in range(2))
    ours = operators.Ours(library, path, 1, feed, got)
    with passes("-fuse_bags"):
        before = operators.Ours(library, path, 1, feed, old)
    results = {n: operators.aligned(x) for n, x in wanted.items()}
    theirs.bind(results, ours.sized)
    ours.run()
    apart = operators.difference(got, wanted)
    return *operators.race((ours, before, theirs, Torch(module, inputs)), seconds), apart


def gather(module, indices, weights, path):
    """The module's bags as Gather, Mul and a reduction."""
    table = module.bags.weight.detach().numpy()
    inputs = [oh.make_tensor_value_info("i", onnx.TensorProto.INT64, indices.shape)]
    nodes = [oh.make_node("Gather", ["w", "i"], ["g"])]
    if weights is not None:
        inputs.append(oh.make_tensor_value_info("s", onnx.TensorProto.FLOAT, weights.shape))
        nodes += [oh.make_node("Unsqueeze", ["s", "last"], ["u"]), oh.make_node("Mul", ["g", "u"], ["m"])]
    nodes.append(oh.make_node(f"Reduce{module.bags.mode.title()}", [nodes[-1].output[0], "axis"], ["y"], keepdims=0))
    constants = [onnx.numpy_helper.from_array(x, n) for n, x in (("w", table), ("axis", np.array([1])), ("last", np.array([2])))]
    graph = oh.make_graph(nodes, "bags", inputs, [oh.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)], constants)
    onnx.save(oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=10), path)


def exported():
    indices, weights = torch.randint(0, SMALL[0], (128, 80)), torch.rand(128, 80)
    offsets = torch.arange(0, 128 * 80, 80)
    for dynamo in (False, True):
        kind = "dynamo" if dynamo else "script"
        for mode in ("sum", "mean", "max"):
            yield f"{mode} matrix {kind}", Bags(mode), (indices,), dynamo
            yield f"{mode} offsets {kind}", Bags(mode), (indices.reshape(-1), offsets), dynamo
        yield f"weighted matrix {kind}", MatrixWeights("sum"), (indices, weights), dynamo
        yield f"weighted offsets {kind}", Bags("sum"), (indices.reshape(-1), offsets, weights.reshape(-1)), dynamo


def written():
    for mode in ("sum", "mean", "max"):
        yield f"{mode} Gather, 128 bags of 80", Bags(mode), (torch.randint(0, SMALL[0], (128, 80)),)
    yield "weighted Gather, 128 bags of 80", MatrixWeights("sum"), (torch.randint(0, SMALL[0], (128, 80)), torch.rand(128, 80))
    yield "sum Gather, 102 MB, 512 bags of 32", Bags("sum", LARGE), (torch.randint(0, LARGE[0], (512, 32)),)
    yield "sum Gather, 102 MB, 2048 bags of 4", Bags("sum", LARGE), (torch.randint(0, LARGE[0], (2048, 4)),)


def main():
    given = words(__doc__, 1)
    library, seconds = ctypes.CDLL(given[0]), float(given[1]) if len(given) > 1 else 1
    torch.set_num_threads(1)

    def line(name, path, module, inputs):
        ours, before, theirs, torchs, apart = measure(library, path, module, inputs, seconds)
        print(f"{name:36} ours {1e3 * ours:8.3f} before {1e3 * before:8.3f} onnxruntime {1e3 * theirs:8.3f} torch {1e3 * torchs:8.3f}  ratio to onnxruntime"
              f" {ours / theirs:5.2f} to torch {ours / torchs:5.2f}  difference {apart:.0e}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bags.onnx")
        for name, module, inputs in written():
            gather(module, inputs[0], inputs[1] if len(inputs) > 1 else None, path)
            line(name, path, module, inputs)
        for name, module, inputs, dynamo in exported():
            torch.onnx.export(module, inputs, path, dynamo=dynamo, opset_version=18, verbose=False)
            line(name, path, module, inputs)


if __name__ == "__main__":
    main()
