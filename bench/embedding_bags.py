#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""EmbeddingBag as torch exports it, beside ONNX Runtime: embedding_bags.py LIBRARY [SECONDS for each model]

LIBRARY is libpolygraphy.so. 128 bags of 80 rows of 64, as a matrix and with offsets, by both exporters of torch, which write loops. One thread; both sides run
in turn in one process. Prints best times in milliseconds, their ratio (ours / ONNX Runtime's) and the largest difference. Needs torch, onnx, onnxscript,
onnxruntime and numpy."""
import ctypes
import os
import sys
import tempfile

import numpy as np
import onnx
import torch

import operators


class Bags(torch.nn.Module):
    def __init__(self, mode):
        super().__init__()
        self.bags = torch.nn.EmbeddingBag(5000, 64, mode=mode)

    def forward(self, indices, offsets=None):
        return self.bags(indices) if offsets is None else self.bags(indices, offsets)


def measure(library, path, inputs, seconds):
    names = [i.name for i in onnx.load(path).graph.input]
    feed = {n: operators.aligned(x.numpy()) for n, x in zip(names, inputs)}
    theirs = operators.Theirs(path, 1, feed)
    wanted = dict(zip(theirs.names, theirs.results()))
    got = {n: operators.aligned(np.zeros_like(x)) for n, x in wanted.items()}
    ours = operators.Ours(library, path, 1, feed, got)
    results = {n: operators.aligned(x) for n, x in wanted.items()}
    theirs.bind(results, ours.sized)
    ours.run()
    apart = operators.difference(got, wanted)
    return *operators.race((ours, theirs), seconds), apart


def main():
    library, seconds = ctypes.CDLL(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1
    indices = torch.randint(0, 5000, (128, 80))
    forms = {"matrix": (indices,), "offsets": (indices.reshape(-1), torch.arange(0, 128 * 80, 80))}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bags.onnx")
        for mode in ("sum", "mean", "max"):
            for form, inputs in forms.items():
                for dynamo in (False, True):
                    torch.onnx.export(Bags(mode), inputs, path, dynamo=dynamo, opset_version=18, verbose=False)
                    ours, theirs, apart = measure(library, path, inputs, seconds)
                    print(f"{mode:4} {form:8} {'dynamo' if dynamo else 'script'} ours {1e3 * ours:8.3f} onnxruntime {1e3 * theirs:8.3f} ratio {ours / theirs:6.2f}  difference {apart:.0e}",
                          flush=True)


if __name__ == "__main__":
    main()
