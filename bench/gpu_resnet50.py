#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 at batch 1 on a GPU, torch beside the engine: gpu_resnet50.py PROGRAM; needs torch and torchvision with CUDA

torch runs eagerly in a replayed CUDA graph, timed by events on the device; float16 in channels_last. The engine's time is that of a whole
inference of `polygraphy run`, with the copies of the input and the output between host and device. Random weights and inputs.
"""
import os
import re
import subprocess
import sys
import tempfile

import torch
import torchvision

from words import words


def graph_ms(model, x):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(5):
            model(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(x)
    for _ in range(10):
        graph.replay()
    times = []
    for _ in range(50):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[25]


def engine_ms(program, path, options):
    command = [program, "run", path, "--trt", "--device", "cuda", "--warm-up", "10", "--iterations", "50", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return float(re.search(r"Average inference time: ([\d.]+) ms", done.stdout).group(1))


def main():
    program, = words(__doc__, 1)
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    model, x = torchvision.models.resnet50(weights=None).eval(), torch.randn(1, 3, 224, 224)
    print(torch.cuda.get_device_name(0), "torch", torch.__version__)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "resnet50.onnx")
        torch.onnx.export(model, (x,), path, opset_version=17, dynamo=False, input_names=["x"], output_names=["y"])
        model, x = model.cuda(), x.cuda()
        rows = [("float32", graph_ms(model, x), engine_ms(program, path, []))]
        model, x = model.half().to(memory_format=torch.channels_last), x.half().to(memory_format=torch.channels_last)
        rows.append(("float16", graph_ms(model, x), engine_ms(program, path, ["--fp16"])))
    for kind, torch_ms, ours_ms in rows:
        print(f"resnet50 b1 {kind}: torch in a CUDA graph {torch_ms:.3f} ms, --trt --device cuda {ours_ms:.3f} ms, ratio {ours_ms / torch_ms:.2f}")


if __name__ == "__main__":
    main()
